"""``pcietune`` and ``python -m pcietune``: where a process begins."""

import signal


def main() -> None:
    """Load the command line and run it.

    While it is loaded Ctrl-C ends the process as it ends any program; from then on it is told.
    """
    heard = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # nohup has it ignored
    if heard:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    from pcietune.cli.app import main as command_line  # noqa: PLC0415 -- takes a tenth of a second

    if heard:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    command_line()


if __name__ == "__main__":
    main()
