"""Outputs are written in the programs' formats, as their sources and public reports have them."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from model.functions import by_address
from model.small_fabrics import SWITCH
from trees.function import downstream_port, gpu
from trees.machines import one_switch
from tune.judged import GPU, NIC, NIC_PORT, opened
from tune.paths_hosts import pair, undescribed, viewed

from pcietune.address import PciAddress
from pcietune.errors import BadInputError
from pcietune.model.profile import ModeName
from pcietune.model.trace import Trace
from pcietune.tune.match.survey import survey
from pcietune.tune.paths.bandwidth import Bandwidth, BandwidthClass, BandwidthOf
from pcietune.tune.paths.links import LinkRate
from pcietune.tune.paths.measured import Verdict, VerdictKind, about, judge, parse_measured
from pcietune.tune.paths.results.result import Measured, Program

RULE = "-" * 87
HEAD = " #bytes     #iterations    BW peak[{0}]    BW average[{0}]   MsgRate[Mpps]"


def perftest(unit: str, *rows: str, banner: str = "RDMA_Write BW Test") -> list[str]:
    """Return what ib_write_bw prints of rows."""
    cuda = "initializing CUDA"
    return [cuda, RULE, f"                    {banner}", RULE, HEAD.format(unit), *rows, RULE]


ENDS = frozenset(map(PciAddress.parse, ("0000:23:00.0", "0000:24:00.0")))
NVBANDWIDTH = """nvbandwidth Version: v0.8
Built from Git version: v0.8

CUDA Runtime Version: 12080
Driver Version: 570.86.15

Device 0: NVIDIA A10 (00000000:23:00)
Device 1: NVIDIA A10 (00000000:24:00)
Device 2: NVIDIA A10 (00000000:25:00)

Running host_to_device_memcpy_ce.
memcpy CE CPU(row) -> GPU(column) bandwidth (GB/s)
           0         1         2
 0     24.51     24.52     24.50

SUM host_to_device_memcpy_ce 73.53

Running device_to_device_memcpy_write_ce.
memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)
           0         1         2
 0       N/A     26.21     12.10
 1     26.30       N/A     12.11
 2     12.12     12.13       N/A

SUM device_to_device_memcpy_write_ce 100.97

NOTE: The reported results may not reflect the full capabilities of the platform.
""".splitlines()
ALL_REDUCE = """# nccl-tests version 2.17.1 nccl-headers=22705 nccl-library=22705
# Collective test starting: all_reduce_perf
# nThread 1 nGpus 2 minBytes 8 maxBytes 1073741824 step: 2(factor) warmup iters: 5 iters: 20
#
# Using devices
#  Rank  0 Group  0 Pid   8756 on      gpu-1 device  0 [0000:23:00] NVIDIA A10
#  Rank  1 Group  0 Pid   8756 on      gpu-1 device  1 [0000:24:00] NVIDIA A10
#
#                                                              out-of-place               in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time  \
 algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  \
(GB/s)  (GB/s)
gpu-1:8756:8771 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/direct pointer
           8             2     float     sum      -1    17.08    0.00    0.00    {2}    16.76  \
  0.00    0.00    {2}
  1073741824     268435456     float     sum      -1  44739.0   24.00   24.00      {0}  43690.0\
   24.58   24.58    {2}
# Out of bounds values : {1}
# Avg bus bandwidth    : 12.2
#
# Collective test concluded: all_reduce_perf
"""


def all_reduce(wrong: str = "0", footer: str = "0 OK", others: str = "0") -> list[str]:
    """Return what all_reduce_perf prints of two GPUs: #wrong of one place, and of the others."""
    return ALL_REDUCE.format(wrong, footer, others).splitlines()


@pytest.mark.parametrize(
    ("unit", "figure", "expected"),
    [
        pytest.param("Gb/sec", "196.00", 24.5, id="bits, decimal"),
        pytest.param("MB/sec", "23302.26", 24.434, id="older versions' MB is 2^20"),
        pytest.param("MiB/sec", "23302.26", 24.434, id="newer ones call it so"),
    ],
)
def test_perftests_units_are_its_own(unit: str, figure: str, expected: float) -> None:
    row = f" 65536      560845           0.00               {figure}                0.186950"
    (found,) = parse_measured(perftest(unit, row), "out")

    assert found.gigabytes == pytest.approx(expected, rel=0.0001)
    assert (found.program, found.test, found.where) == (Program.PERFTEST, "RDMA_Write", "out:6")
    assert found.gpu_memory
    assert found.wrong is None


def test_of_several_sizes_the_best_counts_and_warnings_between_do_not() -> None:
    rows = [
        "Conflicting CPU frequency values detected: 1500.000000 != 3300.016000.",
        " 2          5000           0.142947            0.012281            0.767588",
        " 1048576    5000           96.10               96.00               0.011444",
        " 8388608    5000           95.10               95.00               0.001415",
    ]
    (found,) = parse_measured(perftest("Gb/sec", *rows), "out")

    assert found.gigabytes == pytest.approx(12.0)
    assert found.where == "out:8"


def test_several_runs_are_several_results_and_both_ways_are_noted() -> None:
    row = " 65536      1000             0.00               80.00               0.1"
    both = perftest("Gb/sec", row, banner="RDMA_Write Bidirectional BW Test")
    found = parse_measured([*perftest("Gb/sec", row), *both], "out")

    assert [each.both_ways for each in found] == [False, True]


def test_nvbandwidth_tells_each_two_gpus_by_address() -> None:
    found = parse_measured(NVBANDWIDTH, "out")

    assert len(found) == 6
    assert [each.gigabytes for each in found if each.ends == ENDS] == [26.21, 26.30]
    assert found[0].where == "out:21"


def test_nvbandwidths_json_says_the_same() -> None:
    text = """{"nvbandwidth": {"CUDA Runtime Version": 12080,
      "GPU Device list": ["0: NVIDIA A10 (00000000:23:00)", "1: NVIDIA A10 (00000000:24:00)"],
      "testcases": [{"name": "device_to_device_memcpy_write_ce", "status": "Passed", "sum": 52.5,
        "bandwidth_description": "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)",
        "bandwidth_matrix": [["N/A", "26.21"], ["26.3", "N/A"]]},
        {"name": "host_to_device_memcpy_ce", "status": "Waived"}]}}"""
    found = parse_measured(text.splitlines(), "out.json")

    assert [each.gigabytes for each in found] == [26.21, 26.3]
    assert found[0].ends == ENDS


def test_nvbandwidths_failed_check_is_wrong_data() -> None:
    lines = [
        "Running device_to_device_memcpy_read_ce.",
        " Invalid value when checking the pattern at 0x735f80000000",
        " Current offset : 200064 ",
    ]
    (found,) = parse_measured(lines, "out")

    assert found.wrong == 1


def test_all_reduces_bus_bandwidth_and_ranks_are_read() -> None:
    (found,) = parse_measured(all_reduce(), "out")

    assert found.gigabytes == 24.58
    assert found.wrong == 0
    assert found.ends == ENDS
    assert found.test == "all_reduce_perf"


def test_tags_of_open_mpi_are_no_part_of_a_line() -> None:
    tagged = [f"[1,0]<stdout>:{line}" for line in all_reduce()]

    assert parse_measured(tagged, "out")[0].gigabytes == 24.58


def test_values_that_were_not_checked_are_not_right() -> None:
    (found,) = parse_measured(all_reduce("N/A", others="N/A"), "out")

    assert found.wrong is None


def test_a_single_wrong_value_anywhere_counts() -> None:
    (found,) = parse_measured(all_reduce("1", others="2"), "out")

    assert found.wrong == 7


def test_gdsio_counts_in_powers_of_two() -> None:
    line = (
        "IoType: READ XferType: GPUD Threads: 8 DataSetSize: 818796544/4096000(KiB) "
        "IOSize: 1024(KiB) Throughput: 6.5 GiB/sec, Avg_Latency: 1197.0 usecs ops: 799606"
    )
    (found,) = parse_measured([line], "out")

    assert found.gigabytes == pytest.approx(6.979, abs=0.001)
    with pytest.raises(BadInputError, match="out:1: CPU_GPU goes by the host's memory"):
        parse_measured([line.replace("GPUD", "CPU_GPU")], "out")


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        pytest.param([], "out: no result", id="empty"),
        pytest.param(["hello"], "out: no result", id="something else"),
        pytest.param(NVBANDWIDTH[:15], "out: no result", id="only copies of the host's memory"),
        pytest.param(perftest("Gb/sec", " 65536  1000  9.1"), "out:6: a row of 3", id="cut"),
        pytest.param(perftest("Gb/sec", " 65536 1000 1 9..1 1"), "out:6: '9..1' is", id="figure"),
        pytest.param(perftest("Gb/sec", " 65536 1000 1 -nan 1"), "out:6: '-nan'", id="nan"),
        pytest.param(perftest("kB/sec", " 65536 1000 1 9 1"), "out:5: bandwidth in kB", id="unit"),
        pytest.param([*NVBANDWIDTH[:20], " 0  N/A  1.0"], "out:21: 2 values", id="narrow matrix"),
        pytest.param([*NVBANDWIDTH[:19], "x"], "out:20: a matrix without", id="no heads"),
        pytest.param(all_reduce("many"), "out:14: 'many' is no figure", id="wrong count"),
        pytest.param(
            [line.removesuffix("    0") for line in all_reduce()], "out:13: a row of 12", id="short"
        ),
        pytest.param(['{"a": 1}'], "out: no JSON of nvbandwidth", id="other JSON"),
        pytest.param(["{" * 9000], "out: no JSON of nvbandwidth", id="broken JSON"),
        pytest.param(
            ['{"nvbandwidth": {"error": "no GPU"}}'], "out: nvbandwidth failed", id="failed"
        ),
    ],
)
def test_what_makes_no_sense_is_refused_by_its_line(lines: list[str], message: str) -> None:
    with pytest.raises(BadInputError, match="^" + message.replace("(", r"\(")) as error:
        parse_measured(lines, "out")

    assert error.value.hint


_PIECES = (*perftest("Gb/sec"), *NVBANDWIDTH, *all_reduce(), '{"nvbandwidth": {"testcases": [')


@given(st.lists(st.one_of(st.text(), st.sampled_from(_PIECES), st.from_regex(r"[0-9 .NA/]{0,30}"))))
@example(["{\ud800"])
def test_no_text_crashes_it(lines: list[str]) -> None:
    with suppress(BadInputError):
        assert parse_measured(lines, "out")


def ways(root: Path, *, opened_up: bool = False) -> tuple[Trace, Bandwidth]:
    """Return a NIC's writes to a GPU in a VM: by the root complex, or direct by DirectTrans."""
    port = downstream_port(NIC_PORT, below="0000:21:00.0", acs=(0x5F, 0x5D if opened_up else 0x1D))
    tree = one_switch(root, instead=[port])
    view = viewed(tree, ModeName.VM)
    host = opened(tree)
    found = pair(view, NIC, GPU)
    of = BandwidthOf(host, survey(host, lambda functions: functions), view.peers)
    return found.now.forth.write, of(found.now.forth.write, found.place)


def verdict(root: Path, gigabytes: float, *, opened_up: bool, wrong: int | None = 0) -> Verdict:
    """Return what a checked figure says of a link of 31.5 GB/s."""
    found = Measured(
        Program.NCCL_TESTS, "all_reduce_perf", "out:1", gigabytes, wrong=wrong, gpu_memory=True
    )
    trace, bandwidth = ways(root, opened_up=opened_up)
    return judge(found, bandwidth, trace)


@pytest.mark.parametrize(
    ("gigabytes", "kind"),
    [
        pytest.param(28.0, VerdictKind.DIRECT, id="PEX88000, redirection off (A21)"),
        pytest.param(25.2, VerdictKind.DIRECT, id="80 % of the link is payload"),
        pytest.param(10.9, VerdictKind.ROOT_COMPLEX, id="PEX88000, redirection on (A21)"),
        pytest.param(15.1, VerdictKind.ROOT_COMPLEX, id="56 % of 27, as nccl 949"),
        pytest.param(19.0, VerdictKind.BETWEEN, id="neither"),
        pytest.param(1.5, VerdictKind.FAR_BELOW, id="a network's"),
        pytest.param(54.0, VerdictKind.TOO_FAST, id="writes that never arrived"),
    ],
)
def test_a_figure_says_which_way_data_took(
    tmp_path: Path, gigabytes: float, kind: VerdictKind
) -> None:
    found = verdict(tmp_path, gigabytes, opened_up=True)

    assert found.kind is kind
    assert kind in found.text


def test_fast_and_wrong_is_a_fault(tmp_path: Path) -> None:
    found = verdict(tmp_path, 28.0, opened_up=True, wrong=248)

    assert found.kind is VerdictKind.WRONG
    assert "WRONG DATA: 28 GB/s and 248 wrong values" in found.text


def test_a_footer_alone_tells_of_wrong_data(tmp_path: Path) -> None:
    (found,) = parse_measured(all_reduce(footer="248 FAILED"), "out")
    trace, bandwidth = ways(tmp_path)

    assert judge(found, bandwidth, trace).kind is VerdictKind.WRONG


@pytest.mark.parametrize(
    ("gigabytes", "direct", "agrees"),
    [(28.0, True, True), (28.0, False, False), (12.0, False, True), (12.0, True, False)],
)
def test_a_figure_is_held_against_the_registers(
    tmp_path: Path, *, gigabytes: float, direct: bool, agrees: bool
) -> None:
    found = verdict(tmp_path, gigabytes, opened_up=direct)

    assert found.agrees is agrees
    assert ("by the registers the way is" in found.text) is not agrees


def test_both_ways_together_are_halved(tmp_path: Path) -> None:
    trace, bandwidth = ways(tmp_path, opened_up=True)
    found = Measured(Program.PERFTEST, "RDMA_Write", "out:1", 50.0, both_ways=True)

    judged = judge(found, bandwidth, trace)
    assert judged.share == pytest.approx(25.0 / 31.508, rel=0.001)
    assert "50 GB/s both ways together, 25 GB/s each" in judged.text
    assert "does not show that GPU memory was used" in judged.text
    assert "that the data was right is not told" in judged.text


def test_a_networks_rate_is_not_blamed_on_the_way(tmp_path: Path) -> None:
    trace, bandwidth = ways(tmp_path, opened_up=True)
    found = Measured(Program.PERFTEST, "RDMA_Write", "out:1", 12.2)  # 97.6 of 100 Gb/s

    judged = judge(found, bandwidth, trace)
    assert judged.kind is VerdictKind.NETWORK
    assert "as the network lets it, 100 Gb/s" in judged.text
    assert judged.agrees is None


def test_without_a_known_link_nothing_is_compared(tmp_path: Path) -> None:
    trace, _ = ways(tmp_path)
    found = Measured(Program.PERFTEST, "RDMA_Write", "out:1", 12.2)

    assert judge(found, Bandwidth(BandwidthClass.UNKNOWN), trace).kind is VerdictKind.UNKNOWN


def test_between_root_ports_the_full_rate_is_no_contradiction(tmp_path: Path) -> None:
    trace, _ = ways(tmp_path)
    rate = LinkRate(by_address(SWITCH, "00:01.0"), 16.0, 16, 16.0, (16.0, 16))
    found = Measured(Program.NVBANDWIDTH, "write", "out:1", 26.0)

    assert judge(found, Bandwidth(BandwidthClass.ROOT, rate), trace).agrees is None


def test_results_of_other_gpus_are_left_out(tmp_path: Path) -> None:
    second = gpu("0000:24:00.0", below=NIC_PORT)
    two = pair(undescribed(one_switch(tmp_path, instead=[second])), "GPU0", "GPU1")

    assert [each.gigabytes for each in about(parse_measured(NVBANDWIDTH, "out"), two)] == [
        26.21,
        26.30,
    ]
    untold = replace(parse_measured(NVBANDWIDTH, "out")[0], ends=None)
    assert about([untold], two) == (untold,)
