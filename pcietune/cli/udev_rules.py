"""``pcietune udev-rules``."""

from pcietune.cli.options import FromOption, ModeOption, ProfileOption


def udev_rules(
    profile: ProfileOption = None, mode: ModeOption = None, source: FromOption = None
) -> None:
    """Print the udev rules, narrowed to the ids that the profile tunes on this host.

    The rules that are installed work without it: they look into /run/pcietune, where apply leaves
    which ids it means. Reads, and writes nothing. Example:

    `pcietune udev-rules --mode vm > /etc/udev/rules.d/04-pcietune.rules`
    """
    from pcietune.cli import show
    from pcietune.cli.judging import Request, collecting, judge
    from pcietune.cli.keeping import vfio_driver_of
    from pcietune.cli.progress import told
    from pcietune.host.source import open_host
    from pcietune.model.profile import ModeName
    from pcietune.report.outcome import Outcome
    from pcietune.report.udev_rules import udev_rules as lines_of
    from pcietune.tune.policy.compile import compile_policy

    outcome = Outcome()
    with collecting(outcome), open_host(source) as host, told(host):
        judge(host, Request(profile, None if mode is None else ModeName(mode)), outcome)
        if outcome.audit is not None:
            policy = compile_policy(
                host, outcome.audit, boot_id="", enforce=False, driver_of=vfio_driver_of(host)
            )
            ids = {duty.id for duty in policy.duties}
            probed = [duty for duty in policy.duties if duty.override is not None and duty.probe]
            show.lines(lines_of(ids, {duty.id for duty in probed}))
        elif outcome.nothing_here:
            show.lines(lines_of((), ()))  # a file with nothing in it would not say why
    show.end(outcome.errors, outcome.status_exit_code())
