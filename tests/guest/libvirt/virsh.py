"""libvirt's own programs, as judges of the XML that we write."""

import json
import os
import re
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path

import msgspec

_NOBODY = "65534"
# QEMU's values of -device by libvirt: JSON with words, numbers and booleans.
Device = dict[str, str | int | bool]


def validate(xml: str, folder: Path) -> None:
    """Have libvirt's schema judge a domain.

    Raises:
        AssertionError: It finds fault.
    """
    path = folder / "domain.xml"
    path.write_text(xml)
    run = subprocess.run(
        ["virt-xml-validate", path, "domain"], check=False, capture_output=True, text=True
    )
    assert run.returncode == 0, run.stderr


@dataclass(frozen=True)
class Native:
    """The arguments with which libvirt would start QEMU."""

    arguments: tuple[str, ...]

    def values(self, option: str) -> list[str]:
        """Return the values of an option, in order."""
        pairs = zip(self.arguments, self.arguments[1:], strict=False)
        return [value for name, value in pairs if name == option]

    def devices(self) -> list[Device]:
        """Return the values of ``-device``, in order."""
        return [msgspec.json.decode(each, type=Device) for each in self.values("-device")]

    def device(self, name: str) -> Device:
        """Return the device of an id."""
        (found,) = [each for each in self.devices() if each["id"] == name]
        return found

    def memory(self) -> list[dict[str, object]]:
        """Return the memory backends."""
        objects = [json.loads(each) for each in self.values("-object")]
        return [each for each in objects if each["qom-type"].startswith("memory-backend")]


class Virsh:
    """libvirt's driver of QEMU within ``virsh``: no daemon, no device, no IOMMU.

    As root it would want Debian's user for QEMU, so that it runs as nobody; what it keeps is in a
    folder that it is given. KVM is no matter of it, see ``without_kvm``.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._answers: dict[str, subprocess.CompletedProcess[str]] = {}
        self._as_nobody: list[str] = []
        if os.geteuid() == 0:
            os.chown(folder, int(_NOBODY), int(_NOBODY))
            self._as_nobody = [
                "setpriv", "--reuid", _NOBODY, "--regid", _NOBODY, "--clear-groups",
            ]  # fmt: skip

    def native(self, xml: str) -> Native:
        """Return QEMU's arguments for a domain.

        Raises:
            AssertionError: libvirt refuses it.
        """
        run = self._answer(xml)
        assert run.returncode == 0, run.stderr
        words = shlex.split(run.stdout)
        (program,) = [n for n, word in enumerate(words) if word.endswith("/qemu-system-x86_64")]
        return Native(tuple(words[program + 1 :]))

    def refusal(self, xml: str) -> str:
        """Return what libvirt says of a domain that it refuses."""
        run = self._answer(xml)
        assert run.returncode == 1, run.stdout
        return run.stderr

    def _answer(self, xml: str) -> subprocess.CompletedProcess[str]:
        if xml not in self._answers:
            self._answers[xml] = self._to_native(xml)
        return self._answers[xml]

    def _to_native(self, xml: str) -> subprocess.CompletedProcess[str]:
        path = self._folder / "domain.xml"
        path.write_text(xml)
        path.chmod(0o644)  # whatever the umask: it is nobody's to read
        uri = f"qemu:///embed?root={self._folder}"
        return subprocess.run(
            [*self._as_nobody, "virsh", "-c", uri, "domxml-to-native", "qemu-argv", "--xml", path],
            check=False,
            capture_output=True,
            text=True,
            env={
                "PATH": os.environ["PATH"],
                "LC_ALL": "C.UTF-8",  # in which libvirt cuts names for folders between characters
                "HOME": str(self._folder),
                "XDG_CACHE_HOME": str(self._folder / "cache"),
                "XDG_CONFIG_HOME": str(self._folder / "config"),
                "XDG_RUNTIME_DIR": str(self._folder / "run"),
            },
        )


def without_kvm(xml: str) -> str:
    """Return a domain that any machine can judge: emulated, and with memory of node 0.

    libvirt looks whether there is KVM, which alone has the host's CPU, and such a NUMA node.
    """
    replaced = xml.replace(" type='kvm'", " type='qemu'", 1)
    replaced = replaced.replace("<cpu mode='host-passthrough'>", "<cpu mode='maximum'>")
    return re.sub(r"(<memnode .*) nodeset='\d+'", r"\1 nodeset='0'", replaced)
