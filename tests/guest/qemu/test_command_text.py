import shlex

from hypothesis import given
from hypothesis import strategies as st

from pcietune.guest.qemu.command_text import command_lines

options = st.lists(st.tuples(st.sampled_from(["-device", "-name"]), st.text(min_size=1)))


@given(options=options)
def test_a_shell_reads_the_arguments_as_they_are(options: list[tuple[str, str]]) -> None:
    arguments = [word for option in options for word in option]

    text = "\n".join(command_lines("qemu", arguments))

    assert shlex.split(text) == ["qemu", *arguments]


def test_each_option_has_a_line_of_its_own() -> None:
    lines = command_lines("qemu", ["-nodefaults", "-m", "1024M", "-device", "a,id=b c"])

    assert lines == ["qemu \\", "    -nodefaults \\", "    -m 1024M \\", "    -device 'a,id=b c'"]
