"""``pcietune explain``, and ids as they are typed."""

import json

import pytest
from cli.in_process import Pcietune

DIRECT = "port.nic-side.DirectTrans"


def test_a_finding_is_explained_by_what_why_evidence_and_remedy(pcietune: Pcietune) -> None:
    run = pcietune("explain", DIRECT)

    lines = run.stdout.splitlines()
    assert (run.exit_code, lines[0]) == (0, DIRECT)
    assert "ACS P2P Direct Translated" in lines[1]
    parts = [line[2:10].strip() for line in lines if line[10:12] == "  " and line[2] != " "]
    assert parts == ["why", "evidence", "remedy"]
    assert max(map(len, lines)) <= 100


def test_a_pattern_explains_all_that_it_fits_and_says_once_what_they_share(
    pcietune: Pcietune,
) -> None:
    run = pcietune("explain", "port.*.DirectTrans")

    headings = [line for line in run.stdout.splitlines() if line.startswith("port.")]
    assert headings == [
        "port.gpu-side.DirectTrans",
        "port.nic-side.DirectTrans",
        "port.upstream.DirectTrans",
    ]
    assert run.stdout.count("  why ") == 1


def test_without_an_id_every_finding_has_a_line(pcietune: Pcietune) -> None:
    run = pcietune("explain")

    ids = [line.split()[0] for line in run.stdout.splitlines()]
    assert DIRECT in ids
    assert ids == sorted(ids)


def test_as_json_every_text_has_a_key(pcietune: Pcietune) -> None:
    run = pcietune("explain", DIRECT, "waiver.*", "--json")

    document = json.loads(run.stdout)
    assert document["schema"] == 1
    assert [each["id"] for each in document["explanations"]] == [
        DIRECT,
        "waiver.expired",
        "waiver.unused",
    ]
    assert document["explanations"][0].keys() == {"id", "what", "why", "evidence", "remedy"}


@pytest.mark.parametrize(
    ("typed", "hint"),
    [
        ("port.nic-side.DirectTran", "did you mean port.nic-side.DirectTrans"),
        ("acs.redirect", "did you mean acs.redirection?"),
        ("xyz.*", "pcietune explain lists all"),
    ],
)
def test_an_id_that_is_none_is_bad_input_with_the_nearest(
    pcietune: Pcietune, typed: str, hint: str
) -> None:
    run = pcietune("explain", typed)

    assert (run.exit_code, run.stdout) == (4, "")
    assert run.stderr.startswith(f"pcietune: there is no finding '{typed}'\n  try: {hint}")
