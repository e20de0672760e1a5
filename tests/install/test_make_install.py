"""What make install lays out works where it lies, and make uninstall removes exactly that."""

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from pcietune import __version__

CHECKOUT = Path(__file__).parents[2]
RECORDED_HOST = CHECKOUT / "pcietune" / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"
# Whoever starts, enables or rebuilds something does it by one of these.
STARTERS = ["systemctl", "udevadm", "update-initramfs", "dracut", "mandb", "depmod", "ldconfig"]
# Where else something of pcietune's could be put on the machine at hand.
ELSEWHERE = [
    *("/etc/pcietune", "/etc/systemd", "/etc/udev", "/etc/initramfs-tools", "/etc/dracut.conf.d"),
    *("/run/pcietune", "/run/systemd/system", "/run/udev/rules.d", "/var/lib/pcietune"),
    *("/usr/bin", "/usr/lib/pcietune", "/usr/lib/systemd", "/usr/lib/udev", "/usr/local", "/boot"),
]

Tree = dict[str, tuple[int, bytes]]


class Installed:
    """A root that pcietune was installed into, and what was there before.

    Attributes:
        root: With a few files of others in it.
        prefix: Where pcietune is, seen from the machine at hand too: so it can be run.
        before: What was below the root.
        elsewhere: Files outside of it, and when each changed last, before and after.
        started: Calls of commands that start or enable something.
    """

    def __init__(self, root: Path) -> None:
        self.root = root
        self.prefix = root / "usr"
        for path in ("etc/pcietune/pcietune.yaml", "usr/lib/systemd/system/ssh.service"):
            (root / path).parent.mkdir(parents=True)
            (root / path).write_text("# somebody else's\n")
        self.before = tree(root)
        calls = root.parent / "calls"
        commands = root.parent / "commands"
        commands.mkdir()
        for name in STARTERS:
            (commands / name).write_text(f'#!/bin/sh\necho "$0 $*" >>{calls}\n')
            (commands / name).chmod(0o755)
        listed = _times()
        make("install", self.prefix, PATH=f"{commands}:{os.environ['PATH']}")
        self.elsewhere = (listed, _times())
        self.started = calls.read_text() if calls.exists() else ""

    def run(self, *arguments: str | Path, **surroundings: str) -> str:
        """Run the installed command, and give its output."""
        return subprocess.run(
            [self.prefix / "bin" / "pcietune", *arguments],
            check=True,
            capture_output=True,
            text=True,
            cwd=self.root,
            env=os.environ | surroundings,
        ).stdout


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Installed:
    return Installed(tmp_path_factory.mktemp("install") / "root")


def test_the_command_runs_from_where_it_is_installed(installed: Installed) -> None:
    assert installed.run("--version") == f"pcietune {__version__}\n"
    assert "next " in installed.run("status", "--from", RECORDED_HOST)
    assert "a800-sxm4-8gpu" in installed.run("profile", "list")


def test_the_surroundings_cannot_slip_in_a_module(installed: Installed, tmp_path: Path) -> None:
    (tmp_path / "typer.py").write_text("raise SystemExit('slipped in')\n")

    said = installed.run("--version", PYTHONPATH=str(tmp_path), PYTHONHOME="/nowhere")

    assert said == f"pcietune {__version__}\n"


def test_udevs_hook_runs_from_where_it_is_installed(installed: Installed, tmp_path: Path) -> None:
    """Of an event that is about no PCI function there is nothing to do."""
    (tmp_path / "os.py").write_text("raise SystemExit('slipped in')\n")

    run = subprocess.run(
        [installed.prefix / "lib" / "pcietune" / "hook"],
        check=False,
        capture_output=True,
        text=True,
        cwd=tmp_path,
        env={"ACTION": "add", "SUBSYSTEM": "pci", "PYTHONPATH": str(tmp_path)},
    )

    assert (run.returncode, run.stdout, run.stderr) == (0, "", "")


def test_running_it_writes_nothing_into_what_is_installed(installed: Installed) -> None:
    before = tree(installed.prefix)

    installed.run("audit", "--help")

    assert tree(installed.prefix) == before


def test_nothing_is_started_enabled_or_rebuilt(installed: Installed) -> None:
    assert installed.started == ""
    assert list(installed.prefix.rglob("*.wants")) == []


def test_nothing_is_written_outside_the_prefix(installed: Installed) -> None:
    before, after = installed.elsewhere
    here = [
        {path: content for path, content in found.items() if not path.startswith("usr/")}
        for found in (installed.before, tree(installed.root))
    ]

    assert after == before
    assert here[0] == here[1]


def test_installing_again_gives_the_same_and_removes_what_is_no_more(installed: Installed) -> None:
    before = tree(installed.root)
    with (installed.prefix / "lib/pcietune/manifest").open("a") as manifest:
        manifest.write("share/doc/pcietune/of-an-older-version.md\n")
    for name in ("of-an-older-version.md", "of-the-site.md"):
        (installed.prefix / "share/doc/pcietune" / name).write_text("\n")

    make("install", installed.prefix)

    (installed.prefix / "share/doc/pcietune/of-the-site.md").unlink()  # it is still there
    assert tree(installed.root) == before


def test_uninstalling_leaves_what_was_there_before(installed: Installed, tmp_path: Path) -> None:
    shutil.copytree(installed.root, tmp_path / "root")
    kept = tmp_path / "root/usr/share/doc/pcietune/of-the-site.md"
    kept.write_text("\n")

    said = make("uninstall", tmp_path / "root/usr")

    assert "/etc/pcietune and /var/lib/pcietune are left" in said
    kept.unlink()
    for folder in kept.relative_to(tmp_path / "root").parents[:3]:
        (tmp_path / "root" / folder).rmdir()  # they were made for it, and held it
    assert tree(tmp_path / "root") == installed.before


def test_uninstalling_says_that_an_image_still_keeps_functions_for_vfio(
    installed: Installed, tmp_path: Path
) -> None:
    """Else they would have no driver after the next boot, and nobody would know why."""
    shutil.copytree(installed.prefix, tmp_path / "usr")
    kept = tmp_path / "etc/pcietune/early-overrides"
    kept.parent.mkdir(parents=True)
    kept.write_text("0000:20:00.0/00.0 15b3:101b vfio-pci 0000:21:00.0\n")

    said = _make("uninstall", Path("/usr"), str(tmp_path), {}).stdout

    assert "made anew: update-initramfs -u, or dracut --force" in said
    assert kept.exists()


def test_what_is_still_enabled_is_not_uninstalled(installed: Installed, tmp_path: Path) -> None:
    """Else a link to nothing would be told at every boot."""
    shutil.copytree(installed.prefix, tmp_path / "usr")
    wants = tmp_path / "etc/systemd/system/sysinit.target.wants"
    wants.mkdir(parents=True)
    (wants / "pcietune-apply.service").symlink_to("/usr/lib/systemd/system/pcietune-apply.service")
    before = tree(tmp_path)

    said = refusal("uninstall", Path("/usr"), destdir=str(tmp_path))

    assert "still enabled: pcietune-apply.service" in said
    assert f"try: systemctl disable --root={tmp_path} pcietune-apply.service" in said
    assert tree(tmp_path) == before


def test_what_make_install_did_not_put_is_not_uninstalled(tmp_path: Path) -> None:
    _venv_in_its_place(tmp_path)
    before = tree(tmp_path)

    assert "nothing here is from make install" in refusal("uninstall", tmp_path)
    assert tree(tmp_path) == before


def test_the_place_of_something_else_is_not_taken(tmp_path: Path) -> None:
    _venv_in_its_place(tmp_path)
    before = tree(tmp_path)

    assert "is there, but not from make install" in refusal("install", tmp_path)
    assert tree(tmp_path) == before


def test_who_may_not_write_there_is_told_so_at_once(tmp_path: Path) -> None:
    """Below /proc not even root may."""
    said = refusal("install", Path("/proc/sys/kernel"))

    assert "make install: /proc/sys/kernel may not be written\n  try: the same as root\n" in said
    assert tree(tmp_path) == {}


def test_a_place_that_is_mounted_after_the_boot_unit_is_refused() -> None:
    mounted = Path("/dev/shm/pcietune-nobody-made-this")  # noqa: S108 -- on every host a mount

    said = refusal("install", mounted, destdir="")

    assert "which is not there yet when the boot unit runs" in said
    assert not mounted.exists()


@pytest.mark.parametrize("prefix", ["usr", "/", "/usr/../usr", "/a b", "/$(reboot)", "/a|b", ""])
def test_a_prefix_that_is_no_plain_path_is_refused(prefix: str) -> None:
    run = subprocess.run(
        [CHECKOUT / "install" / "install"],
        check=False,
        capture_output=True,
        text=True,
        env=os.environ | {"PREFIX": prefix, "DESTDIR": "/nowhere", "PYTHON": ""},
    )

    assert run.returncode == 1
    assert run.stderr == (f"make install: PREFIX: '{prefix}' is no absolute path of plain words\n")


def test_the_python_of_a_virtual_environment_is_refused(tmp_path: Path) -> None:
    assert sys.prefix != sys.base_prefix  # make runs the tests in one

    said = refusal("install", tmp_path, PYTHON=sys.executable)

    assert f"{sys.executable} is older than 3.11, or of a virtual environment" in said


def test_no_file_names_the_checkout_or_where_it_was_put_together(installed: Installed) -> None:
    named = (str(CHECKOUT).encode() + b"/", b"pcietune-install.")

    assert [
        path
        for path, (_, content) in tree(installed.prefix).items()
        if any(name in content for name in named)
    ] == []


def test_every_path_below_the_prefix_that_a_file_names_is_there(installed: Installed) -> None:
    named = {
        (str(path), text)
        for path in _ours(installed)
        for text in re.findall(rf"{installed.prefix}(?:/[\w.@%-]+)+", path.read_text())
        if "%" not in text  # which is filled in when it runs
    }

    assert len(named) > 5
    assert [(path, text) for path, text in sorted(named) if not Path(text).exists()] == []


def test_no_file_names_usr_for_another_prefix(installed: Installed) -> None:
    assert [
        path
        for path in _ours(installed)
        if re.search(r"(?<![\w/])/usr/(bin|lib|share)/pcietune", path.read_text())
    ] == []


def test_rules_that_it_prints_start_the_installed_hook(installed: Installed) -> None:
    rules = installed.run("udev-rules", "--mode", "vm", "--from", RECORDED_HOST)

    assert set(re.findall(r'RUN\+="(.+?)"', rules)) == {f"{installed.prefix}/lib/pcietune/hook"}


def test_the_bytecode_asks_neither_times_nor_sources(installed: Installed) -> None:
    packages = next((installed.prefix / "lib/pcietune").glob("python*"))
    sources = {path.relative_to(packages) for path in packages.rglob("*.py")}
    compiled = {
        path.parent.parent.relative_to(packages) / f"{path.name.partition('.')[0]}.py": path
        for path in packages.rglob("*.pyc")
    }

    assert compiled.keys() == sources
    # Flags of a file that is taken as it is: hash-based, and not checked (PEP 552).
    assert {path.read_bytes()[4:8] for path in compiled.values()} == {b"\x01\0\0\0"}


def test_another_python_than_it_is_installed_for_is_told(
    installed: Installed, tmp_path: Path
) -> None:
    text = (installed.prefix / "bin" / "pcietune").read_text()
    command = tmp_path / "pcietune"
    command.write_text(text.replace("python%d.%d", "python2.%d.%d"))
    command.chmod(0o755)

    run = subprocess.run([command], check=False, capture_output=True, text=True)

    assert run.returncode == 1
    assert run.stderr.startswith("pcietune: No module named 'pcietune': /")
    assert run.stderr.endswith("\n  try: make install, again after an upgrade of Python\n")


def test_all_that_is_installed_may_be_read_by_all_and_written_by_its_owner(
    installed: Installed,
) -> None:
    modes = {mode for _, (mode, _) in tree(installed.prefix).items()}

    assert modes == {0o644, 0o755}


def make(target: str, prefix: Path, **surroundings: str) -> str:
    """Run make's target for a prefix that may be anywhere, and give its output."""
    run = _make(target, prefix, "/", surroundings)
    assert run.returncode == 0, run.stderr
    return run.stdout


def refusal(target: str, prefix: Path, destdir: str = "/", **surroundings: str) -> str:
    """Run make's target, which is to be refused, and give what it says."""
    run = _make(target, prefix, destdir, surroundings)
    assert run.returncode == 2
    return run.stderr


def _make(
    target: str, prefix: Path, destdir: str, surroundings: dict[str, str]
) -> subprocess.CompletedProcess[str]:
    python = [f"PYTHON={surroundings.pop('PYTHON')}"] if "PYTHON" in surroundings else []
    return subprocess.run(
        ["make", target, f"PREFIX={prefix}", f"DESTDIR={destdir}", *python],
        check=False,
        capture_output=True,
        text=True,
        cwd=CHECKOUT,
        env=os.environ | surroundings,
    )


def tree(root: Path) -> Tree:
    """Return mode and content of everything below a folder; a link's content is where it leads."""
    return {
        str(path.relative_to(root)): (path.lstat().st_mode & 0o7777, _content(path))
        for path in root.rglob("*")
    }


def _content(path: Path) -> bytes:
    if path.is_symlink():
        return bytes(path.readlink())
    return path.read_bytes() if path.is_file() else b""


def _ours(installed: Installed) -> list[Path]:
    """Return the installed files that are texts of the project's."""
    return [
        path
        for path in installed.prefix.rglob("*")
        if path.is_file()
        and path.suffix not in {".gz", ".pyc"}
        and not re.search(r"/lib/pcietune/python[^/]*/(?!pcietune/)", str(path))
    ]


def _venv_in_its_place(prefix: Path) -> None:
    (prefix / "lib/pcietune").mkdir(parents=True)
    (prefix / "lib/pcietune/pyvenv.cfg").write_text("home = /usr/bin\n")


def _times() -> dict[str, int]:
    paths = [path for top in ELSEWHERE for path in (Path(top), *Path(top).rglob("*"))]
    return {str(path): path.lstat().st_mtime_ns for path in paths if os.path.lexists(path)}
