import msgspec
import pytest

from pcietune.host.explanation_files import parse_explanations, shipped_explanations
from pcietune.model.explanation import Explanation
from pcietune.model.profile import Place
from pcietune.registers.acs import LSPCI_NAMES

ENTRY = 'what = "w"\nwhy = "y"\nevidence = "e"\nremedy = "r"\n'


def test_a_table_explains_the_finding_that_it_is_named_after() -> None:
    assert list(parse_explanations(f'["link.width"]\n{ENTRY}')) == [
        Explanation("link.width", "w", "y", "e", "r")
    ]


def test_a_table_with_a_placeholder_explains_a_finding_for_each_of_its_words() -> None:
    text = """\
["{place}"]
nic-side = "the NIC's port"
upstream = "a port above"

["port.{place}.ReqRedir"]
what = "at {place}"
why = "y"
evidence = "e"
remedy = "{place} first"
"""

    assert list(parse_explanations(text)) == [
        Explanation(
            "port.nic-side.ReqRedir", "at the NIC's port", "y", "e", "the NIC's port first"
        ),
        Explanation("port.upstream.ReqRedir", "at a port above", "y", "e", "a port above first"),
    ]


@pytest.mark.parametrize(
    "text",
    [
        f'["link.width"]\n{ENTRY}hint = "h"\n',
        '["link.width"]\nwhat = "w"\nwhy = "y"\nevidence = "e"\n',
        f'["link.width"]\n{ENTRY.replace(chr(34) + "r" + chr(34), "3")}',
    ],
    ids=["too much", "too little", "a number"],
)
def test_a_table_has_four_texts_and_no_more(text: str) -> None:
    with pytest.raises(msgspec.ValidationError):
        list(parse_explanations(text))


def test_every_control_is_explained_at_every_place() -> None:
    ids = {f"port.{place}.{name}" for place in Place for name in LSPCI_NAMES.values()}

    assert len(ids) == 21
    assert ids <= shipped_explanations().keys()


def test_no_placeholder_is_left_and_nothing_is_empty() -> None:
    for each in shipped_explanations().values():
        for text in (each.what, each.why, each.evidence, each.remedy):
            assert text.strip() == text != ""
            assert "{" not in text
            assert "\n" not in text
