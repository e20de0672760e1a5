"""Waits for what comes about in a guest by itself."""

import time
from collections.abc import Callable


def until(condition: Callable[[], bool], *, seconds: float = 60) -> None:
    """Return once a condition holds.

    Raises:
        TimeoutError: It did not come to hold.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"still not so after {seconds} s")
        time.sleep(0.5)
