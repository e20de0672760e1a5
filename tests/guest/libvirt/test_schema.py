"""libvirt's schema finds no fault with a planned domain, and libvirt takes it."""

from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from guest.libvirt.made_up import plans
from guest.libvirt.test_native_arguments import PLANS
from guest.libvirt.virsh import Virsh, validate, without_kvm
from hypothesis import HealthCheck, given, settings

from pcietune.guest.libvirt.domain import domain_xml
from pcietune.guest.plan import Plan


@pytest.mark.parametrize("made", PLANS, ids=lambda made: made.__name__)
def test_the_schema_finds_no_fault(made: Callable[[], Plan], tmp_path: Path) -> None:
    validate("\n".join(domain_xml(made())), tmp_path)


@settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(plans())
def test_any_plan_is_a_domain_whose_devices_are_the_plans(virsh: Virsh, plan: Plan) -> None:
    xml = "\n".join(domain_xml(plan))

    with TemporaryDirectory() as folder:
        validate(xml, Path(folder))
    devices = {str(each["id"]) for each in virsh.native(without_kvm(xml)).devices()}

    assert devices - {"serial0"} == {
        f"ua-{name}"
        for name in (*(b.name for b in plan.bridges), *(f.name for f in plan.functions))
    }
