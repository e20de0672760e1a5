"""NICs' firmware: which step is due, what is never asked, and what counts as set."""

from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path

import pytest
from host.fake_mstconfig import FakeMstconfig
from trees.function import Function, nic
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, NIC
from tune.profiles import PROFILE

from pcietune.errors import BadInputError, ExitCode, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.nic_firmware.tool import ConfigTool
from pcietune.host.sysfs import SysfsHost
from pcietune.model.fabric import Fabric
from pcietune.model.nic_firmware import Answer, Due, NicFirmware, Parameter, Setting
from pcietune.model.protection import Protection
from pcietune.tune.change.nic_firmware import IN_FORCE, SET, ask, due, exit_codes, turn_on
from pcietune.tune.change.nics_to_ask import check_may_ask, nics_to_ask
from pcietune.tune.match.roles import assign_roles
from pcietune.tune.match.survey import survey

ATS, ADVANCED = Parameter.ATS_ENABLED, Parameter.ADVANCED_PCI_SETTINGS
SECOND_PORT = "0000:24:00.1"
OFF = ("False(0)", "False(0)", "False(0)")
NEXT_BOOT = ("False(0)", "False(0)", "True(1)")
ON = ("False(0)", "True(1)", "True(1)")


_WORDS = {"on": True, "off": False, "odd": None}


def _setting(now_and_next_boot: str) -> Setting:
    now, next_boot = (_WORDS[word] for word in now_and_next_boot.split())
    return Setting(default=False, current=now, next_boot=next_boot)


@pytest.mark.parametrize(
    ("ats", "step"),
    [
        (_setting("on on"), Due.NOTHING),
        (_setting("off on"), Due.REBOOT),
        (_setting("off off"), Due.SET),
        (_setting("on off"), Due.SET),  # on now, and off after the next reboot
        (_setting("odd on"), Due.NOT_KNOWN),
        (_setting("on odd"), Due.NOT_KNOWN),
    ],
)
def test_the_step_that_is_due_follows_from_now_and_the_next_boot(ats: Setting, step: Due) -> None:
    assert due(Answer({ATS: ats, ADVANCED: _setting("off off")})) is step


@pytest.mark.parametrize(
    ("advanced", "step"),
    [
        (_setting("off off"), Due.SHOW),
        (_setting("off on"), Due.REBOOT_THEN_SET),
        (_setting("on on"), Due.NOT_AVAILABLE),
        (_setting("odd on"), Due.NOT_KNOWN),
        (None, Due.NOT_KNOWN),
    ],
)
def test_a_hidden_parameter_must_be_shown_first(advanced: Setting | None, step: Due) -> None:
    assert due(Answer({} if advanced is None else {ADVANCED: advanced})) is step


class Nics:
    """A live host's NICs, and the program that speaks with them."""

    def __init__(self, tree: TreeHost, fake: FakeMstconfig) -> None:
        self.host = SysfsHost(HostFiles(tree.root, recorded=False))
        self.fabric: Fabric = survey(self.host, lambda functions: functions)
        self.fake = fake
        self.tool = ConfigTool(str(fake.path))

    def asked(self, *devices: str) -> list[NicFirmware]:
        """Return what they say."""
        roles = assign_roles(PROFILE, self.fabric, self.host)
        cards = nics_to_ask(self.fabric, roles, Protection(), devices)
        return list(ask(self.host, self.fabric, cards, self.tool))

    def set(self, found: Iterable[NicFirmware], *, stopped: bool = False) -> list[NicFirmware]:
        """Return what they say after what is due was set."""
        return list(turn_on(self.host, self.fabric, found, self.tool, lambda: stopped))


def _nics(tmp_path: Path, *instead: Function) -> Nics:
    return Nics(one_switch(tmp_path / "host", instead=instead), FakeMstconfig(tmp_path / "bin"))


def test_a_nic_that_has_ats_off_is_set_and_asked_again(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.fake.has(ATS, *OFF)

    found = nics.asked()
    [now] = nics.set(found)

    assert [card.due for card in found] == [Due.SET]
    assert (now.due, now.done, now.error) == (Due.REBOOT, (ATS,), None)
    assert nics.fake.calls() == [
        f"-d {NIC} -e query",
        f"-d {NIC} -y set ATS_ENABLED=1",
        f"-d {NIC} -e query",
    ]


def test_what_is_set_already_is_not_set_again(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.fake.has(ATS, *NEXT_BOOT)

    found = nics.asked()

    assert nics.set(found) == found
    assert nics.fake.calls() == [f"-d {NIC} -e query"]


def test_what_hides_ats_is_set_first_and_says_that_more_is_due(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.fake.has(ADVANCED, *OFF)

    [now] = nics.set(nics.asked())

    assert (now.due, now.done) == (Due.REBOOT_THEN_SET, (ADVANCED,))


def test_both_ports_of_a_card_have_one_firmware(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    tree.add(nic(SECOND_PORT, below="0000:22:04.0"))
    nics = Nics(tree, FakeMstconfig(tmp_path / "bin"))
    nics.fake.has(ATS, *ON)

    [card] = nics.asked()

    assert [str(function.address) for function in card.card] == [NIC, SECOND_PORT]
    assert nics.fake.calls() == [f"-d {NIC} -e query"]


def _used(function: Function) -> Function:
    return replace(function, vfio=True, attributes={**function.attributes, "enable": "1"})


def test_a_nic_that_vfio_uses_is_not_even_asked(tmp_path: Path) -> None:
    nics = _nics(tmp_path, _used(nic(NIC, below="0000:22:04.0", driver="vfio-pci")))

    [card] = nics.asked()

    assert card.due is Due.NOT_KNOWN
    assert "in use by VFIO" in str(card.error)
    assert nics.fake.calls() == []


def test_a_nic_whose_other_port_vfio_uses_is_not_asked_either(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    tree.add(_used(nic(SECOND_PORT, below="0000:22:04.0", driver="vfio-pci")))
    nics = Nics(tree, FakeMstconfig(tmp_path / "bin"))

    [card] = nics.asked()

    assert SECOND_PORT in str(card.error)
    assert nics.fake.calls() == []


def test_a_nic_of_which_a_vm_has_a_vf_is_not_asked(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    virtual = nic("0000:24:00.2", below="0000:22:04.0", driver="vfio-pci")
    tree.add(_used(replace(virtual, physical_function=NIC)))
    nics = Nics(tree, FakeMstconfig(tmp_path / "bin"))

    [card] = nics.asked()

    assert "0000:24:00.2" in str(card.error)
    assert nics.fake.calls() == []


def test_a_nic_that_came_into_use_since_it_was_asked_is_not_set(tmp_path: Path) -> None:
    idle = nic(NIC, below="0000:22:04.0", driver="vfio-pci")
    tree = one_switch(tmp_path / "host", instead=[replace(idle, vfio=True)])
    nics = Nics(tree, FakeMstconfig(tmp_path / "bin"))
    nics.fake.has(ATS, *OFF)
    found = nics.asked()
    (tree.directory(NIC) / "enable").write_text("1\n")

    [now] = nics.set(found)

    assert "in use by VFIO" in str(now.error)
    assert now.done == ()
    assert nics.fake.calls() == [f"-d {NIC} -e query"]


def test_a_nic_in_d3cold_is_not_woken(tmp_path: Path) -> None:
    function = nic(NIC, below="0000:22:04.0")
    asleep = replace(function, attributes={**function.attributes, "power_state": "D3cold"})
    nics = _nics(tmp_path, asleep)

    [card] = nics.asked()

    assert "D3cold" in str(card.error)
    assert nics.fake.calls() == []


def test_what_fails_at_one_card_does_not_stop_the_others(tmp_path: Path) -> None:
    tree = one_switch(
        tmp_path / "host",
        instead=[_used(nic(NIC, below="0000:22:04.0", driver="vfio-pci"))],
    )
    tree.add(nic("0000:25:00.0", below="0000:22:00.0"))
    nics = Nics(tree, FakeMstconfig(tmp_path / "bin"))
    nics.fake.has(ATS, *OFF)

    now = nics.set(nics.asked())

    assert [(str(card.function.address), card.due) for card in now] == [
        (NIC, Due.NOT_KNOWN),
        ("0000:25:00.0", Due.REBOOT),
    ]


def test_a_setting_that_the_second_query_does_not_show_is_not_set(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.fake.has(ATS, "False(0)", "False(0)", "False(0)x")
    found = [replace(card, due=Due.SET) for card in nics.asked()]

    [now] = nics.set(found)

    assert now.done == ()
    assert "the next boot does not have it" in str(now.error)


def test_a_tool_that_refuses_is_told_and_nothing_counts_as_set(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.fake.has(ATS, *OFF)
    nics.fake.refuses("-E- Failed to set configuration: The Configuration is read only\n")

    [now] = nics.set(nics.asked())

    assert "read only" in str(now.error)
    assert (now.done, now.due) == ((), Due.SET)


def test_somebody_who_asks_to_stop_leaves_the_rest_as_it_is(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.fake.has(ATS, *OFF)
    found = nics.asked()

    assert nics.set(found, stopped=True) == found


def test_only_the_devices_that_are_named_are_asked(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host")
    tree.add(nic("0000:25:00.0", below="0000:22:00.0"))
    nics = Nics(tree, FakeMstconfig(tmp_path / "bin"))
    nics.fake.has(ATS, *ON)

    assert [str(card.function.address) for card in nics.asked("25:00.0")] == ["0000:25:00.0"]


@pytest.mark.parametrize("device", [GPU, "0000:99:00.0", "nonsense"])
def test_a_device_that_is_no_nic_of_the_profile_is_refused(tmp_path: Path, device: str) -> None:
    with pytest.raises(BadInputError, match="is no NIC of the profile"):
        _nics(tmp_path).asked(device)


def test_a_nic_that_is_never_touched_is_not_asked(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    roles = assign_roles(PROFILE, nics.fabric, nics.host)
    address = next(a for a in roles if str(a) == NIC)
    protection = Protection(why={address: "has the default route"})

    assert nics_to_ask(nics.fabric, roles, protection, ()) == ()


def test_exit_codes_tell_what_is_in_force_from_what_is_only_set(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.fake.has(ATS, *NEXT_BOOT)
    found = nics.asked()

    assert list(exit_codes(found, wanted=SET)) == [ExitCode.OK]
    assert list(exit_codes(found, wanted=IN_FORCE)) == [ExitCode.DIFFERS]


def test_a_nic_that_could_not_be_asked_is_never_as_wanted(tmp_path: Path) -> None:
    nics = _nics(tmp_path)
    nics.tool = ConfigTool("/bin/false")

    assert list(exit_codes(nics.asked(), wanted=SET)) == [ExitCode.UNREADABLE]


@pytest.mark.parametrize("mode", ["integrity", "confidentiality"])
def test_under_lockdown_nothing_is_asked(tmp_path: Path, mode: str) -> None:
    tree = one_switch(tmp_path)
    modes = "none integrity confidentiality".replace(mode, f"[{mode}]")
    tree.put("sys/kernel/security/lockdown", modes)

    with pytest.raises(NotPermittedError) as caught:
        check_may_ask(SysfsHost(HostFiles(tmp_path, recorded=False)))

    assert caught.value.exit_code is ExitCode.NOT_PERMITTED


def test_a_recorded_host_has_no_firmware(tmp_path: Path) -> None:
    one_switch(tmp_path)

    with pytest.raises(BadInputError, match="recorded host"):
        check_may_ask(SysfsHost(HostFiles(tmp_path, recorded=True)))
