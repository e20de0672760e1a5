"""The udev rules narrowed to the ids of one host; udev/04-pcietune.rules is for all hosts."""

from collections.abc import Collection, Iterable

_HOOK = 'RUN+="/usr/lib/pcietune/hook"'
_POLICY = 'TEST=="/run/pcietune/policy.json"'
_BIND = 'TEST=="/run/pcietune/bind/$env{PCI_ID}"'
_NO_STAMP = 'TEST!="/run/pcietune/stamps/$kernel"'


def udev_rules(ids: Collection[str], bound: Collection[str]) -> Iterable[str]:
    """Yield the lines of a rules file.

    Args:
        ids: Vendor and Device IDs of what the hook acts on: ``10de:20f3``.
        bound: Those of them that are given to VFIO at once: for one that waits for a unit no
            driver is loaded, which would take it by its override.
    """
    yield "# Made by pcietune udev-rules. /etc/udev/rules.d/04-pcietune.rules takes the place of"
    yield "# the installed file of that name. To be made anew where other hardware is built in."
    if not ids:
        yield "# There is nothing on this host that the hook acts on."
        return
    named = f'ENV{{PCI_ID}}=="{_in_uevent(ids)}"'
    yield 'SUBSYSTEM!="pci", GOTO="pcietune_end"'
    if bound:
        yield (
            f'ACTION=="add", ENV{{PCI_ID}}=="{_in_uevent(bound)}", {_BIND}, {_NO_STAMP}, '
            'RUN{builtin}+="kmod load vfio-pci vfio_$env{MODALIAS}"'
        )
    yield f'ACTION=="add", {named}, {_POLICY}, {_NO_STAMP}, {_HOOK}'
    yield f'ACTION=="bind", ENV{{DRIVER}}=="*vfio*", {named}, {_POLICY}, {_HOOK}'
    yield (
        'ACTION=="change", ENV{ERROR_EVENT}=="SUCCESSFUL_RECOVERY|FAILED_RECOVERY", '
        f'ENV{{PCI_CLASS}}=="604*", {_POLICY}, {_HOOK}'
    )
    yield f'ACTION=="remove", {named}, TEST=="/run/pcietune/stamps/$kernel", {_HOOK}'
    yield 'LABEL="pcietune_end"'


def _in_uevent(ids: Collection[str]) -> str:
    """Return ids as one match of the kernel's PCI_ID, which is in upper case."""
    return "|".join(sorted(each.upper() for each in ids))
