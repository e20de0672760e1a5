"""Expected words: what kernels logged, in the message of commit 9cf8a952d57b (B09)."""

from pathlib import Path

import pytest
from trees.config import DOWNSTREAM_PORT, ConfigBuilder
from trees.function import Function, downstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT, NIC_PORT, judged

from pcietune.errors import ExitCode
from pcietune.model.finding import Finding, RemedyKind, State
from pcietune.model.severity import Severity

ALL = 0x007F  # ACS Capability with every control
FIXED, BROKEN, OLD, UNSURE = "6.16.1", "6.12.10", "6.8.12", "6.12.0-55.9.1.el10_0.x86_64"
PATH = "0000:20:01.0/00.0/04.0"


def _host(root: Path, cmdline: str, release: str, *ports: Function) -> TreeHost:
    tree = one_switch(root, instead=ports)
    tree.put("proc/cmdline", f"BOOT_IMAGE=/vmlinuz ro {cmdline} quiet")
    tree.put("proc/sys/kernel/osrelease", release)
    return tree


def _port(control: int, capability: int = ALL, address: str = NIC_PORT) -> Function:
    return downstream_port(address, below="0000:21:00.0", acs=(capability, control))


def _found(tree: TreeHost) -> list[Finding]:
    return [f for f in judged(tree).findings if f.id == "port.config-acs"]


def _of_nic_port(root: Path, cmdline: str, release: str, control: int) -> Finding:
    (only,) = _found(_host(root, cmdline, release, _port(control)))
    return only


@pytest.mark.parametrize(
    ("cmdline", "control"),
    [
        pytest.param(f"pci=config_acs=1111011@{NIC_PORT}", 0x7B, id="first entry"),
        pytest.param(f"pci=config_acs=1x@1:0.0;101xxxx@{NIC_PORT}", 0x50, id="second entry"),
        pytest.param(f"pci=disable_acs_redir={NIC_PORT}", 0x53, id="7f, by firmware 7b"),
        pytest.param(f"pci=disable_acs_redir={NIC_PORT}", 0x00, id="1d, by firmware 00"),
        pytest.param(f"pci=disable_acs_redir={PATH};{GPU_PORT}/1.0", 0x53, id="by its path"),
    ],
)
def test_what_a_fixed_kernel_made_of_it_is_as_asked(
    tmp_path: Path, cmdline: str, control: int
) -> None:
    found = _of_nic_port(tmp_path, cmdline, FIXED, control)

    assert (found.state, found.subject.path) == (State.PASS, PATH)
    assert found.found.value == found.wanted.value == f"{control:#06x}"


BROKEN_VECTORS = [
    pytest.param(f"pci=disable_acs_redir={NIC_PORT}", 0xFFFB, "CmpltRedir+", id="fffb"),
    pytest.param(f"pci=disable_acs_redir={NIC_PORT}", 0xFFDF, "ReqRedir+", id="ffdf"),
    pytest.param(f"pci=disable_acs_redir={NIC_PORT}", 0xFFD3, "TransBlk+", id="ffd3"),
]


@pytest.mark.parametrize(("cmdline", "written", "named"), BROKEN_VECTORS)
def test_what_a_broken_kernel_made_of_disable_acs_redir_is_warned_of(
    tmp_path: Path, cmdline: str, written: int, named: str
) -> None:
    found = _of_nic_port(tmp_path, cmdline, BROKEN, written & ALL)

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert named in found.reason
    assert "leave redirection as firmware set it, and turn on all else" in found.reason


def test_a_second_entry_is_told_to_be_passed_over_by_a_broken_kernel(tmp_path: Path) -> None:
    cmdline = f"pci=config_acs=1111011@0020:02:00.0;101xxxx@{NIC_PORT}"

    found = _of_nic_port(tmp_path, cmdline, BROKEN, 0x1D)

    assert (found.state, found.found.value, found.wanted.value) == (State.FAIL, "0x001d", "0x005d")
    assert found.reason == (
        f"DirectTrans- is not what 101xxxx@{NIC_PORT} asks for: kernels 6.11 to 6.14 take only the "
        "first entry"
    )


@pytest.mark.parametrize(
    ("cmdline", "release", "control", "why"),
    [
        pytest.param(
            f"pci=config_acs=0000000@{NIC_PORT}", BROKEN, 0x1D, "at a 0 what firmware", id="a 0"
        ),
        pytest.param(
            f"pci=config_acs=1x111x1@1:0.0,1x111x1@{NIC_PORT}",
            FIXED,
            0x1D,
            "a comma ends the list",
            id="a comma",
        ),
        pytest.param(
            f"pci=disable_acs_redir=1:0.0,{PATH}", FIXED, 0x1D, "a comma ends the list", id="A22"
        ),
        pytest.param(
            f"pci=config_acs=1x111x1@{NIC_PORT} pci=config_acs=1x111x1@1:0.0",
            FIXED,
            0x1D,
            "only the last one counts",
            id="two words",
        ),
        pytest.param(
            f"pci=config_acs=12x@1:0.0;1x111x1@{NIC_PORT}",
            FIXED,
            0x1D,
            "an entry before it, which is wrong",
            id="behind a wrong one",
        ),
        pytest.param(
            f"pci=config_acs=1x111x1@{NIC_PORT}", OLD, 0x1D, "since 6.11", id="an old kernel"
        ),
    ],
)
def test_what_the_kernel_does_not_make_of_it_is_said(
    tmp_path: Path, cmdline: str, release: str, control: int, why: str
) -> None:
    found = _of_nic_port(tmp_path, cmdline, release, control)

    assert (found.state, found.severity) == (State.FAIL, Severity.WARNING)
    assert why in found.reason
    assert found.remedy
    assert found.remedy.kind is RemedyKind.KERNEL_ARGS


@pytest.mark.parametrize(
    ("release", "why"), [(FIXED, "it was changed since boot"), (UNSURE, "or this kernel is one")]
)
def test_what_was_changed_since_boot_is_said(tmp_path: Path, release: str, why: str) -> None:
    found = _of_nic_port(tmp_path, f"pci=config_acs=1x111x1@{NIC_PORT}", release, 0x1D)

    assert found.state is State.FAIL
    assert found.reason.startswith(f"DirectTrans- is not what 1x111x1@{NIC_PORT} asks for")
    assert why in found.reason
    assert found.remedy
    assert found.remedy.kind is RemedyKind.SOFTWARE


def test_a_1_that_is_off_is_no_fault_of_a_broken_kernel(tmp_path: Path) -> None:
    found = _of_nic_port(tmp_path, f"pci=config_acs=1x111x1@{NIC_PORT}", BROKEN, 0x1D)

    assert found.reason.endswith("it was changed since boot")


@pytest.mark.parametrize(
    ("cmdline", "control"),
    [
        pytest.param(
            f"pci=config_acs=0000000@{NIC_PORT} pci=config_acs=1x111x1@{NIC_PORT}",
            0x5D,
            id="the last word",
        ),
        pytest.param(
            f"pci=config_acs=1x@1:0.0,1x111x1@{NIC_PORT} pci=disable_acs_redir={NIC_PORT}",
            0x11,
            id="the other option, where one is cut off",
        ),
    ],
)
def test_what_the_kernel_gets_to_is_what_counts(tmp_path: Path, cmdline: str, control: int) -> None:
    assert _of_nic_port(tmp_path, cmdline, FIXED, control).state is State.PASS


def test_what_config_acs_says_is_said_after_disable_acs_redir(tmp_path: Path) -> None:
    cmdline = f"pci=config_acs=1x111x1@{NIC_PORT} pci=disable_acs_redir={NIC_PORT}"

    assert _of_nic_port(tmp_path, cmdline, FIXED, 0x5D).state is State.PASS


def test_ids_name_every_such_port_and_what_one_does_not_offer_is_not_asked_of_it(
    tmp_path: Path,
) -> None:
    ports = _port(0x5D), _port(0x1D, capability=0x1F, address=GPU_PORT)

    found = _found(_host(tmp_path, "pci=config_acs=1x111x1@pci:1000:c010", FIXED, *ports))

    assert {(str(f.subject.address), f.state) for f in found} == {
        (NIC_PORT, State.PASS),
        (GPU_PORT, State.PASS),
    }


def test_where_no_port_is_named_nothing_is_compared(tmp_path: Path) -> None:
    assert _found(_host(tmp_path, "pci=config_acs=1x111x1@1:0.0 pci=realloc", FIXED)) == []


def test_a_port_without_acs_is_not_set_by_any_option(tmp_path: Path) -> None:
    bare = downstream_port(NIC_PORT, below="0000:21:00.0", acs=None)

    (found,) = _found(_host(tmp_path, f"pci=config_acs=1x111x1@{NIC_PORT}", FIXED, bare))

    assert found.state is State.NOT_APPLICABLE


def test_a_port_that_does_not_answer_is_never_as_asked(tmp_path: Path) -> None:
    silent = _port(0x5D)
    silent.config.all_ones()

    (found,) = _found(_host(tmp_path, f"pci=config_acs=1x111x1@{NIC_PORT}", FIXED, silent))

    assert (found.state, found.severity, found.code) == (State.ERROR, Severity.INFO, ExitCode.OK)


def test_the_kernel_heeds_no_option_at_a_port_with_wide_registers(tmp_path: Path) -> None:
    config = ConfigBuilder("8086:a110", 0x060400).express(DOWNSTREAM_PORT)
    config.acs(0x005F, 0x0000)
    port = Function(NIC_PORT, config, below="0000:21:00.0", driver="pcieport")

    (found,) = _found(_host(tmp_path, f"pci=config_acs=1x111x1@{NIC_PORT}", FIXED, port))

    assert found.state is State.FAIL
    assert "heeds no option" in found.reason
