"""All that pcietune knows of what makes a command line, and how a change of it is carried out."""

from pcietune.errors import IgnoredWriteError
from pcietune.host.boot_loader.cmdline_d import CmdlineD
from pcietune.host.boot_loader.grub import Grub
from pcietune.host.boot_loader.grubby import Grubby, run
from pcietune.host.boot_loader.kernel_cmdline import KernelCmdline
from pcietune.host.boot_loader.sites import Loader, Merge
from pcietune.host.boot_loader.text_file import make_change
from pcietune.host.host_files import HostFiles
from pcietune.model.boot_loader import LoaderChange, LoaderName

LOADERS: tuple[Loader, ...] = (Grub(), Grubby(), KernelCmdline(), CmdlineD())


def loader_of(name: LoaderName) -> Loader:
    """Return the loader of this name."""
    return next(loader for loader in LOADERS if loader.name is name)


def carry_out(files: HostFiles, change: LoaderChange) -> None:
    """Make a change: what is remembered of it is there as long as any of it may be.

    Raises:
        NotPermittedError: The host does not take it.
        BadInputError: Something else stands where a file belongs.
    """
    note = change.note
    if note is not None and note.after is not None:
        make_change(files, note, backup=False)
    for file in change.files:
        make_change(files, file)
    for command in change.commands:
        run(command)
    if note is not None and note.after is None:
        make_change(files, note, backup=False)


def check_inserted(files: HostFiles, name: LoaderName, merge: Merge) -> None:
    """Do nothing if the boot loader has pcietune's words, by its files as they are now.

    Raises:
        IgnoredWriteError: All went well, and they are not there.
    """
    if not loader_of(name).insert(files, merge).is_empty:
        raise IgnoredWriteError(
            f"{name} took the words, but does not have them now",
            hint="look at what pcietune kernel-args --check says",
        )
