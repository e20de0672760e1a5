"""Lines over a socket, read without blocking so that several sockets can be waited for at once."""

import socket
from collections import deque


class LineSocket:
    """One end of a conversation in lines of text.

    Attributes:
        closed: The other end is gone; lines that it had sent are still there to be taken.
    """

    def __init__(self, end: socket.socket) -> None:
        self._socket = end
        self._partial = b""
        self._lines: deque[bytes] = deque()
        self.closed = False

    def fileno(self) -> int:
        """Return what select waits for."""
        return self._socket.fileno()

    def send(self, line: bytes) -> None:
        """Send a line.

        Raises:
            OSError: The other end is gone.
        """
        self._socket.sendall(line + b"\n")

    def receive(self) -> None:
        """Take in what has come; to be called when select says that something has."""
        try:
            received = self._socket.recv(1 << 20)
        except ConnectionResetError:
            received = b""
        self.closed = not received
        *lines, self._partial = (self._partial + received).split(b"\n")
        self._lines.extend(lines)

    def take(self) -> bytes | None:
        """Return the next whole line that has been received, or None."""
        return self._lines.popleft() if self._lines else None

    def close(self) -> None:
        """Hang up."""
        self._socket.close()
