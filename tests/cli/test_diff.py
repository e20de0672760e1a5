"""``pcietune diff``: two recorded hosts beside each other."""

import json
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from host.dumped import printed
from trees.dump import dump, one_switch_functions
from trees.function import downstream_port
from trees.machines import one_switch

A800 = Path(__file__).parents[2] / "pcietune/recorded_hosts/a800-sxm4-8gpu.tar.gz"
NIC_PORT = "0000:22:04.0"
TUNED = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x005F, 0x005D))
NIC_PORTS = [  # of the A800's eight NICs, as tests/bench/machines/a800.yaml has them
    "0000:22:02.0", "0000:22:03.0", "0000:28:02.0", "0000:28:03.0",
    "0000:42:02.0", "0000:42:03.0", "0000:48:02.0", "0000:48:03.0",
]  # fmt: skip


def test_a_recorded_host_does_not_differ_from_itself_and_what_was_compared_is_told(
    pcietune: Pcietune,
) -> None:
    run = pcietune("diff", A800, A800)

    assert run.exit_code == 0
    assert run.stdout.splitlines()[-1].startswith("no difference in what both tell: 62 functions, ")
    assert run.stderr == ""


def test_apply_changes_the_ports_of_nics_and_the_routes_below_the_same_switch(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tuned = tmp_path / "b.tar"
    pcietune("apply", "--from", A800, "--to", tuned, "--mode", "vm")

    run = pcietune("diff", A800, tuned, "--mode", "vm", "--json")

    document = json.loads(run.stdout)
    told = [(each["kind"], each["name"]) for each in document["differences"]]
    acs = [each for each in document["differences"] if each["kind"] == "acs"]
    routes = [each for each in document["differences"] if each["kind"] == "route"]
    assert run.exit_code == 3
    assert len(told) == len(acs) + len(routes)
    assert [each["subject"]["before"] for each in acs] == NIC_PORTS
    assert {(each["name"], each["before"], each["after"]) for each in acs} == {
        ("DirectTrans", "DirectTrans-", "DirectTrans+")
    }
    assert {(each["before"], each["after"]) for each in routes} == {("via root complex", "direct")}
    assert {each["name"] for each in routes} == {"write", "read request"}
    writes = [each for each in routes if each["name"] == "write"]
    switches = [(each["subject"]["path"][:18], each["to"]["path"][:18]) for each in writes]
    assert len(writes) == 8 * 2  # each NIC to the two GPUs of its own switch
    assert all(nic == gpu for nic, gpu in switches)
    assert {each["by"].split()[0] for each in writes} == set(NIC_PORTS)


def test_alike_differences_are_one_block_with_both_values_and_what_it_means(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path / "a")
    one_switch(tmp_path / "b", instead=[TUNED])

    run = pcietune("diff", tmp_path / "a", tmp_path / "b", "--only", "acs")

    assert run.exit_code == 3
    means = "  on, translated requests go straight across the switch; off, they climb to the root "
    assert run.stdout.splitlines()[3:7] == [
        "acs  DirectTrans- -> DirectTrans+",
        f"{means}complex",
        "    0000:22:04.0  0000:20:01.0/00.0/04.0",
        "",
    ]
    assert run.stdout.splitlines()[-1] == "1 difference: 1 acs; 6 functions compared"


@pytest.mark.parametrize("kind", ["ats", "kernel", "link"])
def test_only_what_is_asked_for_counts(pcietune: Pcietune, tmp_path: Path, kind: str) -> None:
    one_switch(tmp_path / "a")
    one_switch(tmp_path / "b", instead=[TUNED])

    run = pcietune("diff", tmp_path / "a", tmp_path / "b", "--only", kind)

    assert run.exit_code == 0


def test_a_dump_and_a_recording_of_one_host_differ_in_nothing_that_both_tell(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path / "a")
    text = tmp_path / "b.txt"
    text.write_text(dump(one_switch_functions()))

    run = pcietune("diff", tmp_path / "a", text)

    assert run.exit_code == 0
    (untold,) = [line for line in run.stdout.splitlines() if line.startswith("not told by after")]
    assert "driver" in untold
    assert "IOMMU group" in untold
    assert "kernel" in untold
    assert "DirectTrans" not in untold


def test_a_host_that_cannot_be_used_is_told_and_exits_4(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path / "a")

    missing = pcietune("diff", tmp_path / "a", tmp_path / "nothing")
    live = pcietune("diff", "live")

    assert (missing.exit_code, missing.stdout) == (4, "")
    assert f"{tmp_path}/nothing: there is no such file" in missing.stderr
    assert (live.exit_code, live.stdout) == (4, "")
    assert "both hosts are this machine" in live.stderr


def test_what_one_text_does_not_tell_is_no_difference(pcietune: Pcietune, tmp_path: Path) -> None:
    whole = tmp_path / "whole.txt"
    whole.write_text(dump(one_switch_functions()))
    named = tmp_path / "named.txt"  # without -nn: ids of what the list of names has twice
    named.write_text(printed(tmp_path, dump(one_switch_functions()), "-vvv"))

    run = pcietune("diff", whole, named)

    assert run.exit_code == 0
    assert "id (5 times)" in run.stdout
    assert "\nno difference in what both tell: 6 functions, " in run.stdout


def test_routes_that_neither_source_tells_are_not_compared(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    text = tmp_path / "short.txt"
    text.write_text(dump(one_switch_functions(), size=256))

    run = pcietune("diff", text, text)

    assert "write (2 times)" in run.stdout
    assert "\nno difference in what both tell: 6 functions, 0 routes compared" in run.stdout


def test_what_could_not_be_read_is_told_for_a_few_and_counted_and_exits_6(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    one_switch(tmp_path / "a")
    text = tmp_path / "b.txt"
    text.write_text(dump(one_switch_functions(), size=256))

    run = pcietune("diff", tmp_path / "a", text)

    assert run.exit_code == 6
    assert run.stderr.count("was not recorded") == 3
    assert f"{text}: 3 more could not be read; --json lists them" in run.stderr
