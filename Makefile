# The two commands of the README, `make demo` and `make test`, and what they are made of.

# Debian's own interpreter where it is new enough: what is first on PATH may be anything.
PYTHON ?= $(shell /usr/bin/python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null \
	&& echo /usr/bin/python3 || echo python3)
# One of the bench's machines, such as small; unset means all of them.
MACHINE =
# How long each target is fuzzed.
FUZZ_SECONDS = 60
# Where it is installed: below PREFIX, as seen from the image or package that DESTDIR holds.
PREFIX = /usr
DESTDIR =

BIN := .venv/bin
PYTEST := $(BIN)/coverage run -m pytest

.PHONY: help
help: ## Show this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 12

.PHONY: demo
demo: .venv/runs ## Show the main job on a recorded host: no root, no hardware
	@PATH="$(CURDIR)/$(BIN):$$PATH" sh docs/demo.sh

.PHONY: test
test: packages lint ## Check everything, on the bench too (MACHINE=small: one machine only)
	$(PYTEST) $(if $(MACHINE),-k 'not bench or $(MACHINE)')
	$(BIN)/coverage report

.PHONY: test-fast
test-fast: venv ## Run the tests that boot no kernel
	$(PYTEST) -m 'not bench'
	$(BIN)/coverage report

.PHONY: bench
bench: packages venv ## Run only the tests that boot a kernel (MACHINE=small: one machine only)
	$(BIN)/pytest -m bench $(if $(MACHINE),-k $(MACHINE))

.PHONY: bench-speed
bench-speed: packages venv ## Measure speed as ratios, on an idle machine; no part of the tests
	$(BIN)/python -m benchmarks

.PHONY: fuzz
fuzz: venv ## Fuzz what reads untrusted bytes, a minute each (FUZZ_SECONDS=600); tests do it for seconds
	cd tests && ../$(BIN)/python -m fuzz --seconds $(FUZZ_SECONDS)

.PHONY: install
install: ## Install into PREFIX=/usr, or into an image: DESTDIR=/folder; starts and enables nothing
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' PYTHON='$(PYTHON)' install/install

.PHONY: uninstall
uninstall: ## Remove what make install put, and leave settings and records
	@PREFIX='$(PREFIX)' DESTDIR='$(DESTDIR)' install/uninstall

.PHONY: lint
lint: venv ## Check format, lint rules, types and import contracts
	$(BIN)/ruff format --check --diff .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo

.PHONY: documents
documents: venv ## Write anew what is made from the code: JSON Schema, docs/findings.md, shown output
	$(BIN)/pcietune schema >pcietune/schemas/document-1.json
	$(BIN)/pcietune explain --markdown >docs/findings.md
	cd tests && ../$(BIN)/python -m style.console_blocks

.PHONY: venv
venv: .venv/develops ## Make .venv with pcietune and the tools of its developers

# Each is made anew only when pyproject.toml changes.
.venv/runs: pyproject.toml
	$(PYTHON) -m venv .venv
	$(BIN)/pip install --quiet --upgrade pip
	$(BIN)/pip install --quiet --editable .
	@touch $@

.venv/develops: .venv/runs
	$(BIN)/pip install --quiet --group dev
	@touch $@

.PHONY: packages
packages: ## Install the Debian packages that the tests need
	@.ci/install-packages

.PHONY: clean
clean: ## Remove all that these commands made in this folder
	rm -rf .venv build .coverage .hypothesis .import_linter_cache .mypy_cache .pytest_cache .ruff_cache
	find . -name __pycache__ -prune -exec rm -rf {} +
