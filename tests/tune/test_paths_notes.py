from pathlib import Path

import pytest
from trees.config import ConfigBuilder
from trees.function import Function, downstream_port, gpu, nic, root_port
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT
from tune.paths_hosts import pair, undescribed, viewed

from pcietune.model.profile import ModeName
from pcietune.tune.paths.pairs import Look

UP = "0000:21:00.0"
EXONERATED = "ACS is not what keeps"


def ports(word: int, *, capable: int = 0x5F) -> list[Function]:
    """Return all ports of one_switch with this word in ACS Control."""
    down = [downstream_port(a, below=UP, acs=(capable, word)) for a in (GPU_PORT, NIC_PORT)]
    return [*down, root_port(ROOT_PORT, acs=(capable, word))]


def test_acs_that_is_all_off_is_not_to_blame(tmp_path: Path) -> None:
    view = undescribed(one_switch(tmp_path, instead=ports(0)))

    assert any(note.startswith(f"{EXONERATED} any two") for note in view.notes)
    assert any(note.startswith(f"{EXONERATED} these two") for note in pair(view, NIC, GPU).notes)


def test_source_validation_alone_redirects_nothing(tmp_path: Path) -> None:
    view = undescribed(one_switch(tmp_path, instead=ports(0x01)))

    (note,) = (note for note in view.notes if note.startswith(EXONERATED))
    assert note.endswith("SrcValid+ by itself redirects nothing")


@pytest.mark.parametrize("word", [0x02, 0x04, 0x08, 0x20])
def test_acs_that_redirects_or_blocks_is_not_exonerated(tmp_path: Path, word: int) -> None:
    view = undescribed(one_switch(tmp_path, instead=ports(word, capable=0x7F)))

    assert not any(EXONERATED in note for note in (*view.notes, *pair(view, NIC, GPU).notes))


def test_acs_that_cannot_be_read_is_not_exonerated(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=ports(0))
    config = tree.config(NIC_PORT)
    config.write_bytes(config.read_bytes()[:64])
    view = undescribed(tree)

    assert not any(EXONERATED in note for note in (*view.notes, *pair(view, NIC, GPU).notes))


def test_redirection_across_sockets_is_to_be_expected_to_fail(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    far = nic("0000:81:00.0", below="0000:80:01.0")
    far.attributes["numa_node"] = "1"
    tree.add(root_port("0000:80:01.0"), far)

    notes = pair(undescribed(tree), "0000:81:00.0", GPU).notes

    assert any("expect failure, not only slowness" in note for note in notes)
    assert not any("expect failure" in n for n in pair(undescribed(tree), NIC, GPU).notes)


def host_bridge(function_id: str) -> Function:
    return Function("0000:20:00.0", ConfigBuilder(function_id, 0x060000))


def test_p2pdma_refuses_a_root_complex_that_is_not_in_its_list(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)
    tree.add(host_bridge("8086:4c43"))  # Rocket Lake

    (note,) = pair(undescribed(tree), NIC, GPU).notes

    assert "refuses this root complex (8086:4c43)" in note
    assert "distance -1" in note
    assert "bus addresses" in note


def test_p2pdma_lets_peers_use_a_listed_root_complex(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)
    tree.add(host_bridge("8086:2020"))  # Sky Lake-E

    (note,) = pair(undescribed(tree), NIC, GPU).notes

    assert "lets peers use this root complex (8086:2020)" in note


def test_a_root_complex_listed_for_one_bridge_is_none_for_two(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)
    tree.add(host_bridge("8086:2f00"))
    tree.add(
        Function("0000:80:00.0", ConfigBuilder("8086:2f00", 0x060000)),
        root_port("0000:80:01.0"),
        gpu("0000:81:00.0", below="0000:80:01.0"),
    )
    view = undescribed(tree)

    assert any("lets peers use" in note for note in pair(view, NIC, GPU).notes)
    assert any("refuses" in note for note in pair(view, NIC, "0000:81:00.0").notes)


def test_whether_an_amd_is_zen_is_not_known_by_an_id_that_is_not_listed(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)
    tree.add(host_bridge("1022:14a4"))

    (note,) = pair(undescribed(tree), NIC, GPU).notes

    assert "not known here: it does on AMD since Zen" in note


def test_p2pdmas_advice_is_warned_of_where_directtrans_is_on(tmp_path: Path) -> None:
    view = viewed(one_switch(tmp_path, instead=ports(0x5D)), ModeName.VM)

    assert any("pci=disable_acs_redir=" in note for note in view.notes)


def test_iommufd_is_a_note_as_long_as_no_vm_runs(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    assert any("iommufd" in note for note in undescribed(tree, Look(ModeName.VM)).notes)
    assert not any("iommufd" in note for note in undescribed(tree).notes)

    tree.put("proc/sys/kernel/osrelease", "7.0.0")
    assert not any("iommufd" in note for note in undescribed(tree, Look(ModeName.VM)).notes)


def test_root_ports_that_redirect_are_named_with_what_clears_them_at_boot(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)
    tree.add(root_port("0000:40:01.0"), gpu("0000:41:00.0", below="0000:40:01.0"))

    notes = pair(undescribed(tree), GPU, "0000:41:00.0").notes

    assert any("ReqRedir+ at 0000:20:01.0 and 0000:40:01.0 redirects" in note for note in notes)
    assert any("pci=disable_acs_redir=0000:20:01.0;0000:40:01.0" in note for note in notes)
    assert not any("disable_acs_redir" in note for note in pair(undescribed(tree), NIC, GPU).notes)
