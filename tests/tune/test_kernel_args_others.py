"""Words beside pci=, which a finding asks for."""

from pathlib import Path

import pytest
from trees.machines import one_switch
from tune.kernel_args_hosts import FIXED, advised

from pcietune.model.profile import ModeName

VM, BAREMETAL = ModeName.VM, ModeName.BAREMETAL


def test_an_intel_host_for_vms_without_an_iommu_is_to_turn_it_on(tmp_path: Path) -> None:
    assert advised(one_switch(tmp_path, iommu=False)).words[-1] == "intel_iommu=on"


def test_where_it_is_on_no_word_asks_for_it(tmp_path: Path) -> None:
    assert len(advised(one_switch(tmp_path)).words) == 1


def test_what_pcietune_wrote_stays_though_nothing_asks_for_it_any_more(tmp_path: Path) -> None:
    advice = advised(one_switch(tmp_path))

    assert "intel_iommu=on" in advice.merge(["ro"], ["intel_iommu=on"]).words


def test_it_goes_with_the_duty(tmp_path: Path) -> None:
    advice = advised(one_switch(tmp_path), FIXED, BAREMETAL)

    assert advice.merge(["ro"], ["intel_iommu=on"]).words[-1] == "iommu=pt"


def test_a_word_of_the_site_is_not_doubled(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)
    tree.put("proc/cmdline", "ro intel_iommu=on")

    assert advised(tree).merged.words.count("intel_iommu=on") == 1


@pytest.mark.parametrize("word", ["iommu=off", "intel_iommu=off", "amd_iommu=off"])
def test_what_turns_the_iommu_off_is_named(tmp_path: Path, word: str) -> None:
    tree = one_switch(tmp_path, iommu=False)
    tree.put("proc/cmdline", f"ro {word}")

    assert advised(tree).notes == (f"{word} turns the IOMMU off, which VMs need: remove it",)


def test_what_stands_against_pass_through_is_named(tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    tree.put("proc/cmdline", "ro iommu=nopt")

    notes = advised(tree, FIXED, BAREMETAL).notes

    assert notes == ("iommu=nopt stands against iommu=pt: remove it",)
