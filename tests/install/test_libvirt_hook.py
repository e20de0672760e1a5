"""libvirt's hook, run by the shells that hosts have, as libvirt runs it."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import set_word
from tune.judged import NIC, NIC_PORT

CHECKOUT = Path(__file__).parents[2]
SCRIPT = CHECKOUT / "libvirt" / "hook"
NAME = "tenant"
DOMAIN = """\
<domain type='kvm'>
  <name>tenant</name>
  <devices>
    <hostdev mode='subsystem' type='pci' managed='no'>
      <source>
        <address domain='0x0000' bus='0x24' slot='0x00' function='0x0'/>
      </source>
    </hostdev>
  </devices>
</domain>
"""
_FAKE = """\
#!/bin/sh
cat >{here}/domain
echo "$*" >>{here}/calls
echo said by pcietune
exit {code}
"""
_SLOW = """\
#!/bin/sh
cat >{here}/domain
echo $$ >{here}/pid
echo "$*" >{here}/calls
exec sleep 60
"""
_REAL = """\
#!/bin/sh
cd {checkout} && exec {python} -m pcietune "$@" --from {root}
"""
_LONGEST_S = 30.0


class Hook:
    """The hook, with another program in pcietune's place and settings of its own.

    Attributes:
        here: What the program writes to: calls, and the XML that it was given.
        settings: The host's settings.
    """

    def __init__(self, here: Path, shell: list[str]) -> None:
        self.here = here
        self.settings = here / "pcietune.yaml"
        self._shell = shell
        self._program = here / "pcietune"
        text = SCRIPT.read_text()
        for place, instead in (
            ("/usr/bin/pcietune", self._program),
            ("/etc/pcietune/pcietune.yaml", self.settings),
        ):
            assert f"={place}" in text
            text = text.replace(f"={place}", f"={instead}")
        (here / "hook").write_text(text)

    def program(self, text: str) -> None:
        self._program.write_text(text)
        self._program.chmod(0o755)

    def exits(self, code: int) -> None:
        self.program(_FAKE.format(here=self.here, code=code))

    def run(self, *arguments: str, domain: str = DOMAIN) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [*self._shell, self.here / "hook", *arguments],
            check=False,
            input=domain,
            capture_output=True,
            text=True,
            timeout=_LONGEST_S,
        )

    def calls(self) -> list[str]:
        calls = self.here / "calls"
        return calls.read_text().splitlines() if calls.exists() else []

    def left_behind(self) -> list[str]:
        """Return the calls, once there is one that the hook did not wait for."""
        until = time.monotonic() + _LONGEST_S
        while not self.calls() and time.monotonic() < until:
            time.sleep(0.01)
        return self.calls()


@pytest.fixture(params=["dash", "busybox sh", "bash --posix"])
def hook(request: pytest.FixtureRequest, tmp_path: Path) -> Hook:
    return Hook(tmp_path, str(request.param).split())


def test_before_a_start_the_vms_functions_are_judged(hook: Hook) -> None:
    hook.exits(0)

    run = hook.run(NAME, "prepare", "begin", "-")

    assert run.returncode == 0
    assert hook.calls() == ["vfio before-start --vm tenant --domain -"]
    assert (hook.here / "domain").read_text() == DOMAIN


def test_nothing_is_printed_that_hooks_after_it_would_take_for_xml(hook: Hook) -> None:
    hook.exits(0)

    assert hook.run(NAME, "prepare", "begin", "-").stdout == ""


@pytest.mark.parametrize("code", [3, 5, 6, 9])
def test_a_refusal_keeps_the_vm_from_starting_and_is_told(hook: Hook, code: int) -> None:
    hook.exits(code)

    run = hook.run(NAME, "prepare", "begin", "-")

    assert (run.returncode, run.stderr) == (code, "said by pcietune\n")


@pytest.mark.parametrize("code", [1, 2, 4, 126, 127])
@pytest.mark.parametrize(
    ("settings", "kept"),
    [
        (None, False),
        ("mode: vm\n", False),
        ("vm-start: tell\n", False),
        ("# vm-start: refuse\n", False),
        ("mode: vm\nvm-start: refuse\n", True),
        ("\"vm-start\": 'refuse'\nmode: [\n", True),
    ],
)
def test_what_does_not_work_keeps_vms_only_where_the_site_wants_refusals(
    hook: Hook, code: int, settings: str | None, *, kept: bool
) -> None:
    hook.exits(code)
    if settings is not None:
        hook.settings.write_text(settings)

    assert hook.run(NAME, "prepare", "begin", "-").returncode == (code if kept else 0)


def test_after_a_start_it_is_left_behind_to_see_ats(hook: Hook) -> None:
    hook.exits(3)

    run = hook.run(NAME, "started", "begin", "-")

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert hook.left_behind() == ["vfio wait-ats --record --vm tenant --domain -"]
    assert (hook.here / "domain").read_text() == DOMAIN


def test_libvirt_need_not_wait_for_it(hook: Hook) -> None:
    """libvirt waits until the pipes that it gave the hook are closed."""
    hook.program(_SLOW.format(here=hook.here))

    assert hook.run(NAME, "started", "begin", "-").returncode == 0

    assert hook.left_behind() == ["vfio wait-ats --record --vm tenant --domain -"]
    os.kill(int((hook.here / "pid").read_text()), signal.SIGKILL)


def test_xml_of_any_size_arrives_whole(hook: Hook) -> None:
    hook.exits(0)
    large = DOMAIN.replace("<devices>", f"<description>{'x' * 200_000}</description><devices>")

    hook.run(NAME, "started", "begin", "-", domain=large)

    hook.left_behind()
    assert (hook.here / "domain").read_text() == large


@pytest.mark.parametrize(
    "operation",
    [
        ("start", "begin"),
        ("stopped", "end"),
        ("release", "end"),
        ("migrate", "begin"),
        ("reconnect", "begin"),
        (),
    ],
)
def test_nothing_is_done_at_other_operations(hook: Hook, operation: tuple[str, ...]) -> None:
    hook.exits(3)

    run = hook.run(NAME, *operation)

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")
    assert hook.calls() == []


def test_where_pcietune_was_removed_vms_start(hook: Hook) -> None:
    assert hook.run(NAME, "prepare", "begin", "-").returncode == 0
    assert hook.run(NAME, "started", "begin", "-").returncode == 0


@pytest.fixture
def host(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path / "host", driver="vfio-pci")
    set_word(host, NIC_PORT, 0x001D)  # DirectTrans-, so that an error stands against the NIC
    return host


@pytest.mark.parametrize(("policy", "code"), [("refuse", 3), ("tell", 0)])
def test_pcietune_itself_keeps_a_vm_where_its_settings_say_so(
    tmp_path: Path, host: TreeHost, policy: str, code: int
) -> None:
    hook = Hook(tmp_path, ["sh"])
    settings = f"mode: vm\nprofile: gpu-rdma\nvm-start: {policy}"
    host.put("etc/pcietune/pcietune.yaml", settings)
    hook.program(_REAL.format(checkout=CHECKOUT, python=sys.executable, root=host.root))

    run = hook.run(NAME, "prepare", "begin", "-")

    assert run.returncode == code
    assert run.stdout == ""
    assert f"port.nic-side.DirectTrans: {NIC_PORT}" in run.stderr
    assert NIC in run.stderr
