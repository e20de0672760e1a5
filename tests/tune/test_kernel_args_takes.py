"""What a kernel takes: the running one by its symbols and its release, another by its release."""

from pathlib import Path

import pytest
from trees.host import TreeHost
from tune.judged import opened

from pcietune.errors import BadInputError
from pcietune.tune.audit.config_acs import Semantics
from pcietune.tune.kernel_args.takes import named_kernel_takes, running_kernel_takes

WITH = "0000000000000000 t __pci_config_acs"
WITHOUT = "0000000000000000 t pci_enable_acs"


@pytest.mark.parametrize(
    ("release", "symbols", "semantics"),
    [
        pytest.param("6.16.1", WITH, Semantics.FIXED, id="has the fix"),
        pytest.param("6.12.10", WITH, Semantics.BROKEN, id="lacks the fix"),
        pytest.param("5.14.0-611.el9.x86_64", WITH, None, id="by its maker, fix or not"),
        pytest.param("6.16.1", WITHOUT, Semantics.NO_CONFIG_ACS, id="built without"),
        pytest.param("6.16.1", None, Semantics.FIXED, id="symbols not readable"),
        pytest.param("6.8.0-45-generic", None, Semantics.NO_CONFIG_ACS, id="old, not readable"),
        pytest.param("6.14.0-33-generic", WITH, None, id="which stable release is not known"),
    ],
)
def test_symbols_count_before_the_release(
    tmp_path: Path, release: str, symbols: str | None, semantics: Semantics | None
) -> None:
    tree = TreeHost(tmp_path)
    tree.put("proc/sys/kernel/osrelease", release)
    if symbols is not None:
        tree.put("proc/kallsyms", symbols)

    assert running_kernel_takes(opened(tree)).semantics is semantics


@pytest.mark.parametrize(
    ("release", "semantics"),
    [("6.8", Semantics.NO_CONFIG_ACS), ("6.12.22", Semantics.BROKEN), ("6.15", Semantics.FIXED)],
)
def test_a_named_kernel_goes_by_its_number_and_says_so(release: str, semantics: Semantics) -> None:
    takes = named_kernel_takes(release)

    assert takes.semantics is semantics
    assert takes.reason.endswith("distributions backport, so ask there")


def test_what_is_no_release_is_refused() -> None:
    with pytest.raises(BadInputError, match="'trixie' is no kernel release"):
        named_kernel_takes("trixie")
