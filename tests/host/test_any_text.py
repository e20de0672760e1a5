"""Whatever text it is given, pcietune says what is wrong with it or makes a host of it."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

from hypothesis import example, given, settings
from hypothesis import strategies as st
from trees.dump import dump, one_switch_functions

from pcietune.errors import BadInputError, PcietuneError
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.tune.match.survey import survey

DUMP = dump(one_switch_functions(), size=64)
LINES = [
    *DUMP.splitlines(),
    "",
    "\tKernel driver in use: vfio-pci",
    "\tIOMMU group: 7",
    "\tNUMA node: 99999999999999999999",
    "\tCapabilities: <access denied>",
    "IOMMU Group 7:",
    "7\t0000:24:00.0",
    "/sys/kernel/iommu_groups/8/devices/0000:24:00.0",
    "/sys/kernel/iommu_groups/8/type:identity",
    "0000:20:01.0/21:00.0/22:04.0/24:00.0 a path",
    "BOOT_IMAGE=/vmlinuz root=/dev/sda1 pci=noats",
    "6.12.0-amd64",
    "> \x1b[31m24:00.0 quoted\x1b[0m",
    "40: " + "ff " * 16,
    "-[0000:20]---01.0-[21-24]----00.0-[22-24]--+-00.0-[23]----00.0  [10de:20f3]",
    " " * 43 + "\\-04.0-[24]----00.0  a NIC",
    "-+-[0000:20]---01.0-[21-24]--",
    " \\-[0001:00]-+-00.0",
    "[    1.000000] pci 0000:24:00.0: Adding to iommu group 9",
    "Linux version 6.12.0-amd64 (gcc)",
    "root@gpu7:~# cat /proc/cmdline",
    "```",
    "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+",
    "0000:24:00.1 VF\n" + "".join(f"{at:02x}:{' ff' * 16}\n" for at in range(0, 64, 16)),
]


@st.composite
def changed_dumps(draw: st.DrawFn) -> str:
    """Give a dump with a few characters changed, cut out or doubled."""
    text = DUMP
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text) - 1))
        end = draw(st.integers(start, min(len(text), start + 80)))
        instead = draw(st.sampled_from(["", text[start:end] * 2, "f", "\n", "\0", ": ", "\r"]))
        text = text[:start] + instead + text[end:]
    return text


@given(text=st.text() | st.binary().map(lambda data: data.decode(errors="surrogateescape")))
def test_any_text_is_refused(text: str) -> None:
    host_or_error = _open(text)

    assert host_or_error is None or re.search(r"[0-9a-f]{2}:[01][0-9a-f]\.[0-7] ", text)


@given(lines=st.lists(st.sampled_from(LINES), max_size=60))
@example(lines=[*LINES[:-1]])
def test_lines_in_any_order_are_a_host_or_refused(lines: list[str]) -> None:
    _open("\n".join(lines))


@given(text=changed_dumps())
@settings(max_examples=200)
def test_a_damaged_dump_is_a_host_or_refused(text: str) -> None:
    _open(text)


@given(numbers=st.lists(st.binary(min_size=3, max_size=3), min_size=4, max_size=4))
def test_bridges_with_any_bus_numbers_are_a_tree_or_refused(numbers: list[bytes]) -> None:
    functions = one_switch_functions()
    text = dump(functions, size=64)
    for bridge, buses in zip(functions[:4], numbers, strict=True):
        before = bridge.config.build()[0x10:0x20]
        after = before[:8] + buses + before[11:]
        text = text.replace(before.hex(" "), after.hex(" "), 1)

    host = _open(text)

    assert host is None or all(len(set(ports)) == len(ports) for ports in host)


def _open(text: str) -> list[list[str]] | None:
    """Return the ports above each function; None if the text was refused."""
    with TemporaryDirectory() as directory:
        file = Path(directory) / "text"
        file.write_bytes(text.encode(errors="surrogateescape"))
        try:
            with open_host([file]) as host:
                return _look(host)
        except BadInputError as error:
            said = str(error)
    assert said.startswith((str(file), "no dump of a host"))
    return None


def _look(host: SysfsHost) -> list[list[str]]:
    fabric = survey(host, lambda functions: functions)
    for function in fabric.functions.values():
        host.state(function)
        try:
            host.config(function).read(0x40, 2)
        except PcietuneError:
            continue
    known = re.compile("reads as all ones|may be is not told")
    assert all(known.search(problem) for problem in host.problems)
    return [[str(port) for port in f.ports] for f in fabric.functions.values()]
