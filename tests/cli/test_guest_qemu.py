import json
import subprocess
import sys
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from guest.plans import a800_two_gpus
from msgspec.structs import replace

from pcietune.guest.kinds import Backend, Firmware
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import plan_text
from pcietune.guest.qemu.arguments import qemu_arguments
from pcietune.guest.qemu.options import QemuOptions


@pytest.fixture
def plan() -> Plan:
    return a800_two_gpus()


@pytest.fixture
def file(tmp_path: Path, plan: Plan) -> Path:
    file = tmp_path / "vm0.json"
    file.write_text(plan_text(plan))
    return file


def test_a_plan_becomes_a_command_of_one_device_a_line(pcietune: Pcietune, file: Path) -> None:
    run = pcietune("guest", "qemu", file)

    assert (run.exit_code, run.stderr) == (0, "")
    assert run.stdout.startswith("qemu-system-x86_64 \\\n")
    assert "    -device vfio-pci,host=0000:23:00.0,id=gpu0,bus=dp0,addr=0x0.0x0 \\\n" in run.stdout


def test_the_list_is_what_a_shell_makes_of_the_command(pcietune: Pcietune, file: Path) -> None:
    as_list = json.loads(pcietune("guest", "qemu", file, "--json").stdout)
    command = pcietune("guest", "qemu", file).stdout.replace("qemu-system-x86_64", "printf '%s\\n'")

    printed = subprocess.run(["sh", "-c", command], check=True, capture_output=True, text=True)

    assert printed.stdout.splitlines() == as_list


def test_it_is_what_the_plan_says(pcietune: Pcietune, file: Path, plan: Plan) -> None:
    run = pcietune("guest", "qemu", file, "--json")

    assert json.loads(run.stdout) == qemu_arguments(plan, QemuOptions())


def test_memory_is_given_by_an_option(pcietune: Pcietune, file: Path) -> None:
    said = pcietune("guest", "qemu", file, "--memory", "2G").stdout

    assert "-m 2048M " in said
    assert "id=ram0,size=2048M," in said


def test_files_of_ovmf_are_given_by_options(pcietune: Pcietune, tmp_path: Path, plan: Plan) -> None:
    file = tmp_path / "ovmf.json"
    file.write_text(plan_text(replace(plan, machine=replace(plan.machine, firmware=Firmware.OVMF))))

    debian = pcietune("guest", "qemu", file).stdout
    own = pcietune("guest", "qemu", file, "--ovmf-code", "/c.fd", "--ovmf-vars", "/v.fd").stdout

    assert "unit=0,format=raw,readonly=on,file=/usr/share/OVMF/OVMF_CODE_4M.fd" in debian
    assert "unit=1,format=raw,snapshot=on,file=/usr/share/OVMF/OVMF_VARS_4M.fd" in debian
    assert "unit=0,format=raw,readonly=on,file=/c.fd" in own
    assert "unit=1,format=raw,file=/v.fd" in own


def test_without_kvm_the_cpus_are_emulated(pcietune: Pcietune, file: Path) -> None:
    said = pcietune("guest", "qemu", file, "--tcg").stdout

    assert "-machine q35,accel=tcg \\\n    -cpu max \\\n" in said


def test_warnings_are_no_part_of_the_command(
    pcietune: Pcietune, tmp_path: Path, plan: Plan
) -> None:
    file = tmp_path / "warned.json"
    file.write_text(plan_text(replace(plan, warnings=["NVLink is not planned"])))

    run = pcietune("guest", "qemu", file)

    assert run.stderr == "pcietune: NVLink is not planned\n"
    assert "NVLink" not in run.stdout


def test_what_the_planned_qemu_cannot_do_is_refused(
    pcietune: Pcietune, tmp_path: Path, plan: Plan
) -> None:
    file = tmp_path / "iommufd.json"
    machine = replace(plan.machine, backend=Backend.IOMMUFD)
    file.write_text(plan_text(replace(plan, machine=machine)))

    run = pcietune("guest", "qemu", file)

    assert (run.exit_code, run.stdout) == (4, "")
    assert "QEMU 7.2 knows no iommufd" in run.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(None, "No such file or directory", id="absent"),
        pytest.param("{}", "no plan of a VM", id="no plan"),
        pytest.param('{"schema": 99}', "a plan of layout 99", id="newer"),
    ],
)
def test_what_is_no_plan_is_refused(
    pcietune: Pcietune, tmp_path: Path, text: str | None, said: str
) -> None:
    file = tmp_path / "vm0.json"
    if text is not None:
        file.write_text(text)

    run = pcietune("guest", "qemu", file)

    assert run.exit_code == 4
    assert said in run.stderr
    assert "try: " in run.stderr


def test_a_plan_comes_by_standard_input_too(pcietune: Pcietune, file: Path) -> None:
    piped = subprocess.run(
        [sys.executable, "-m", "pcietune", "guest", "qemu", "-"],
        check=True,
        capture_output=True,
        text=True,
        input=file.read_text(),
    )

    assert piped.stdout == pcietune("guest", "qemu", file).stdout


def test_what_comes_by_standard_input_and_is_no_plan_is_refused() -> None:
    piped = subprocess.run(
        [sys.executable, "-m", "pcietune", "guest", "qemu", "-"],
        check=False,
        capture_output=True,
        text=True,
        input="[",
    )

    assert piped.returncode == 4
    assert "standard input: no plan of a VM" in piped.stderr


@pytest.mark.parametrize("option", ["--ovmf-code", "--ovmf-vars"])
@pytest.mark.parametrize("name", ["/caf\udce9.fd", "/a\n-device x", "/\x1b[2J"])
def test_a_file_whose_name_stands_in_no_text_is_refused(
    pcietune: Pcietune, file: Path, option: str, name: str
) -> None:
    run = pcietune("guest", "qemu", file, option, name)

    assert (run.exit_code, run.stdout) == (4, "")
    assert "no name that a command in text can have" in run.stderr


def test_a_name_with_what_shells_and_qemu_know_is_one_word(
    pcietune: Pcietune, tmp_path: Path, plan: Plan
) -> None:
    file = tmp_path / "ovmf.json"
    file.write_text(plan_text(replace(plan, machine=replace(plan.machine, firmware=Firmware.OVMF))))

    run = pcietune("guest", "qemu", file, "--ovmf-code", "/a b,c'$(id).fd", "--json")

    words = json.loads(run.stdout)
    assert "if=pflash,unit=0,format=raw,readonly=on,file=/a b,,c'$(id).fd" in words
