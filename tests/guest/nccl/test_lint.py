"""What ``guest nccl --check`` finds in topology files that are wrong in ways that were seen."""

from collections.abc import Sequence

import pytest
from guest.nccl.reader import RefusedError, read
from guest.nccl.written import text_of
from guest.plans import a800_four_gpus_on_two_nodes, a800_two_gpus

from pcietune.guest.nccl.dialect import Library
from pcietune.guest.nccl.lint.complaint import Complaint, Severity
from pcietune.guest.nccl.lint.lint import lint

FILE = """\
<system version="1">
  <cpu numaid="0" affinity="000000ff">
    <pci busid="ffff:ff:01.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:23:00.0" class="0x030200"/>
      <pci busid="0000:25:00.0" class="0x020700"/>
    </pci>
  </cpu>
  <cpu numaid="1" affinity="0000ff00">
    <pci busid="ffff:ff:02.0" class="0x060400" link_speed="16.0 GT/s PCIe" link_width="16">
      <pci busid="0000:43:00.0" class="0x030200"/>
    </pci>
  </cpu>
</system>
"""


def _lint(text: str, library: Library = Library.NCCL) -> list[Complaint]:
    return lint(text, library)


def _rules(complaints: Sequence[Complaint], severity: Severity | None = None) -> set[str]:
    return {each.rule for each in complaints if severity in {None, each.severity}}


def _changed(old: str, new: str, text: str = FILE) -> str:
    assert old in text
    return text.replace(old, new, 1)


def _only(text: str) -> Complaint:
    (complaint,) = _lint(text)
    return complaint


def test_a_file_as_it_should_be_is_not_complained_of() -> None:
    assert _lint(FILE) == []
    assert read(FILE).name == "system"


NCCL_STOPS = [
    pytest.param("", "<?xml version='1.0'?>\n", "declaration", (1, 1), id="a declaration"),
    pytest.param("", "<!DOCTYPE system>\n", "declaration", (1, 1), id="a document type"),
    pytest.param("", "\ufeff", "byte-order-mark", (1, 1), id="a byte order mark"),
    pytest.param("    </pci>", "\t</pci>", "tab", (6, 1), id="a tab as indent"),
    pytest.param("/>\n    </", "/>\nhere\n    </", "text", (6, 1), id="text"),
    pytest.param('0" aff', '0"\taff', "tab", (2, 18), id="a tab between attributes"),
    pytest.param("<cpu num", "<cpu\tnum", "equals-sign", (2, 14), id="a tab behind a name"),
    pytest.param('0" aff', '0"\n       aff', "line-break", (2, 18), id="attributes on two lines"),
    pytest.param('0" aff', '0"\r\n aff', "line-break", (2, 18), id="a carriage return"),
    pytest.param('numaid="0"', 'numaid = "0"', "no-quote", (2, 16), id="blanks around ="),
    pytest.param('numaid="0"', "numaid=0", "no-quote", (2, 15), id="no quotes"),
    pytest.param("</pci>", "</pci >", "blank", (6, 10), id="a blank in a closing tag"),
    pytest.param('0" aff', '0"aff', "character", (2, 18), id="no blank"),
    pytest.param("</pci>", "", "mismatch", (7, 3), id="an element that is not closed"),
    pytest.param("</system>", "", "not-closed", (14, 1), id="a root that is not closed"),
    pytest.param("</system>\n", "</system>\n</cpu>", "not-opened", (14, 1), id="closed twice"),
    pytest.param("</system>\n", "</system>\nend", "text", (14, 1), id="something behind it"),
    pytest.param("</system>", "</system", "line-break", (13, 9), id="an end within a tag"),
    pytest.param("  </cpu>", "  <!-- </cpu>", "end-of-file", (7, 3), id="an open comment"),
    pytest.param("  </cpu>", "<!--a=b-->  </cpu>", "equals-sign", (7, 6), id="a comment with ="),
    pytest.param('"000000ff"', f'"{"0" * 254}"', "too-long", (2, 28), id="a long value"),
    pytest.param("<cpu ", f"<cpu {'x' * 255}='' ", "too-long", (2, 8), id="a long name"),
    pytest.param('"1"', '"2"', "version", (1, 9), id="RCCL's version"),
    pytest.param(' version="1"', "", "version", (1, 1), id="no version"),
]


@pytest.mark.parametrize(("old", "new", "rule", "place"), NCCL_STOPS)
def test_what_nccl_stops_at_is_an_error_with_its_place(
    old: str, new: str, rule: str, place: tuple[int, int]
) -> None:
    text = _changed(old, new)

    with pytest.raises(RefusedError):
        read(text)
    errors = [each for each in _lint(text) if each.severity is Severity.ERROR]
    assert (rule, place) in {(each.rule, (each.line, each.column)) for each in errors}


NOT_AS_MEANT = [
    ('numaid="1"', 'numaid="0"', "numaid-twice"),
    (' numaid="1"', "", "numaid"),
    ('numaid="1"', 'numaid="01"', "numaid"),
    ('"0000ff00"', '"000000ff"', "affinity-shared"),
    ('"0000ff00"', '"00000f80"', "affinity-shared"),
    ('"0000ff00"', '"ff0000000000"', "affinity"),
    ('"0000ff00"', '"8-15"', "affinity"),
    ('numaid="1"', 'numaid="1" familyid="6"', "cpu-kind"),
    ("ffff:ff:02.0", "ffff:ff:01.0", "busid-twice"),
    ("0000:43:00.0", "0000:4A:00.0", "busid-case"),
    ("0000:43:00.0", "43:00.0", "busid"),
    (' busid="0000:43:00.0"', "", "busid"),
    ("0000:25:00.0", "0000:25:00.1", "nic-rounding"),
    ("0000:25:00.0", "0000:00:09.0", "root-bus"),
    ('class="0x060400" ', "", "class"),
    ("0x060400", "0x030200", "class"),
    ("0x060400", "060400", "class"),
    ("16.0 GT/s PCIe", "16.0 GT/s", "link-speed"),
    ("16.0 GT/s PCIe", "Unknown", "link-speed"),
    ('link_width="16"', 'link_width="-1"', "link-width"),
    ('"0x030200"/>', '"0x030200"><gpu><nvlink target="0000:23:00.0"/></gpu></pci>', "gpu-link"),
    ('"0x030200"/>', '"0x030200"><gpu><nvlink target="0000:43:00.0"/></gpu></pci>', "gpu-link"),
    ('"0x030200"/>', '"0x030200"><gpu><nvlink count="1"/></gpu></pci>', "gpu-link"),
    ('<pci busid="ffff:ff:02.0', '<gpu/><pci busid="ffff:ff:02.0', "misplaced"),
    ("</system>", '</system><system version="1"></system>', "second-system"),
]  # fmt: skip


@pytest.mark.parametrize(("old", "new", "rule"), NOT_AS_MEANT)
def test_what_nccl_takes_for_something_else_is_an_error(old: str, new: str, rule: str) -> None:
    assert rule in _rules(_lint(_changed(old, new)), Severity.ERROR)


SELDOM_MEANT = [
    ('numaid="1"', 'numaid="-1"', "numaid"),
    ('"0000ff00"', '"00000000"', "affinity"),
    ('numaid="1"', 'numaid="1" arch="amd64"', "cpu-kind"),
    ('numaid="1"', 'numaid="1" vendor="Intel"', "cpu-kind"),
    ("0000:43:00.0", "0000:00:04.0", "root-bus"),
    ("ffff:ff:02.0", "FFFF:FF:02.0", "busid-case"),
    ("0000:25:00.0", "0000:25:01.0", "nic-rounding"),
    ("0x020700", "0x0c0600", "class"),
    ("0x030200", "0x060400", "empty-switch"),
    ("16.0 GT/s PCIe", "2.5 GT/s PCIe", "link-slow"),
    ("16.0 GT/s PCIe", "8GT/s", "link-speed"),
    (' link_speed="16.0 GT/s PCIe"', "", "link-missing"),
    ('link_width="16"', 'link_width="0"', "link-width"),
    ('"0x030200"/>', '"0x030200" link_speed="32 GT/s" link_width="16"/>', "link-narrow"),
    ('class="0x060400"', 'class="0x060400" vendor="0x1000" device="0xc010"', "broadcom"),
    ('"0x030200"/>', '"0x030200" />', "empty-attribute"),
    ('busid="0000:23:00.0"', 'busid="0000:23:00.0" busid="0000:24:00.0"', "attribute-twice"),
    ('"0x030200"/>', '"0x030200"><gpu dev="0"/></pci>', "left-over"),
    ('"0x030200"/>', '"0x030200"><gpu gdr="0"/></pci>', "no-gdr"),
    ('"0x020700"/>', '"0x020700"><nic><net name="mlx5_0" gdr="0"/></nic></pci>', "no-gdr"),
    ('<cpu numaid="1"', '<socket/><cpu numaid="1"', "unknown-element"),
    ('busid="0000:23:00.0" class="0x030200"', 'busid="0000:00:16.0"', "root-bus"),
    ('numaid="1"', 'numaid="1" vendor="&quot;AuthenticAMD&#34;"', "entity"),
]


@pytest.mark.parametrize(("old", "new", "rule"), SELDOM_MEANT)
def test_what_is_seldom_meant_is_a_warning_and_no_error(old: str, new: str, rule: str) -> None:
    complaints = _lint(_changed(old, new))

    assert rule in _rules(complaints, Severity.WARNING)
    assert _rules(complaints, Severity.ERROR) == set()


@pytest.mark.parametrize(
    ("old", "new", "rule"),
    [
        ('numaid="1"', 'numaid="1" host_hash="0x1"', "left-over"),
        ('"0x030200"/>', '"0x030200"><gpu rank="0"/></pci>', "left-over"),
        ('"0x020700"/>', '"0x020700"><nic><net dev="0"/></nic></pci>', "left-over"),
        ("/>\n    </pci>", "><gpu><nvlink target='0000:99:0'/></gpu></pci></pci>", "left-over"),
        ('numaid="1"', 'numaid="1" colour="red"', "attribute"),
        ('numaid="1"', 'numaid="1" vendor="AuthenticAMD" familyid="25"', "cpu-kind"),
    ],
)  # fmt: skip
def test_what_changes_nothing_is_a_note(old: str, new: str, rule: str) -> None:
    complaint = _only(_changed(old, new))

    assert (complaint.rule, complaint.severity) == (rule, Severity.NOTE)


def test_a_nic_that_no_pci_function_is_may_do_without_gpudirect_rdma() -> None:
    ethernet = '<nic><net name="eth0" gdr="0"/></nic><pci busid="ffff:ff:02.0"'

    assert _lint(_changed('<pci busid="ffff:ff:02.0"', ethernet)) == []
    assert _lint(_changed('"0x030200"/>', '"0x030200"><gpu gdr="1"/></pci>')) == []


def test_two_functions_that_both_declare_one_ports_speed_are_told() -> None:
    net = '<nic><net name="mlx5_0" guid="0x1" speed="200000"/></nic>'
    text = _changed('"0x020700"/>', f'"0x020700">{net}</pci>')
    other = (
        f'<pci busid="0000:45:00.0" class="0x020700">{net}</pci>\n    </pci>\n  </cpu>\n</system'
    )
    text = _changed("    </pci>\n  </cpu>\n</system", other, text)

    assert _rules(_lint(text)) == {"shared-port"}


def test_a_file_of_other_elements_is_as_good_as_none() -> None:
    assert _rules(_lint('<topology version="1"/>')) == {"unknown-element", "no-system"}
    assert _rules(_lint("")) == {"no-system"}
    assert _rules(_lint('<system version="1"/>')) == {"no-cpu"}


def test_all_is_told_in_one_reading_although_nccl_stops_at_the_first() -> None:
    text = "<?xml version='1.0'?>\n" + FILE.replace("  <cpu", "\t<cpu").replace(
        '"0000ff00"', '"000000ff"'
    )

    assert _rules(_lint(text)) == {"declaration", "tab", "affinity-shared"}


def test_what_nccl_does_not_know_is_left_out_with_all_that_is_in_it() -> None:
    text = _changed("</cpu>", "<slot><pci/><net><port></port></net></slot></cpu>")

    (told,) = _lint(text)
    assert (told.rule, told.line) == ("unknown-element", 7)
    assert told.advice == "there belongs pci or nic"
    assert len(list(read(text).all())) == len(list(read(FILE).all()))


def test_nothing_belongs_into_what_nccl_reads_nothing_in() -> None:
    text = _changed('"0x020700"/>', '"0x020700"><nic><net><port/></net></nic></pci>')

    assert _only(text).advice == "remove it"


@pytest.mark.parametrize(
    "end", ["<system", '<system version="1', '<system version="1"', "<system version=", "<!-- "]
)
def test_a_file_that_ends_too_early_is_told(end: str) -> None:
    with pytest.raises(RefusedError):
        read(end)
    assert _rules(_lint(end), Severity.ERROR) <= {"end-of-file", "no-quote"}
    assert _lint(end)


def test_a_gpu_link_may_go_to_one_that_has_it_back() -> None:
    def to(target: str) -> str:
        return f'"0x030200"><gpu><nvlink target="{target}"/></gpu></pci>'

    text = _changed('"0x030200"/>', to("0000:43:00.0"))
    text = _changed('"0x030200"/>', to("0000:23:00.0"), text)

    assert _rules(_lint(text)) == {"left-over"}


def test_what_makes_no_sense_in_xml_either_ends_the_reading() -> None:
    text = _changed('affinity="000000ff"', "affinity=<")

    assert _only(text).rule == "no-quote"


def test_comments_and_either_quote_are_nobodys_business() -> None:
    text = "<!-- ours -->\n" + _changed('"000000ff"', "'000000ff'").replace(
        "</cpu>", "<!-- a > b -- --></cpu>"
    )

    assert _lint(text) == []
    assert read(text).name == "system"


@pytest.mark.parametrize(("cpus", "rules"), [(254, set()), (255, {"too-many"})])
def test_a_file_of_255_elements_is_the_largest(cpus: int, rules: set[str]) -> None:
    text = "".join(f'<cpu numaid="{each}"/>' for each in range(cpus))
    text = f'<system version="1">{text}</system>'

    assert _rules(_lint(text)) == rules
    if rules:
        with pytest.raises(RefusedError):
            read(text)
    else:
        assert len(read(text).children) == cpus


def test_attributes_beyond_the_sixteenth_are_told() -> None:
    text = _changed('class="0x060400"', 'class="0x060400"' + 14 * ' x=""')

    assert "attributes" in _rules(_lint(text), Severity.ERROR)


def test_rccls_files_are_checked_by_its_rules() -> None:
    text = FILE.replace('version="1"', 'version="2"').replace("nvlink", "xgmi")
    linked = _changed('"0x030200"/>', '"0x030200"><gpu><xgmi target="0000:9:0"/></gpu></pci>', text)

    assert _rules(lint(text, Library.RCCL)) == set()
    assert _rules(lint(text.replace("0x0302", "0x1200"), Library.RCCL)) == set()
    assert _rules(lint(linked, Library.RCCL)) == {"left-over"}
    assert "RCCL's have 2" in _lint(text)[0].message


def test_a_nul_is_told() -> None:
    assert "nul" in _rules(_lint(_changed("0x060400", "0x060400\0")))


def test_what_is_written_is_not_complained_of() -> None:
    for plan in (a800_two_gpus(), a800_four_gpus_on_two_nodes()):
        assert lint(text_of(plan), Library.NCCL, plan) == []


@pytest.mark.parametrize("groups", [28, 100_000])
def test_a_mask_that_is_longer_than_nccl_reads_is_no_mask_and_costs_nothing(groups: int) -> None:
    longest = _changed("0000ff00", "0000ff00," + "00000000," * 26 + "00000000")
    longer = _changed("0000ff00", "ffffffff," * groups + "00000000")

    assert "affinity" not in _rules(_lint(longest))
    assert "affinity" in _rules(_lint(longer))
