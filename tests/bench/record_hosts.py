"""Record the hosts that ship, and the VM that docs/hosts has: python -m bench.record_hosts.

To be run in the folder tests.
"""

import base64
from pathlib import Path

import msgspec

from bench.boot import booted
from bench.guest import Guest
from bench.inner_vm import InnerVm, inner_vm
from bench.machine import load_machine
from bench.planned_vm import bound_by_the_gate, planned, qemu_of

_CHECKOUT = Path(__file__).parents[2]
_ARCHIVE = "/run/recorded.tar.gz"
_PLAN = "/run/vm0.json"
RECORDED = {"a800": _CHECKOUT / "pcietune" / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"}
"""What each machine's recording is called."""
VM = _CHECKOUT / "docs" / "hosts" / "vm.tar.gz"
AS_DOCUMENTED = ("--gpus", "2", "--cpus", "1", "--memory", "512M")
"""How docs/guest.md plans the VM that was recorded."""


def main() -> None:
    for machine, file in RECORDED.items():
        with booted(load_machine(machine)) as guest:
            _must(guest, "record", _ARCHIVE)
            file.write_bytes(guest.read_file(_ARCHIVE))
    with booted(load_machine("a800-vm")) as host:
        VM.write_bytes(_recorded_vm(host))


def _recorded_vm(host: Guest) -> bytes:
    """Return the recording that pcietune makes in a VM of the host."""
    host.run("modprobe", "kvm_amd")
    _must(host, "apply", "--mode", "vm")
    plan = planned(host, _PLAN, "--firmware", "seabios", *AS_DOCUMENTED)
    bound_by_the_gate(host, plan)
    with inner_vm(host, plan.machine.name, qemu_of(host, _PLAN)) as vm:
        return _record(vm)


def _record(vm: InnerVm) -> bytes:
    ended = vm.run(*Guest.PCIETUNE, "record", _ARCHIVE)
    if ended.returncode != 0:
        raise SystemExit(ended.stderr)
    return base64.b64decode(msgspec.json.decode(vm.request("read_file", path=_ARCHIVE), type=str))


def _must(guest: Guest, *arguments: str) -> None:
    ended = guest.pcietune(*arguments)
    if ended.returncode != 0:
        raise SystemExit(ended.stderr)


if __name__ == "__main__":
    main()
