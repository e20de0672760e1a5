import subprocess

from guest.plans import a800_two_gpus
from msgspec.structs import replace

from pcietune.guest.qemu.command_text import command_lines


def test_a_shell_reads_the_arguments_as_they_are() -> None:
    arguments = ["-nodefaults", "-name", 'it\'s $HOME; a "VM"', "-device", "a,,b=c\\d", "-m", "1"]
    lines = command_lines(a800_two_gpus(), arguments)
    print_them = "\n".join(lines).replace("qemu-system-x86_64", "printf '%s\\0'", 1)

    read = subprocess.run(["sh", "-c", print_them], check=True, capture_output=True, text=True)

    assert read.stdout.split("\0")[:-1] == arguments


def test_each_option_has_a_line_of_its_own() -> None:
    lines = command_lines(
        replace(a800_two_gpus(), cells=[]), ["-nodefaults", "-m", "1024M", "-device", "a,id=b c"]
    )

    assert lines[:4] == [
        "qemu-system-x86_64 \\",
        "    -nodefaults \\",
        "    -m 1024M \\",
        "    -device 'a,id=b c'",
    ]


def test_what_no_argument_says_is_told_in_comments() -> None:
    text = "\n".join(command_lines(a800_two_gpus(), ["-nodefaults"]))

    assert "#   0:0 1:1 2:2 3:3 4:4 5:5 6:6 7:7\n#   and QEMU's other threads to 0-7" in text


def test_cpus_that_are_not_pinned_are_not_spoken_of() -> None:
    plan = a800_two_gpus()

    loose = replace(plan, cells=[replace(plan.cells[0], host_cpus=[])])

    assert "pin" not in "\n".join(command_lines(loose, ["-nodefaults"]))
