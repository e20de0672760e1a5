"""A plan as a JSON document."""

import msgspec
import pytest
from guest.plans import a800_four_gpus_on_two_nodes, a800_two_gpus

from pcietune.errors import BadInputError
from pcietune.guest.plan import Plan
from pcietune.guest.plan_text import parse_plan, plan_text


def test_a_plan_is_the_same_after_a_way_through_json() -> None:
    plan = a800_four_gpus_on_two_nodes()

    assert msgspec.json.decode(msgspec.json.encode(plan), type=Plan) == plan


def test_a_key_that_nobody_knows_is_refused() -> None:
    document = msgspec.to_builtins(a800_two_gpus()) | {"cpus": 4}

    with pytest.raises(msgspec.ValidationError, match="unknown field `cpus`"):
        msgspec.convert(document, type=Plan)


def test_functions_and_bridges_are_found_by_name() -> None:
    plan = a800_two_gpus()

    assert plan.function("nic1").guest_address == "0000:26:00.0"
    assert (plan.bridge("dp2"), plan.bridge("pcie.0")) == (plan.bridges[5], None)
    with pytest.raises(KeyError):
        plan.function("gpu9")


def test_what_is_no_plan_of_this_layout_is_refused_with_what_to_do() -> None:
    older = plan_text(msgspec.structs.replace(a800_two_gpus(), schema=0))

    for text, said in (("{}", "no plan"), ("[", "no plan"), (older, "layout 0")):
        with pytest.raises(BadInputError, match=said):
            parse_plan(text, "vm0.json")
    with pytest.raises(BadInputError, match="missing required field"):
        parse_plan('{"schema": 1}', "vm0.json")


def test_a_plan_is_read_as_it_was_written() -> None:
    plan = a800_two_gpus()

    assert parse_plan(plan_text(plan), "vm0.json") == plan
