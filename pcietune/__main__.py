"""``python -m pcietune``."""

from pcietune.cli.app import main

main()
