"""One browser for all tests of the HTML report, and the reports that they open."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from browser.pages import Open, Page, chromium
from selenium.webdriver import Chrome
from trees.function import downstream_port
from trees.machines import one_switch

import pcietune
from benchmarks.hosts import host_of_switches
from pcietune.cli.app import run

A800 = Path(pcietune.__file__).parent / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"


@pytest.fixture(scope="session")
def browser() -> Iterator[Chrome]:
    driver = chromium()
    yield driver
    driver.quit()


@pytest.fixture
def opened(browser: Chrome) -> Open:
    return lambda file: Page(browser, file)


@pytest.fixture(scope="session")
def a800(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return report_of(A800, tmp_path_factory.mktemp("a800"), "--mode", "vm")


@pytest.fixture(scope="session")
def small(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of a GPU and a NIC, where something is not as wanted."""
    directory = tmp_path_factory.mktemp("small")
    port = downstream_port("0000:22:04.0", below="0000:21:00.0")
    host = one_switch(directory / "host", instead=[replace(port, config=port.config.cut(64))])
    return report_of(host.root, directory, "--mode", "vm", "--profile", "gpu-rdma", code=5)


@pytest.fixture(scope="session")
def big(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the report of 16 GPUs and 16 NICs with 128 VFs each."""
    with host_of_switches(8, vfs_per_nic=128) as host:
        directory = tmp_path_factory.mktemp("big")
        return report_of(host.root, directory, "--mode", "vm", "--profile", "gpu-rdma")


def report_of(source: Path, directory: Path, *options: str, code: int = 0) -> Path:
    """Return the report of a recorded host."""
    file = directory / "host.html"
    assert run(["report", str(file), "--from", str(source), *options]) == code
    return file


@pytest.fixture
def hostile(tmp_path: Path) -> Path:
    """Return a host whose firmware calls it by markup."""
    tree = one_switch(tmp_path / "host")
    tree.put("sys/class/dmi/id/sys_vendor", "<script>window.struck = 1</script>")
    return tree.root
