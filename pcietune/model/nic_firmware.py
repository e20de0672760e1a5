"""What the firmware of a NIC is set to, and which step is due until it has ATS."""

from dataclasses import dataclass, field
from enum import StrEnum
from typing import Protocol

from pcietune.address import PciAddress
from pcietune.errors import PcietuneError
from pcietune.model.card import Card
from pcietune.model.function import PciFunction


class Parameter(StrEnum):
    """Parameters of NVIDIA's NICs, by the names of mlxconfig."""

    ATS_ENABLED = "ATS_ENABLED"
    ADVANCED_PCI_SETTINGS = "ADVANCED_PCI_SETTINGS"  # shows others, ATS_ENABLED among them


@dataclass(frozen=True, slots=True)
class Setting:
    """One parameter; None where the tool printed something else than False or True.

    Attributes:
        default: As the firmware came.
        current: As it works now.
        next_boot: As it will work after the next reboot of the host.
    """

    default: bool | None
    current: bool | None
    next_boot: bool | None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool printed about one NIC.

    Attributes:
        settings: By parameter; one that the tool does not show is missing.
    """

    settings: dict[Parameter, Setting] = field(default_factory=dict)


class Due(StrEnum):
    """What is to be done until the NIC has ATS, first things first."""

    NOTHING = "nothing"
    REBOOT = "reboot"  # it is set, and works from then on
    SET = "set"
    REBOOT_THEN_SET = "reboot-then-set"  # it is hidden still
    SHOW = "show"  # it is hidden, and what shows it is not set either
    NOT_AVAILABLE = "not-available"  # this firmware has no such parameter
    NOT_KNOWN = "not-known"


@dataclass(frozen=True, slots=True)
class NicFirmware:
    """One NIC, asked or passed over.

    Attributes:
        card: Its functions; the first stands for all.
        answer: What the tool said last; None if it was not asked, or not understood.
        due: The step that is due.
        error: Why it was not asked, not understood or not set; None if all went well.
        done: What was set in this run, and read back.
    """

    card: Card
    answer: Answer | None
    due: Due
    error: PcietuneError | None = None
    done: tuple[Parameter, ...] = ()

    @property
    def function(self) -> PciFunction:
        """The function that is asked for the whole card: both ports have one firmware."""
        return self.card[0]


class FirmwareTool(Protocol):
    """The program that speaks with NICs; it does so by configuration writes to them."""

    def query(self, address: PciAddress) -> Answer:
        """Return what the NIC at an address is set to.

        Raises:
            ConfigSpaceError: The tool failed, took too long, or said what makes no sense.
        """

    def turn_on(self, address: PciAddress, parameter: Parameter) -> None:
        """Set a parameter to True, from the next reboot on.

        Raises:
            ConfigSpaceError: The tool failed or took too long.
        """
