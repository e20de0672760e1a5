"""Findings as a JUnit file, which CI systems and compliance dashboards read.

There is no schema of JUnit's own; what Jenkins, GitLab and others read alike is written: one
``testsuite`` of ``testcase`` elements, each with at most one of ``failure``, ``error`` and
``skipped``. There are no times in it, so that two runs over the same host differ in nothing.
"""

import re
from xml.etree import ElementTree as ET

from pcietune.model.finding import Finding, State
from pcietune.model.severity import Severity
from pcietune.report.outcome import Outcome

_DECLARATION = '<?xml version="1.0" encoding="UTF-8"?>'
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Characters that XML 1.0 cannot hold, not even escaped (section 2.2, Char)."""


def junit(outcome: Outcome) -> bytes:
    """Return what an audit found as a JUnit file.

    What ended the run early is a test case of its own, so that no reader takes it for well.
    """
    suite = ET.Element("testsuite", name="pcietune audit")
    _add_properties(suite, outcome)
    for number, error in enumerate(outcome.errors, start=1):
        case = _add(suite, "testcase", classname="pcietune.run", name=f"error {number}")
        said = str(error)
        _add(case, "error", said if not error.hint else f"{said}\ntry: {error.hint}", message=said)
    for finding in () if outcome.audit is None else outcome.audit.findings:
        _add_case(suite, finding, strict=outcome.strict)
    for name, tag in (
        ("tests", "testcase"),
        ("failures", "failure"),
        ("errors", "error"),
        ("skipped", "skipped"),
    ):
        suite.set(name, str(sum(1 for _ in suite.iter(tag))))
    ET.indent(suite)
    text = ET.tostring(suite, encoding="unicode")
    return f"{_DECLARATION}\n{text}\n".encode()


def _add_properties(suite: ET.Element, outcome: Outcome) -> None:
    properties = ET.SubElement(suite, "properties")
    platform, match = outcome.platform, outcome.match
    known = {
        "vendor": platform and platform.dmi.get("sys_vendor"),
        "product": platform and platform.dmi.get("product_name"),
        "kernel": platform and platform.kernel,
        "profile": match and match.profile.name,
        "sha256": match and match.profile.sha256,
        "mode": outcome.mode,
        **{f"mode of {name}": mode for name, mode in sorted(outcome.group_modes.items())},
    }
    for name, value in known.items():
        if value:
            _add(properties, "property", name=name, value=value)


def _add_case(suite: ET.Element, finding: Finding, *, strict: bool) -> None:
    subject = finding.subject
    name = subject.path if subject.address is None else f"{subject.address} {subject.path}"
    case = _add(suite, "testcase", classname=finding.id, name=name)
    match _verdict(finding, strict=strict):
        case "failure" | "error" as tag:
            _add(case, tag, _details(finding), message=finding.reason, type=finding.severity)
        case "skipped" as tag:
            _add(case, tag, message=_why_skipped(finding))
        case "told" as tag:
            _add(case, "system-out", f"{finding.state}: {_details(finding)}")
        case _:
            pass


def _verdict(finding: Finding, *, strict: bool) -> str:
    """Return what becomes of a finding; what does not count is told, and no failure."""
    match finding.state:
        case State.PASS:
            return "passed"
        case State.SKIP | State.NOT_APPLICABLE:
            return "skipped"
        case _ if finding.severity is Severity.INFO:
            return "told"
        case State.ERROR:
            return "error"
        case State.PENDING if not strict:
            return "told"
        case _:
            return "failure"


def _why_skipped(finding: Finding) -> str:
    waiver = finding.waiver
    if waiver is None:
        return finding.reason
    ticket = f", {waiver.ticket}" if waiver.ticket else ""
    return f"waived until {waiver.expires}{ticket}: {waiver.reason}"


def _details(finding: Finding) -> str:
    lines = [f"found {finding.found.text}, wanted {finding.wanted.text}"]
    if finding.reason:
        lines.insert(0, finding.reason)
    if finding.remedy is not None:
        lines.append(f"{finding.remedy.kind}: {finding.remedy.command}")
    return "\n".join(lines)


def _add(parent: ET.Element, tag: str, text: str | None = None, **attributes: str) -> ET.Element:
    """Add an element, with escapes for what XML cannot hold."""
    element = ET.SubElement(parent, tag, {key: _held(value) for key, value in attributes.items()})
    element.text = None if text is None else _held(text)
    return element


def _held(text: str) -> str:
    return _NO_XML.sub(lambda match: ascii(match.group())[1:-1], text)
