"""Public reports that come as text, and groups that the registers contradict or explain."""

import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune, Run
from trees.config import DOWNSTREAM_PORT, ROOT_PORT, UPSTREAM_PORT, ConfigBuilder
from trees.dump import dump, one_switch_functions
from trees.function import Function, downstream_port, gpu, nic
from trees.groups import into_group
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.report.groups import GroupDocument, GroupsDocument
from pcietune.report.paths_document import PairDocument, PathsDocument
from pcietune.report.paths_isolation import IsolationDocument, ReachDocument

UPSTREAM, GPU_PORT, NIC_PORT = "0000:21:00.0", "0000:22:00.0", "0000:22:04.0"
GPU, NIC = "0000:23:00.0", "0000:24:00.0"
# Dumps of real machines are not ours to hand on: more cases where they are at hand.
REAL = Path(__file__).parents[3] / "shared" / "dumps"


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "host.lspci"


def _lspci(file: Path, *arguments: str) -> str:
    """Return what lspci prints of a dump."""
    command = ["lspci", "-F", str(file), *arguments]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout


def _sources(*files: Path) -> list[str | Path]:
    return [part for file in files for part in ("--from", file)]


def _isolation(run: Run) -> IsolationDocument:
    return msgspec.json.decode(run.stdout, type=IsolationDocument)


def _pairs(run: Run) -> list[PairDocument]:
    return msgspec.json.decode(run.stdout, type=PathsDocument).pairs


def _ports(reaches: Sequence[ReachDocument]) -> set[str]:
    return {port.address for reach in reaches for port in reach.ports}


def _listed(file: Path, groups: Mapping[str, int]) -> Path:
    """Write a listing of IOMMU groups beside the dump."""
    listing = file.with_name("groups")
    rows = [f"/sys/kernel/iommu_groups/{number}/devices/{a}\n" for a, number in groups.items()]
    listing.write_text("".join(rows))
    return listing


# "Fix incorrect iommu_groups with PCIe ACS" (linux-pci; E19): downstream ports without ACS, and up
# to Linux 6.16 what is below them in groups of its own.


def _without_acs() -> list[Function]:
    ports = {p: downstream_port(p, below=UPSTREAM, acs=None) for p in (GPU_PORT, NIC_PORT)}
    return [ports.get(function.address, function) for function in one_switch_functions()]


def _apart(made: Path) -> list[Path]:
    """Return the same as sysfs has it."""
    host = one_switch(made, driver="vfio-pci", instead=_without_acs()[2:4])
    into_group(host, GPU, 2)  # with its port
    into_group(host, NIC, 3)
    return [made]


def _apart_in_text(made: Path) -> list[Path]:
    """Return the same as lspci -vvv has it, with a listing of the groups."""
    made.mkdir()
    data, text = made / "bytes", made / "text"
    data.write_text(dump(_without_acs()))
    text.write_text(_lspci(data, "-D", "-nn", "-vvv"))
    numbers = (0, 1, 2, 3, 2, 3)
    groups = {f.address: number for f, number in zip(_without_acs(), numbers, strict=True)}
    return [text, _listed(text, groups)]


@pytest.mark.parametrize("made", [_apart, _apart_in_text])
def test_groups_that_switch_ports_without_acs_do_not_bear_out_are_contradicted(
    pcietune: Pcietune, tmp_path: Path, made: Callable[[Path], list[Path]]
) -> None:
    sources = _sources(*made(tmp_path / "host"))

    shown = pcietune("paths", "--isolation", *sources)
    found = _isolation(pcietune("paths", "--isolation", "--json", *sources))

    (reach,) = found.reaches
    assert [port.address for port in reach.ports] == [GPU_PORT, NIC_PORT]
    assert (reach.reason, reach.apart_by) == ("no ACS capability", "different IOMMU groups")
    assert {each.address for each in (*reach.senders, *reach.targets)} == {GPU, NIC}
    assert "no ACS capability; their IOMMU groups say that they are apart" in shown.stdout
    assert shown.stdout.rstrip().endswith("not all of them are apart")


def test_without_acs_the_gpus_memory_is_reached_straight(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    (pair,) = _pairs(pcietune("paths", "--json", *_sources(*_apart(tmp_path))))

    assert pair.now.forth.write.outcome == "direct"


# PEX8725 and PEX8748 below a PEG port (linux-pci; E25): each downstream port is as Linux sets it,
# and all is one group, for the root port has no ACS.

PEG, PLX_UP = "0000:00:01.0", "0000:01:00.0"
PLX_GPU, PLX_NIC = "0000:02:01.0", "0000:02:02.0"
PCH = ("0000:00:1c.0", "0000:00:1c.1")


def _plx(address: str, port_type: int, below: str) -> Function:
    config = ConfigBuilder("10b5:8748", 0x060400).power_management().express(port_type)
    config.serial_number(1, at=0x100)
    if port_type == DOWNSTREAM_PORT:
        config.acs(0x007F, 0x001D, at=0xF24)
    return Function(address, config, below=below, driver="pcieport")


def _below_the_peg(root_acs: int | None = None) -> list[Function]:
    peg = ConfigBuilder("8086:1901", 0x060400).express(ROOT_PORT).serial_number(1)
    if root_acs is not None:
        peg.acs(0x001F, root_acs)
    return [
        Function(PEG, peg, driver="pcieport"),
        _plx(PLX_UP, UPSTREAM_PORT, PEG),
        _plx(PLX_GPU, DOWNSTREAM_PORT, PLX_UP),
        _plx(PLX_NIC, DOWNSTREAM_PORT, PLX_UP),
        gpu("0000:03:00.0", below=PLX_GPU),
        nic("0000:04:00.0", below=PLX_NIC),
    ]


def _one_group(root: Path, functions: Sequence[Function]) -> Path:
    tree = TreeHost(root)
    tree.intel_iommu("dmar0")
    tree.add(*(replace(function, group=2, iommu="dmar0") for function in functions))
    return root


def _second(run: Run) -> GroupDocument:
    document = msgspec.json.decode(run.stdout, type=GroupsDocument)
    (found,) = (group for group in document.groups if group.group == 2)
    return found


def test_one_group_of_ports_that_isolate_is_told_to_come_from_the_root_port(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    root = _one_group(tmp_path, _below_the_peg())

    found = _second(pcietune("groups", "--json", "--from", root))
    shown = pcietune("groups", "--from", root).stdout

    assert [(j.address, j.missing) for j in found.joined_at] == [(PEG, "no ACS capability")]
    assert f"-> together, since {PEG} has no ACS capability\n" in shown
    assert not found.kept_together


def test_of_a_root_port_that_isolates_the_group_is_from_before(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    root = _one_group(tmp_path, _below_the_peg(0x001D))

    found = _second(pcietune("groups", "--json", "--from", root))

    assert found.joined_at == []
    assert found.kept_together


def test_audit_blames_the_root_port_and_not_the_switch(pcietune: Pcietune, tmp_path: Path) -> None:
    root = _one_group(tmp_path, _below_the_peg())

    run = pcietune("audit", "--profile", "gpu-rdma", "--mode", "vm", "--json", "--from", root)

    isolating = {f"port.upstream.{bit}" for bit in ("SrcValid", "ReqRedir", "CmpltRedir")}
    blamed = {address for finding_id, address in run.failing() if finding_id in isolating}
    assert blamed == {PEG}
    assert not {address for _, address in run.failing()} & {PLX_UP, PLX_GPU}


def test_what_the_switch_redirects_is_turned_by_the_root_port(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    root = _one_group(tmp_path, _below_the_peg())

    (pair,) = _pairs(pcietune("paths", "--mode", "vm", "--json", "--from", root))

    write = pair.now.forth.write
    assert (write.outcome, write.at) == ("turned above", PEG)


def _pch(control: int) -> list[Function]:
    """Return two Sunrise Point root ports with a NIC each; ACS Control is a dword, at +8."""
    functions = []
    for number, port in enumerate(PCH):
        config = ConfigBuilder(f"8086:a11{number}", 0x060400).express(ROOT_PORT)
        config.serial_number(number, at=0x100)
        config.extended(0x000D, bytes([0x0F, 0, 0, 0, control, 0, 0, 0]), at=0x140)
        functions.append(Function(port, config, driver="pcieport"))
        functions.append(nic(f"0000:{0x15 + number:02x}:00.0", below=port, ats=None))
    return functions


@pytest.mark.parametrize(("control", "reaching"), [(0x0F, set()), (0x00, set(PCH))])
def test_the_acs_of_sunrise_point_root_ports_is_read_where_it_is(
    pcietune: Pcietune, tmp_path: Path, control: int, reaching: set[str]
) -> None:
    tree = TreeHost(tmp_path)
    tree.intel_iommu("dmar0")
    tree.add(*(replace(f, group=8 + n, iommu="dmar0") for n, f in enumerate(_pch(control))))

    found = _isolation(pcietune("paths", "--isolation", "--json", "--from", tmp_path))

    assert _ports(found.reaches) == reaching
    assert found.not_known == []


def test_text_prints_another_word_for_them_which_is_not_taken_for_off(
    pcietune: Pcietune, file: Path
) -> None:
    file.write_text(dump(_pch(0x0F)))
    text = file.with_name("text")
    text.write_text(_lspci(file, "-nn", "-vvv"))
    assert text.read_text().count("ACSCtl:\tSrcValid- TransBlk- ReqRedir- CmpltRedir-") == 2
    listing = _listed(file, {f.address: 8 + number for number, f in enumerate(_pch(0x0F))})

    run = pcietune("paths", "--isolation", "--json", *_sources(text, listing))

    found = _isolation(run)
    assert run.exit_code == 6
    assert found.reaches == []
    assert _ports(found.not_known) == set(PCH)


def _in_text(file: Path) -> tuple[Path, Path]:
    """Return the host as text with its groups, PCH root ports in groups of their own."""
    data, text = file.with_name("bytes"), file.with_name("text")
    data.write_text(dump([*_below_the_peg(), *_pch(0x0F)]))
    text.write_text(_lspci(data, "-nn", "-vvv"))
    groups = {function.address: 2 for function in _below_the_peg()}
    groups |= {function.address: 8 + number for number, function in enumerate(_pch(0x0F))}
    return text, _listed(text, groups)


def _pex8748(_: Path) -> tuple[Path, Path]:
    return REAL / "pex8748.vvv.txt", REAL / "pex8748.groups"


TEXTS = [_in_text, *([_pex8748] if (REAL / "pex8748.vvv.txt").exists() else [])]


@pytest.mark.parametrize("texts", TEXTS)
def test_text_tells_the_same_of_the_root_port_and_calls_no_pch_port_off(
    pcietune: Pcietune, file: Path, texts: Callable[[Path], tuple[Path, Path]]
) -> None:
    sources = _sources(*texts(file))

    grouped = pcietune("groups", "--all", "--json", *sources)
    isolation = pcietune("paths", "--isolation", "--json", *sources)

    joined = [(each.address, each.missing) for each in _second(grouped).joined_at]
    assert joined == [(PEG, "no ACS capability")]
    assert not any("00:1c." in port for port in _ports(_isolation(isolation).reaches))


# F01: others than root see 64 bytes of each function, and lspci says so.


def _tree_of_64_bytes(file: Path) -> Path:
    host = one_switch(file.with_name("tree"))
    for function in one_switch_functions():
        config = host.config(function.address)
        config.write_bytes(config.read_bytes()[:64])
    return host.root


def _bytes_of_64_bytes(file: Path) -> Path:
    file.write_text(dump(one_switch_functions(), size=64))
    return file


def _text_of_64_bytes(file: Path) -> Path:
    text = file.with_name("text")
    text.write_text(_lspci(_bytes_of_64_bytes(file), "-D", "-nn", "-vvv"))
    assert text.read_text().count("\tCapabilities: <access denied>") == 6
    return text


@pytest.mark.parametrize("made", [_tree_of_64_bytes, _bytes_of_64_bytes, _text_of_64_bytes])
@pytest.mark.parametrize("mode", ["vm", "baremetal"])
def test_what_only_root_may_read_is_no_route_and_no_exoneration(
    pcietune: Pcietune, file: Path, made: Callable[[Path], Path], mode: str
) -> None:
    source = made(file)
    command = ["paths", "NIC0", "GPU0", "--mode", mode]

    shown = pcietune(*command, "--from", source)
    run = pcietune(*command, "--json", "--from", source)

    assert (shown.exit_code, run.exit_code) == (5, 5)
    assert "as root" in shown.stderr
    assert "ACS is not what keeps" not in shown.stdout
    (pair,) = _pairs(run)
    for flow, port in ((pair.now.forth, GPU_PORT), (pair.now.back, NIC_PORT)):
        assert flow.write.outcome == "unknown"
        assert (flow.completion.outcome, flow.completion.at) == ("unknown", port)
    for cure in (pair.cure_forth, pair.cure_back):
        assert cure is not None
        assert cure.changes == []


@pytest.mark.parametrize("made", [_tree_of_64_bytes, _bytes_of_64_bytes, _text_of_64_bytes])
def test_what_only_root_may_read_is_not_said_to_be_apart(
    pcietune: Pcietune, file: Path, made: Callable[[Path], Path]
) -> None:
    source = made(file)

    shown = pcietune("paths", "--isolation", "--from", source)
    found = _isolation(pcietune("paths", "--isolation", "--json", "--from", source))

    assert shown.exit_code == 5
    assert shown.stdout.rstrip().endswith("whether all of them are apart is not known")
    assert _ports(found.not_known) == {GPU_PORT, NIC_PORT}
    assert found.reaches == []


# F07: addresses without a domain, and paths, as lspci -PP has them.


def _with_direct_translated() -> list[Function]:
    functions = one_switch_functions()
    functions[3].config.word(0x106, 0x005D)  # ACS Control of the NIC's downstream port
    return functions


@pytest.mark.parametrize(
    "options",
    [["-nn", "-vvv"], ["-PP", "-nn", "-vvv"], ["-PP", "-nn", "-vvv", "-xxxx"]],
    ids=" ".join,
)
@pytest.mark.parametrize(
    ("functions", "outcome"),
    [(one_switch_functions, "via root complex"), (_with_direct_translated, "direct")],
)
def test_text_by_short_addresses_or_paths_has_the_same_routes_as_bytes(
    pcietune: Pcietune,
    file: Path,
    options: list[str],
    functions: Callable[[], list[Function]],
    outcome: str,
) -> None:
    file.write_text(dump(functions()))
    text = file.with_name("text")
    text.write_text(_lspci(file, *options))
    heading = "\n20:01.0/21:00.0/22:04.0/24:00.0 " if "-PP" in options else "24:00.0 "
    assert heading in text.read_text()

    for command in (
        ["paths", "--mode", "vm"],
        ["paths", NIC, GPU, "--mode", "vm"],
        ["paths", "--isolation"],
    ):
        assert pcietune(*command, "--from", text) == pcietune(*command, "--from", file)
    (pair,) = _pairs(pcietune("paths", "--mode", "vm", "--json", "--from", text))
    assert (pair.now.forth.write.outcome, pair.now.forth.write.at) == (outcome, NIC_PORT)


@pytest.mark.parametrize("options", [["-nn", "-vvv"], ["-xxxx"]], ids=" ".join)
def test_paths_without_buses_are_refused_and_not_taken_for_the_function_before(
    pcietune: Pcietune, file: Path, options: list[str]
) -> None:
    file.write_text(dump(one_switch_functions()))
    text = file.with_name("text")
    text.write_text(_lspci(file, "-P", *options))

    run = pcietune("paths", "--from", text)

    assert run.exit_code == 4
    assert "20:01.0/00.0 is the path of a function, without its bus" in run.stderr
    assert "lspci -PP instead of -P" in run.stderr
