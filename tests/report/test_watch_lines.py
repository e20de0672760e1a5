import json
import re
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from pcietune.report.watch import entry, json_line, line
from pcietune.tune.watch.notice import Notice, NoticeKind

NOON = datetime(2026, 3, 4, 12, 0, tzinfo=UTC)
CHANGED = Notice(
    NoticeKind.CHANGED,
    "ACSCtl 0x005d -> 0x001d (DirectTrans-)",
    "0000:22:04.0",
    "0000:20:01.0/00.0/04.0",
    {"register": "ACSCtl", "old": "0x005d", "new": "0x001d"},
)
NAME_OF_A_FIELD = re.compile(r"[A-Z][A-Z0-9_]{0,63}")  # systemd.journal-fields(7)

notices = st.builds(
    Notice,
    st.sampled_from(NoticeKind),
    st.text(st.characters()),
    st.none() | st.just("0000:22:04.0"),
    st.none() | st.just("host"),
)


def test_a_line_begins_with_the_function_it_is_about() -> None:
    assert line(CHANGED) == "0000:22:04.0  ACSCtl 0x005d -> 0x001d (DirectTrans-)"
    assert line(Notice(NoticeKind.REMARK, "all is well")) == "all is well"
    assert line(Notice(NoticeKind.FAILS, "it fails", location="dmar0")) == "dmar0  it fails"


def test_an_object_has_the_time_and_all_facts() -> None:
    assert json.loads(json_line(CHANGED, NOON)) == {
        "time": "2026-03-04T12:00:00.000+00:00",
        "kind": "changed",
        "text": "ACSCtl 0x005d -> 0x001d (DirectTrans-)",
        "address": "0000:22:04.0",
        "location": "0000:20:01.0/00.0/04.0",
        "facts": {"register": "ACSCtl", "old": "0x005d", "new": "0x001d"},
    }


def test_an_entry_of_the_journal_has_a_field_for_each_fact() -> None:
    fields = entry(CHANGED)

    assert all(NAME_OF_A_FIELD.fullmatch(name) for name in fields)
    assert fields["MESSAGE"] == line(CHANGED)
    assert fields["PRIORITY"] == "4"  # warning
    assert fields["PCIETUNE_ADDRESS"] == "0000:22:04.0"
    assert fields["PCIETUNE_OLD"] == "0x005d"


def test_what_needs_nobody_s_attention_has_a_lower_priority() -> None:
    assert entry(Notice(NoticeKind.MENDED, "as wanted again"))["PRIORITY"] == "6"  # info


@given(notices)
def test_whatever_is_told_is_one_line_without_control_characters(notice: Notice) -> None:
    for text in (line(notice), entry(notice)["MESSAGE"], json_line(notice, NOON)):
        assert text.isprintable()
