"""What a test asks the kernel about ATS, and does to a group's domain, by sysfs and setpci."""

from bench.guest import Guest

_SET_TYPE = (
    "import os, sys\n"
    "try: os.write(os.open(sys.argv[1], os.O_WRONLY), sys.argv[2].encode())\n"
    "except OSError as error: print(error.strerror)"
)


def ats_control(guest: Guest, address: str) -> str:
    """Return the word that setpci reads: 8000 is Enable."""
    return guest.run("setpci", "-s", address, "ECAP_ATS+6.w").stdout.strip()


def clear_ats(guest: Guest, address: str) -> None:
    """Clear Enable behind the kernel's back."""
    guest.run("setpci", "-s", address, "ECAP_ATS+6.w=0000:8000")


def domain(guest: Guest, address: str) -> str:
    """Return the type of the default domain of a function's group."""
    return guest.read_file(f"/sys/bus/pci/devices/{address}/iommu_group/type").decode().strip()


def set_domain(guest: Guest, address: str, kind: str) -> str:
    """Ask for another default domain; return the kernel's error, or nothing."""
    path = f"/sys/bus/pci/devices/{address}/iommu_group/type"
    return guest.run("/usr/bin/python3", "-Ic", _SET_TYPE, path, kind).stdout.strip()
