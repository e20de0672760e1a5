"""The guests of a test session: each machine is booted once, and only one runs at a time."""

import time
from collections.abc import Generator, Iterator
from dataclasses import dataclass

import pytest

from bench.boot import booted
from bench.guest import Guest
from bench.machine import load_machine
from bench.on_guest import differences


@dataclass(slots=True)
class Seconds:
    """What a machine cost: its boot, and all from there to its end."""

    boot: float
    total: float = 0


_SECONDS = pytest.StashKey[dict[str, Seconds]]()


def pytest_configure(config: pytest.Config) -> None:
    config.stash[_SECONDS] = {}
    config.addinivalue_line(
        "markers", "machine(*names): run the test in a guest on each of these machines"
    )


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Run a test that takes ``guest`` once for each machine that its mark names.

    pytest puts tests with the same parameter of a session's fixture one after another, and ends the
    fixture when the next parameter's turn comes.
    """
    if "guest" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("machine")
        if marker is None:
            pytest.fail(
                f"{metafunc.definition.nodeid} takes guest and names no machine", pytrace=False
            )
        metafunc.parametrize("guest", marker.args, indirect=True, scope="session")


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.get_closest_marker("machine"):
        item.add_marker("bench")


@pytest.fixture(scope="session")
def guest(request: pytest.FixtureRequest) -> Iterator[Guest]:
    name: str = request.param
    seconds = request.config.stash[_SECONDS]
    assert name not in seconds, f"{name} has been booted in this session"
    started = time.monotonic()
    with booted(load_machine(name)) as running:
        seconds[name] = Seconds(boot=time.monotonic() - started)
        yield running
    seconds[name].total = time.monotonic() - started


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item,
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Print the end of the guest's console with a test that failed while the guest was there."""
    report = yield
    running = getattr(item, "funcargs", {}).get("guest")
    if report.failed and report.when != "teardown" and isinstance(running, Guest):
        report.sections.append(("End of the guest's console", running.console_tail()))
    return report


def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, config: pytest.Config
) -> None:
    if machines := config.stash[_SECONDS]:
        terminalreporter.section("seconds per machine")
        for name, seconds in machines.items():
            terminalreporter.write_line(
                f"{name:15} boot {seconds.boot:5.1f}  total {seconds.total:6.1f}"
            )


@pytest.fixture
def unchanged(guest: Guest) -> Iterator[None]:
    """Notice if the guest's capabilities and settings are not left as they were found.

    The header before them is not compared: the kernel turns bus mastering on when it needs it.
    """
    registers, settings = _capabilities(guest), _settings(guest)
    yield
    assert differences(registers, _capabilities(guest)) == {}
    assert _settings(guest) == settings


@pytest.fixture
def untouched(guest: Guest, unchanged: None) -> Iterator[None]:  # noqa: ARG001 -- its order
    """Undo what pcietune did, and notice if something is not as it was."""
    yield
    guest.pcietune("restore", "--while-in-use")
    guest.run("rm", "-rf", "/run/pcietune", "/etc/pcietune", "/var/lib/pcietune")


def _capabilities(guest: Guest) -> dict[str, bytes]:
    blank = bytes(0x40)
    return {address: blank + data[0x40:] for address, data in guest.configs().items()}


def _settings(guest: Guest) -> str:
    """Return what of sysfs pcietune may write: types of groups, and runtime power management."""
    files = "/sys/kernel/iommu_groups/*/type /sys/bus/pci/devices/*/power/control"
    return guest.run("sh", "-c", f"grep . {files}").stdout
