"""Bytes by QEMU's hw/vfio/pci-quirks.c: 09, next, 08, "P2P", clique << 3, 0."""

import pytest
from trees.config import ConfigBuilder

from pcietune.address import PciAddress
from pcietune.registers.config_space import ConfigBytes
from pcietune.registers.p2p_approval import approved_clique

VENDOR_SPECIFIC = 0x09


def _clique(config: ConfigBuilder) -> int | None:
    return approved_clique(ConfigBytes(PciAddress.parse("0000:01:00.0"), config.build()))


def _gpu() -> ConfigBuilder:
    return ConfigBuilder("10de:20f3", 0x030200).power_management()


@pytest.mark.parametrize("clique", [0, 1, 15])
def test_the_clique_is_read_behind_the_signature(clique: int) -> None:
    body = b"\x08P2P" + bytes([clique << 3, 0])

    assert _clique(_gpu().capability(VENDOR_SPECIFIC, body, at=0xC8)) == clique


def test_it_may_stand_behind_another_vendor_specific_capability() -> None:
    config = _gpu().capability(VENDOR_SPECIFIC, b"\x14" + bytes(0x11))

    assert _clique(config.capability(VENDOR_SPECIFIC, b"\x08P2P\x10\x00", at=0xD4)) == 2


@pytest.mark.parametrize("body", [b"\x08P2X\x00\x00", b"\x08X2P\x00\x00", b"\x08P2P\x01\x00"])
def test_another_signature_or_version_is_no_word_of_it(body: bytes) -> None:
    assert _clique(_gpu().capability(VENDOR_SPECIFIC, body)) is None


def test_a_gpu_as_it_is_built_has_none() -> None:
    assert _clique(_gpu()) is None
