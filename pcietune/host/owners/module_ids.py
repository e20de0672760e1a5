"""Which ids vfio-pci was told to take: by modprobe.d, or on the kernel command line."""

import re
from collections.abc import Iterator

from pcietune.errors import NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.platform import CMDLINE
from pcietune.model.owners import Owner, OwnerKind

MODULE = "sys/module/vfio_pci"

_DIRECTORIES = (  # modprobe.d(5); of files with one name the first counts
    "etc/modprobe.d",
    "run/modprobe.d",
    "usr/local/lib/modprobe.d",
    "usr/lib/modprobe.d",
    "lib/modprobe.d",
)
_LOADED_FROM_A_FILE = "initstate"  # only such modules have it (kernel/module/main.c)
_OPTIONS = re.compile(r"options\s+vfio[-_]pci\s+(.*)")
_IDS = "ids="
_WORD = re.compile(r'(?:[^\s"]|"[^"]*"?)+')  # as the kernel's next_arg() splits it
_PARAMETER = re.compile(r'"?vfio[-_]pci\.ids=(.*)')


def read_module_ids(files: HostFiles) -> tuple[list[Owner], list[str]]:
    """Return who told vfio-pci which ids to take, and what of that cannot be found out.

    A module that is built in is bound by the kernel itself, and modprobe.d says nothing to it.
    """
    typed, not_known = _on_command_line(files)
    if _is_built_in(files):
        where = f"/{MODULE}"
        return [Owner(OwnerKind.BUILT_IN, where, ids=tuple(typed))], not_known
    found = [Owner(OwnerKind.MODULE_IDS, "vfio-pci.ids=", ids=tuple(typed))] if typed else []
    for directory, name in _configurations(files, not_known):
        ids = _in_file(files, f"{directory}/{name}", not_known)
        if ids:
            found.append(Owner(OwnerKind.MODULE_IDS, f"/{directory}/{name}", ids=tuple(ids)))
    return found, not_known


def _is_built_in(files: HostFiles) -> bool:
    """Return whether the running kernel has vfio-pci in itself.

    Either kind of module shows its parameters in sysfs, and only a loaded one its state
    (kernel/params.c, param_sysfs_builtin).
    """
    return files.exists(MODULE) and not files.exists(f"{MODULE}/{_LOADED_FROM_A_FILE}")


def _on_command_line(files: HostFiles) -> tuple[list[str], list[str]]:
    cmdline = files.text(CMDLINE)
    if cmdline is None:
        return [], ["which ids vfio-pci takes: the kernel command line is not readable"]
    words = (_PARAMETER.match(word) for word in _WORD.findall(cmdline))
    return [entry for word in words if word for entry in _entries(word[1])], []


def _configurations(files: HostFiles, not_known: list[str]) -> Iterator[tuple[str, str]]:
    seen = set()
    for directory in _DIRECTORIES:
        try:
            names = [name for name in files.names(directory) if name.endswith(".conf")]
        except NotPermittedError as error:
            not_known.append(f"which ids vfio-pci takes: {error}")
            continue
        for name in names:
            if name not in seen:
                yield directory, name
        seen.update(names)


def _in_file(files: HostFiles, path: str, not_known: list[str]) -> list[str]:
    text = files.text(path)
    if text is None:
        not_known.append(f"which ids vfio-pci takes: /{path} is not readable")
        return []
    found = []
    for line in text.replace("\\\n", "").split("\n"):  # joined as kmod does, without a space
        match = _OPTIONS.fullmatch(line.strip())
        words = [] if match is None else _WORD.findall(match[1])
        for word in words:
            if word.strip('"').startswith(_IDS):
                found += _entries(word.strip('"').removeprefix(_IDS))
    return found


def _entries(value: str) -> list[str]:
    """Return the entries of a list as vfio_pci_fill_ids() separates them, in lower case."""
    return [entry.lower() for entry in value.replace('"', "").split(",") if entry]
