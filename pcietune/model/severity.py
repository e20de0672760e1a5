"""How much a finding matters."""

from enum import StrEnum


class Severity(StrEnum):
    """How much a finding that fails matters; info never makes a host differ."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"
