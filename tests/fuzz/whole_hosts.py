"""Any registers of a whole small host: nothing passes that is not so.

The input changes bytes of the six functions of ``trees.machines.one_switch``, which is as wanted
before. What the audit then says is held against a second reading of the same bytes.
"""

import struct
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

from fuzz import specification
from fuzz.specification import UnreadableError
from fuzz.target import Target
from trees.function import ACS_CAPABLE, downstream_port
from trees.host import TreeHost
from trees.machines import one_switch
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT, judge, opened, surveyed

from pcietune.errors import ExitCode, NoProfileError
from pcietune.host.host_files import HostFiles
from pcietune.host.profiles.store import Profiles, shipped_profiles
from pcietune.model.finding import Finding, State
from pcietune.model.profile import ModeName, Profile
from pcietune.tune.audit.audit import Audit
from pcietune.tune.match.choose import insist

_UPSTREAM_PORT = "0000:21:00.0"
_FUNCTIONS = (ROOT_PORT, _UPSTREAM_PORT, GPU_PORT, NIC_PORT, GPU, NIC)
_TUNED = 0x005D  # what Linux sets, and DirectTrans
_CHANGE = struct.Struct(">BHB")  # which function and how, offset, new value
_CUT = 0x80  # the function ends at the offset
_FILL = 0x40  # it reads as the value from the offset on
_MODES = {b"v": ModeName.VM, b"b": ModeName.BAREMETAL}
_ISOLATED = ("ReqRedir+", "CmpltRedir+", "UpstreamFwd+", "EgressCtrl-", "TransBlk-")

Registers = Mapping[str, bytes]
"""Configuration Space by address."""


class WrongPassError(AssertionError):
    """Something passed that a second reading denies, or cannot read."""


def look(data: bytes) -> None:
    """Audit the host with the changes in ``data``, whose first byte says in which mode."""
    mode = _MODES.get(data[:1])
    if mode is None:
        return
    registers = _host().changed(data[1:])
    host = opened(_host().tree)
    with suppress(NoProfileError):
        insist(host, surveyed(host, _profile()), _profile())
        check(judge(host, _profile(), mode), registers)


def check(audited: Audit, registers: Registers) -> None:
    """Hold what was judged against the registers.

    Raises:
        WrongPassError: Something passed that is not so.
    """
    for finding in audited.findings:
        if finding.state is State.PASS:
            check_pass(finding, registers)
    if audited.mode is ModeName.VM and audited.exit_code() is ExitCode.OK:
        check_as_wanted(registers)


def check_pass(finding: Finding, registers: Registers) -> None:
    """Hold what passed about registers against the registers.

    Raises:
        WrongPassError: It is not so.
    """
    address, wanted = str(finding.subject.address), finding.wanted.text
    control = finding.id.rpartition(".")[2]
    if finding.id.startswith("port.") and control in specification.BITS:
        _insist(finding.id, lambda: _is(registers[address], wanted))
    elif finding.id == "nic.ats":
        on = wanted.startswith("Enable+")
        _insist(finding.id, lambda: specification.ats_enabled(registers[address]) == on)
    elif finding.id == "device.relaxed-ordering":
        bit = specification.RELAXED_ORDERING
        _insist(finding.id, lambda: specification.device_control(registers[address]) & bit)
    elif finding.id == "path.max-payload":
        _insist(finding.id, lambda: _payload_fits(registers, address))
    elif finding.id == "group.isolation":
        for port in (GPU_PORT, NIC_PORT):
            _insist(finding.id, partial(_is, registers[port], "ReqRedir+"))


def check_as_wanted(registers: Registers) -> None:
    """Hold that a host whose audit in vm exits 0 is what vm asks for.

    Raises:
        WrongPassError: It is not so.
    """
    for port in (ROOT_PORT, GPU_PORT, NIC_PORT):
        for wanted in _ISOLATED:
            _insist(f"exit 0 {port} {wanted}", partial(_is, registers[port], wanted))
    _insist("exit 0 DirectTrans", lambda: _is(registers[NIC_PORT], "DirectTrans+"))
    _insist("exit 0 ATS", lambda: specification.ats_enabled(registers[NIC]))


def seeds() -> Iterable[bytes]:
    """Yield each register that is judged as 0 and as 1s, and functions that end or are silent."""
    yield from _MODES
    for number, address in enumerate(_FUNCTIONS):
        changes = [(_FILL | number, 0, 0xFF), (_CUT | number, 0x40, 0), (_CUT | number, 0x100, 0)]
        for offset in _judged_offsets(_host().before[address]):
            changes += [(number, offset, 0x00), (number, offset, 0xFF)]
        yield from (b"v" + _CHANGE.pack(*change) for change in changes)


def _judged_offsets(data: bytes) -> Iterable[int]:
    """Yield where the bytes stand that an audit looks at."""
    express = specification.capability(data, specification.EXPRESS)
    assert express is not None
    yield from (0x06, 0x34, express, express + 0x02, express + 0x08, 0x100)
    for kind in (specification.ACS, specification.ATS):
        offset = specification.extended(data, kind)
        if offset is not None:
            yield from range(offset + 0x04, offset + 0x08)


def _insist(what: str, holds: Callable[[], object]) -> None:
    try:
        so = holds()
    except UnreadableError as error:
        raise WrongPassError(f"{what}: {error}") from error
    if not so:
        raise WrongPassError(what)


def _is(data: bytes, wanted: str) -> bool:
    return specification.acs_bit_is(data, wanted[:-1], on=wanted.endswith("+"))


def _payload_fits(registers: Registers, sender: str) -> bool:
    """Return whether all that take what a GPU or NIC sends take that much; conventional PCI does.

    All but the port above its peer, whose peer takes no more.
    """
    beside = GPU_PORT if sender == NIC else NIC_PORT
    takers = [registers[address] for address in _FUNCTIONS if address != beside]
    sizes = [specification.max_payload(taker) for taker in takers if _is_express(taker)]
    return all(specification.max_payload(registers[sender]) <= size for size in sizes)


def _is_express(data: bytes) -> bool:
    return specification.capability(data, specification.EXPRESS) is not None


class _Host:
    """A host as wanted, in files that are changed in place.

    Attributes:
        tree: The host.
        before: Its registers.
    """

    def __init__(self) -> None:
        self._directory = TemporaryDirectory(prefix="pcietune-fuzz-")
        port = downstream_port(NIC_PORT, below=_UPSTREAM_PORT, acs=(ACS_CAPABLE, _TUNED))
        self.tree: TreeHost = one_switch(Path(self._directory.name) / "host", instead=[port])
        self.before = {a: self.tree.config(a).read_bytes() for a in _FUNCTIONS}
        self._files = {address: self.tree.config(address) for address in _FUNCTIONS}
        self._now: dict[str, bytes] = dict(self.before)

    def changed(self, changes: bytes) -> Registers:
        """Make the changes to what was before, and return what is there now."""
        registers = {address: bytearray(data) for address, data in self.before.items()}
        whole = len(changes) // _CHANGE.size * _CHANGE.size
        for number, offset, value in _CHANGE.iter_unpack(changes[:whole]):
            data = registers[_FUNCTIONS[number % _FILL % len(_FUNCTIONS)]]
            if number & _CUT:
                del data[offset:]
            elif number & _FILL:
                data[offset:] = bytes([value]) * len(data[offset:])
            else:
                data[offset : offset + 1] = bytes([value]) * len(data[offset : offset + 1])
        for address, data in registers.items():
            if self._now[address] != data:
                self._now[address] = bytes(data)
                self._files[address].write_bytes(data)
        return dict(self._now)


@cache
def _host() -> _Host:
    return _Host()


@cache
def _profile() -> Profile:
    files = HostFiles(_host().tree.root, recorded=True)
    return Profiles(files, shipped_profiles()).load("gpu-rdma").profile


TARGET = Target(look, seeds, longest=256)
