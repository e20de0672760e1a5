"""What one switch is enough for: reading, refusing, recording, and VFIO at work."""

import io
import json
import tarfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from registers.hex_dump import read_hex_dump

from bench.guest import Guest
from bench.on_guest import (
    ACS_CONTROL,
    GENERIC,
    VM,
    addresses,
    audited,
    direct_translated,
    document,
    finding,
    weighty,
    with_signal,
)
from bench.vfio import held_by_vfio

pytestmark = [pytest.mark.machine("small"), pytest.mark.usefixtures("untouched")]

ARCHIVE = "/run/host.tar"


def test_topo_shows_ports_roles_and_registers_as_lspci_does(guest: Guest) -> None:
    shown = json.loads(guest.pcietune("topo", *GENERIC, "--json").stdout)

    (root,) = shown["functions"]
    (upstream,) = root["children"]
    gpu_port, nic_port = upstream["children"]
    (nic,) = nic_port["children"]
    assert [root["port_type"], upstream["port_type"], nic_port["port_type"]] == [
        "root_port",
        "upstream_port",
        "downstream_port",
    ]
    assert (nic["address"], nic["role"], nic["ats_enabled"]) == (guest.address("nic0"), "nic", True)
    assert (gpu_port["acs_capability"], gpu_port["acs_control"]) == ("0x005f", "0x001d")
    said = guest.run("lspci", "-vvv", "-s", guest.address("port1")).stdout
    assert f"ACSCtl:\t{' '.join(nic_port['acs_bits'])}" in said
    assert (nic["link_speed"], nic["link_width"]) == ("16.0 GT/s PCIe", 16)


def test_topo_is_plain_when_piped(guest: Guest) -> None:
    shown = guest.pcietune("topo", *GENERIC).stdout

    assert shown.isascii()
    assert f"      {guest.address('nic0')}  15b3:101b  nic  16.0 GT/s x16" in shown


def test_the_storage_nic_with_the_same_id_is_nobodys_business(guest: Guest) -> None:
    found = audited(guest, *GENERIC)

    assert guest.location("storage0") not in {f.subject.path for f in found.findings}
    assert guest.location("root1") not in {f.subject.path for f in found.findings}


def test_who_is_not_root_is_told_so_and_nothing_is_taken_for_off(guest: Guest) -> None:
    found = document(guest.pcietune("audit", *VM, *GENERIC, "--json", user="nobody"))

    assert found.exit == 5
    port = finding(found, "port.nic-side.DirectTrans", guest.location("port1"))
    assert (port.state, port.found.value) == ("error", None)
    assert port.reason == f"{guest.address('port1')}: only the first 64 bytes may be read"
    assert port.remedy is not None
    assert port.remedy.command == "run pcietune as root"
    assert {
        f.state for f in found.findings if f.id.split(".")[1].endswith(("-side", "stream"))
    } == {"error"}


def test_apply_by_somebody_else_than_root_is_refused(guest: Guest) -> None:
    refused = guest.pcietune("apply", *VM, *GENERIC, user="nobody")

    assert refused.returncode == 5
    assert "run pcietune as root" in refused.stderr


def test_status_by_somebody_else_than_root_says_what_to_do(guest: Guest) -> None:
    told = guest.pcietune("status", *VM, *GENERIC, user="nobody")

    assert told.returncode == 0
    assert "next     run it as root: registers could not be read" in told.stdout


def test_what_record_reads_is_what_lspci_reads(guest: Guest) -> None:
    assert guest.pcietune("record", ARCHIVE).returncode == 0
    dump = guest.run("lspci", "-D", "-xxxx").stdout

    with tarfile.open(fileobj=io.BytesIO(guest.read_file(ARCHIVE))) as archive:
        recorded = {
            Path(member.name).parent.name: _content(archive, member)
            for member in archive.getmembers()
            if Path(member.name).name == "config"
        }
    assert recorded == {str(a): data for a, data in read_hex_dump(dump).items()}


def test_lspci_decodes_the_recording_as_it_does_the_host(guest: Guest) -> None:
    guest.pcietune("record", ARCHIVE)
    unpack = guest.run("sh", "-c", f"mkdir -p /run/tree && tar -xf {ARCHIVE} -C /run/tree")
    assert unpack.returncode == 0

    live = guest.run("lspci", "-D", "-vvv").stdout
    recorded = guest.run("lspci", "-D", "-vvv", "-O", "sysfs.path=/run/tree/sys/bus/pci").stdout

    wanted = ("ACSCap", "ACSCtl", "ATSCap", "ATSCtl", "LnkSta:", "Express", "IOMMU group")
    assert _lines(live, wanted) == _lines(recorded, wanted) != []


def test_a_recording_is_judged_like_the_host(guest: Guest) -> None:
    guest.pcietune("record", ARCHIVE)

    live = document(guest.pcietune("audit", *VM, *GENERIC, "--json"))
    recorded = document(guest.pcietune("audit", *VM, *GENERIC, "--json", "--from", ARCHIVE))

    assert recorded.findings == live.findings
    assert recorded.exit == live.exit == 3


def test_switched_off_apply_writes_nothing_and_audit_says_so(guest: Guest) -> None:
    before = guest.configs()
    guest.run("mkdir", "-p", "/etc/pcietune")
    guest.write_file("/etc/pcietune/disabled", b"")

    refused = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))
    found = audited(guest, *GENERIC)

    assert refused.exit == 11
    assert (found.exit, found.disabled) == (3, "/etc/pcietune/disabled exists")
    assert guest.configs() == before


def test_restore_works_where_pcietune_is_switched_off(guest: Guest) -> None:
    before = guest.configs()
    guest.pcietune("apply", *VM, *GENERIC)
    guest.run("mkdir", "-p", "/etc/pcietune")
    guest.write_file("/etc/pcietune/disabled", b"")

    assert document(guest.pcietune("restore", "--json")).changed

    assert guest.configs() == before


def test_a_full_run_keeps_apply_from_writing(guest: Guest) -> None:
    before = guest.configs()
    full = "mkdir -p /run/pcietune && mount -t tmpfs -o size=4k,mode=755 tmpfs /run/pcietune"

    refused = guest.run(
        *("unshare", "--mount", "sh", "-c", f'{full} && exec "$@"', "sh"),
        *(*guest.PCIETUNE, "apply", *VM, *GENERIC, "--json"),
    )

    told = document(refused)
    assert (told.exit, told.writes) == (5, [])
    assert "No space left on device" in told.errors[0].message
    assert guest.configs() == before


def test_a_read_only_run_keeps_apply_from_writing(guest: Guest) -> None:
    before = guest.configs()

    refused = guest.run(
        *("unshare", "--mount", "sh", "-c", 'mount -t tmpfs -o ro tmpfs /run && exec "$@"', "sh"),
        *(*guest.PCIETUNE, "apply", *VM, *GENERIC),
    )

    assert refused.returncode == 5
    assert "Read-only file system" in refused.stderr
    assert guest.configs() == before


def test_a_profile_that_others_may_write_is_not_obeyed(guest: Guest) -> None:
    before = guest.configs()
    profile = "/run/gpu-rdma-copy.yaml"
    shown = guest.pcietune("profile", "show", "gpu-rdma").stdout
    guest.write_file(profile, shown.encode())
    guest.run("chmod", "0666", profile)

    refused = guest.pcietune("apply", *VM, "--profile", profile)
    judged = guest.pcietune("audit", *VM, "--profile", profile)

    assert refused.returncode == 4
    assert profile in refused.stderr
    assert "chmod" in refused.stderr
    assert judged.returncode == 3
    assert guest.configs() == before


def test_a_second_apply_waits_and_then_names_the_first(guest: Guest) -> None:
    guest.run("mkdir", "-p", "/run/pcietune")
    held = guest.run(
        *("flock", "/run/pcietune/lock"),
        *(*guest.PCIETUNE, "apply", *VM, *GENERIC, "--wait", "0.2", "--json"),
    )

    told = document(held)
    assert (told.exit, told.writes) == (10, [])
    assert told.errors[0].message == "another pcietune is at work on this host"


@pytest.mark.parametrize(
    ("function", "when", "number"),
    [
        ("fsync", "before", 1),
        ("fsync", "after", 2),
        ("fsync", "after", 3),
        ("pwrite", "before", 1),
        ("pwrite", "after", 1),
        ("write", "after", 1),
    ],
)
def test_a_kill_at_any_step_leaves_what_the_next_run_mends(
    guest: Guest, function: str, when: str, number: int
) -> None:
    before = guest.configs()
    arguments = ("apply", *VM, *GENERIC)

    killed = with_signal(guest, "SIGKILL", when, function, number, *arguments)

    assert killed.returncode == -9
    direct = finding(audited(guest, *GENERIC), "port.nic-side.DirectTrans", guest.location("port1"))
    assert (direct.state == "pass") == bool(direct_translated(guest))
    assert document(guest.pcietune(*arguments, "--json")).exit == 0
    assert direct_translated(guest) == addresses(guest, "port1")
    assert document(guest.pcietune("restore", "--json")).exit == 0
    assert guest.configs() == before


def test_bits_that_were_set_before_are_left_by_restore_and_named(guest: Guest) -> None:
    port = guest.address("port1")
    guest.run("setpci", "-s", port, "ECAP_ACS+6.w=0040:0040")
    try:
        assert document(guest.pcietune("apply", *VM, *GENERIC, "--json")).changed is False

        restored = guest.pcietune("restore")

        assert restored.returncode == 0
        assert f"left  {port}: set before this boot's first apply" in restored.stdout
        assert direct_translated(guest) == {port}
    finally:
        guest.run("setpci", "-s", port, "ECAP_ACS+6.w=0000:0040")


def test_what_somebody_else_changed_since_is_left_by_restore(guest: Guest) -> None:
    port = guest.address("port1")
    guest.pcietune("apply", *VM, *GENERIC)
    guest.run("setpci", "-s", port, "ECAP_ACS+6.w=001d")

    restored = document(guest.pcietune("restore", "--json"))

    assert (restored.exit, restored.changed) == (0, False)
    assert guest.config(port)[ACS_CONTROL] == 0x1D


@pytest.fixture
def held_nic(guest: Guest, untouched: None) -> Iterator[str]:  # noqa: ARG001 -- its order
    """Have VFIO hold nic0 open, as a running VM does; yield its address."""
    address = guest.address("nic0")
    with held_by_vfio(guest, address):
        yield address


def test_nothing_is_written_above_a_function_in_use(guest: Guest, held_nic: str) -> None:
    before = guest.config(guest.address("port1"))

    applied = document(guest.pcietune("apply", *VM, *GENERIC, "--json"))

    assert (applied.exit, applied.writes) == (3, [])
    (deferred,) = applied.deferred
    assert (deferred.path, deferred.what) == (guest.location("port1"), "DirectTrans+")
    assert deferred.reason == f"in use by VFIO: {held_nic}"
    assert guest.config(guest.address("port1")) == before

    insisting = document(guest.pcietune("apply", *VM, *GENERIC, "--while-in-use", "--json"))
    assert (insisting.exit, len(insisting.writes)) == (0, 1)


def test_a_nic_in_use_without_ats_fails_whatever_its_domain(guest: Guest, held_nic: str) -> None:
    guest.run("setpci", "-s", held_nic, "ECAP_ATS+6.w=0000:8000")

    ats = finding(audited(guest, *GENERIC), "nic.ats", guest.location("nic0"))

    guest.run("setpci", "-s", held_nic, "ECAP_ATS+6.w=8000:8000")
    assert ats.state == "fail"
    assert ats.reason.startswith("in use by VFIO and off")


def test_a_function_that_vanishes_between_two_looks_ends_nothing(guest: Guest) -> None:
    guest.vanish("nic0")
    try:
        found = audited(guest, *GENERIC)
    finally:
        guest.reappear("nic0")

    assert weighty(found)["error"] == {("nic.ats", guest.location("nic0"))}
    ats = finding(found, "nic.ats", guest.location("nic0"))
    assert ats.reason == f"{guest.address('nic0')} does not answer: it reads as all ones"


def _content(archive: tarfile.TarFile, member: tarfile.TarInfo) -> bytes:
    file = archive.extractfile(member)
    assert file is not None
    return file.read()


def _lines(text: str, words: tuple[str, ...]) -> list[str]:
    return [line for line in text.splitlines() if any(word in line for word in words)]
