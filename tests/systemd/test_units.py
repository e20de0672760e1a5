"""The shipped units: what systemd makes of them, and what they must and must not contain."""

import re
from pathlib import Path

import pytest
from systemd.unit_files import UNITS, Host, said_of, settings, values, words

APPLY = "pcietune-apply.service"
ATTEMPT = "pcietune-boot-attempt.service"
ENABLED = (APPLY, "pcietune-audit.timer", "pcietune-watch.service")
BIND = "pcietune-vfio@nvidia-fabricmanager.service"
SERVICE = "[Service]\nExecStart=/bin/true\n[Install]\nWantedBy=multi-user.target\n"
# driverctl 0.111 of Debian has its template so.
DRIVERCTL = """[Unit]
DefaultDependencies=no
Before=basic.target
[Service]
Type=oneshot
ExecStart=/bin/true
[Install]
WantedBy=basic.target
"""


@pytest.fixture
def host(tmp_path: Path) -> Host:
    """Return a host where all of pcietune is enabled beside what it must come before."""
    host = Host(tmp_path)
    services = ("libvirtd", "virtqemud", "kubelet", "pve-guests", "nvidia-fabricmanager")
    for name in services:
        host.add(f"{name}.service", SERVICE)
    host.add("driverctl@.service", DRIVERCTL)
    host.add(
        "var.mount", "[Mount]\nWhat=/dev/sda2\nWhere=/var\n[Install]\nWantedBy=local-fs.target"
    )
    # as systemd-fstab-generator does where /etc/fstab names the root file system
    host.want("local-fs.target", "systemd-remount-fs.service")
    host.enable(*ENABLED, BIND, "driverctl@0000:24:00.0.service", "var.mount")
    host.enable(*(f"{name}.service" for name in services))
    return host


def says_cycle(host: Host, unit: str, order: str, other: str) -> bool:
    """Return whether an order contradicts those that systemd knows already: a second opinion."""
    host.add(f"{unit}.d/order.conf", f"[Unit]\n{order}={other}\n")
    return "ordering cycle" in host.said_of("multi-user.target")


def test_systemd_understands_every_unit(tmp_path: Path) -> None:
    (tmp_path / "nvidia-fabricmanager.service").write_text(SERVICE)
    files = []
    for unit in sorted([*UNITS.glob("*.service"), *UNITS.glob("*.timer")]):
        file = tmp_path / unit.name.replace("@", "@nvidia-fabricmanager")
        file.write_text(unit.read_text().replace("/usr/bin/pcietune", "/bin/true"))
        files.append(file)

    assert len(files) == 7
    assert said_of(*files) == ""


def test_all_of_it_can_be_started_at_boot(host: Host) -> None:
    assert host.said_of("multi-user.target") == ""


def test_what_an_owner_enables_is_started_where_it_belongs(tmp_path: Path) -> None:
    host = Host(tmp_path)
    assert host.enabled() == set()

    host.enable(*ENABLED, BIND)

    assert host.enabled() == {
        f"sysinit.target.wants/{APPLY}",
        "multi-user.target.wants/pcietune-boot-done.service",
        "timers.target.wants/pcietune-audit.timer",
        "multi-user.target.wants/pcietune-watch.service",
        f"multi-user.target.wants/{BIND}",
    }


def test_the_first_boot_of_an_image_enables_nothing_of_it(tmp_path: Path) -> None:
    host = Host(tmp_path)

    host.preset(*ENABLED, BIND, "systemd-pstore.service")

    assert host.enabled() == {"sysinit.target.wants/systemd-pstore.service"}


@pytest.mark.parametrize(
    "later",
    [
        "systemd-udev-trigger.service",
        "systemd-modules-load.service",
        "sysinit.target",
        "driverctl@0000:24:00.0.service",
        "libvirtd.service",
        "virtqemud.service",
        "kubelet.service",
        "pve-guests.service",
        "pcietune-watch.service",
        BIND,
    ],
)
def test_apply_comes_before(host: Host, later: str) -> None:
    assert says_cycle(host, APPLY, "After", later)


@pytest.mark.parametrize("earlier", ["systemd-remount-fs.service", ATTEMPT])
def test_apply_comes_after(host: Host, earlier: str) -> None:
    assert says_cycle(host, APPLY, "Before", earlier)


@pytest.mark.parametrize(
    "other",
    [
        "local-fs.target",
        "var.mount",
        "systemd-tmpfiles-setup.service",
        "systemd-tmpfiles-setup-dev.service",
        "systemd-udevd.service",
        "systemd-journald.service",
    ],
)
@pytest.mark.parametrize("unit", [APPLY, ATTEMPT])
def test_apply_and_its_guard_wait_neither_for_mounts_nor_for_tmpfiles(
    host: Host, unit: str, other: str
) -> None:
    assert not says_cycle(host, unit, "Before", other)


def test_the_boot_is_noted_once_root_is_writable(host: Host) -> None:
    assert says_cycle(host, ATTEMPT, "Before", "systemd-remount-fs.service")


def test_functions_are_bound_after_the_unit_that_the_instance_names(host: Host) -> None:
    assert says_cycle(host, BIND, "Before", "nvidia-fabricmanager.service")


def test_a_boot_has_come_up_only_after_the_target(host: Host) -> None:
    assert says_cycle(host, "pcietune-boot-done.service", "Before", "multi-user.target")


def test_apply_is_one_process_with_short_timeouts() -> None:
    assert values(APPLY, "ExecStart") == ["/usr/bin/pcietune apply --unattended"]
    assert not [key for key, _ in settings(APPLY) if key.startswith("Exec") and key != "ExecStart"]
    assert values(APPLY, "TimeoutStartSec") == ["20"]
    assert values(APPLY, "TimeoutStopSec") == ["3"]
    assert values(APPLY, "SuccessExitStatus") == ["3 11"]
    assert values(APPLY, "DefaultDependencies") == ["no"]


def test_apply_has_nothing_that_waits_for_mounts_or_hides_the_machine() -> None:
    keys = {key for key, _ in settings(APPLY)}

    assert keys == {
        "Description", "Documentation", "DefaultDependencies", "Wants", "After", "Before",
        "Conflicts", "ConditionPathExists", "ConditionVirtualization", "ConditionKernelCommandLine",
        "Type", "RemainAfterExit", "ExecStart", "SuccessExitStatus", "TimeoutStartSec",
        "TimeoutStopSec", "RuntimeDirectory", "RuntimeDirectoryPreserve", "WantedBy", "Also",
    }  # fmt: skip
    assert words(APPLY, "After") | words(APPLY, "Wants") == {"systemd-remount-fs.service", ATTEMPT}


@pytest.mark.parametrize("unit", [path.name for path in sorted(UNITS.glob("*.service"))])
def test_no_unit_takes_away_what_others_left_in_run(unit: str) -> None:
    assert values(unit, "RuntimeDirectory") in ([], ["pcietune"])
    if values(unit, "RuntimeDirectory"):
        assert values(unit, "RuntimeDirectoryPreserve") == ["yes"]


@pytest.mark.parametrize("unit", [path.name for path in sorted(UNITS.glob("*.service"))])
def test_no_unit_sees_another_machine_than_the_host(unit: str) -> None:
    hiding = ("Private", "Protect", "Root", "Bind", "ReadOnly", "ReadWrite", "Inaccessible", "User")

    assert [key for key, _ in settings(unit) if key.startswith(hiding)] == []


def test_apply_is_not_run_where_it_has_no_business() -> None:
    assert set(values(APPLY, "ConditionPathExists")) == {"!/proc/vmcore", "!/etc/pcietune/disabled"}
    assert values(APPLY, "ConditionVirtualization") == ["no"]
    # kernel-command-line(7) of systemd: words that boot into rescue.target and emergency.target
    rescue = {"rescue", "single", "s", "S", "1", "emergency"}
    targets = {"systemd.unit=rescue.target", "systemd.unit=emergency.target"}
    assert set(values(APPLY, "ConditionKernelCommandLine")) == {
        f"!{word}" for word in {*rescue, *targets, "pcietune=off"}
    }


def test_a_boot_is_noted_under_the_conditions_of_apply() -> None:
    conditions = [pair for pair in settings(ATTEMPT) if pair[0].startswith("Condition")]

    assert conditions[-1] == ("ConditionPathIsReadWrite", "/etc/pcietune")
    assert sorted(conditions[:-1]) == sorted(
        pair for pair in settings(APPLY) if pair[0].startswith("Condition")
    )


def test_the_documented_drop_in_for_test_benches_lifts_just_the_condition(host: Host) -> None:
    document = (UNITS.parent / "docs" / "boot.md").read_text()
    (drop_in,) = re.findall(r"```ini\n(.*?)```", document, re.DOTALL)
    assert "ConditionVirtualization=no" in host.conditions_of(APPLY)

    host.add(f"{APPLY}.d/bench.conf", drop_in)

    assert host.conditions_of(APPLY) == {
        "ConditionPathExists=!/proc/vmcore",
        "ConditionPathExists=!/etc/pcietune/disabled",
        "ConditionKernelCommandLine=!pcietune=off",
    }
    assert host.conditions_of(APPLY) < {f"{key}={value}" for key, value in settings(APPLY)}


def test_hosts_that_boot_together_do_not_report_together() -> None:
    timer = "pcietune-audit.timer"

    assert values(timer, "OnUnitInactiveSec") == ["1h"]
    assert values(timer, "RandomizedDelaySec") == ["15min"]
