"""What can go wrong with a guest.

* GuestError            the guest could not do what a test asked of it
  - GuestDiedError      its kernel panicked, or QEMU ended
  - GuestTimeoutError   a command took longer than it may, and was killed
"""


class GuestError(Exception):
    """The guest could not do what a test asked of it."""


class GuestDiedError(GuestError):
    """The guest is gone: its kernel panicked, or QEMU ended."""


class GuestTimeoutError(GuestError):
    """A command took longer than it may, and was killed."""
