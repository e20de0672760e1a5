import subprocess

from pcietune.guest.qemu.command_text import command_lines


def test_a_shell_reads_the_arguments_as_they_are() -> None:
    arguments = ["-nodefaults", "-name", "it's $HOME; a \"VM\"", "-device", "a,,b=c\\d", "-m", "1"]

    text = "\n".join(command_lines("printf", arguments)).replace("printf", "printf '%s\\0'", 1)

    read = subprocess.run(["sh", "-c", text], check=True, capture_output=True, text=True).stdout
    assert read.split("\0")[:-1] == arguments


def test_each_option_has_a_line_of_its_own() -> None:
    lines = command_lines("qemu", ["-nodefaults", "-m", "1024M", "-device", "a,id=b c"])

    assert lines == ["qemu \\", "    -nodefaults \\", "    -m 1024M \\", "    -device 'a,id=b c'"]
