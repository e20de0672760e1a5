"""XML that we write is the XML that others read."""

from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcietune.errors import BadInputError
from pcietune.guest.libvirt.element import Comment, Element, element, xml_lines

# XML 1.0, section 2.2: what a document can hold.
speakable = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\ufffe\uffff").filter(
        lambda each: each >= " " or each in "\t\n\r"
    ),
)


def _read(item: Element) -> ET.Element:
    return ET.fromstring("\n".join(xml_lines(item)))


@given(speakable)
def test_a_text_is_read_as_it_was_written(text: str) -> None:
    read = _read(element("name", value=text).with_text(text))

    assert (read.text or "", read.get("value")) == (text, text)


@given(speakable | st.text("-x"))
def test_a_comment_ends_where_it_is_meant_to(text: str) -> None:
    read = _read(element("domain").with_content(Comment(text), element("name")))

    assert [each.tag for each in read] == ["name"]


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\ud800", "\uffff"])
def test_what_xml_cannot_hold_is_refused(text: str) -> None:
    for item in (element("name").with_text(text), element("name", value=text)):
        with pytest.raises(BadInputError, match="a character that XML cannot"):
            list(xml_lines(item))


@pytest.mark.parametrize("text", ["a\x00b", "a\nb", "a\ud800b", "a\uffffb", "a\u202eb"])
def test_a_comment_shows_what_has_no_place_in_a_line_as_a_question(text: str) -> None:
    assert list(xml_lines(Comment(text))) == ["<!-- a?b -->"]


def test_elements_are_in_order_and_each_on_its_line() -> None:
    item = element("a", two=2, none=None, one="1").with_content(
        element("b").with_text(3), None, element("c").with_content(element("d"))
    )

    assert list(xml_lines(item)) == [
        "<a two='2' one='1'>",
        "  <b>3</b>",
        "  <c>",
        "    <d/>",
        "  </c>",
        "</a>",
    ]
