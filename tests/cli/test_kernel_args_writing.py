"""What kernel-args --write and --undo show, ask and make, on a host that is not a recording."""

from functools import partial
from pathlib import Path

import pytest
from host.boot_loader.roots import debian, put
from trees.function import downstream_port
from trees.machines import one_switch
from tune.judged import GPU_PORT
from tune.kernel_args_hosts import BROKEN, FIXED, advised

from pcietune.cli.judging import Request
from pcietune.cli.kernel_args_steps import Steps
from pcietune.errors import BadInputError
from pcietune.host.sysfs import SysfsHost
from pcietune.model.boot_loader import LoaderName
from pcietune.tune.kernel_args.takes import Takes

OWN = "etc/default/grub.d/50-pcietune.cfg"


@pytest.fixture
def host(tmp_path: Path) -> SysfsHost:
    one_switch(tmp_path)
    put(tmp_path, "run/any", "")
    return SysfsHost(debian(tmp_path))


def _steps(host: SysfsHost, *, asks: bool = False, takes: Takes = FIXED) -> Steps:
    steps = Steps(Request(writes=True), wait_s=0, asks=asks, tells=True)
    steps.done.advice = advised(host, takes)
    return steps


def test_the_diff_and_what_must_run_are_shown(
    host: SysfsHost, capsys: pytest.CaptureFixture[str]
) -> None:
    _steps(host).write(host, LoaderName.GRUB)

    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith(("---", "+++"))] == [
        "--- /dev/null",
        f"+++ /{OWN}",
    ]
    assert any(line.startswith("+GRUB_CMDLINE_LINUX_DEFAULT=") for line in lines)
    assert lines[-4:] == [
        "pcietune runs none of these, and nothing works before the reboot:",
        "  update-grub",
        "  reboot",
        "then: pcietune kernel-args --check",
    ]


def test_a_second_time_there_is_nothing_to_change(
    host: SysfsHost, capsys: pytest.CaptureFixture[str]
) -> None:
    _steps(host).write(host, LoaderName.GRUB)
    capsys.readouterr()

    again = _steps(host)
    again.write(host, LoaderName.GRUB)

    assert capsys.readouterr().out == "\nnothing to change\n"
    assert not again.done.written


def test_undo_takes_it_out_wherever_it_is(host: SysfsHost) -> None:
    _steps(host).write(host, LoaderName.GRUB)

    _steps(host).undo(host)

    assert not (host.root / OWN).exists()


@pytest.mark.parametrize("undoing", [False, True])
def test_where_nobody_is_there_to_ask_nothing_is_written(host: SysfsHost, *, undoing: bool) -> None:
    if undoing:
        _steps(host).write(host, LoaderName.GRUB)
    steps = _steps(host, asks=True)
    act = steps.undo if undoing else partial(steps.write, target=LoaderName.GRUB)

    with pytest.raises(BadInputError, match="nobody is there to ask") as said:
        act(host)

    assert said.value.hint == "add --yes"
    assert (host.root / OWN).exists() is undoing


def test_what_cannot_be_had_is_not_written(tmp_path: Path) -> None:
    lost = downstream_port(GPU_PORT, below="0000:21:00.0", acs=(0x5F, 0x19))
    one_switch(tmp_path, instead=[lost])
    host = SysfsHost(debian(tmp_path))

    with pytest.raises(BadInputError, match="nothing is written: it takes more than one entry"):
        _steps(host, takes=BROKEN).write(host, LoaderName.GRUB)
    assert not (host.root / OWN).exists()
