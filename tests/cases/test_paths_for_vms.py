"""Public reports on peer-to-peer in VMs: which port decides, and by which bit."""

from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.function import ACS_CAPABLE, downstream_port
from trees.machines import one_switch

from pcietune.report.paths_document import PairDocument, PathsDocument

UPSTREAM, NIC_PORT = "0000:21:00.0", "0000:22:04.0"


def _pair(pcietune: Pcietune, root: Path, control: int) -> PairDocument:
    """Return NIC and GPU below one switch, whose NIC port has this ACS Control; ATS is on."""
    port = downstream_port(NIC_PORT, below=UPSTREAM, acs=(ACS_CAPABLE, control))
    one_switch(root, instead=[port])
    run = pcietune("paths", "--from", root, "--mode", "vm", "--json")
    assert run.exit_code == 0
    (pair,) = msgspec.json.decode(run.stdout, type=PathsDocument).pairs
    return pair


# NVIDIA/nccl#949 (C01): half the bandwidth in VMs until the host's ports had DirectTrans, too.


def test_redirection_without_direct_translated_goes_up_and_names_the_nics_port(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    pair = _pair(pcietune, tmp_path, 0x001D)

    write = pair.now.forth.write
    assert (write.outcome, write.at) == ("via root complex", NIC_PORT)
    assert pair.cure_forth is not None
    (change,) = pair.cure_forth.changes
    assert (change.address, change.text[:12]) == (NIC_PORT, "DirectTrans+")


def test_with_direct_translated_and_ats_the_nics_writes_are_direct(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    assert _pair(pcietune, tmp_path, 0x005D).now.forth.write.outcome == "direct"


# Thread "Enable PCI_ACS_TB" (B14): TransBlk+ refuses what a device with ATS sends.


@pytest.mark.parametrize("control", [0x001F, 0x005F])
def test_translation_blocking_above_a_nic_with_ats_stops_it_and_is_named(
    pcietune: Pcietune, tmp_path: Path, control: int
) -> None:
    write = _pair(pcietune, tmp_path, control).now.forth.write

    assert (write.outcome, write.at, write.control) == ("blocked", NIC_PORT, "TransBlk")
