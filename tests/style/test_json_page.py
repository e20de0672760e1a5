"""docs/json.md names every key of the documents of the guest's commands."""

import re
from collections.abc import Iterator

import msgspec
import pytest
from style.console_blocks import CHECKOUT

from pcietune.guest.check.document import CheckDocument
from pcietune.guest.nccl.lint.lint import Checked
from pcietune.guest.nvswitch.document import HandlingDocument, ListingDocument
from pcietune.guest.plan import Plan
from pcietune.report.ats_seen import AtsSeenDocument
from pcietune.report.vm_start_document import BeforeStartDocument

PAGE = (CHECKOUT / "docs" / "json.md").read_text()
DOCUMENTS = {
    Plan: "The plan of a VM",
    CheckDocument: "Other documents of `pcietune guest`",
    Checked: "Other documents of `pcietune guest`",
    HandlingDocument: "Other documents of `pcietune guest`",
    ListingDocument: "Other documents of `pcietune guest`",
    AtsSeenDocument: "When a VM starts",
    BeforeStartDocument: "When a VM starts",
}


def _keys(kind: msgspec.inspect.Type) -> Iterator[str]:
    """Yield the keys of a document and of all that is in it, but for findings."""
    match kind:
        case msgspec.inspect.StructType(cls=cls) if cls.__name__ == "FindingDocument":
            return
        case msgspec.inspect.StructType(fields=fields):
            for field in fields:
                yield field.encode_name
                yield from _keys(field.type)
        case msgspec.inspect.ListType(item_type=item):
            yield from _keys(item)
        case msgspec.inspect.UnionType(types=types):
            for each in types:
                yield from _keys(each)
        case _:
            return


@pytest.mark.parametrize(("document", "title"), DOCUMENTS.items(), ids=str)
def test_every_key_of_a_document_is_explained_in_its_section(document: type, title: str) -> None:
    section = re.split(r"^## ", PAGE.split(f"\n## {title}\n")[1], flags=re.MULTILINE)[0]
    explained = set(re.findall(r"`([a-z0-9_]+)`", section))

    keys = set(_keys(msgspec.inspect.type_info(document)))

    assert len(keys) > 4
    assert keys - explained == set()
