"""``pcietune paths``: all pairs, one peer's, and one pair port by port."""

from itertools import product
from pathlib import Path

import msgspec
import pytest
from cli.in_process import Pcietune
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT

import pcietune as package
from pcietune.report.paths_document import PairDocument, PathsDocument

A800 = Path(package.__file__).parent / "recorded_hosts" / "a800-sxm4-8gpu.tar.gz"

# Four switches, each with two GPUs and two NICs: lspci -t of the machine.
SWITCHES = (
    (("0000:23:00.0", "0000:24:00.0"), ("0000:25:00.0", "0000:26:00.0")),
    (("0000:29:00.0", "0000:2a:00.0"), ("0000:2b:00.0", "0000:2c:00.0")),
    (("0000:43:00.0", "0000:44:00.0"), ("0000:45:00.0", "0000:46:00.0")),
    (("0000:49:00.0", "0000:4a:00.0"), ("0000:4b:00.0", "0000:4c:00.0")),
)
BELOW_ONE_SWITCH = {pair for gpus, nics in SWITCHES for pair in product(nics, gpus)}
GPUS = {gpu for gpus, _ in SWITCHES for gpu in gpus}
NICS = {nic for _, nics in SWITCHES for nic in nics}


def document(pcietune: Pcietune, *arguments: str | Path) -> PathsDocument:
    run = pcietune("paths", "--json", *arguments)
    assert run.exit_code == 0, run.stderr
    return msgspec.json.decode(run.stdout, type=PathsDocument)


def direct(pairs: list[PairDocument], *, once: bool = False) -> set[tuple[str, str]]:
    """Return the pairs whose first writes directly to its second."""
    found = set()
    for pair in pairs:
        ways = pair.once if once else pair.now
        if ways is not None and ways.forth.write.outcome == "direct":
            found.add((pair.one, pair.other))
    return found


def test_each_nic_makes_a_pair_with_each_gpu_and_each_two_gpus_one(pcietune: Pcietune) -> None:
    pairs = document(pcietune, "--from", A800).pairs

    assert {(p.one, p.other) for p in pairs if p.one in NICS} == set(product(NICS, GPUS))
    assert {frozenset((p.one, p.other)) for p in pairs if p.one in GPUS} == {
        frozenset(two) for two in product(GPUS, GPUS) if len(set(two)) == 2
    }
    assert len(pairs) == 8 * 8 + 8 * 7 // 2


def test_apply_makes_exactly_the_pairs_below_one_switch_direct(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    before = document(pcietune, "--mode", "vm", "--from", A800)
    tuned = tmp_path / "tuned.tar"
    pcietune("apply", "--mode", "vm", "--from", A800, "--to", tuned)
    after = document(pcietune, "--mode", "vm", "--from", tuned)

    assert direct(before.pairs) == set()
    assert direct(before.pairs, once=True) == BELOW_ONE_SWITCH
    assert direct(after.pairs) == BELOW_ONE_SWITCH


def test_the_bridge_and_the_bit_are_named(pcietune: Pcietune) -> None:
    (pair,) = document(pcietune, "NIC0", "GPU0", "--mode", "vm", "--from", A800).pairs
    write = pair.now.forth.write

    assert (write.outcome, write.at, write.control) == (
        "via root complex",
        "0000:22:02.0",
        "ReqRedir",
    )
    assert pair.cure_forth is not None
    (change,) = pair.cure_forth.changes
    assert (change.address, change.bits) == ("0000:22:02.0", ["DirectTrans+"])


def test_places_are_those_of_the_hardware(pcietune: Pcietune) -> None:
    pairs = {(p.one, p.other): p.place for p in document(pcietune, "--from", A800).pairs}

    assert {pairs[pair] for pair in BELOW_ONE_SWITCH} == {"PIX"}
    assert pairs["0000:25:00.0", "0000:29:00.0"] == "PHB"  # two root ports of one host bridge
    assert pairs["0000:25:00.0", "0000:43:00.0"] == "SYS"  # node 0 and node 1


def test_without_a_mode_nothing_is_told_of_once(pcietune: Pcietune) -> None:
    run = pcietune("paths", "--from", A800)
    whole = document(pcietune, "--from", A800)

    assert whole.mode is None
    assert all(pair.once is None for pair in whole.pairs)
    assert "--mode vm or --mode baremetal tells what the routes would be" in run.stdout


def test_a_matrix_has_place_and_way_now_and_once(pcietune: Pcietune) -> None:
    lines = pcietune("paths", "--mode", "vm", "--from", A800).stdout.splitlines()
    start = lines.index("NIC to GPU: the NIC's writes, as RDMA receives into GPU memory")
    row = next(line for line in lines[start:] if line.startswith("NIC0"))

    assert row.split()[1:] == [*["PIX", "rc>direct*"] * 2, *["PHB", "rc"] * 2, *["SYS", "rc"] * 4]


def test_the_summary_counts_ways_and_names_what_decides(pcietune: Pcietune) -> None:
    lines = pcietune("paths", "--mode", "vm", "--from", A800).stdout.splitlines()

    assert (
        "NIC to GPU: 64 via root complex; once the profile holds 16 direct, 48 via root complex"
    ) in lines
    assert "  2 via root complex by 0000:22:02.0 DirectTrans- ReqRedir+" in lines
    assert "  48 via root complex: the two have no switch in common" in lines


def test_of_one_peer_all_its_pairs_are_told(pcietune: Pcietune) -> None:
    run = pcietune("paths", "gpu0", "--mode", "vm", "--from", A800)
    rows = {line.split()[0]: line.split()[1:] for line in run.stdout.splitlines()[2:] if line}

    assert run.exit_code == 0
    assert rows["NIC0"] == ["PIX", "rc>direct*", "PIX", "rc"]
    assert rows["GPU7"] == ["SYS", "rc", "SYS", "rc"]


def test_one_pair_is_drawn_from_the_root_complex_down(pcietune: Pcietune, tmp_path: Path) -> None:
    tree = one_switch(tmp_path)
    lines = pcietune("paths", NIC, GPU, "--mode", "vm", "--from", tree.root).stdout.splitlines()
    start = next(i for i, line in enumerate(lines) if line.split()[-2:] == ["root", "complex"])
    drawn = {
        line.split()[-1] if "port" not in line else line.split()[1]: line[:6]
        for line in lines[start : start + 7]
    }

    assert drawn[NIC_PORT] == "  *   "  # where it turns up
    assert drawn[GPU_PORT] == "   v  "
    assert drawn[NIC] == "  ^   "
    assert drawn[GPU] == "   v  "


@pytest.mark.parametrize(
    ("names", "said"),
    [
        (("NIC9", "GPU0"), "did you mean NIC"),
        (("0000:22:02.0", "GPU0"), "0000:22:02.0 is no GPU, RDMA NIC or NVMe drive of this host"),
        (("GPU0", "GPU0"), "GPU0 and GPU0 are the same"),
        (("NIC0", "NIC1"), "NIC0 and NIC1 are no pair with a GPU"),
    ],
)
def test_what_is_no_pair_is_refused(pcietune: Pcietune, names: tuple[str, str], said: str) -> None:
    run = pcietune("paths", *names, "--from", A800)

    assert run.exit_code == 4
    assert said in run.stderr


def test_a_gpu_without_ats_is_said_to_be_beyond_registers(pcietune: Pcietune) -> None:
    run = pcietune("paths", "GPU0", "GPU1", "--mode", "vm", "--from", A800)

    assert run.stdout.count("nothing that a register can change: it has no ATS capability") == 2


def test_a_port_that_cannot_be_read_makes_ways_unknown_and_exits_6(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    tree = one_switch(tmp_path)
    config = tree.root / f"sys/bus/pci/devices/{NIC_PORT}/config"
    config.write_bytes(b"\xff" * len(config.read_bytes()))
    run = pcietune("paths", NIC, GPU, "--json", "--from", tree.root)
    (pair,) = msgspec.json.decode(run.stdout, type=PathsDocument).pairs

    assert run.exit_code == 6
    assert (pair.now.forth.write.outcome, pair.now.forth.write.at) == ("unknown", NIC_PORT)
