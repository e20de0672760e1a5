"""A topology file that is checked against the plan of the VM that it is for."""

import msgspec
import pytest
from guest.nccl.written import text_of
from guest.plans import a800_four_gpus_on_two_nodes, l20_one_gpu_and_a_vf

from pcietune.address import PciAddress
from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.lint.complaint import Severity
from pcietune.guest.nccl.lint.lint import lint
from pcietune.guest.nccl.wanted import Wanted

PLAN = a800_four_gpus_on_two_nodes()
TEXT = text_of(PLAN)


@pytest.mark.parametrize(
    ("old", "new", "rule", "said"),
    [
        ("0000:24:00.0", "0000:2a:00.0", "not-in-file", "gpu1 at 0000:24:00.0 is not in the file"),
        ('"000000ff"', '"0000ff00"', "affinity-plan", "those of numaid 1: they are swapped"),
        ('"000000ff"', '"000000f0"', "affinity-plan", "not those of the plan"),
        ('numaid="0"', 'numaid="5"', "wrong-cpu", "gpu0 is below numaid 5, and near to 0"),
        ('numaid="0"', 'numaid="5"', "no-such-node", "numaid 5: the VM has no such NUMA node"),
    ],
)
def test_what_is_not_of_this_vm_is_an_error(old: str, new: str, rule: str, said: str) -> None:
    assert old in TEXT

    errors = [
        each
        for each in lint(TEXT.replace(old, new, 1), Library.NCCL, PLAN)
        if each.severity is Severity.ERROR
    ]

    assert any(each.rule == rule and said in each.message for each in errors)


def test_an_address_of_the_host_is_called_so() -> None:
    plan = l20_one_gpu_and_a_vf()
    replace = msgspec.structs.replace
    functions = [
        replace(each, guest_address="0000:07:00.0") if each.name == "gpu0" else each
        for each in plan.functions
    ]
    moved = replace(plan, functions=functions)

    complaints = lint(text_of(plan), Library.NCCL, moved)

    assert {"host-address", "not-in-file"} == {each.rule for each in complaints}
    told = next(each for each in complaints if each.rule == "host-address")
    assert told.message.startswith("0000:23:00.0 is gpu0 on the host: in the VM it is 0000:07:00.0")
    assert told.advice == 'write busid="0000:07:00.0"'


def test_what_the_plan_has_not_is_a_warning() -> None:
    more = '<pci busid="0000:01:00.0" class="0x020000"/>\n  </cpu>'

    (told,) = lint(TEXT.replace("</cpu>", more, 1), Library.NCCL, PLAN)

    assert (told.rule, told.severity) == ("not-in-plan", Severity.WARNING)


def test_another_link_is_a_warning() -> None:
    gpu = '"0000:23:00.0" class="0x030200" link_speed="16.0 GT/s PCIe"'
    assert gpu in TEXT

    (told,) = lint(TEXT.replace(gpu, gpu.replace("16.0", "8.0")), Library.NCCL, PLAN)

    assert (told.rule, told.severity) == ("link-plan", Severity.WARNING)


def test_neighbours_of_the_host_that_the_file_has_apart_are_an_error() -> None:
    lines = TEXT.splitlines(keepends=True)
    (nic,) = (line for line in lines if "0000:25:00.0" in line)
    lines.remove(nic)
    lines.insert(2, nic)  # below the cpu, beside the switch

    told = lint("".join(lines), Library.NCCL, PLAN)

    assert {each.rule for each in told} == {"neighbours"}
    assert any("gpu0 and nic0 are below one switch of the host" in each.message for each in told)


def test_functions_that_only_the_file_has_together_are_an_error() -> None:
    lines = TEXT.splitlines(keepends=True)
    (nic,) = (line for line in lines if "0000:45:00.0" in line)
    lines.remove(nic)
    lines.insert(3, nic)

    told = lint("".join(lines), Library.NCCL, PLAN)

    assert {each.rule for each in told} == {"neighbours", "wrong-cpu"}
    assert any("gpu0 and nic2 are below one switch here" in each.message for each in told)


def test_another_kind_is_a_warning() -> None:
    text = TEXT.replace('"0000:25:00.0" class="0x020700"', '"0000:25:00.0" class="0x030200"')

    (told,) = lint(text, Library.NCCL, PLAN)

    assert (told.rule, told.severity) == ("class-plan", Severity.WARNING)
    assert told.advice == 'write class="0x020700"'


def test_two_functions_of_one_nic_that_declare_its_speed_are_told() -> None:
    functions = [
        msgspec.structs.replace(each, physical_function="0000:25:00.0")
        if each.name in {"nic0", "nic1"}
        else each
        for each in PLAN.functions
    ]
    plan = msgspec.structs.replace(PLAN, functions=functions)
    text = TEXT
    for nic in ("0000:25:00.0", "0000:26:00.0", "0000:45:00.0"):
        (line,) = (each for each in TEXT.splitlines() if nic in each)
        net = f'><nic><net name="{nic}" speed="200000"/></nic></pci>'
        text = text.replace(line, line.replace("/>", net))

    (told,) = lint(text, Library.NCCL, plan)

    assert told.rule == "shared-port"
    assert told.message.startswith("nic1 and nic0 are of one NIC of the host")


def test_addresses_of_a_vm_that_others_laid_out_are_what_is_looked_for() -> None:
    addresses = {"gpu0": PciAddress.parse("0000:05:00.0")}
    text = text_of(PLAN, Wanted(addresses=addresses))

    assert lint(text, Library.NCCL, PLAN, addresses) == []
    assert {each.rule for each in lint(TEXT, Library.NCCL, PLAN, addresses)} == {
        "host-address", "not-in-file",
    }  # fmt: skip
