"""Outputs of several commands in one paste are taken apart, and what a mail did is mended."""

from pathlib import Path

import pytest
from host.dumped import opened, refused
from trees.dump import dump, one_switch_functions

from pcietune.host.sysfs import SysfsHost
from pcietune.model.not_known import NOT_KNOWN

DUMP = dump(one_switch_functions())
NIC = "0000:24:00.0"
CMDLINE = "BOOT_IMAGE=/vmlinuz-6.12.0 root=LABEL=x ro intel_iommu=on pci=noats"
GROUPS = f"/sys/kernel/iommu_groups/7/devices/{NIC}\n"
TOLD = ("6.12.0-amd64", CMDLINE, 7)  # by the pastes below


def _told(host: SysfsHost) -> tuple[object, ...]:
    assert len(host.functions()) == 6
    assert host.config(host.functions()[3]).read(0x106, 2) == 0x001D
    platform = host.platform()
    return platform.kernel, platform.cmdline, host.state(host.functions()[-1]).group


def _paste(before: str, after: str) -> str:
    """Return the output of four commands, each between two borders; ``%`` is the command."""
    outputs = {
        "uname -r": "6.12.0-amd64\n",
        "lspci -D -xxxx": DUMP,
        "find /sys/kernel/iommu_groups -type l": GROUPS,
        "cat /proc/cmdline": f"{CMDLINE}\n",
    }
    return "".join(
        before.replace("%", command) + output + after for command, output in outputs.items()
    )


@pytest.mark.parametrize(
    ("before", "after"),
    [
        pytest.param("root@gpu7:~# %\n", "", id="a shell of root's"),
        pytest.param("[root@gpu7 ~]# %\n", "", id="a shell in brackets"),
        pytest.param("user@gpu7:/var/tmp/some dir$ sudo %\n", "", id="sudo"),
        pytest.param("$ %\n", "", id="a dollar"),
        pytest.param("# %\n", "", id="a hash"),
        pytest.param("### `%`\n```\n", "```\n", id="Markdown"),
        pytest.param("Then I ran this:\n```console\n$ %\n", "```\n\n", id="a prompt in a fence"),
        pytest.param("{code:bash}\n", "{code}\n", id="Jira"),
        pytest.param("===== % =====\n", "\n", id="a script's headings"),
        pytest.param("", "\n", id="empty lines"),
        pytest.param("> root@gpu7:~# %\n", "> \n", id="a shell, quoted"),
    ],
)
def test_a_paste_of_several_commands_is_taken_apart(
    tmp_path: Path, before: str, after: str
) -> None:
    with opened(tmp_path, f"{_paste(before, after)}root@gpu7:~# exit\n") as host:
        assert _told(host) == TOLD


def test_what_several_commands_tell_may_be_in_several_files_too(tmp_path: Path) -> None:
    with opened(tmp_path, f"6.12.0-amd64\n{CMDLINE}\n\n{DUMP}", f"$ find\n{GROUPS}") as host:
        assert _told(host) == TOLD


def test_files_that_head_printed_together_are_taken_apart(tmp_path: Path) -> None:
    text = f"==> /proc/cmdline <==\n{CMDLINE}\n\n==> /proc/sys/kernel/osrelease <==\n6.12.0-amd64\n"

    with opened(tmp_path, text, DUMP, GROUPS) as host:
        assert _told(host) == TOLD


def test_what_others_print_and_what_people_write_between_is_left_out(tmp_path: Path) -> None:
    text = f"""\
Hello,
I booted with pci=noats, and root=/dev/sda1 is a disk, which did not help. PCIe is at 8.0 GT/s.

```
$ ibv_devinfo
hca_id: mlx5_0
$ lspci -D -xxxx
{DUMP}```
8.0 GT/s it is.

iommu=pt changed nothing.
"""

    with opened(tmp_path, text) as host:
        assert _told(host) == (None, None, NOT_KNOWN)


def test_a_sentence_is_no_command_line_and_no_release(tmp_path: Path) -> None:
    for text in (
        "I booted with pci=noats and more\n",
        "6.12 is what I run\n",
        "iommu=pt, then pci=noats.\n",
        "Here it is\n001d\n",
    ):
        assert refused(tmp_path, text).startswith("1.txt:1: this is neither")


def test_a_border_inside_of_a_functions_bytes_leaves_them_short(tmp_path: Path) -> None:
    head, tail = DUMP[:400], DUMP[400:]

    assert refused(tmp_path, f"{head}\n```\n{tail}").startswith("1.txt:")


# Mail


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param("\n", "\n> ", id="quoted"),
        pytest.param("\n", "\n>> ", id="quoted twice"),
        pytest.param("\n", "\n> > > ", id="quoted three times"),
        pytest.param("\n", "\n&gt; ", id="quoted, as HTML"),
        pytest.param(" ", "\u00a0", id="blanks that do not break"),
        pytest.param(" ", "&nbsp;", id="blanks of HTML"),
        pytest.param("\n", " \n", id="blanks at the end, of format=flowed"),
        pytest.param("\n", "\r\n", id="carriage returns"),
        pytest.param("0000:", "\ufeff0000:", id="a byte order mark"),
    ],
)
def test_what_mail_and_web_pages_make_of_a_text_is_undone(
    tmp_path: Path, old: str, new: str
) -> None:
    quote = new.strip() if new.startswith("\n") else ""

    with opened(tmp_path, quote + DUMP.replace(old, new)) as host:
        assert _told(host) == (None, None, NOT_KNOWN)


NAMED = f"{NIC} Infiniband controller [0207]: Mellanox Technologies MT28908 Family"


def test_a_functions_name_that_was_wrapped_is_whole_again(tmp_path: Path) -> None:
    listing = DUMP.replace(f"{NIC} 020700", f"{NAMED}\n[ConnectX-6] [15b3:101b]")
    assert listing != DUMP

    with opened(tmp_path, listing) as host:
        assert len(host.functions()) == 6


def test_a_listing_of_groups_that_was_wrapped_is_whole_again(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP, f"IOMMU Group 7 {NAMED}\n[ConnectX-6] [15b3:101b]\n") as host:
        assert host.state(host.functions()[-1]).group == 7


def test_a_command_line_that_was_wrapped_is_whole_again(tmp_path: Path) -> None:
    wrapped = f"{CMDLINE}\nvfio-pci.ids=10de:20f3 quiet"

    with opened(tmp_path, wrapped, DUMP) as host:
        assert host.platform().cmdline == f"{CMDLINE} vfio-pci.ids=10de:20f3 quiet"


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        pytest.param(
            (DUMP.replace(f"{NIC} 020700", f"{NIC} a NIC\n[ConnectX-6]"),),
            "'[ConnectX-6]' is no line of lspci's",
            id="a line that had room on the one before",
        ),
        pytest.param(
            (DUMP.replace("00: 86 80 7a 34 06 00 10", "00: 86 80 7a 34 06 00\n10", 1),),
            "'00: 86 80 7a 34 06 00' is no line of lspci's: a row has an offset and 16 bytes",
            id="bytes",
        ),
        pytest.param(
            (f"{DUMP}and-more-behind-the-last-row",),
            "'and-more-behind-the-last-row' is no line of lspci's",
            id="a row and more",
        ),
        pytest.param(
            (DUMP, "root=/dev/sda1 ro\nvfio-pci.ids=10de:20f3\n"),
            "two kernel command lines",
            id="a short command line",
        ),
        pytest.param((DUMP, "IOMMU Group 7 24:00.0 a NIC\n[x]\n"), "'[x]' is no line", id="groups"),
    ],
)
def test_what_is_no_wrapped_line_for_certain_is_refused_with_the_place(
    tmp_path: Path, texts: tuple[str, ...], said: str
) -> None:
    assert said in refused(tmp_path, *texts)


# What nothing can be judged by

ACS = (
    "\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl- DirectTrans-\n"
)
MATRIX = "\tGPU0\tGPU1\tNIC0\tCPU Affinity\nGPU0\t X \tPXB\tPIX\t0-31\n"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        pytest.param(ACS, "these lines of lspci's have no addresses", id="grep ACSCtl"),
        pytest.param(f"{ACS}--\n{ACS}", "these lines of lspci's have no addresses", id="grep -A"),
        pytest.param(ACS.strip(), "these lines of lspci's have no addresses", id="stripped"),
        pytest.param(
            "\tCapabilities: [148 v1] Access Control Services\n" + ACS,
            "these lines of lspci's have no addresses",
            id="grep -i acs",
        ),
        pytest.param(
            f"$ lspci -vvv | grep ACSCtl\n{ACS}$ \n",
            "these lines of lspci's have no addresses",
            id="with a prompt",
        ),
        pytest.param("001d\n005d\n", "numbers alone, as setpci prints them", id="setpci"),
        pytest.param(
            "0000:24:00.0 (ecap 000d @148) @14e = 001d\n", "setpci -v tells single", id="setpci -v"
        ),
        pytest.param(MATRIX, "a matrix of nvidia-smi topo -m tells how near", id="nvidia-smi"),
    ],
)
def test_what_nothing_can_be_judged_by_is_told_what_it_lacks(
    tmp_path: Path, text: str, said: str
) -> None:
    assert refused(tmp_path, text).partition(": ")[2].startswith(said)


def test_beside_a_dump_in_the_same_paste_it_is_left_out(tmp_path: Path) -> None:
    with opened(tmp_path, f"$ nvidia-smi topo -m\n{MATRIX}$ lspci -D -xxxx\n{DUMP}") as host:
        assert len(host.functions()) == 6
