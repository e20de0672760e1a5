from dataclasses import replace
from pathlib import Path

import pytest
from trees.fabrics import two_switches
from trees.function import ACS_CAPABLE, downstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU_PORT, NIC_PORT, opened, surveyed
from tune.profiles import GPU_ROLE, NIC_ROLE, PROFILE, rule, with_ports, with_roles

from pcietune.model.finding import Finding, State
from pcietune.model.profile import ModeName, Profile
from pcietune.model.role_name import RoleName
from pcietune.model.settings import Tenancy
from pcietune.model.severity import Severity
from pcietune.model.yardstick import Yardstick
from pcietune.tune.audit.audit import audit

TOP = "0000:21:00.0"


def _told(
    tree: TreeHost,
    tenancy: Tenancy = Tenancy.SINGLE,
    profile: Profile = PROFILE,
    mode: ModeName = ModeName.VM,
) -> list[Finding]:
    host = opened(tree)
    audited = audit(host, surveyed(host, profile), Yardstick(profile, mode, tenancy=tenancy))
    return [f for f in audited.findings if f.id == "isolation.shared-switch"]


@pytest.mark.parametrize(
    ("tenancy", "severity"),
    [(Tenancy.SINGLE, Severity.INFO), (Tenancy.SHARED, Severity.WARNING)],
)
def test_a_switch_with_direct_translated_is_told_once(
    tmp_path: Path, tenancy: Tenancy, severity: Severity
) -> None:
    (found,) = _told(one_switch(tmp_path), tenancy)

    assert (found.state, found.severity, str(found.subject.address)) == (State.FAIL, severity, TOP)
    assert (
        "with DirectTrans on, a function that lies about translated addresses reaches its "
        "neighbours on this switch unchecked"
    ) in found.reason
    assert NIC_PORT in found.reason


def test_what_is_only_the_default_is_not_said_to_be_decided(tmp_path: Path) -> None:
    (found,) = _told(one_switch(tmp_path))

    assert found.found.text == "one tenant: tenancy is single, the default"


def test_of_several_tenants_the_remedy_names_the_waiver_for_who_trusts_the_hardware(
    tmp_path: Path,
) -> None:
    (found,) = _told(one_switch(tmp_path), Tenancy.SHARED)

    assert found.remedy
    assert "a waiver with the reason, in /etc/pcietune/pcietune.yaml" in found.remedy.command


def test_each_switch_is_told_of_by_itself(tmp_path: Path) -> None:
    assert len(_told(two_switches(tmp_path))) == 2


def test_bare_metal_has_no_tenants(tmp_path: Path) -> None:
    assert not _told(one_switch(tmp_path), Tenancy.SHARED, mode=ModeName.BAREMETAL)


def test_where_no_nic_is_trusted_with_it_nothing_is_opened(tmp_path: Path) -> None:
    careful = with_roles({RoleName.GPU: GPU_ROLE, RoleName.NIC: replace(NIC_ROLE, trusted=False)})

    assert not _told(one_switch(tmp_path), profile=careful)


def test_where_it_is_not_wanted_but_on_it_is_told_all_the_same(tmp_path: Path) -> None:
    unwanted = with_ports(nic_side=rule(require="DirectTrans-"))
    port = downstream_port(NIC_PORT, below=TOP, acs=(ACS_CAPABLE, 0x005D))

    assert _told(one_switch(tmp_path / "on", instead=[port]), profile=unwanted)
    assert not _told(one_switch(tmp_path / "off"), profile=unwanted)


def test_a_port_that_has_it_though_nothing_asks_for_it_is_named(tmp_path: Path) -> None:
    port = downstream_port(GPU_PORT, below=TOP, acs=(ACS_CAPABLE, 0x005D))

    (found,) = _told(one_switch(tmp_path, instead=[port]))

    assert f"({GPU_PORT}, {NIC_PORT}; nothing asks for it at {GPU_PORT})" in found.reason


def test_a_switch_without_direct_translated_cannot_open_it(tmp_path: Path) -> None:
    port = downstream_port(NIC_PORT, below=TOP, acs=(0x001F, 0x001D))

    assert not _told(one_switch(tmp_path, instead=[port]))
