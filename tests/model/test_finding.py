from dataclasses import replace

import pytest

from pcietune.errors import ConfigSpaceError, ExitCode
from pcietune.model.finding import HOST, Finding, RemedyKind, State, Subject, Value
from pcietune.model.severity import Severity

WANTED = Value("as wanted")
FAILS = Finding("an.id", HOST, Severity.ERROR, State.FAIL, Value("otherwise"), WANTED, "so it is")


@pytest.mark.parametrize(
    ("state", "severity", "strict", "code"),
    [
        (State.PASS, Severity.ERROR, True, ExitCode.OK),
        (State.FAIL, Severity.ERROR, False, ExitCode.DIFFERS),
        (State.FAIL, Severity.WARNING, False, ExitCode.DIFFERS),
        (State.FAIL, Severity.INFO, True, ExitCode.OK),
        (State.PENDING, Severity.ERROR, False, ExitCode.OK),
        (State.PENDING, Severity.ERROR, True, ExitCode.DIFFERS),
        (State.SKIP, Severity.ERROR, True, ExitCode.OK),
        (State.NOT_APPLICABLE, Severity.ERROR, True, ExitCode.OK),
    ],
)
def test_state_severity_and_strictness_make_the_exit_code(
    state: State, severity: Severity, code: ExitCode, *, strict: bool
) -> None:
    assert replace(FAILS, state=state, severity=severity).exit_code(strict=strict) == code


def test_what_could_not_be_read_keeps_its_own_exit_code_and_hint() -> None:
    error = ConfigSpaceError("0000:22:04.0 does not answer", hint="look at its link")

    unread = Finding.unread("an.id", HOST, WANTED, error)

    assert unread.state is State.ERROR
    assert unread.exit_code(strict=False) == ExitCode.UNREADABLE
    assert unread.reason == "0000:22:04.0 does not answer"
    assert unread.remedy
    assert (unread.remedy.kind, unread.remedy.command) == (RemedyKind.SOFTWARE, "look at its link")


def test_what_could_not_be_read_and_only_informs_is_neither_a_pass_nor_an_exit_code() -> None:
    error = ConfigSpaceError("0000:22:04.0 does not answer")

    unread = Finding.unread("an.id", HOST, WANTED, error, Severity.INFO)

    assert unread.state is State.ERROR
    assert unread.exit_code(strict=True) == ExitCode.OK
    assert replace(unread, severity=Severity.ERROR).exit_code(strict=False) == ExitCode.UNREADABLE


def test_findings_sort_by_location_with_wide_domains_last_and_then_by_id() -> None:
    places = [
        ("0000:20:01.0", "port.upstream.SrcValid"),
        ("0000:20:01.0/00.0/00.0", "port.gpu-side.SrcValid"),
        ("0000:20:01.0/00.0/04.0", "port.nic-side.DirectTrans"),
        ("0000:20:01.0/00.0/04.0", "port.nic-side.SrcValid"),
        ("0000:a0:01.0", "port.upstream.SrcValid"),
        ("host", "iommu.enabled"),
        ("10000:00:01.0", "port.upstream.SrcValid"),
        ("dmar0", "iommu.device-tlb"),
    ]
    found = [replace(FAILS, id=name, subject=Subject(path)) for path, name in places]

    backwards = found[::-1]

    assert sorted(backwards, key=lambda f: f.order) == found
