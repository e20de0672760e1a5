import re
from datetime import date
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pcietune.errors import BadInputError, ExitCode
from pcietune.host.host_files import HostFiles
from pcietune.host.run.kept_settings import SETTINGS
from pcietune.host.settings_file import load_settings, parse_settings
from pcietune.host.yaml.nodes import DocumentError
from pcietune.model.profile import ModeName
from pcietune.model.protection import Protect, Selector
from pcietune.model.role_name import RoleName
from pcietune.model.settings import Enforce, Settings, Tenancy, Waiver
from pcietune.model.vfio import FabricPlan, VfioPolicy

DEFAULTS = Settings(profile=None, mode=None, enforce=Enforce.AUDIT)


def test_a_host_without_a_file_has_the_defaults(tmp_path: Path) -> None:
    assert load_settings(HostFiles(tmp_path, recorded=False)) == DEFAULTS


@pytest.mark.parametrize("data", [b"", b"# mode: vm\n", b"---\n"])
def test_a_file_that_says_nothing_gives_the_defaults(data: bytes) -> None:
    assert parse_settings(data, file="pcietune.yaml") == DEFAULTS


def test_every_key_is_taken_from_the_hosts_own_file(tmp_path: Path) -> None:
    folder = tmp_path / "etc/pcietune"
    folder.mkdir(parents=True)
    (folder / "pcietune.yaml").write_text(
        "profile: a800-sxm4-8gpu\nmode: vm\nenforce: apply\ntenancy: shared\n"
        "waivers: [{id: nic.ats, reason: being replaced, expires: 2026-12-31}]\n"
    )

    settings = load_settings(HostFiles(tmp_path, recorded=False))

    assert settings == Settings(
        profile="a800-sxm4-8gpu",
        mode=ModeName.VM,
        enforce=Enforce.APPLY,
        tenancy=Tenancy.SHARED,
        waivers=(Waiver("nic.ats", None, "being replaced", None, date(2026, 12, 31)),),
    )


def test_what_vfio_gets_is_taken_with_the_unit_that_it_waits_for() -> None:
    text = b"vfio: {bind: [gpu, nic], fabric: host-fm, when: after:nvidia-fabricmanager.service}"

    assert parse_settings(text, file="pcietune.yaml").vfio == VfioPolicy(
        (RoleName.GPU, RoleName.NIC), FabricPlan.HOST_FM, "nvidia-fabricmanager.service"
    )


@pytest.mark.parametrize(
    ("vfio", "said"),
    [
        ("{bind: [nvswitch]}", "'fabric: none' leaves NVSwitches alone"),
        ("{bind: [nvswitch], fabric: host-fm}", "'fabric: host-fm' leaves NVSwitches alone"),
        ("{bind: [dpu]}", "a DPU is another host's way in"),
        ("{bind: [nic, nic]}", "repeats nic"),
        ("{bind: [gpu], when: after}", "when to bind"),
        ("{bind: [gpu], when: 'after:../x.service'}", "when to bind"),
    ],
)
def test_what_no_gate_can_hand_over_is_refused(vfio: str, said: str) -> None:
    with pytest.raises(DocumentError, match=re.escape(said)):
        parse_settings(f"mode: vm\nvfio: {vfio}\n".encode(), file="pcietune.yaml")


def test_what_is_protected_is_selected_in_one_way_each() -> None:
    text = """\
protect:
  - location: "0000:40:01.0/00.0"
    reason: NVMe of the storage team
  - address: "41:00.0"
  - slot: "5"
  - netdev: eno1
  - mac: "02:00:5e:10:00:01"
  - class: "0108"
"""

    assert parse_settings(text.encode(), file="pcietune.yaml").protect == (
        Protect(Selector.LOCATION, "0000:40:01.0/00.0", "NVMe of the storage team"),
        Protect(Selector.ADDRESS, "41:00.0"),
        Protect(Selector.SLOT, "5"),
        Protect(Selector.NETDEV, "eno1"),
        Protect(Selector.MAC, "02:00:5e:10:00:01"),
        Protect(Selector.CLASS, "0108"),
    )


def test_switch_groups_may_have_modes_of_their_own() -> None:
    text = 'mode: {default: vm, "0000:40:01.0/00.0": baremetal}'

    settings = parse_settings(text.encode(), file="pcietune.yaml")

    assert settings.mode is ModeName.VM
    assert settings.group_modes == {"0000:40:01.0/00.0": ModeName.BAREMETAL}


@pytest.mark.parametrize("expires", ["2026-12-31", '"2026-12-31"'])
def test_a_waiver_may_be_for_one_subject_and_name_a_ticket(expires: str) -> None:
    text = f"""\
waivers:
  - id: port.nic-side.DirectTrans
    subject: "0000:41:00.0"
    reason: the switch is being replaced
    ticket: OPS-1234
    expires: {expires}
"""

    (waiver,) = parse_settings(text.encode(), file="pcietune.yaml").waivers

    assert waiver == Waiver(
        "port.nic-side.DirectTrans",
        "0000:41:00.0",
        "the switch is being replaced",
        "OPS-1234",
        date(2026, 12, 31),
    )


def test_the_examples_of_the_documentation_load() -> None:
    text = (Path(__file__).parents[2] / "docs" / "settings.md").read_text()
    first, second, third = re.findall(r"```yaml\n(.*?)```", text, re.DOTALL)

    settings = parse_settings(first.encode(), file="settings.md")
    assert [waiver.ticket for waiver in settings.waivers] == ["OPS-1234"]
    assert [wish.by for wish in settings.protect] == ["location", "netdev"]
    assert parse_settings(second.encode(), file="settings.md").group_modes
    assert parse_settings(third.encode(), file="settings.md").vfio is not None


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        pytest.param("- mode", "1:1: expected a mapping, but found a list", id="a list"),
        pytest.param("mod: vm", "1:1: unknown key 'mod'; did you mean 'mode'?", id="unknown key"),
        pytest.param(
            "mode: vm\nmode: vm", "2:1: repeated key 'mode', first on line 1", id="repeated key"
        ),
        pytest.param(
            "mode: bare-metal",
            "1:7: 'bare-metal' is not valid here; did you mean 'baremetal'?",
            id="misspelt mode",
        ),
        pytest.param(
            "enforce: yes",
            '1:10: expected text, but YAML reads yes as true; quote it: "yes"; valid: audit, apply',
            id="a boolean",
        ),
        pytest.param(
            "profile: 800",
            '1:10: expected text, but YAML reads 800 as the number 800; quote it: "800"',
            id="a number",
        ),
        pytest.param(
            "mode:", "1:6: expected text, but nothing is there; valid: vm, baremetal", id="nothing"
        ),
        pytest.param(
            "profile: ''", "1:10: '' is not a profile's name; leave the key out", id="empty"
        ),
        pytest.param(
            'mode: {"0000:40:01.0/00.0": vm}',
            "1:7: missing key 'default' in 'mode': the duty of all that is not named",
            id="modes without a default",
        ),
        pytest.param(
            "mode: {default: vms}",
            "1:17: 'vms' is not valid here; did you mean 'vm'?",
            id="misspelt mode of many",
        ),
        pytest.param(
            "waivers: [{id: nic.ats, expires: 2026-12-31}]",
            "1:11: missing key 'reason' in entry 1 of 'waivers'",
            id="a waiver without a reason",
        ),
        pytest.param(
            "waivers: [{id: nic.ats, reason: ' ', expires: 2026-12-31}]",
            "1:33: ' ' is not a reason; say why this is not asked for",
            id="a waiver with an empty reason",
        ),
        pytest.param(
            "waivers: [{id: nic.ats, reason: old}]",
            "1:11: missing key 'expires' in entry 1 of 'waivers'",
            id="a waiver for ever",
        ),
        pytest.param(
            "waivers: [{id: nic.ats, reason: old, expires: 2026-02-30}]",
            "1:47: expected a day that there is, written as 2026-12-31",
            id="no such day",
        ),
        pytest.param(
            "waivers: [{id: nic.ats, reason: old, expires: 20261231}]",
            "1:47: expected a day that there is, written as 2026-12-31",
            id="a day in digits",
        ),
        pytest.param(
            "waivers: [{id: nic.ats, reason: old, expires: '20261231'}]",
            "1:47: expected a day that there is, written as 2026-12-31",
            id="a day in quoted digits",
        ),
        pytest.param(
            "waivers: [{id: 'port.*', reason: old, expires: 2026-12-31}]",
            "1:16: 'port.*' is not the id of a finding; a waiver is for one, and pcietune explain "
            "lists them",
            id="a waiver for a pattern",
        ),
        pytest.param(
            "waivers:\n- {id: x.y, reason: r, expires: 2026-12-31}"
            "\n- {id: x.y, reason: s, expires: 2027-12-31}",
            "3:3: repeats an earlier waiver of x.y for the same subject",
            id="two waivers for the same",
        ),
        pytest.param(
            "protect: [{reason: mine}]",
            "1:11: an entry has one of location, address, slot, netdev, mac, class, but this has "
            "none",
            id="protecting nothing",
        ),
        pytest.param(
            "protect:\n- slot: '5'\n- {slot: '6', netdev: eno1}",
            "3:3: an entry has one of location, address, slot, netdev, mac, class, but this has "
            "slot and netdev",
            id="protecting in two ways",
        ),
        pytest.param(
            "protect: [{netdev: eno1}, {netdev: eno1, reason: again}]",
            "1:27: repeats an earlier entry of netdev eno1",
            id="protecting twice",
        ),
        pytest.param(
            "protect: [{addres: '41:00.0'}]",
            "1:12: unknown key 'addres'; did you mean 'address'?",
            id="a misspelt selector",
        ),
        pytest.param(
            "protect: [{address: '41:00'}]",
            "1:21: '41:00' is not an address; write it as lspci -D does: \"0000:3b:00.0\"",
            id="an address without a function",
        ),
        pytest.param(
            "protect: [{location: '41:00.0'}]",
            "1:22: '41:00.0' is not a location; write it as pcietune topo --json does: "
            '"0000:20:01.0/00.0"',
            id="a location without a domain",
        ),
        pytest.param(
            "protect: [{mac: 02:00:5E:10:00:01}]",
            "1:17: '02:00:5E:10:00:01' must be in lower case: 02:00:5e:10:00:01",
            id="a MAC address in upper case",
        ),
        pytest.param(
            "protect: [{class: 0207}]",
            '1:19: expected text, but YAML reads 0207 as the number 135; quote it: "0207"',
            id="a class that YAML takes for a number",
        ),
        pytest.param(
            "protect: [{slot: '5', reason: ' '}]",
            "1:31: ' ' is not a reason; say why it is protected",
            id="protecting for an empty reason",
        ),
    ],
)
def test_a_broken_file_is_refused_at_the_place(text: str, complaint: str) -> None:
    with pytest.raises(BadInputError) as refusal:
        parse_settings(text.encode(), file="pcietune.yaml")

    assert str(refusal.value) == f"pcietune.yaml:{complaint}"
    assert refusal.value.exit_code is ExitCode.BAD_INPUT
    assert refusal.value.hint.startswith("pcietune profile schema --settings prints the format")


def test_a_directory_in_place_of_the_file_is_told_what_should_be_there(tmp_path: Path) -> None:
    (tmp_path / SETTINGS).mkdir(parents=True)

    with pytest.raises(BadInputError, match=r"pcietune\.yaml: Is a directory") as refusal:
        load_settings(HostFiles(tmp_path, recorded=False))

    assert refusal.value.hint == "it is a file, or absent: a host without it has the defaults"


@given(
    text=st.lists(
        st.sampled_from(
            [
                "mode",
                "profile",
                "enforce",
                ": ",
                "\n",
                "vm",
                "apply",
                "0302",
                "[",
                "'",
                "waivers",
                "protect",
                "default",
                "expires",
                "2026-12-31",
            ]
        )
    ).map("".join)
)
def test_any_text_loads_or_is_bad_input(text: str) -> None:
    try:
        parse_settings(text.encode(), file="pcietune.yaml")
    except BadInputError as refusal:
        assert str(refusal).startswith("pcietune.yaml:")  # noqa: PT017 -- either way is right
