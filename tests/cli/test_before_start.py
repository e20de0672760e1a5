"""``pcietune vfio before-start``: what stands against a VM's start, and when that keeps it."""

import json
from pathlib import Path

import pytest
from cli.in_process import Pcietune
from trees.function import nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.faults import set_word
from tune.judged import GPU, NIC, NIC_PORT
from tune.vm_start import function

from pcietune.errors import BadInputError, ExitCode
from pcietune.model.finding import Finding, State, Subject, Value
from pcietune.model.settings import VmStart
from pcietune.model.severity import Severity
from pcietune.model.vm_start import BeforeStart
from pcietune.report.vm_start import vm_start_entries, vm_start_lines

SETTINGS = "etc/pcietune/pcietune.yaml"
DIRECT_TRANSLATED = 0x005D
OTHER = "0000:26:00.0"


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a host that is as gpu-rdma wants it, with one more NIC that is on no switch."""
    tree = one_switch(tmp_path / "host", driver="vfio-pci")
    tree.add(nic(OTHER))
    set_word(tree, NIC_PORT, DIRECT_TRANSLATED)
    say(tree, "")
    return tree


def say(tree: TreeHost, settings: str) -> None:
    tree.put(SETTINGS, f"mode: vm\nprofile: gpu-rdma\n{settings}")


def test_a_vm_whose_functions_are_as_wanted_may_start(pcietune: Pcietune, tree: TreeHost) -> None:
    say(tree, "vm-start: refuse")

    run = pcietune("vfio", "before-start", GPU, NIC, "--from", tree.root)

    assert run.exit_code == 0
    assert run.stdout.splitlines()[0].startswith("may start")


def test_by_default_what_fails_is_told_and_the_vm_starts(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    set_word(tree, NIC_PORT, 0x001D)  # DirectTrans-

    run = pcietune("vfio", "before-start", GPU, NIC, "--from", tree.root)

    assert run.exit_code == 0
    assert run.stdout.startswith(f"may start, but not all is as it should be: {GPU}, {NIC}\n")
    assert f"error  port.nic-side.DirectTrans: {NIC_PORT}: " in run.stdout


def test_where_the_site_says_so_the_vm_does_not_start(pcietune: Pcietune, tree: TreeHost) -> None:
    say(tree, "vm-start: refuse")
    set_word(tree, NIC_PORT, 0x001D)

    run = pcietune("vfio", "before-start", GPU, NIC, "--from", tree.root)

    assert (run.exit_code, run.stdout) == (3, "")
    assert f"refused, as vm-start of the settings says: {GPU}, {NIC}" in run.stderr
    assert f"port.nic-side.DirectTrans: {NIC_PORT}: " in run.stderr


@pytest.mark.parametrize(("policy", "code"), [("refuse", 3), ("tell", 0)])
def test_the_document_is_the_same_whatever_the_site_says_but_for_that(
    pcietune: Pcietune, tree: TreeHost, policy: str, code: int
) -> None:
    say(tree, f"vm-start: {policy}")
    set_word(tree, NIC_PORT, 0x001D)

    run = pcietune("vfio", "before-start", NIC, "--vm", "vm0", "--json", "--from", tree.root)

    document = json.loads(run.stdout)
    assert run.exit_code == code
    assert (document["schema"], document["vm"], document["exit"]) == (1, "vm0", code)
    assert (document["policy"], document["refuses"]) == (policy, bool(code))
    assert [each["address"] for each in document["functions"]] == [NIC]
    against = {(each["id"], each["subject"]["address"]) for each in document["against"]}
    assert ("port.nic-side.DirectTrans", NIC_PORT) in against
    assert (document["disabled"], document["errors"]) == (None, [])


def test_a_typed_mode_and_profile_judge_a_host_without_settings(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    (tree.root / SETTINGS).unlink()

    run = pcietune(
        *("vfio", "before-start", NIC, "--mode", "vm", "--profile", "gpu-rdma"),
        *("--from", tree.root),
    )

    assert (run.exit_code, run.stdout) == (0, f"may start: {NIC}\n")


def test_what_stands_against_another_vms_functions_keeps_none(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    say(tree, "vm-start: refuse")
    set_word(tree, NIC_PORT, 0x001D)

    assert pcietune("vfio", "before-start", OTHER, "--from", tree.root).exit_code == 0


def test_what_could_not_be_judged_is_refused_as_what_fails(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.put(SETTINGS, "vm-start: refuse")

    run = pcietune("vfio", "before-start", NIC, "--from", tree.root)

    assert run.exit_code == 4
    assert "no mode is set" in run.stderr


def test_what_could_not_be_judged_is_told_where_the_site_only_wants_to_be_told(
    pcietune: Pcietune, tree: TreeHost
) -> None:
    tree.put(SETTINGS, "vm-start: tell")

    run = pcietune("vfio", "before-start", NIC, "--from", tree.root)

    assert run.exit_code == 0
    assert "may start, but not all" in run.stdout
    assert "no mode is set" in run.stderr


def test_settings_that_cannot_be_used_are_an_error(pcietune: Pcietune, tree: TreeHost) -> None:
    say(tree, "vm-start: maybe")

    run = pcietune("vfio", "before-start", NIC, "--from", tree.root)

    assert run.exit_code == 4
    assert "pcietune.yaml:3:11: " in run.stderr


def test_where_pcietune_is_switched_off_no_vm_is_kept(pcietune: Pcietune, tree: TreeHost) -> None:
    say(tree, "vm-start: refuse")
    set_word(tree, NIC_PORT, 0x001D)
    tree.put("etc/pcietune/disabled", "")

    run = pcietune("vfio", "before-start", NIC, "--from", tree.root)

    assert run.exit_code == 0
    assert run.stdout == (
        "not judged: pcietune is switched off here: /etc/pcietune/disabled exists\n"
    )


def test_a_vm_without_host_devices_is_not_judged(
    pcietune: Pcietune, tree: TreeHost, tmp_path: Path
) -> None:
    say(tree, "vm-start: refuse")
    (tmp_path / "vm.xml").write_text("<domain><devices/></domain>")

    run = pcietune("vfio", "before-start", "--domain", tmp_path / "vm.xml", "--from", tree.root)

    assert (run.exit_code, run.stdout) == (0, "the VM has no PCI function of this host\n")


def test_this_machine_is_judged_where_no_other_is_named(pcietune: Pcietune, tmp_path: Path) -> None:
    (tmp_path / "vm.xml").write_text("<domain><devices/></domain>")

    run = pcietune("vfio", "before-start", "--domain", tmp_path / "vm.xml", "--vm", "vm0")

    assert (run.exit_code, run.stdout) == (0, "the VM has no PCI function of this host\n")


def test_a_warning_alone_keeps_no_vm(tree: TreeHost) -> None:
    nic = function(tree, NIC)
    warning = Finding(
        "link.width",
        Subject.of(nic),
        Severity.WARNING,
        State.FAIL,
        Value("x8"),
        Value("x16"),
        "it trained down",
    )
    found = BeforeStart([nic], (warning,), (), VmStart.REFUSE)

    assert not found.refuses
    assert list(vm_start_lines(found)) == [
        f"may start, but not all is as it should be: {NIC}",
        f"warning  link.width: {NIC}: it trained down (found x8, wanted x16)",
    ]
    assert [entry["PRIORITY"] for entry in vm_start_entries(found, "vm0")] == ["4"]


def test_the_journal_is_told_what_stands_against_a_vm_by_name(tree: TreeHost) -> None:
    failure = BadInputError("no mode is set")
    refused = BeforeStart([function(tree, NIC)], (), (failure,), VmStart.REFUSE)
    told = BeforeStart([function(tree, NIC)], (), (failure,), VmStart.TELL)

    [entry] = vm_start_entries(refused, "vm0")
    [other] = vm_start_entries(told, None)

    assert entry["MESSAGE"] == "VM vm0 is refused: no mode is set"
    assert (entry["PRIORITY"], entry["PCIETUNE_VM"]) == ("3", "vm0")
    assert other["MESSAGE"] == "VM without a name starts all the same: no mode is set"
    assert "PCIETUNE_VM" not in other
    assert (refused.exit_code, refused.refuses, told.refuses) == (ExitCode.BAD_INPUT, True, False)
    assert list(vm_start_lines(told)) == [
        f"may start, but not all is as it should be: {NIC}",
    ]
