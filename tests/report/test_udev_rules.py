"""The udev rules: what starts a process, and what the narrowed ones have in common with them."""

import re
from fnmatch import fnmatchcase
from pathlib import Path

import pytest

from pcietune.report.udev_rules import udev_rules

SHIPPED = Path(__file__).parents[2] / "udev/04-pcietune.rules"
HOOK = "/usr/lib/pcietune/hook"
LOAD = "kmod load vfio-pci vfio_$env{MODALIAS}"
NIC = {"PCI_ID": "15B3:101B", "PCI_CLASS": "20700", "PCI_SLOT_NAME": "0000:24:00.0"}
BRIDGE = {"PCI_ID": "1000:C010", "PCI_CLASS": "60400", "PCI_SLOT_NAME": "0000:22:04.0"}
IDS, BIND = "/run/pcietune/ids/15B3:101B", "/run/pcietune/bind/15B3:101B"
STAMP, POLICY = "/run/pcietune/stamps/0000:24:00.0", "/run/pcietune/policy.json"

_PAIR = re.compile(r'([A-Z]+)(?:\{([^}]*)\})?(==|!=|\+=|=)"([^"]*)"')


def started(rules: str, environ: dict[str, str], files: set[str]) -> list[str]:
    """Return what the rules run at an event of ``pci``, read as udev(7) says.

    Args:
        rules: The file.
        environ: The event's.
        files: Those that exist.
    """
    run: list[str] = []
    for line in rules.splitlines():
        if not line or line.startswith("#"):
            continue
        rest = _PAIR.sub("", line).replace(",", "").strip()
        assert rest == "", f"udev would not understand {rest!r}"
        pairs = _PAIR.findall(line)
        if all(_matches(pair, environ, files) for pair in pairs if pair[2] in ("==", "!=")):
            assert not any(pair[0] == "GOTO" for pair in pairs), "it is no event of pci"
            run += [value for key, _, _, value in pairs if key == "RUN"]
    return run


def _matches(pair: tuple[str, str, str, str], environ: dict[str, str], files: set[str]) -> bool:
    key, of, operator, value = pair
    if key == "TEST":
        name = environ["PCI_SLOT_NAME"]
        path = value.replace("$env{PCI_ID}", environ["PCI_ID"]).replace("$kernel", name)
        found = path in files
    else:
        known = {"ACTION": environ["ACTION"], "SUBSYSTEM": "pci"}
        text = environ.get(of, "") if key == "ENV" else known[key]
        found = any(fnmatchcase(text, pattern) for pattern in value.split("|"))
    return found is (operator == "==")


def shipped() -> str:
    return SHIPPED.read_text()


def narrowed() -> str:
    return "\n".join(udev_rules({"15b3:101b", "10de:20f3"}, {"15b3:101b"}))


RULES = pytest.mark.parametrize("rules", [pytest.param(shipped(), id="shipped"), narrowed()])
ALL = {IDS, BIND, POLICY}


@RULES
@pytest.mark.parametrize(
    ("action", "more", "files", "runs"),
    [
        pytest.param("add", NIC, ALL, [LOAD, HOOK], id="a NIC that is to be bound"),
        pytest.param("add", NIC, {*ALL, STAMP}, [], id="one that is stamped"),
        pytest.param("add", NIC, ALL - {BIND}, [HOOK], id="one that is only judged"),
        pytest.param("add", BRIDGE, ALL, [], id="a bridge"),
        pytest.param("add", NIC, set(), [], id="without apply"),
        pytest.param("bind", {**NIC, "DRIVER": "vfio-pci"}, ALL, [HOOK], id="bound to vfio-pci"),
        pytest.param("bind", {**NIC, "DRIVER": "mlx5_vfio_pci"}, ALL, [HOOK], id="to a variant"),
        pytest.param("bind", {**NIC, "DRIVER": "mlx5_core"}, ALL, [], id="to its native driver"),
        pytest.param("unbind", NIC, {*ALL, STAMP}, [], id="unbound"),
        pytest.param(
            "change", {**BRIDGE, "ERROR_EVENT": "SUCCESSFUL_RECOVERY"}, ALL, [HOOK], id="recovered"
        ),
        pytest.param(
            "change", {**BRIDGE, "ERROR_EVENT": "FAILED_RECOVERY"}, ALL, [HOOK], id="given up"
        ),
        pytest.param(
            "change", {**BRIDGE, "ERROR_EVENT": "BEGIN_RECOVERY"}, ALL, [], id="still recovering"
        ),
        pytest.param(
            "change", {**NIC, "ERROR_EVENT": "SUCCESSFUL_RECOVERY"}, ALL, [], id="no bridge"
        ),
        pytest.param("change", BRIDGE, ALL, [], id="udevadm trigger"),
        pytest.param("remove", NIC, {*ALL, STAMP}, [HOOK], id="a stamped NIC goes"),
        pytest.param("remove", NIC, ALL, [], id="another goes"),
    ],
)
def test_an_event_starts_what_it_must_and_no_more(
    rules: str, action: str, more: dict[str, str], files: set[str], runs: list[str]
) -> None:
    assert started(rules, {**more, "ACTION": action}, files) == runs


def test_the_shipped_rules_are_read_before_driverctls_and_the_module_loading() -> None:
    names = ["80-drivers.rules", SHIPPED.name, "05-driverctl.rules"]

    assert min(names) == SHIPPED.name


def test_where_nothing_is_bound_no_module_is_loaded() -> None:
    assert LOAD not in "\n".join(udev_rules({"15b3:101b"}, set()))


def test_where_there_is_nothing_to_act_on_there_is_no_rule() -> None:
    assert all(line.startswith("#") for line in udev_rules(set(), set()))
