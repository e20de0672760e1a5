"""watch on a tree, with events and a clock of the test's own."""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

from trees.host import TreeHost
from tune.judged import opened

from pcietune.address import PciAddress
from pcietune.cli.watching import Surroundings, Watching
from pcietune.host.sysfs import SysfsHost
from pcietune.model.device_event import NOTHING, Action, DeviceEvent, ErrorEvent, Heard
from pcietune.tune.watch.notice import Notice, NoticeKind

INTERVAL_S = 300.0
SETTINGS = "etc/pcietune/pcietune.yaml"


@dataclass
class Clockwork:
    """An EventSource and its clock: time passes only while somebody waits.

    Attributes:
        now: The time, in seconds.
        to_come: What happens when, in the order of times: what it does, and what is heard of it.
    """

    now: float = 1000.0
    to_come: list[tuple[float, Callable[[], None], Heard]] = field(default_factory=list)

    def wait(self, timeout_s: float) -> Heard:
        end = self.now + timeout_s
        if not self.to_come or self.to_come[0][0] > end:
            self.now = end
            return NOTHING
        at, act, heard = self.to_come.pop(0)
        self.now = max(self.now, at)
        act()
        return heard


class Watched:
    """A tree that is watched.

    Attributes:
        tree: The tree.
        clockwork: Its time.
        told: All notices, as kind and text with the address before it.
        status: The last status.
        notices: The same as they are.
        look: Whether the next turn looks at all.
        open_host: What opens the tree for a look.
    """

    def __init__(
        self, tree: TreeHost, *, enforce: str = "apply", settings: str = "profile: gpu-rdma"
    ) -> None:
        self.tree = tree
        self.open_host: Callable[[], SysfsHost] = partial(opened, tree)
        self.clockwork = Clockwork()
        self.told: list[tuple[str, str]] = []
        self.notices: list[Notice] = []
        self.status = ""
        self.look = False
        tree.put(SETTINGS, f"mode: vm\nenforce: {enforce}\n{settings}")
        self.watching = Watching(
            Surroundings(
                open_host=self._open,
                events=self.clockwork,
                clock=lambda: self.clockwork.now,
                look_asked=self._look_asked,
                tell=self._tell,
                status=self._set_status,
            ),
            INTERVAL_S,
        )

    def begin(self) -> None:
        """Take the first look."""
        self.watching.begin()

    def at(
        self,
        after_s: float,
        act: Callable[[], None] = lambda: None,
        *events: DeviceEvent,
        lost: bool = False,
    ) -> None:
        """Let something happen ``after_s`` seconds from now, and be heard of."""
        at = self.clockwork.now + after_s
        self.clockwork.to_come.append((at, act, Heard(events, lost)))
        self.clockwork.to_come.sort(key=lambda each: each[0])

    def run(self, for_s: float) -> list[tuple[str, str]]:
        """Let time pass; return what was told meanwhile."""
        end = self.clockwork.now + for_s
        count = len(self.told)
        self.at(for_s)
        while self.clockwork.now < end:
            self.watching.turn()
        return self.told[count:]

    def of(self, kind: NoticeKind) -> list[str]:
        """Return the texts of one kind that were told."""
        return [text for told, text in self.told if told == kind]

    def _open(self) -> SysfsHost:
        return self.open_host()

    def _look_asked(self) -> bool:
        asked, self.look = self.look, False
        return asked

    def _tell(self, notice: Notice) -> None:
        where = f"{notice.address} " if notice.address else ""
        self.notices.append(notice)
        self.told.append((notice.kind.value, f"{where}{notice.text}"))

    def _set_status(self, text: str) -> None:
        self.status = text


def event(address: str, action: str, error: ErrorEvent | None = None) -> DeviceEvent:
    """Return an event as udev sends it."""
    return DeviceEvent(PciAddress.parse(address), Action(action), error)
