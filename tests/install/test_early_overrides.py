"""In the initramfs what the list names is kept for VFIO, and nothing else is touched."""

import subprocess
from pathlib import Path

import pytest
from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch

SCRIPT = Path(__file__).parents[2] / "initramfs" / "early-overrides"
NIC = "0000:24:00.0"
# Root port 20:01.0, upstream port 21:00.0, downstream port 22:04.0, and the NIC below it.
NIC_AT = "0000:20:01.0/00.0/04.0/00.0"


@pytest.fixture(params=["dash", "busybox sh", "bash --posix"])
def shell(request: pytest.FixtureRequest) -> list[str]:
    return str(request.param).split()


@pytest.fixture
def host(tmp_path: Path) -> TreeHost:
    host = one_switch(tmp_path)
    for function in (tmp_path / "sys/bus/pci/devices").iterdir():
        (function / "driver_override").write_text("(null)\n")
    (tmp_path / "dev").mkdir()
    return host


def test_a_listed_function_is_kept_for_vfio(host: TreeHost, shell: list[str]) -> None:
    told = _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n")

    assert told == f"<6>pcietune: {NIC} is kept for vfio-pci\n"
    assert _overrides(host) == {NIC: "vfio-pci\n"}


def test_only_driver_override_is_written(host: TreeHost, shell: list[str]) -> None:
    before = _files(host.root)

    _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n")

    changed = {path for path, text in _files(host.root).items() if before.get(path) != text}
    assert changed == {
        host.directory(NIC) / "driver_override",
        host.root / "etc/pcietune/early-overrides",
        host.root / "dev/kmsg",
    }


def test_a_function_is_found_again_behind_other_bus_numbers(
    host: TreeHost, shell: list[str]
) -> None:
    _run(host, shell, f"{NIC_AT} 15b3:101b mlx5_vfio_pci 0000:a4:00.0\n")

    assert _overrides(host) == {NIC: "mlx5_vfio_pci\n"}


def test_the_last_line_counts_without_its_end(host: TreeHost, shell: list[str]) -> None:
    _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}")

    assert _overrides(host) == {NIC: "vfio-pci\n"}


@pytest.mark.parametrize(
    "line",
    [
        pytest.param(f"{NIC_AT} 15b3:1021 vfio-pci {NIC}", id="another card in its place"),
        pytest.param(f"0000:20:01.0/00.0/00.0/00.0 15b3:101b vfio-pci {NIC}", id="moved"),
        pytest.param("0000:20:01.0/00.0/04.0 15b3:101b vfio-pci 0000:22:04.0", id="port above it"),
        pytest.param("0000:a0:01.0/00.0 15b3:101b vfio-pci 0000:a1:00.0", id="gone"),
    ],
)
def test_what_is_not_there_is_told_and_nothing_else_taken(
    host: TreeHost, shell: list[str], line: str
) -> None:
    told = _run(host, shell, f"{line}\n")

    assert told.startswith("<4>pcietune: ")
    assert told.endswith(": no function here is there and has the ids " + line.split()[1] + "\n")
    assert _overrides(host) == {}


@pytest.mark.parametrize(
    "line",
    [
        f"{NIC_AT} 15b3:101b nvidia {NIC}",
        f"{NIC_AT} 15b3:101b vfio-pci;reboot {NIC}",
        f"{NIC_AT} 15b3:101b vfio-pci {NIC} more",
        f"{NIC_AT} 15b3:101b vfio-pci ../../../../etc",
        f"{NIC_AT} 15b3:101b vfio-pci",
        f"{NIC_AT} 15B3:101B vfio-pci {NIC}",
        f"{NIC_AT} 15b3 vfio-pci {NIC}",
        f"$(reboot) 15b3:101b vfio-pci {NIC}",
        "*",
        "",
    ],
)
def test_a_garbled_line_is_told_by_its_number_and_the_next_one_counts(
    host: TreeHost, shell: list[str], line: str
) -> None:
    told = _run(host, shell, f"{line}\n{NIC_AT} 15b3:101b vfio-pci {NIC}\n")

    assert told == (
        "<4>pcietune: line 1 of early-overrides is not understood\n"
        f"<6>pcietune: {NIC} is kept for vfio-pci\n"
    )


def test_what_has_a_driver_keeps_it(tmp_path: Path, shell: list[str]) -> None:
    bound = nic(NIC, below="0000:22:04.0", driver="mlx5_core")
    host = one_switch(tmp_path, instead=[bound])
    (tmp_path / "dev").mkdir()
    host.put("sys/bus/pci/devices/0000:24:00.0/driver_override", "(null)")

    told = _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n")

    assert told == f"<4>pcietune: {NIC} has a driver already, and keeps it\n"
    assert _overrides(host) == {}


def test_somebody_elses_override_is_left(host: TreeHost, shell: list[str]) -> None:
    (host.directory(NIC) / "driver_override").write_text("mlx5_core\n")

    told = _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n")

    assert told == f"<4>pcietune: {NIC} has driver_override mlx5_core, which is somebody else's\n"
    assert _overrides(host) == {NIC: "mlx5_core\n"}


def test_nothing_is_done_where_pcietune_is_off(host: TreeHost, shell: list[str]) -> None:
    host.put("proc/cmdline", "root=/dev/sda1 pcietune=off quiet")

    assert _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n") == ""
    assert _overrides(host) == {}


def test_a_word_that_only_begins_so_does_not_switch_it_off(
    host: TreeHost, shell: list[str]
) -> None:
    host.put("proc/cmdline", "root=/dev/sda1 pcietune=offline")

    _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n")

    assert _overrides(host) == {NIC: "vfio-pci\n"}


def test_a_kernel_that_saves_a_dump_has_its_nics(host: TreeHost, shell: list[str]) -> None:
    host.put("proc/vmcore", "")

    assert _run(host, shell, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n") == ""
    assert _overrides(host) == {}


def test_an_image_without_the_list_boots(host: TreeHost, shell: list[str]) -> None:
    assert _run(host, shell, None) == ""
    assert _overrides(host) == {}


def test_a_root_bus_behind_a_root_bus_is_where_a_location_begins(
    host: TreeHost, shell: list[str]
) -> None:
    """A VMD's ports have a domain of their own below it (drivers/pci/controller/vmd.c)."""
    behind = f"{host.directory(NIC).relative_to(host.root)}/pci10000:e0/10000:e0:06.0/10000:e1:00.0"
    host.put(f"{behind}/vendor", "0x15b3")
    host.put(f"{behind}/device", "0x101b")
    host.put(f"{behind}/driver_override", "(null)")
    host.link("sys/bus/pci/devices/10000:e1:00.0", behind)

    _run(host, shell, "10000:e0:06.0/00.0 15b3:101b vfio-pci 10000:e1:00.0\n")

    assert _overrides(host) == {"10000:e1:00.0": "vfio-pci\n"}


def test_no_other_program_is_needed(host: TreeHost) -> None:
    """An image of initramfs-tools may be without busybox, and klibc has no sed, no readlink -f."""
    _list(host, f"{NIC_AT} 15b3:101b vfio-pci {NIC}\n")

    run = subprocess.run(
        ["/bin/dash", SCRIPT, host.root], check=True, capture_output=True, env={"PATH": "/nowhere"}
    )

    assert run.stderr == b""
    assert _overrides(host) == {NIC: "vfio-pci\n"}


def _run(host: TreeHost, shell: list[str], listed: str | None) -> str:
    """Run the script on the host, and give what it wrote into the kernel's log."""
    _list(host, listed)
    run = subprocess.run([*shell, SCRIPT, host.root], check=True, capture_output=True, text=True)
    assert run.stdout + run.stderr == ""
    log = host.root / "dev/kmsg"
    return log.read_text() if log.exists() else ""


def _list(host: TreeHost, listed: str | None) -> None:
    if listed is not None:
        path = host.root / "etc/pcietune/early-overrides"
        path.parent.mkdir(parents=True)
        path.write_text(listed)


def _overrides(host: TreeHost) -> dict[str, str]:
    """Return what driver_override says of each function of which it says something."""
    found = {
        path.parent.name: path.read_text()
        for path in (host.root / "sys/bus/pci/devices").glob("*/driver_override")
    }
    return {address: text for address, text in found.items() if text != "(null)\n"}


def _files(root: Path) -> dict[Path, bytes]:
    return {
        path: path.read_bytes()
        for path in root.rglob("*")
        if path.is_file() and not path.is_symlink()
    }
