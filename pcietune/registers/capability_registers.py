"""What the registers of any capability have in common: a function and an offset."""

from pcietune.registers.config_space import ConfigSpace, does_not_answer


class CapabilityRegisters:
    """One capability of one function; each register is read when asked for.

    A register that reads as all ones is a ConfigSpaceError, whatever is asked of it.

    Attributes:
        offset: Of the capability, in bytes from the start of Configuration Space.
    """

    __slots__ = ("_config", "offset")

    offset: int
    _config: ConfigSpace

    def __init__(self, config: ConfigSpace, offset: int) -> None:
        self._config = config
        self.offset = offset

    def _word(self, register: int) -> int:
        """Return the 16-bit register that stands ``register`` bytes into the capability."""
        return self._config.read_word(self.offset + register)

    def _double_word(self, register: int) -> int:
        """Return the 32-bit register that stands ``register`` bytes into the capability."""
        value = self._config.read(self.offset + register, 4)
        if value == 0xFFFFFFFF:
            raise does_not_answer(self._config.address)
        return value
