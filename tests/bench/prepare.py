"""Makes all that the bench keeps in its cache: ``python3 -m bench.prepare``, in folder tests."""

import sys

from bench.cache import CacheError
from bench.guest_system import find_guest_system
from bench.kernel_package import find_kernel
from bench.real_initrd import PACKAGES, find_tree


def main() -> int:
    """Make what is missing, saying so, and return an exit status."""
    try:
        find_kernel()
        find_guest_system()
        for tool in PACKAGES:
            find_tree(tool)
    except CacheError as error:
        sys.stderr.write(f"bench: {error}\n")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
