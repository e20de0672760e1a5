"""A libvirtd of Debian's runs the hook, and does what it says."""

import os
import subprocess
from pathlib import Path

import pytest

from pcietune.host.domain_xml import given_functions

FOLDER = Path(__file__).parent
SCRIPT = FOLDER.parents[1] / "libvirt" / "hook"
# In pcietune's place: refuses the VM "other", and sees the other one's ATS only once it is let go.
_PROGRAM = """\
#!/bin/sh
echo "$*" >>{here}/calls
cat >"{here}/$2.xml"
case "$*" in
"vfio before-start --vm other"*)
    echo "told on stdout"
    echo "an error stands against 0000:24:00.0" >&2
    exit 3
    ;;
"vfio wait-ats"*)
    while [ ! -e {here}/running ]; do sleep 0.1; done
    echo done >{here}/seen
    ;;
esac
echo "told on stdout"
"""
_NEXT = """\
#!/bin/sh
cat >"{here}/next-$1-$2-$3.xml"
"""
_VM = """\
<domain type='qemu'>
  <name>{name}</name>
  <memory unit='MiB'>64</memory>
  <vcpu>1</vcpu>
  <os><type arch='x86_64' machine='q35'>hvm</type></os>
  <devices><emulator>/usr/bin/qemu-system-x86_64</emulator></devices>
</domain>
"""
_QEMU_CONF = """\
user = "root"
group = "root"
security_driver = "none"
stdio_handler = "file"
cgroup_controllers = [ ]
namespaces = [ ]
"""
_LONGEST_S = 180.0


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with all that was said when libvirtd was to start two VMs."""
    here = tmp_path_factory.mktemp("libvirtd")
    hooks = here / "etc/hooks/qemu.d"
    hooks.mkdir(parents=True)
    hook = SCRIPT.read_text().replace("=/usr/bin/pcietune", f"={here}/pcietune")
    for path, text in (
        (hooks / "pcietune", hook),
        (hooks / "sites-own", _NEXT.format(here=here)),
        (here / "pcietune", _PROGRAM.format(here=here)),
    ):
        path.write_text(text)
        path.chmod(0o755)
    (here / "etc/qemu.conf").write_text(_QEMU_CONF)
    (here / "etc/libvirtd.conf").write_text('auth_unix_rw = "none"\n')
    for name in ("one", "other"):
        (here / f"{name}.xml").write_text(_VM.format(name=name))
    accounts = (("passwd", "libvirt-qemu:x:64055:64055::/:/bin/false"), ("group", "kvm:x:64056:"))
    for file, line in accounts:  # libvirtd looks for them, and for the group libvirt-qemu
        text = Path("/etc", file).read_text()
        more = "libvirt-qemu:x:64055:\n" if file == "group" else ""
        (here / file).write_text(f"{text}{line}\n{more}")
    alone = ["unshare", "--mount", *([] if os.geteuid() == 0 else ["--map-root-user"])]
    subprocess.run(
        [*alone, "sh", FOLDER / "libvirtd_alone.sh", here], check=True, timeout=_LONGEST_S
    )
    return here


def test_a_vm_that_is_not_refused_starts(ran: Path) -> None:
    assert (ran / "one.code").read_text() == "0\n", (ran / "one.said").read_text()
    assert (ran / "running").read_text().split() == ["one"]


def test_a_vm_that_is_refused_does_not_start_and_its_owner_is_told_why(ran: Path) -> None:
    assert (ran / "other.code").read_text() != "0\n"
    assert "an error stands against 0000:24:00.0" in (ran / "other.said").read_text()


def test_each_vm_is_judged_and_one_that_runs_is_looked_at(ran: Path) -> None:
    assert (ran / "calls").read_text().splitlines() == [
        "vfio before-start --vm one --domain -",
        "vfio wait-ats --record --vm one --domain -",
        "vfio before-start --vm other --domain -",
    ]


def test_libvirt_did_not_wait_for_what_waits_for_the_vm(ran: Path) -> None:
    """It ended only once both VMs had been dealt with."""
    assert (ran / "seen").read_text() == "done\n"


def test_what_is_given_is_whole_xml(ran: Path) -> None:
    for name in ("before-start", "wait-ats"):
        assert given_functions((ran / f"{name}.xml").read_bytes()) == ()


def test_hooks_after_it_get_the_vms_xml_as_it_was(ran: Path) -> None:
    for operation in ("prepare-begin", "started-begin"):
        text = (ran / f"next-one-{operation}.xml").read_text()
        assert text.startswith("<domain type='qemu'")
        assert "told on stdout" not in text
