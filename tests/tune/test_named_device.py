"""Expected: the forms of Documentation/admin-guide/kernel-parameters.txt, ``<pci_dev>``."""

from pathlib import Path

import pytest
from trees.machines import one_switch
from tune.judged import NIC_PORT, at, opened

from pcietune.tune.audit.named_device import is_device, means


@pytest.mark.parametrize(
    "text",
    [
        "0000:22:04.0",
        "22:04.0",
        "22:4.0",
        "0000:20:01.0/00.0/04.0",
        "20:01.0/0.0/4.0",
        "0000:21:00.0/04.0",
        "pci:1000:c010",
        "PCI:1000:C010",
        "pci:1000:0",
        "pci:0:0",
        "pci:1000:c010:0:0",
    ],
)
def test_a_device_is_named_by_address_path_or_ids(tmp_path: Path, text: str) -> None:
    assert is_device(text)
    assert means(text, at(opened(one_switch(tmp_path)), NIC_PORT))


@pytest.mark.parametrize(
    "text",
    [
        "0001:22:04.0",
        "0000:22:00.0",
        "0000:20:01.0/00.0/00.0",
        "0000:20:01.0/04.0",
        "0000:10:01.0/20.0/01.0/00.0/04.0",
        "pci:1000:c011",
        "pci:8086:0",
        "pci:1000:c010:1:0",
    ],
)
def test_another_device_is_not_meant(tmp_path: Path, text: str) -> None:
    assert is_device(text)
    assert not means(text, at(opened(one_switch(tmp_path)), NIC_PORT))


@pytest.mark.parametrize("text", ["", "22", "pci:1000", "22:04", "0000:22:04.0/", "nic0"])
def test_what_the_kernel_cannot_parse_means_nothing(tmp_path: Path, text: str) -> None:
    assert not is_device(text)
    assert not means(text, at(opened(one_switch(tmp_path)), NIC_PORT))
