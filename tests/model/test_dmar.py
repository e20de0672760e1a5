import pytest
from model.functions import NIC, function

from pcietune.model.dmar import DeviceScope, Dmar

ROOT_PORT = function("20:01.0")
BELOW_IT = function("20:01.0 21:00.0 22:04.0 24:00.0", NIC)
INTEGRATED = function("6a:01.0", NIC)
NONE = Dmar(frozenset(), ())


@pytest.mark.parametrize(
    ("dmar", "allowed"),
    [
        pytest.param(Dmar(frozenset({0}), ()), True, id="all ports of the segment"),
        pytest.param(Dmar(frozenset({1}), ()), False, id="all ports of another segment"),
        pytest.param(Dmar(frozenset(), (DeviceScope(0, 0x20, ((1, 0),)),)), True, id="by name"),
        pytest.param(
            Dmar(frozenset(), (DeviceScope(1, 0x20, ((1, 0),)),)), False, id="of another segment"
        ),
        pytest.param(
            Dmar(frozenset(), (DeviceScope(0, 0x21, ((1, 0),)),)), False, id="of another bus"
        ),
        pytest.param(
            Dmar(frozenset(), (DeviceScope(0, 0x20, ((1, 1),)),)), False, id="another function"
        ),
        pytest.param(
            Dmar(frozenset(), (DeviceScope(0, 0x20, ((1, 0), (0, 0))),)),
            False,
            id="what is below the port, not the port",
        ),
        pytest.param(NONE, False, id="no ATSR at all"),
    ],
)
def test_a_function_may_have_ats_if_an_atsr_covers_its_root_port(
    dmar: Dmar, *, allowed: bool
) -> None:
    assert dmar.allows(BELOW_IT, ROOT_PORT) is allowed


def test_an_integrated_function_needs_no_atsr() -> None:
    assert NONE.allows(INTEGRATED, None) is True


def test_what_an_satc_names_needs_no_atsr() -> None:
    path = ((1, 0), (0, 0), (4, 0), (0, 0))
    named = Dmar(frozenset(), (), integrated=(DeviceScope(0, 0x20, path),))

    assert named.allows(BELOW_IT, ROOT_PORT) is True


def test_what_an_satc_calls_required_may_be_left_to_the_hardware() -> None:
    required = Dmar(frozenset({0}), (), integrated_required=(DeviceScope(0, 0x6A, ((1, 0),)),))

    assert required.allows(INTEGRATED, None) is None
