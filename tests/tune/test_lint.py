"""What lint doubts of a profile that its place in a file says nothing about."""

from dataclasses import replace

import pytest
from tune.profiles import NIC_ROLE, rule, with_ports

from pcietune.model.profile import ModeName, PortRule, Profile
from pcietune.model.role_name import RoleName
from pcietune.tune.match.lint import remarks

WITHOUT_EFFECT = "DirectTrans+ has no effect: role nic is not trusted"


def _doubts_of_direct_trans(profile: Profile) -> list[tuple[str, ...]]:
    return [remark.path for remark in remarks(profile) if remark.text == WITHOUT_EFFECT]


def _distrusted(profile: Profile) -> Profile:
    return replace(profile, roles={**profile.roles, RoleName.NIC: replace(NIC_ROLE, trusted=False)})


@pytest.mark.parametrize("mode", ModeName)
@pytest.mark.parametrize(
    ("owed", "key"),
    [(rule(set="DirectTrans+"), "set"), (rule(require="DirectTrans+"), "require")],
    ids=["set", "require"],
)
def test_direct_trans_for_nics_that_are_not_trusted_has_no_effect(
    mode: ModeName, owed: PortRule, key: str
) -> None:
    profile = _distrusted(with_ports(nic_side=owed))
    profile = replace(profile, modes={mode: profile.modes[ModeName.VM]})

    assert _doubts_of_direct_trans(profile) == [("modes", mode, "ports", "nic-side", key)]


@pytest.mark.parametrize(
    "profile",
    [
        pytest.param(with_ports(nic_side=rule(set="DirectTrans+")), id="trusted"),
        pytest.param(_distrusted(with_ports(nic_side=rule(set="DirectTrans-"))), id="off"),
        pytest.param(_distrusted(with_ports(gpu_side=rule(set="DirectTrans+"))), id="elsewhere"),
    ],
)
def test_where_trust_makes_no_difference_lint_says_nothing_of_it(profile: Profile) -> None:
    assert _doubts_of_direct_trans(profile) == []
