"""Figures by the specification's arithmetic: GT/s, lanes and line coding of its link chapters."""

from pathlib import Path

import pytest
from trees.express import Express
from trees.fabrics import cascade, two_switches
from trees.function import downstream_port, gpu, nic, root_port, upstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, opened
from tune.paths_hosts import pair, undescribed, viewed

from pcietune.address import PciAddress
from pcietune.model.profile import ModeName
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.bandwidth import Bandwidth, BandwidthClass, BandwidthOf
from pcietune.tune.paths.links import gigabytes

UP = "0000:21:00.0"
ROOT = "0000:20:01.0"


def bandwidth(
    tree: TreeHost, one: str = NIC, other: str = GPU, mode: ModeName | None = None
) -> Bandwidth:
    """Return what the writes of the first to the second can carry."""
    view = undescribed(tree) if mode is None else viewed(tree, mode)
    found = pair(view, one, other)
    host = opened(tree)
    of = BandwidthOf(host, survey(host, lambda functions: functions), view.peers)
    return of(found.now.forth.write, found.place)


def direct(root: Path, **links: Express) -> TreeHost:
    """Return a host whose NIC and GPU send by physical addresses across their switch."""
    plain = Express()
    above = links.get("nic_port", links.get("nic", plain))
    instead = [
        downstream_port(GPU_PORT, below=UP, acs=None, express=links.get("gpu", plain)),
        downstream_port(NIC_PORT, below=UP, acs=None, express=above),
        gpu(GPU, below=GPU_PORT, express=links.get("gpu", plain)),
        nic(NIC, below=NIC_PORT, express=links.get("nic", plain)),
    ]
    return one_switch(root, iommu=False, instead=instead)


@pytest.mark.parametrize(
    ("gigatransfers", "lanes", "expected"),
    [
        pytest.param(2.5, 1, 0.25, id="8b10b: a fifth is lost"),
        pytest.param(5.0, 16, 8.0, id="as PCIe 2.0 is sold"),
        pytest.param(8.0, 16, 15.75, id="128b/130b"),
        pytest.param(16.0, 16, 31.5, id="fourth generation"),
        pytest.param(32.0, 16, 63.0, id="fifth"),
        pytest.param(64.0, 16, 121.0, id="FLITs of 256 bytes, 14 of them CRC and FEC"),
    ],
)
def test_a_link_carries_what_its_coding_leaves(
    gigatransfers: float, lanes: int, expected: float
) -> None:
    assert gigabytes(gigatransfers, lanes) == pytest.approx(expected, rel=0.001)


def test_a_direct_way_has_the_narrower_of_both_links(tmp_path: Path) -> None:
    found = bandwidth(direct(tmp_path, nic=Express(lanes=8)))

    assert found.klass is BandwidthClass.SWITCH
    assert found.text == f"15.8 GB/s each way (estimate: 16 GT/s x8 below {NIC_PORT})"
    assert found.short == "15.8 GB/s"


def test_by_way_of_the_root_complex_the_uplink_is_crossed_twice_and_shared(
    tmp_path: Path,
) -> None:
    tree = two_switches(tmp_path)
    found = bandwidth(tree, "0000:24:00.0", "0000:23:00.0", ModeName.VM)

    assert found.klass is BandwidthClass.UPLINK
    assert found.uplink is not None
    assert str(found.uplink.address) == ROOT
    assert found.sharers == 3  # a GPU and two NICs
    assert found.short == "<=31.5 GB/s, shared by 3"
    assert "3 peers share and every byte crosses twice" in found.text
    assert "50 to 60 % of bare metal" in found.text


def test_a_cascades_inner_uplinks_are_crossed_too(tmp_path: Path) -> None:
    slow = Express(lanes=4)
    inner = [
        downstream_port("0000:22:00.0", below=UP, express=slow),
        upstream_port("0000:23:00.0", below="0000:22:00.0", express=slow),
    ]
    tree = cascade(tmp_path, instead=inner)
    found = bandwidth(tree, "0000:26:00.0", "0000:25:00.0", ModeName.VM)

    assert found.narrowest is not None
    assert str(found.narrowest.port.address) == "0000:22:00.0"
    assert found.gigabytes == pytest.approx(7.877, abs=0.001)
    assert found.sharers == 3  # below the root port: two GPUs and the NIC


def test_two_root_ports_are_no_shared_uplink(tmp_path: Path) -> None:
    found = bandwidth(two_switches(tmp_path), "0000:24:00.0", "0000:43:00.0", ModeName.VM)

    assert found.klass in (BandwidthClass.ROOT, BandwidthClass.SOCKET, BandwidthClass.UNKNOWN)
    assert found.uplink is None
    assert found.text.startswith("at most 31.5 GB/s")


def test_what_never_arrives_carries_nothing(tmp_path: Path) -> None:
    ports = [downstream_port(a, below=UP, acs=(0x5F, 0)) for a in (GPU_PORT, NIC_PORT)]
    tree = one_switch(tmp_path, instead=[*ports, root_port(ROOT, acs=(0x5F, 0))])
    view = viewed(tree, ModeName.VM)
    host = opened(tree)
    of = BandwidthOf(host, survey(host, lambda functions: functions), view.peers)
    found = pair(view, NIC, GPU)

    assert of(found.now.back.write, found.place).klass is BandwidthClass.NONE
    assert of(found.now.back.write, found.place).text == "nothing arrives"


def test_a_link_that_trained_down_counts_as_it_runs_and_is_named(tmp_path: Path) -> None:
    found = bandwidth(direct(tmp_path, nic=Express(running=(3, 8))))

    assert found.text == (
        f"7.88 GB/s each way (estimate: 8 GT/s x8 below {NIC_PORT}); "
        f"the link below {NIC_PORT} runs at 8 GT/s x8 of 16 GT/s x16"
    )


def test_a_gpus_link_that_its_driver_may_have_slowed_down_counts_as_it_could_run(
    tmp_path: Path,
) -> None:
    found = bandwidth(direct(tmp_path, gpu=Express(running=(1, 8))))

    assert found.gigabytes == pytest.approx(15.754, abs=0.001)
    assert f"below {GPU_PORT} runs at 2.5 GT/s x8 of 16 GT/s x16, which an idle" in found.text


def test_a_link_is_no_better_than_what_both_ends_can(tmp_path: Path) -> None:
    slow = Express(speed=3, lanes=8)
    tree = direct(tmp_path, nic=slow, nic_port=Express(running=(3, 8)))

    assert "runs at" not in bandwidth(tree).text


def test_a_link_that_cannot_be_read_is_told_and_not_made_up(tmp_path: Path) -> None:
    tree = direct(tmp_path, nic=Express(running=(0, 0)))
    found = bandwidth(tree)

    assert f"the link below {NIC_PORT} is not known" in found.text
    assert found.narrowest is not None
    assert str(found.narrowest.port.address) == GPU_PORT


def test_without_any_known_link_there_is_no_figure(tmp_path: Path) -> None:
    none = Express(running=(0, 0))
    found = bandwidth(direct(tmp_path, nic=none, gpu=none))

    assert found.gigabytes is None
    assert found.short == "?"
    assert "not known" in found.text


def test_copies_of_the_hosts_memory_cross_all_links_above(tmp_path: Path) -> None:
    slow = Express(lanes=8)
    roots = [root_port(ROOT, express=slow), upstream_port(UP, below=ROOT, express=slow)]
    tree = one_switch(tmp_path, instead=roots)
    host = opened(tree)
    fabric = survey(host, lambda functions: functions)
    found = BandwidthOf(host, fabric, ()).to_host(fabric.functions[PciAddress.parse(GPU)])

    assert found.gigabytes == pytest.approx(15.754, abs=0.001)
