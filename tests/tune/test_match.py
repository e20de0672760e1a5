from dataclasses import replace
from pathlib import Path

import pytest
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, root_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import opened, surveyed
from tune.profiles import PROFILE

from pcietune.errors import ExitCode, NoProfileError
from pcietune.model.profile import FunctionPattern, Match, Profile
from pcietune.tune.match.choose import (
    MatchResult,
    find_profile,
    insist,
    match_profile,
    why_not_chosen,
)

EXACT = FunctionPattern(("10de:20f3",))
VENDOR = FunctionPattern(("10de:*",))
CLASS = FunctionPattern((), (0x0302,))
DMI = {"product_name": "GPU Server*"}  # as trees.host has it


def named(name: str, match: Match, *, generic: bool = False) -> Profile:
    return replace(PROFILE, name=name, match=match, generic=generic)


def best(tree: TreeHost, *profiles: Profile) -> MatchResult | None:
    host = opened(tree)
    return find_profile(host, surveyed(host), profiles)


FROM_MOST_TO_LEAST_SPECIFIC = [
    named("ids-and-dmi", Match(EXACT, dmi=DMI)),
    named("id", Match(EXACT)),
    named("vendor-and-dmi", Match(VENDOR, dmi=DMI)),
    named("dmi", Match(dmi=DMI)),
    named("vendor", Match(VENDOR)),
    named("class", Match(CLASS)),
    named("generic", Match(EXACT, dmi=DMI), generic=True),
]


@pytest.mark.parametrize("left_out", range(len(FROM_MOST_TO_LEAST_SPECIFIC)))
def test_the_most_specific_profile_wins(tmp_path: Path, left_out: int) -> None:
    candidates = FROM_MOST_TO_LEAST_SPECIFIC[left_out:]

    found = best(one_switch(tmp_path), *reversed(candidates))

    assert found
    assert found.profile.name == candidates[0].name


def test_two_equally_specific_profiles_are_both_named(tmp_path: Path) -> None:
    one, other = named("one", Match(EXACT)), named("other", Match(EXACT))

    with pytest.raises(NoProfileError, match="one and other match this host equally well") as said:
        best(one_switch(tmp_path), one, other)

    assert said.value.exit_code == ExitCode.NO_PROFILE
    assert "--profile" in said.value.hint


def test_two_kinds_of_gpu_in_one_host_are_no_guess_but_an_error_that_names_both(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    other = ConfigBuilder("10de:20b2", 0x030200).express(ENDPOINT)
    tree.add(root_port("0000:40:01.0"), Function("0000:41:00.0", other, below="0000:40:01.0"))

    with pytest.raises(NoProfileError) as said:
        best(
            tree, named("a800", Match(EXACT)), named("a100", Match(FunctionPattern(("10de:20b2",))))
        )

    assert "(a800: 1 x 10de:20f3 (10de:20f3); a100: 1 x 10de:20b2 (10de:20b2))" in str(said.value)


def test_each_profile_that_fits_says_why_another_was_chosen(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    profiles = [
        named("exact", Match(EXACT)),
        named("twin", Match(EXACT)),
        named("wide", Match(VENDOR, dmi=DMI)),
        named("class", Match(CLASS)),
        named("generic", Match(CLASS), generic=True),
        named("elsewhere", Match(FunctionPattern(("10de:2330",)))),
    ]
    results = [match_profile(profile, surveyed(host), host) for profile in profiles]

    assert {r.profile.name: why_not_chosen(r, results) for r in results if r.fits} == {
        "exact": "fits no better than twin",
        "twin": "fits no better than exact",
        "wide": "less specific than exact: by ids with * and DMI, not by exact ids",
        "class": "less specific than exact: by class or place, not by exact ids",
        "generic": "generic, which counts only where no other fits, and exact does",
    }


def test_the_chosen_profile_needs_no_excuse(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    profiles = [named("exact", Match(EXACT)), named("class", Match(CLASS))]
    results = [match_profile(profile, surveyed(host), host) for profile in profiles]

    assert why_not_chosen(results[0], results) == ""


def test_gpus_that_no_profile_knows_are_an_error(tmp_path: Path) -> None:
    with pytest.raises(NoProfileError, match="no profile matches this host's GPUs"):
        best(one_switch(tmp_path), named("other", Match(FunctionPattern(("10de:2330",)))))


def test_a_host_without_a_gpu_has_nothing_for_pcietune(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)
    tree.add(root_port("0000:20:01.0"))

    assert best(tree, PROFILE) is None


def test_every_criterion_that_is_given_must_hold(tmp_path: Path) -> None:
    other_board = named("other", Match(EXACT, dmi={"product_name": "Another*"}))

    found = best(one_switch(tmp_path), other_board, named("any", Match(CLASS), generic=True))

    assert found
    assert found.profile.name == "any"


def test_a_match_tells_by_what(tmp_path: Path) -> None:
    found = best(one_switch(tmp_path), named("all", Match(EXACT, switch_group=True, dmi=DMI)))

    assert found
    assert found.why == (
        "1 x 10de:20f3 (10de:20f3)",
        "1 switch carries a GPU and a NIC",
        "DMI product_name is 'GPU Server 8'",
    )


def test_the_named_profile_of_another_host_is_refused_and_says_why(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    other = named(
        "other",
        Match(FunctionPattern(("10de:2330",)), dmi={"sys_vendor": "Other", "board_serial": "*"}),
    )

    with pytest.raises(NoProfileError) as said:
        insist(host, surveyed(host), other)

    assert str(said.value) == (
        "profile other does not describe this host: no function 10de:2330; "
        "DMI sys_vendor is 'Example Systems', not 'Other'; DMI board_serial is None, not '*'"
    )


def test_a_host_whose_gpus_and_nics_are_apart_has_no_switch_group(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))
    no_nic = replace(PROFILE, match=Match(switch_group=True), roles={})

    with pytest.raises(NoProfileError, match="no switch carries both a GPU and a NIC"):
        insist(host, surveyed(host), no_nic)


def test_the_named_profile_of_this_host_is_taken(tmp_path: Path) -> None:
    host = opened(one_switch(tmp_path))

    assert insist(host, surveyed(host), PROFILE).fits
