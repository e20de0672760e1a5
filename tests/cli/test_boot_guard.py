"""The boot-loop guard: what a third boot does and does not do."""

from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from trees.machines import one_switch

VM = ("--profile", "gpu-rdma", "--mode", "vm")
THIS = "3d1f3a2e-0c43-4a5b-9a52-2f5d7f4c8e01"
NIC_PORT = "0000:22:04.0"
WHY = "the last 2 boots never reached multi-user.target: nothing is written unattended in this one"


class Booted:
    """A host that may be written to unattended, after boots that did not come up."""

    def __init__(self, root: Path, pcietune: Pcietune) -> None:
        self._root, self._pcietune = root, pcietune
        self._host = one_switch(root)
        self._host.put("etc/pcietune/pcietune.yaml", "enforce: apply")
        self._before = self.registers()

    def after(self, *failed: str) -> "Booted":
        """Boot once more after these."""
        self._host.put("run/pcietune/boot-attempts", "\n".join((*failed, THIS)))
        return self

    def run(self, *arguments: str) -> Run:
        """Run a command on the host."""
        return self._pcietune(*arguments, "--from", self._root, *VM)

    def registers(self) -> bytes:
        """Return the Configuration Space of the port that apply writes."""
        return self._host.config(NIC_PORT).read_bytes()

    @property
    def written(self) -> bool:
        """Whether apply wrote."""
        return self.registers() != self._before


@pytest.fixture
def host(tmp_path: Path, pcietune: Pcietune) -> Booted:
    return Booted(tmp_path, pcietune)


def test_after_two_boots_that_never_came_up_an_unattended_apply_only_judges(host: Booted) -> None:
    run = host.after("one", "other").run("apply", "--unattended", "--in-place")

    assert run.exit_code == 3
    assert not host.written
    assert f"guard    {WHY}" in run.stdout
    assert f"nothing was written: this run is unattended, and {WHY}" in run.stdout


def test_the_document_says_so(host: Booted) -> None:
    document = host.after("one", "other").run("apply", "--unattended", "--in-place", "--json")

    assert document.document().guard == WHY
    assert document.document().writes == []


def test_a_typed_apply_writes_all_the_same(host: Booted) -> None:
    host.after("one", "other").run("apply", "--in-place")

    assert host.written


def test_after_one_such_boot_it_writes(host: Booted) -> None:
    run = host.after("one").run("apply", "--unattended", "--in-place")

    assert host.written
    assert "guard" not in run.stdout


def test_a_host_without_the_guard_is_written_to(host: Booted) -> None:
    host.run("apply", "--unattended", "--in-place")

    assert host.written


def test_status_says_what_is_held_back(host: Booted) -> None:
    assert f"guard    {WHY}" in host.after("one", "other").run("status").stdout
