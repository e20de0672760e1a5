"""The conversation with the guest's agent: one request at a time, each with its own answer."""

import select
import time
from typing import TypeVar

import msgspec

from bench import doorbell
from bench.errors import GuestDiedError, GuestError
from bench.functions import Functions
from bench.qemu import AGENT_PORT, DOORBELL_PORT, Qemu

_GRACE = 30  # seconds that the agent may take beyond what it was asked to wait

T = TypeVar("T")


class _Reply(msgspec.Struct):
    id: int
    nonce: str
    result: msgspec.Raw = msgspec.Raw(b"null")
    error: str | None = None


class AgentLink:
    """Sends requests and waits for answers; meanwhile the guest may ring the doorbell."""

    def __init__(self, qemu: Qemu, functions: Functions, *, nonce: str) -> None:
        """Talk to the agent in ``qemu``, whose boot ``nonce`` tells from every other."""
        self._qemu = qemu
        self._functions = functions
        self._nonce = nonce
        self._agent = qemu.ports[AGENT_PORT]
        self._doorbell = qemu.ports[DOORBELL_PORT]
        self._requests = 0

    def request(self, do: str, returns: type[T], *, timeout: float = 0, **arguments: object) -> T:
        """Make the agent do something, and return its result.

        Args:
            do: What.
            returns: The result's type.
            timeout: In seconds, what it may take; the agent gets some more for its own work.
            arguments: What the agent needs to know for it.

        Raises:
            GuestError: It could not be done, or the agent does not answer.
            GuestDiedError: The guest is gone.
        """
        self._requests += 1
        message = {"id": self._requests, "do": do, "timeout": timeout, **arguments}
        try:
            self._agent.send(msgspec.json.encode(message))
        except OSError as error:
            raise self._died() from error
        reply = self._reply(deadline=time.monotonic() + timeout + _GRACE)
        if reply.error is not None:
            raise GuestError(f"{do} failed in the guest:\n{reply.error}")
        return msgspec.json.decode(reply.result, type=returns)

    def _reply(self, *, deadline: float) -> _Reply:
        while True:
            while (line := self._agent.take()) is not None:
                reply = msgspec.json.decode(line, type=_Reply)
                if reply.nonce != self._nonce:
                    raise GuestError("an answer came from another boot")
                if reply.id == self._requests:  # others are late, to requests that were given up
                    return reply
            self._answer_doorbell()
            if self._agent.closed:
                raise self._died()
            if (left := deadline - time.monotonic()) <= 0:
                raise GuestError(f"the guest's agent does not answer\n{self._qemu.console_tail()}")
            for end in select.select([self._agent, self._doorbell], [], [], left)[0]:
                end.receive()

    def _answer_doorbell(self) -> None:
        while (line := self._doorbell.take()) is not None:
            self._doorbell.send(doorbell.answer(line.decode(), self._functions).encode())

    def _died(self) -> GuestDiedError:
        return GuestDiedError(
            f"the guest is gone; QEMU's exit status is {self._qemu.exit_status}\n"
            f"{self._qemu.messages}{self._qemu.console_tail()}"
        )
