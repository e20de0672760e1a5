"""Record the hosts that ship with pcietune: python -m bench.record_hosts, from tests/."""

from pathlib import Path

from bench.boot import booted
from bench.machine import load_machine

_SHIPPED = Path(__file__).parents[2] / "pcietune" / "recorded_hosts"
_ARCHIVE = "/run/host.tar.gz"
RECORDED = {"a800": _SHIPPED / "a800-sxm4-8gpu.tar.gz"}
"""What each machine's recording is called."""


def main() -> None:
    for machine, file in RECORDED.items():
        with booted(load_machine(machine)) as guest:
            recorded = guest.pcietune("record", _ARCHIVE)
            if recorded.returncode != 0:
                raise SystemExit(recorded.stderr)
            file.write_bytes(guest.read_file(_ARCHIVE))


if __name__ == "__main__":
    main()
