"""One host from several texts, whatever they are called, and none from those of two."""

from pathlib import Path

import pytest
from host.dumped import opened, refused
from trees.dump import dump, one_switch_functions

from pcietune.errors import BadInputError
from pcietune.host.source import open_host
from pcietune.model.not_known import NOT_KNOWN
from pcietune.model.platform import Lockdown

DUMP = dump(one_switch_functions())
ADDRESSES = [f.address for f in one_switch_functions()]
CMDLINE = "BOOT_IMAGE=/vmlinuz-6.12.0 root=LABEL=x ro intel_iommu=on pci=noats\n"
LINES = [*enumerate(ADDRESSES, start=7)]


def test_what_a_dump_does_not_tell_is_not_known(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP) as host:
        nic = host.functions()[-1]
        state, platform = host.state(nic), host.platform()

    assert nic.driver is NOT_KNOWN
    assert state.group is NOT_KNOWN
    assert (state.numa_node, state.vfio, state.enable_count) == (None, None, None)
    assert state.in_use_by_vfio
    assert (platform.groups, platform.cmdline, platform.kernel) == (None, None, None)
    assert (platform.boot_id, platform.lockdown, platform.dmi) == (None, Lockdown.UNKNOWN, {})


@pytest.mark.parametrize(
    "listing",
    [
        pytest.param(
            "".join(f"/sys/kernel/iommu_groups/{n}/devices/{a}\n" for n, a in LINES), id="find"
        ),
        pytest.param("".join(f"{n}\t{a}\n" for n, a in LINES), id="numbers"),
        pytest.param(
            "# kernel 6.12\n" + "".join(f"{n} {a}\n" for n, a in LINES), id="with a comment"
        ),
        pytest.param(
            "".join(f"IOMMU Group {n} {a[5:]} a function [15b3:101b]\n" for n, a in LINES),
            id="a line each",
        ),
        pytest.param(
            "".join(f"IOMMU Group {n}:\n\t{a[5:]} a function [15b3:101b]\n\n" for n, a in LINES),
            id="headings",
        ),
        pytest.param(
            "".join(f"Group:  {n}   {a} [15b3:101b]  a function\n" for n, a in LINES),
            id="Group: n",
        ),
        pytest.param(
            "".join(f"IOMMU Group {n}:\n [R] {a} a function\n" for n, a in LINES), id="resets"
        ),
        pytest.param(
            "".join(f"iommu_groups/{n}/devices/{a} -> ../../x/{a}\n" for n, a in LINES),
            id="relative, with targets",
        ),
    ],
)
def test_a_listing_of_groups_is_read_in_every_form_that_people_use(
    tmp_path: Path, listing: str
) -> None:
    with opened(tmp_path, listing, DUMP) as host:
        groups = [host.state(function).group for function in host.functions()]
        known = host.platform().groups

    assert groups == [7, 8, 9, 10, 11, 12]
    assert known is not None
    assert [str(g.members[0]) for g in known.values()] == ADDRESSES


def test_the_types_of_groups_may_be_listed_too(tmp_path: Path) -> None:
    links = "".join(f"/sys/kernel/iommu_groups/{n}/devices/{a}\n" for n, a in LINES)

    with opened(tmp_path, DUMP, links, "/sys/kernel/iommu_groups/12/type:DMA-FQ\n") as host:
        groups = host.platform().groups

    assert groups is not None
    assert (groups[12].type, groups[11].type) == ("DMA-FQ", None)


def test_a_listing_may_have_more_than_a_dump_of_a_part(tmp_path: Path) -> None:
    listing = "".join(f"{n} {a}\n" for n, a in [*LINES, (12, "0000:24:00.1")])

    with opened(tmp_path, DUMP, listing) as host:
        groups = host.platform().groups

    assert groups is not None
    assert [str(address) for address in groups[12].members] == ["0000:24:00.0", "0000:24:00.1"]


def test_a_function_that_no_listing_has_is_in_no_known_group(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP, "".join(f"{n} {a}\n" for n, a in LINES[:-1])) as host:
        assert host.state(host.functions()[-1]).group is NOT_KNOWN


@pytest.mark.parametrize(
    ("text", "release"),
    [
        ("6.12.0-amd64\n", "6.12.0-amd64"),
        ("Linux gpu7 6.8.0-51-generic #52-Ubuntu SMP x86_64\n", "6.8.0-51-generic"),
        ("Linux version 6.1.0-18-amd64 (debian) gcc\n", "6.1.0-18-amd64"),
    ],
)
def test_the_kernels_release_is_known_as_uname_or_proc_version_has_it(
    tmp_path: Path, text: str, release: str
) -> None:
    with opened(tmp_path, DUMP, text) as host:
        assert host.platform().kernel == release


def test_a_copy_of_the_command_line_is_the_hosts(tmp_path: Path) -> None:
    with opened(tmp_path, DUMP, CMDLINE) as host:
        assert host.platform().cmdline == CMDLINE.strip()
        assert host.platform().pci_options == ("noats",)


def test_what_v_tells_may_stand_in_another_file_than_the_bytes(tmp_path: Path) -> None:
    told = "0000:24:00.0 a NIC\n\tNUMA node: 1\n\tKernel driver in use: mlx5_core\n"

    with opened(tmp_path, told, DUMP) as host:
        nic = host.functions()[-1]
        assert (nic.driver, host.state(nic).numa_node) == ("mlx5_core", 1)


@pytest.mark.parametrize(
    ("texts", "said"),
    [
        pytest.param(
            (DUMP, DUMP), "2.txt:1: 0000:20:01.0 is in 1.txt:1, too", id="two dumps of a host"
        ),
        pytest.param(
            ("7 0000:24:00.0\n", "8 0000:24:00.0\n"),
            "2.txt:1: 0000:24:00.0 is in group 8 here, and in group 7 in 1.txt:1",
            id="two groups",
        ),
        pytest.param(
            ("0000:24:00.0 a NIC\n\tIOMMU group: 7\n", "8 0000:24:00.0\n"),
            "2.txt:1: 0000:24:00.0 is in group 8 here, and in group 7 in 1.txt:1",
            id="a dump and a listing",
        ),
        pytest.param(
            (DUMP, "1 0000:20:01.0\n2 0000:99:00.0\n"),
            "2.txt:2: 0000:99:00.0 is in no dump, and 0000:21:00.0 in no listing of IOMMU groups: "
            "they are of different hosts",
            id="another host's groups",
        ),
        pytest.param(
            (DUMP, "6.12.0\n", "6.8.0\n"),
            "3.txt:1: two kernel releases: '6.8.0' here, '6.12.0' elsewhere",
            id="two kernels",
        ),
        pytest.param(
            (DUMP, CMDLINE, "root=/dev/sda1\n"),
            f"3.txt:1: two kernel command lines: 'root=/dev/sda1' here, {CMDLINE.strip()!r} "
            "elsewhere",
            id="two command lines",
        ),
        pytest.param(
            (CMDLINE,), "no dump of a host among what --from names", id="nothing but a command line"
        ),
        pytest.param(
            (DUMP, "IOMMU Group 1:\n\tno function\n"),
            "2.txt:2: '\\tno function' is no line of a listing of IOMMU groups",
            id="a listing with something else",
        ),
    ],
)
def test_texts_that_contradict_each_other_are_refused_with_the_place(
    tmp_path: Path, texts: tuple[str, ...], said: str
) -> None:
    assert refused(tmp_path, *texts) == said


def test_a_text_of_which_no_line_tells_of_a_host_is_not_read_to_its_end(tmp_path: Path) -> None:
    line = "nothing that lspci prints\n"
    host_told = f"$ lspci -D -xxxx\n{dump(one_switch_functions())}"

    with opened(tmp_path, line * 40_000 + host_told) as host:
        assert len(host.functions()) == len(one_switch_functions())
    assert refused(tmp_path, line * 60_000 + host_told) == (
        "1.txt:1: this is neither an archive nor a text that tells of a host"
    )


def test_beside_a_listing_of_groups_alone_a_dump_is_asked_for(tmp_path: Path) -> None:
    listing = tmp_path / "x.groups"
    listing.write_text("/sys/kernel/iommu_groups/0/devices/0000:20:01.0\n")

    with pytest.raises(BadInputError) as refusal, open_host([listing]):
        pass

    assert refusal.value.hint.startswith("add a dump of the host: ")
