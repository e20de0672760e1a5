import itertools

import pytest

from pcietune import errors
from pcietune.errors import ExitCode

GRAVEST_FIRST = [8, 7, 130, 5, 10, 11, 4, 9, 3, 6]


@pytest.mark.parametrize(("graver", "lighter"), list(itertools.pairwise([*GRAVEST_FIRST, 0])))
def test_the_graver_of_two_codes_is_the_exit_code(graver: int, lighter: int) -> None:
    codes = [ExitCode(lighter), ExitCode(graver), ExitCode(lighter)]

    assert ExitCode.of_several(codes) == graver


def test_every_code_but_0_has_its_rank() -> None:
    assert sorted(ExitCode) == sorted([*GRAVEST_FIRST, 0])


def test_no_codes_at_all_are_0() -> None:
    assert ExitCode.of_several([]) == 0


def test_no_code_is_pythons_or_typers() -> None:
    assert not {1, 2} & set(ExitCode)


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        pytest.param(errors.BadInputError, 4),
        pytest.param(errors.NotPermittedError, 5),
        pytest.param(errors.ConfigSpaceError, 6),
        pytest.param(errors.IgnoredWriteError, 7),
        pytest.param(errors.RolledBackError, 7),
        pytest.param(errors.InconsistentHostError, 8),
        pytest.param(errors.NoProfileError, 9),
        pytest.param(errors.LockedError, 10),
        pytest.param(errors.SwitchedOffError, 11),
    ],
)
def test_each_error_exits_with_the_code_of_its_kind(
    kind: type[errors.PcietuneError], code: int
) -> None:
    error = kind("0000:3b:00.0: what is wrong", hint="what to try")

    assert error.exit_code == code
    assert str(error) == "0000:3b:00.0: what is wrong"
    assert error.hint == "what to try"


def test_every_kind_of_error_stands_in_the_modules_tree() -> None:
    kinds = errors.PcietuneError.__subclasses__()

    assert errors.__doc__
    assert all(f"- {kind.__name__} " in errors.__doc__ for kind in kinds)


def test_a_hint_may_be_missing() -> None:
    assert errors.LockedError("another pcietune is at work").hint == ""
