"""What rdma_topo of rdma-core (kernel-boot/rdma_topo; B13) asks, beside the shipped profiles.

A row is written as there: bits 6 to 0, x for a bit that is not asked about. Its rows for Data
Direct (GB300: the DMA function's port xx110x1, the GPU's xx101x1, the root port xx111x0) are in no
shipped profile; the last test has a site profile with them. One thing of them no profile can say:
`upstream` is one place, so that an inner downstream port above a GPU gets the root port's rule.
"""

from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from trees.function import Function, downstream_port, nic, root_port
from trees.groups import into_group
from trees.machines import one_switch

ROOT, UPSTREAM = "0000:20:01.0", "0000:21:00.0"
GPU_PORT, NIC_PORT = "0000:22:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"
PLACES = {"nic-side": NIC_PORT, "gpu-side": GPU_PORT, "upstream": ROOT}
CAPABLE = 0x007F
CONTROLS = (
    "SrcValid", "TransBlk", "ReqRedir", "CmpltRedir", "UpstreamFwd", "EgressCtrl", "DirectTrans",
)  # fmt: skip
VM = {"nic-side": "1x111x1", "gpu-side": "xx111x1", "upstream": "xx111x1"}
BAREMETAL = dict.fromkeys(PLACES, "xx000x0")
VM_BITS = [
    pytest.param(place, bit, id=f"{place} {CONTROLS[bit]}")
    for place, row in VM.items()
    for bit in range(7)
    if row[6 - bit] != "x"
]


def _word(row: str) -> int:
    return int(row.replace("x", "0"), 2)


def _ports(words: dict[str, int], capability: int = CAPABLE) -> list[Function]:
    return [
        root_port(ROOT, acs=(capability, words["upstream"])),
        downstream_port(GPU_PORT, below=UPSTREAM, acs=(CAPABLE, words["gpu-side"])),
        downstream_port(NIC_PORT, below=UPSTREAM, acs=(CAPABLE, words["nic-side"])),
    ]


def _audit(pcietune: Pcietune, host: Path, mode: str, profile: str = "gpu-rdma") -> Run:
    return pcietune("audit", "--from", host, "--profile", profile, "--mode", mode, "--json")


def _failing_ports(run: Run) -> set[tuple[str, str]]:
    """Return place and control of each port finding that fails, softened or not."""
    failing = [f for f in run.document().findings if f.state == "fail"]
    ids = [f.id.split(".") for f in failing if f.id.startswith("port.")]
    return {(place, control) for _, place, control in ids}


def _words(rows: dict[str, str]) -> dict[str, int]:
    return {place: _word(row) for place, row in rows.items()}


def test_inline_vm_what_rdma_topo_asks_for_is_as_wanted(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path, instead=_ports(_words(VM)))

    run = _audit(pcietune, tmp_path, "vm")

    assert run.exit_code == 0
    assert _failing_ports(run) == set()


@pytest.mark.parametrize(("place", "bit"), VM_BITS)
def test_inline_vm_each_bit_that_rdma_topo_asks_for_is_asked_for(
    pcietune: Pcietune, tmp_path: Path, place: str, bit: int
) -> None:
    words = _words(VM)
    one_switch(tmp_path, instead=_ports(words | {place: words[place] & ~(1 << bit)}))

    assert _failing_ports(_audit(pcietune, tmp_path, "vm")) == {(place, CONTROLS[bit])}


def test_inline_vm_nics_must_have_ats_and_groups_must_differ(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path, instead=[*_ports(_words(VM)), nic(NIC, below=NIC_PORT, ats=None)])
    into_group(host, NIC, 4)

    run = _audit(pcietune, tmp_path, "vm")

    assert {("nic.ats", NIC), ("group.separate", NIC), ("group.separate", GPU)} <= run.failing()


def test_inline_bare_metal_what_rdma_topo_asks_for_is_as_wanted(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    without_ats = nic(NIC, below=NIC_PORT, ats=None)
    host = one_switch(tmp_path, instead=[*_ports(_words(BAREMETAL)), without_ats])
    into_group(host, NIC, 4)
    host.group_type(4, "identity")

    run = _audit(pcietune, tmp_path, "baremetal")

    assert _failing_ports(run) == set()
    assert run.finding("group.together", UPSTREAM).state == "pass"
    assert run.finding("nic.ats", NIC).state == "pass"


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("bit", [2, 3], ids=["ReqRedir", "CmpltRedir"])
def test_inline_bare_metal_redirection_is_to_be_off(
    pcietune: Pcietune, tmp_path: Path, place: str, bit: int
) -> None:
    one_switch(tmp_path, instead=_ports(_words(BAREMETAL) | {place: 1 << bit}))

    assert _failing_ports(_audit(pcietune, tmp_path, "baremetal")) == {(place, CONTROLS[bit])}


@pytest.mark.parametrize("bit", [0, 4], ids=["SrcValid", "UpstreamFwd"])
def test_inline_bare_metal_what_redirects_nothing_by_itself_may_stay_though_rdma_topo_minds(
    pcietune: Pcietune, tmp_path: Path, bit: int
) -> None:
    words = dict.fromkeys(PLACES, 1 << bit)
    one_switch(tmp_path, instead=_ports(words))

    assert _failing_ports(_audit(pcietune, tmp_path, "baremetal")) == set()


def test_inline_bare_metal_groups_apart_are_not_as_wanted_and_none_at_all_are(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path / "apart", instead=_ports(_words(BAREMETAL)))
    one_switch(tmp_path / "none", iommu=False, instead=_ports(_words(BAREMETAL)))

    apart = _audit(pcietune, tmp_path / "apart", "baremetal")
    none = _audit(pcietune, tmp_path / "none", "baremetal")

    assert apart.finding("group.together", UPSTREAM).state == "fail"
    assert none.finding("group.together", UPSTREAM).state == "pass"


def test_a_vera_root_port_whose_completion_redirect_reads_0_for_good_is_as_wanted(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    words = _words(VM) | {"upstream": _word("xx101x1")}
    one_switch(tmp_path, instead=_ports(words, capability=0x0057))

    run = _audit(pcietune, tmp_path, "vm")

    assert run.exit_code == 0
    finding = run.finding("port.upstream.CmpltRedir", ROOT)
    assert finding.state == "pass"
    assert "hard-wired to the safe behaviour" in finding.reason
    assert run.finding("group.isolation", UPSTREAM).state == "pass"


DATA_DIRECT = """\
version: 1
summary: Data Direct, GPU and DMA function below one switch
match: {ids: ["10de:20f3"]}
roles:
  gpu: {ids: ["10de:20f3"], trusted: true}
  nic: {ids: ["15b3:101b"], place: gpu-switch}
modes:
  vm:
    ports:
      nic-side: {require: [SrcValid+, ReqRedir-, CmpltRedir+, UpstreamFwd+]}
      gpu-side: {require: [SrcValid+, ReqRedir+, CmpltRedir-, UpstreamFwd+]}
      upstream: {require: [SrcValid-, ReqRedir+, CmpltRedir+, UpstreamFwd+]}
    groups: ignore
"""


def test_data_direct_a_site_profile_can_ask_for_what_rdma_topo_does(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    rows = {"nic-side": "xx110x1", "gpu-side": "xx101x1", "upstream": "xx111x0"}
    profile = tmp_path / "data-direct.yaml"
    profile.write_text(DATA_DIRECT)
    one_switch(tmp_path / "as-wanted", instead=_ports(_words(rows)))
    one_switch(tmp_path / "by-linux", instead=_ports(dict.fromkeys(PLACES, 0x001D)))

    as_wanted = _audit(pcietune, tmp_path / "as-wanted", "vm", str(profile))
    by_linux = _audit(pcietune, tmp_path / "by-linux", "vm", str(profile))

    assert _failing_ports(as_wanted) == set()
    assert _failing_ports(by_linux) == {
        ("nic-side", "ReqRedir"),
        ("gpu-side", "CmpltRedir"),
        ("upstream", "SrcValid"),
    }
