"""Public reports that come as what lspci printed, each with its verdict."""

import subprocess
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.config import DOWNSTREAM_PORT, ROOT_PORT, UPSTREAM_PORT, ConfigBuilder
from trees.dump import dump, one_switch_functions
from trees.function import Function, gpu, nic

from pcietune.report.topology import NodeDocument, TopologyDocument

GPU, NIC, NIC_PORT = "0000:23:00.0", "0000:24:00.0", "0000:22:04.0"
NOT_TOLD = "add a listing of IOMMU groups: find /sys/kernel/iommu_groups -type l"
# Dumps of real machines are not ours to hand on: more cases where they are at hand.
REAL = Path(__file__).parents[3] / "shared" / "dumps"
ENDS_AT_256 = "the dump ends at 0x100, as that of lspci -xxx does"
ALL_ONES = "it reads as all ones"
MIXED = sorted([*REAL.glob("adl-laptop*"), *REAL.glob("pciutils-tree-*")])


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "host.lspci"


def _judged(mode: str, *sources: Path) -> list[str | Path]:
    named = [part for source in sources for part in ("--from", source)]
    return ["audit", "--profile", "gpu-rdma", "--mode", mode, "--json", *named]


def _nodes(nodes: list[NodeDocument]) -> dict[str, NodeDocument]:
    found = {node.address: node for node in nodes}
    for node in nodes:
        found |= _nodes(node.children)
    return found


# What a dump cannot tell.


def test_what_a_dump_tells_is_judged_and_what_it_does_not_is_not_known(
    pcietune: Pcietune, file: Path
) -> None:
    file.write_text(dump(one_switch_functions()))

    run = pcietune(*_judged("vm", file))

    assert run.exit_code == 3
    assert run.failing() == {("port.nic-side.DirectTrans", NIC_PORT)}
    assert run.finding("port.nic-side.DirectTrans", NIC_PORT).found.value == "0x001d"
    for finding_id, subject in (
        ("iommu.enabled", "host"),
        ("group.separate", GPU),
        ("group.separate", NIC),
    ):
        finding = run.finding(finding_id, subject)
        assert (finding.state, finding.found.text) == ("error", "not known")
        assert finding.reason.endswith("is not known: a dump does not tell")
        assert finding.remedy is not None
        assert finding.remedy.command == NOT_TOLD


def test_a_host_of_which_all_that_is_told_is_right_is_still_not_known(
    pcietune: Pcietune, file: Path
) -> None:
    functions = one_switch_functions()
    functions[3].config.word(0x106, 0x005D)  # ACS Control of the NIC's downstream port
    file.write_text(dump(functions))

    run = pcietune(*_judged("vm", file))

    assert run.failing() == set()
    assert run.exit_code == 6


def test_on_bare_metal_an_untold_iommu_is_not_taken_for_none(
    pcietune: Pcietune, file: Path
) -> None:
    file.write_text(dump(one_switch_functions()))

    run = pcietune(*_judged("baremetal", file))

    passthrough = run.finding("iommu.passthrough", "host")
    assert passthrough.state == "error"
    assert passthrough.reason == (
        "whether an IOMMU translates addresses is not known: a dump does not tell"
    )
    assert run.finding("group.together", "0000:21:00.0").state == "error"


def test_an_ats_that_is_off_may_be_in_use_for_all_a_dump_tells(
    pcietune: Pcietune, file: Path
) -> None:
    functions = [*one_switch_functions()[:-1], nic(NIC, below=NIC_PORT, ats=(0x0020, 0x0000))]
    file.write_text(dump(functions))

    run = pcietune(*_judged("vm", file))

    finding = run.finding("nic.ats", NIC)
    assert (finding.state, finding.found.value) == ("error", "0x0000")
    assert "whether VFIO uses it" in finding.reason


def test_an_ats_that_is_on_may_be_answered_by_nobody_for_all_a_dump_tells(
    pcietune: Pcietune, file: Path
) -> None:
    functions = [*one_switch_functions()[:-1], nic(NIC, below=NIC_PORT, ats=(0x0020, 0x8000))]
    file.write_text(dump(functions))

    finding = pcietune(*_judged("vm", file)).finding("nic.ats", NIC)

    assert (finding.state, finding.found.value) == ("error", "0x8000")


def test_with_a_listing_of_groups_they_are_judged(pcietune: Pcietune, file: Path) -> None:
    file.write_text(dump(one_switch_functions()))
    listing = file.with_name("groups")
    addresses = [function.address for function in one_switch_functions()]
    listing.write_text("".join(f"IOMMU Group {n} {a}\n" for n, a in enumerate(addresses)))

    run = pcietune(*_judged("vm", file, listing))

    assert run.finding("iommu.enabled", "host").found.text == "6 IOMMU groups"
    assert run.finding("group.separate", GPU).found.text == "group 4"
    assert run.finding("group.separate", GPU).state == "pass"


def test_nothing_is_said_to_be_unused_by_vfio(pcietune: Pcietune, file: Path) -> None:
    file.write_text(dump(one_switch_functions()))

    run = pcietune("plan", *_judged("vm", file)[1:])

    assert run.document().writes == []
    assert run.exit_code in (3, 6)


def test_a_dump_is_not_written_to(pcietune: Pcietune, file: Path) -> None:
    file.write_text(dump(one_switch_functions()))

    run = pcietune("apply", *_judged("vm", file)[1:], "--in-place")

    assert run.exit_code == 4
    assert run.document().errors[0].message == f"{file} is no recording that could be written to"
    assert file.read_text() == dump(one_switch_functions())


def test_topo_tells_what_is_not_known(pcietune: Pcietune, file: Path) -> None:
    file.write_text(dump(one_switch_functions()))

    text = pcietune("topo", "--from", file)
    run = pcietune("topo", "--json", "--from", file)

    node = _nodes(msgspec.json.decode(run.stdout, type=TopologyDocument).functions)[NIC]
    assert node.not_known == ["driver", "group", "numa_node"]
    assert (node.driver, node.group, node.numa_node) == (None, None, None)
    assert "no driver" not in text.stdout
    assert "no group" not in text.stdout


def test_what_is_not_known_stays_so_in_a_recording_of_a_dump(
    pcietune: Pcietune, file: Path
) -> None:
    file.write_text(dump(one_switch_functions()))
    archive = file.with_name("host.tar")

    assert pcietune("record", archive, "--from", file).exit_code == 0

    run = pcietune(*_judged("vm", archive))
    assert run.finding("iommu.enabled", "host").state == "error"
    assert run.finding("group.separate", NIC).state == "error"


# NVIDIA/nccl#19 (A08): Supermicro 7048GR-TR with PEX 8747 on both sockets, one below another. ACS
# of the downstream ports is as Linux sets it; the upstream ports have none.

_XEON_PORT, _PEX_8747 = "8086:2f04", "10b5:8747"


def _port(address: str, port_type: int, *, below: str | None = None) -> Function:
    function_id = _XEON_PORT if port_type == ROOT_PORT else _PEX_8747
    config = ConfigBuilder(function_id, 0x060400).power_management().express(port_type)
    if port_type == DOWNSTREAM_PORT:
        config.serial_number(0, at=0x100).acs(0x005F, 0x001D, at=0xF24)
    elif port_type == ROOT_PORT:
        config.acs(0x001F, 0x001D)
    return Function(address, config, below=below)


@pytest.fixture
def supermicro(file: Path) -> Path:
    functions = [
        _port("0000:00:02.0", ROOT_PORT),
        _port("0000:03:00.0", UPSTREAM_PORT, below="0000:00:02.0"),
        _port("0000:04:08.0", DOWNSTREAM_PORT, below="0000:03:00.0"),
        _port("0000:04:10.0", DOWNSTREAM_PORT, below="0000:03:00.0"),
        gpu("0000:05:00.0", below="0000:04:08.0"),
        gpu("0000:06:00.0", below="0000:04:10.0"),
        _port("0000:80:02.0", ROOT_PORT),
        _port("0000:82:00.0", UPSTREAM_PORT, below="0000:80:02.0"),
        _port("0000:83:08.0", DOWNSTREAM_PORT, below="0000:82:00.0"),
        _port("0000:83:10.0", DOWNSTREAM_PORT, below="0000:82:00.0"),
        nic("0000:84:00.0", below="0000:83:08.0", ats=None),
        _port("0000:86:00.0", UPSTREAM_PORT, below="0000:83:10.0"),
        _port("0000:87:08.0", DOWNSTREAM_PORT, below="0000:86:00.0"),
        _port("0000:87:10.0", DOWNSTREAM_PORT, below="0000:86:00.0"),
        gpu("0000:88:00.0", below="0000:87:08.0"),
        gpu("0000:89:00.0", below="0000:87:10.0"),
    ]
    file.write_text(dump(functions))
    return file


def test_redirect_is_looked_for_at_downstream_ports_and_not_at_upstream_ports(
    pcietune: Pcietune, supermicro: Path
) -> None:
    run = pcietune(*_judged("baremetal", supermicro))

    failing = {subject for finding_id, subject in run.failing() if finding_id.startswith("port.")}
    assert {"0000:83:08.0", "0000:83:10.0"} <= failing
    assert not failing & {"0000:03:00.0", "0000:82:00.0", "0000:86:00.0"}
    assert run.finding("port.nic-side.ReqRedir", "0000:83:08.0").found.value == "0x001d"
    assert run.finding("port.gpu-side.ReqRedir", "0000:83:10.0").found.value == "0x001d"


def test_of_functions_on_two_sockets_no_port_of_a_switch_decides(
    pcietune: Pcietune, supermicro: Path
) -> None:
    run = pcietune(*_judged("baremetal", supermicro))

    assert run.exit_code == 3
    judged = {finding.subject.address for finding in run.document().findings}
    assert not judged & {"0000:04:08.0", "0000:04:10.0", "0000:00:02.0"}
    far = run.finding("layout.misplaced", "0000:05:00.0")
    assert (far.state, far.severity) == ("fail", "info")
    assert far.reason.endswith("goes through the root complex, whatever ACS says")


# F01: others than root see 64 bytes, and lspci says so.


def test_what_only_root_may_read_is_unknown_and_the_remedy_is_root(
    pcietune: Pcietune, file: Path
) -> None:
    text = dump(one_switch_functions(), size=64)
    denied = "\tCapabilities: <access denied>\n00: "
    file.write_text(text.replace("00: ", denied).replace(denied[:-4] + "\n", "\n"))

    run = pcietune(*_judged("vm", file))

    assert run.exit_code == 5
    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert (finding.state, finding.found.text) == ("error", "not known")
    assert finding.reason == f"{NIC_PORT}: only the first 64 bytes were recorded"
    assert finding.remedy is not None
    assert finding.remedy.command == "record the host again as root"


# lspci -xxx prints 256 bytes: that is not a function without extended capabilities.


def test_a_dump_without_extended_space_never_says_that_there_is_no_acs(
    pcietune: Pcietune, file: Path
) -> None:
    file.write_text(dump(one_switch_functions(), size=256))

    run = pcietune(*_judged("vm", file))

    assert run.exit_code == 6
    finding = run.finding("port.nic-side.DirectTrans", NIC_PORT)
    assert (finding.state, finding.found.text) == ("error", "not known")
    assert finding.reason == (
        f"{NIC_PORT}: Configuration Space at 0x100 was not recorded: the dump ends at 0x100, as "
        "that of lspci -xxx does"
    )
    assert finding.remedy is not None
    assert finding.remedy.command == "record the host again, or dump it as root: lspci -D -xxxx"


# F02: functions of 256 and of 4096 bytes in one file.


def _mixed() -> str:
    whole = dump(one_switch_functions()).split("\n\n")
    short = dump(one_switch_functions(), size=256).split("\n\n")
    return "\n\n".join([*short[:3], *whole[3:]])


def test_each_function_is_judged_by_the_bytes_that_it_has(pcietune: Pcietune, file: Path) -> None:
    file.write_text(_mixed())

    run = pcietune(*_judged("vm", file))

    assert run.finding("port.nic-side.DirectTrans", NIC_PORT).found.value == "0x001d"
    assert run.finding("port.gpu-side.ReqRedir", "0000:22:00.0").state == "error"
    assert run.finding("nic.ats", NIC).found.value == "0x8000"


@pytest.mark.parametrize(
    "real", [None, *MIXED], ids=lambda path: "made by hand" if path is None else path.stem
)
def test_a_dump_of_mixed_sizes_is_read_whole(
    pcietune: Pcietune, file: Path, real: Path | None
) -> None:
    file.write_text(_mixed())
    source = file if real is None else real

    run = pcietune("topo", "--all", "--json", "--from", source)

    printed = subprocess.run(["lspci", "-F", source], check=True, capture_output=True, text=True)
    nodes = _nodes(msgspec.json.decode(run.stdout, type=TopologyDocument).functions)
    assert len(nodes) == len(printed.stdout.splitlines())
    problems = {a: node.problem for a, node in nodes.items() if node.problem is not None}
    short = {a for a, problem in problems.items() if problem.endswith(ENDS_AT_256)}
    assert len(short) == (3 if real is None else 0)
    silent = problems.keys() - short
    assert {problems[a] for a in silent} == {f"{a} does not answer: {ALL_ONES}" for a in silent}
    assert len(silent) == printed.stdout.count("(rev ff)")


# F07: addresses without a domain, and paths, as lspci -PP has them.


def test_paths_and_addresses_without_a_domain_are_the_same_host(
    pcietune: Pcietune, file: Path
) -> None:
    file.write_text(dump(one_switch_functions()))
    command: list[str | Path] = ["lspci", "-F", file, "-PP", "-xxxx"]
    paths = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert "\n20:01.0/21:00.0/22:04.0/24:00.0 " in paths
    by_path = file.with_name("by-path")
    by_path.write_text(paths)

    assert pcietune("topo", "--from", by_path) == pcietune("topo", "--from", file)


# F08: two dumps of one host, one behind the other in one file.


def test_two_dumps_in_one_file_are_refused(pcietune: Pcietune, file: Path) -> None:
    first = dump(one_switch_functions())
    file.write_text(f"{first}\n{first.replace('1d 00', '5d 00')}")

    run = pcietune("topo", "--from", file)

    assert run.exit_code == 4
    line = first.count("\n") + 2
    assert run.stderr.startswith(
        f"pcietune: {file}:{line}: 0000:20:01.0 is here for the second time, first in line 1: "
        "these are two dumps\n"
    )
