"""Where profiles are: those that ship with pcietune, and a site's own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from pcietune.errors import BadInputError, NotPermittedError, quoted
from pcietune.host.host_files import HostFiles
from pcietune.host.profiles.file import load_profile
from pcietune.host.profiles.source import LoadedProfile, Origin, ProfileSource
from pcietune.host.yaml.nearest_name import hint

SITE_PROFILES = "etc/pcietune/profiles.d"
_SUFFIX = ".yaml"


class Profiles:
    """The profiles of one host.

    Args:
        files: The host, whose site profiles are used.
        shipped: Where the shipped ones are.
    """

    def __init__(self, files: HostFiles, shipped: Path) -> None:
        self._files = files
        self._shipped = shipped

    def sources(self) -> tuple[ProfileSource, ...]:
        """Return every profile's file, in the order of names; none is opened.

        Raises:
            BadInputError: In a recording, site profiles lead out of it.
            NotPermittedError: The kernel keeps the site profiles from this user.
        """
        shipped = {
            name: ProfileSource(name, Origin.SHIPPED, str(path))
            for name, path in self._ours().items()
        }
        site = {
            name: ProfileSource(name, Origin.SITE, str(path), replaces_shipped=name in shipped)
            for name, path in self._sites().items()
        }
        return tuple(source for _, source in sorted((shipped | site).items()))

    def names(self) -> tuple[str, ...]:
        """Return every profile's name, sorted; errors as ``sources``."""
        return tuple(source.name for source in self.sources())

    def load(self, name_or_file: str) -> LoadedProfile:
        """Return one profile; what has a slash or ends in .yaml is a file, all else a name.

        Other profiles may be broken meanwhile.

        Raises:
            DocumentError: The file breaks the format; it has every complaint.
            BadInputError: There is no such profile or file, or it cannot be read.
            NotPermittedError: The kernel keeps it from this user.
        """
        if "/" in name_or_file or name_or_file.endswith(_SUFFIX):
            return load_profile(ProfileSource.of_file(name_or_file), self)
        sources = {source.name: source for source in self.sources()}
        if name_or_file not in sources:
            near = hint(name_or_file, list(sources))
            raise BadInputError(
                f"no profile is called {quoted(name_or_file)}; {near}",
                hint="pcietune profile list shows all of them; a file is named by its path",
            )
        return load_profile(sources[name_or_file], self)

    def all(self) -> tuple[LoadedProfile, ...]:
        """Return every profile, in the order of names.

        Raises:
            DocumentError: One breaks the format: what it would have matched is not known.
            BadInputError: One cannot be read.
            NotPermittedError: The kernel keeps one from this user.
        """
        return tuple(load_profile(source, self) for source in self.sources())

    def parent(self, name: str, chain: Sequence[ProfileSource]) -> ProfileSource | None:
        """Return the profile of that name which the last of ``chain`` extends.

        It is one beside a named file, else the site's, else the shipped one; one that is in
        ``chain`` already is passed over, so that a site can refine the shipped one of its name.
        What shipped profiles extend is shipped: a site's own ones do not change them.

        Raises:
            BadInputError: In a recording, site profiles lead out of it.
            NotPermittedError: The kernel keeps the site profiles from this user.
        """
        taken = {source.path.resolve() for source in chain}
        found = self._candidates(name, chain[-1])
        return next((each for each in found if each.path.resolve() not in taken), None)

    def _candidates(self, name: str, child: ProfileSource) -> Iterator[ProfileSource]:
        beside = child.path.with_name(f"{name}{_SUFFIX}")
        if child.origin is Origin.FILE and _is_file(beside):
            yield ProfileSource(name, Origin.FILE, str(beside))
        if child.origin is not Origin.SHIPPED and name in (sites := self._sites()):
            yield ProfileSource(name, Origin.SITE, str(sites[name]))
        if name in (ours := self._ours()):
            yield ProfileSource(name, Origin.SHIPPED, str(ours[name]))

    def _ours(self) -> dict[str, Path]:
        try:
            return {path.stem: path for path in self._shipped.glob(f"[!.]*{_SUFFIX}")}
        except OSError as error:
            raise BadInputError(
                f"{self._shipped}: {error.strerror}", hint="install pcietune anew"
            ) from error

    def _sites(self) -> dict[str, Path]:
        folder = Path(self._files.path(SITE_PROFILES))
        try:
            names = [path.name for path in folder.iterdir()]
        except FileNotFoundError:
            return {}
        except PermissionError as error:
            raise NotPermittedError(
                f"{folder}: not readable by this user", hint="run pcietune as root"
            ) from error
        except OSError as error:
            raise BadInputError(
                f"{folder}: {error.strerror}", hint="it is a directory of profiles, or absent"
            ) from error
        return {
            name.removesuffix(_SUFFIX): Path(self._files.path(f"{SITE_PROFILES}/{name}"))
            for name in names
            if name.endswith(_SUFFIX) and not name.startswith(".")
        }


def _is_file(path: Path) -> bool:
    """Return whether a file is there; none is of a name that no file can have."""
    try:
        return path.is_file()
    except OSError:
        return False


def shipped_profiles() -> Path:
    """Return the folder of the shipped profiles: in the package, or beside it in a checkout."""
    package = Path(__file__).parents[2]
    installed = package / "shipped_profiles"
    return installed if installed.is_dir() else package.parent / "profiles"
