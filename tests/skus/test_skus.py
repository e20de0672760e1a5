"""Each shipped profile beside a server of its kind, and servers that only look alike."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from cli.in_process import Pcietune, Run
from skus.server import LONELY_GPU, VF, Server
from skus.table import CONNECTX_7, SKUS, Sku

SHIPPED = Path(__file__).parents[2] / "profiles"
BY_NAME = {sku.profile: sku for sku in SKUS}
OPEN = ("gpu-rdma", "accelerator-rdma")  # know no shape, so nothing in them is in a wrong place


def _named(pairs: Sequence[tuple[Sku, str]]) -> list[object]:
    return [pytest.param(sku, value, id=f"{sku.profile} {value}") for sku, value in pairs]


EACH = pytest.mark.parametrize("sku", SKUS, ids=lambda sku: sku.profile)
EACH_GPU = _named([(sku, gpu) for sku in SKUS for gpu in sku.gpus])
EACH_NEAR = _named([(sku, gpu) for sku in SKUS for gpu in sku.near])
SHAPED = pytest.mark.parametrize(
    "sku", [sku for sku in SKUS if sku.profile not in OPEN], ids=lambda sku: sku.profile
)
BOARDS = pytest.mark.parametrize(
    "sku", [BY_NAME["a800-sxm4-8gpu"], BY_NAME["h20-sxm5-8gpu"]], ids=lambda sku: sku.profile
)


def _server(sku: Sku, gpu: str | None = None) -> Server:
    return replace(sku.server, gpus=[gpu or sku.gpus[0]])


def _chosen(pcietune: Pcietune, server: Server, root: Path) -> str | None:
    """Return the profile that the server is recognised by, however much of it is lost.

    None if it is by none.
    """
    replace(server, switches=min(server.switches, 1), nvswitches=server.nvswitches[:1]).build(root)
    run = pcietune("profile", "match", "--from", root)
    assert run.exit_code in (0, 9)
    return run.stdout.splitlines()[-1].removeprefix("chosen  ") if run.exit_code == 0 else None


def _audit(pcietune: Pcietune, server: Server, root: Path, mode: str = "vm") -> Run:
    server.build(root)
    return pcietune("audit", "--from", root, "--mode", mode, "--json")


def _layout(run: Run) -> dict[str, set[str]]:
    """Return the states of what was judged of counts and places, by id."""
    states: dict[str, set[str]] = {}
    for finding in run.document().findings:
        if finding.id.startswith("layout."):
            states.setdefault(finding.id, set()).add(finding.state)
    return states


def test_every_shipped_profile_has_a_row() -> None:
    assert sorted(BY_NAME) == sorted(file.stem for file in SHIPPED.glob("*.yaml"))


@pytest.mark.parametrize(("sku", "gpu"), EACH_GPU)
def test_a_server_is_recognised_by_its_gpus(
    pcietune: Pcietune, tmp_path: Path, sku: Sku, gpu: str
) -> None:
    assert _chosen(pcietune, _server(sku, gpu), tmp_path) == sku.profile


@pytest.mark.parametrize(("sku", "gpu"), EACH_NEAR)
def test_a_server_with_other_gpus_is_of_another_kind(
    pcietune: Pcietune, tmp_path: Path, sku: Sku, gpu: str
) -> None:
    assert _chosen(pcietune, _server(sku, gpu), tmp_path) == sku.near[gpu]


@EACH
def test_a_server_set_for_vms_is_as_wanted_with_nics_of_any_generation(
    pcietune: Pcietune, tmp_path: Path, sku: Sku
) -> None:
    run = _audit(pcietune, _server(sku), tmp_path)

    document = run.document()
    assert document.profile is not None
    assert document.profile.name == sku.profile
    handed_over = {f.subject.id for f in document.findings if f.id == "nic.ats"}
    assert handed_over == ({VF} if sku.server.vfs else set(sku.server.nics))
    assert (run.exit_code, run.failing()) == (0, set())
    assert set().union(*_layout(run).values()) == {"pass"}


@EACH
def test_a_server_set_for_bare_metal_is_as_wanted_there(
    pcietune: Pcietune, tmp_path: Path, sku: Sku
) -> None:
    run = _audit(pcietune, replace(_server(sku), for_vms=False), tmp_path, "baremetal")

    assert (run.exit_code, run.failing()) == (0, set())


@EACH
def test_a_server_set_for_the_other_duty_is_not_as_wanted(
    pcietune: Pcietune, tmp_path: Path, sku: Sku
) -> None:
    for_vms, for_bare_metal = _server(sku), replace(_server(sku), for_vms=False)

    first = _audit(pcietune, for_vms, tmp_path / "vm", "baremetal")
    second = _audit(pcietune, for_bare_metal, tmp_path / "baremetal", "vm")

    assert (first.exit_code, second.exit_code) == (3, 3)
    roots = {f"0000:{0x20 * n + 0x20:02x}:01.0" for n in range(sku.server.switches)}
    assert {("port.upstream.ReqRedir", root) for root in roots} <= first.failing()
    assert {("port.upstream.ReqRedir", root) for root in roots} <= second.failing()


@SHAPED
def test_a_gpu_in_the_wrong_place_is_named(pcietune: Pcietune, tmp_path: Path, sku: Sku) -> None:
    run = _audit(pcietune, replace(_server(sku), lonely=True), tmp_path)

    assert run.exit_code == 3
    lonely = run.finding("layout.misplaced", LONELY_GPU)
    assert (lonely.state, lonely.found.text) == ("fail", "below no switch")
    misplaced = [f for f in run.document().findings if f.id == "layout.misplaced"]
    assert [f.subject.address for f in misplaced if f.state != "pass"] == [LONELY_GPU]


@pytest.mark.parametrize("name", OPEN)
def test_a_generic_profile_minds_no_gpu_below_a_root_port(
    pcietune: Pcietune, tmp_path: Path, name: str
) -> None:
    run = _audit(pcietune, replace(_server(BY_NAME[name]), lonely=True), tmp_path)

    assert (run.exit_code, run.failing()) == (0, set())


@BOARDS
@pytest.mark.parametrize("nodes", [(0, 1, 2, 3), (0, 0, 1, 2), (1, 1, 3, 3)])
def test_nodes_per_socket_and_sub_numa_clusters_are_as_wanted(
    pcietune: Pcietune, tmp_path: Path, sku: Sku, nodes: Sequence[int]
) -> None:
    run = _audit(pcietune, replace(_server(sku), nodes=nodes), tmp_path)

    assert run.exit_code == 0
    assert _layout(run)["layout.numa-nodes"] == {"pass"}


@BOARDS
def test_a_board_all_of_whose_switches_are_at_one_node_is_told(
    pcietune: Pcietune, tmp_path: Path, sku: Sku
) -> None:
    run = _audit(pcietune, replace(_server(sku), nodes=[0]), tmp_path)

    assert run.failing() == {("layout.numa-nodes", "host")}


@BOARDS
def test_functions_without_a_numa_node_are_named(
    pcietune: Pcietune, tmp_path: Path, sku: Sku
) -> None:
    run = _audit(pcietune, replace(_server(sku), nodes=[0, 0, 1, -1]), tmp_path)

    assert run.exit_code == 3
    assert run.failing() == {
        ("layout.numa-node", f"0000:{bus:02x}:00.0") for bus in (0x83, 0x84, 0x85, 0x86)
    }


@BOARDS
def test_a_board_that_lost_nvswitches_is_still_recognised_and_judged(
    pcietune: Pcietune, tmp_path: Path, sku: Sku
) -> None:
    run = _audit(pcietune, replace(_server(sku), nvswitches=sku.server.nvswitches[1:]), tmp_path)

    assert run.failing() == {("layout.nvswitch", "host")}


def test_an_nvswitch_is_one_by_its_class_whatever_its_id(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    server = replace(_server(BY_NAME["h200-sxm5-8gpu"]), nvswitches=["10de:22a4"] * 4)

    run = _audit(pcietune, server, tmp_path)

    assert run.exit_code == 0
    assert run.finding("layout.nvswitch", "host").found.text == "4 NVSwitches"


def test_a_hopper_board_may_have_a_switch_for_each_gpu_and_its_nic(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    # Azure/azhpc-images, topology/ndv5-topo.xml: 8 switches with one H100 and one NIC each
    server = replace(_server(BY_NAME["h100-sxm5-8gpu"]), switches=8, gpus_each=1, nics_each=1)

    run = _audit(pcietune, server, tmp_path)

    assert (run.exit_code, run.failing()) == (0, set())


@pytest.mark.parametrize("name", ["a100-sxm4-8gpu", "h100-sxm5-8gpu", "h20-sxm5-8gpu"])
def test_a_board_may_have_a_storage_nic_beside_the_rails(
    pcietune: Pcietune, tmp_path: Path, name: str
) -> None:
    run = _audit(pcietune, replace(_server(BY_NAME[name]), nics_each=3), tmp_path)

    assert (run.exit_code, run.failing()) == (0, set())


def test_an_a800_board_has_its_two_rails_below_each_switch_and_no_more(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    run = _audit(pcietune, replace(_server(BY_NAME["a800-sxm4-8gpu"]), nics_each=3), tmp_path)

    assert run.failing() == {
        ("layout.switch-group", f"0000:{bus:02x}:00.0") for bus in (0x21, 0x41, 0x61, 0x81)
    }


def test_nvswitches_alone_make_no_hgx_server(pcietune: Pcietune, tmp_path: Path) -> None:
    server = replace(BY_NAME["gpu-rdma"].server, nvswitches=["10de:22a3"] * 4)

    assert _chosen(pcietune, server, tmp_path) == "gpu-rdma"


def test_h20_of_both_sizes_in_one_server_are_one_kind(pcietune: Pcietune, tmp_path: Path) -> None:
    sku = BY_NAME["h20-sxm5-8gpu"]

    run = _audit(pcietune, replace(sku.server, gpus=sku.gpus), tmp_path)

    assert (run.exit_code, run.failing()) == (0, set())
    assert run.finding("layout.gpu", "host").found.text == "8 GPUs"


def test_no_gpu_belongs_to_two_kinds() -> None:
    gpus = [gpu for sku in SKUS if sku.profile not in OPEN for gpu in sku.gpus]

    assert len(gpus) == len(set(gpus))


def test_a_server_of_two_kinds_is_told_both_names(pcietune: Pcietune, tmp_path: Path) -> None:
    server = replace(BY_NAME["h100-sxm5-8gpu"].server, gpus=["10de:2330", "10de:2335"])
    server.build(tmp_path)

    run = pcietune("audit", "--from", tmp_path, "--mode", "vm")

    assert run.exit_code == 9
    assert "h100-sxm5-8gpu and h200-sxm5-8gpu match this host equally well" in run.stderr


def test_a_board_of_four_has_a_sites_profile_which_wins_by_dmi(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    board = replace(_server(BY_NAME["a100-sxm4-8gpu"]), switches=2, nodes=[0, 1], nvswitches=())
    board.build(tmp_path).put(
        "etc/pcietune/profiles.d/a100-4gpu.yaml",
        "extends: a100-sxm4-8gpu\nmatch: {dmi: {product_name: GPU Server*}}\n"
        "layout: {gpu: 4, nvswitch: ~, switch-groups: {count: 2}}",
    )

    run = pcietune("audit", "--from", tmp_path, "--mode", "vm", "--json")

    profile = run.document().profile
    assert profile is not None
    assert (run.exit_code, profile.name) == (0, "a100-4gpu")


def test_an_l20_below_a_root_port_of_its_own_is_no_kind_of_server(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    server = Server(["10de:26ba"], [CONNECTX_7], switches=0, lonely=True)

    assert _chosen(pcietune, server, tmp_path) is None


def test_an_l20_server_wants_the_groups_of_its_nics_vfs_apart(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    run = _audit(pcietune, _server(BY_NAME["l20"]), tmp_path)

    vfs = {f"0000:{bus:02x}:00.{vf}" for bus in (0x25, 0x45, 0x65, 0x85) for vf in (1, 2)}
    apart = {
        f.subject.address: f.state for f in run.document().findings if f.id == "group.separate"
    }
    assert {apart.get(vf) for vf in vfs} == {"pass"}
    assert "0000:25:00.0" not in apart
