"""What of a kernel command line may be shown to others."""

import pytest

from pcietune.host.recordings.kernel_command_line import without_private_values


@pytest.mark.parametrize(
    ("cmdline", "shown"),
    [
        pytest.param("ro quiet nokaslr", "ro quiet nokaslr", id="flags stay"),
        pytest.param(
            "root=UUID=6a1f cryptdevice=/dev/sda2:x", "root=... cryptdevice=...", id="disks go"
        ),
        pytest.param(
            "ip=10.1.2.3::10.1.2.1:255.255.255.0:gpu07:eth0:none", "ip=...", id="networks go"
        ),
        pytest.param(
            "pci=config_acs=1x111x1@pci:1000:c010 intel_iommu=on iommu=pt vfio-pci.ids=10de:20f3",
            "pci=config_acs=1x111x1@pci:1000:c010 intel_iommu=on iommu=pt vfio-pci.ids=10de:20f3",
            id="what concerns PCI stays",
        ),
        pytest.param('dyndbg="file secret.c +p" ro', "dyndbg=... ro", id="quotes hold a word"),
        pytest.param('note="not closed secret', "note=...", id="an open quote reaches the end"),
        pytest.param("ro -- --password hunter2", "ro", id="what is for init goes"),
        pytest.param("", "", id="empty"),
    ],
)
def test_values_that_say_nothing_about_pci_are_withheld(cmdline: str, shown: str) -> None:
    assert without_private_values(cmdline) == shown
