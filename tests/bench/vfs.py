"""Virtual functions of a NIC, as the kernel makes them for a PF driver's administrator."""

from collections.abc import Iterator
from contextlib import contextmanager

from bench.guest import Guest
from bench.vfio import bound

_PF_DRIVER = "pci-pf-stub"


@contextmanager
def virtual_functions(guest: Guest, name: str, number: int) -> Iterator[list[str]]:
    """Give a function of the machine VFs for a while, and yield their addresses.

    A PF driver that does nothing is bound to it. VF Enable is set by hand first, which makes QEMU
    create the VFs; the bench then gives them their registers, and only then may the kernel, for
    which the bit is its own to set, look at them.
    """
    pf = guest.address(name)
    device = f"/sys/bus/pci/devices/{pf}"
    with bound(guest, pf, _PF_DRIVER):
        _must(guest, f"setpci -s {pf} ECAP_SRIOV+10.w={number:x} ECAP_SRIOV+8.w=0009:0009")
        guest.shape_vfs(name, number)
        _must(guest, f"echo {number} > {device}/sriov_numvfs; udevadm settle")
        try:
            yield [
                guest.run("readlink", f"{device}/virtfn{index}").stdout.strip().removeprefix("../")
                for index in range(number)
            ]
        finally:
            _must(guest, f"echo 0 > {device}/sriov_numvfs")


def _must(guest: Guest, script: str) -> None:
    """Run a script that does not fail."""
    result = guest.run("sh", "-c", script)
    assert result.returncode == 0, result
