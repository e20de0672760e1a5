"""The page: one file that needs nothing else, and may fetch nothing."""

from base64 import b64encode
from dataclasses import dataclass
from hashlib import sha256
from itertools import chain

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from pcietune import __version__
from pcietune.errors import PcietuneError
from pcietune.model.fabric import Fabric
from pcietune.report.findings_text import summary
from pcietune.report.html.boxes import numa_nodes
from pcietune.report.html.facts import facts, host_name
from pcietune.report.html.findings import blocks
from pcietune.report.html.groups import groups
from pcietune.report.html.matrices import legend, matrices
from pcietune.report.html.routes import senders
from pcietune.report.outcome import Outcome
from pcietune.report.printable import printable
from pcietune.tune.paths.view import PathsView
from pcietune.tune.view.groups import GroupsView
from pcietune.tune.view.topology import Node


@dataclass(frozen=True, slots=True)
class Seen:
    """What the page is about.

    Attributes:
        outcome: The host, and its findings where it is judged.
        fabric: Its functions.
        nodes: The same as a tree, whole.
        view: Its pairs.
        groups: Its IOMMU groups; None if they are not known.
        warnings: Why its groups may not be what they seem.
        problems: What could not be read.
    """

    outcome: Outcome
    fabric: Fabric
    nodes: tuple[Node, ...]
    view: PathsView
    groups: GroupsView | None
    warnings: tuple[str, ...]
    problems: tuple[PcietuneError, ...]


def html_page(seen: Seen) -> str:
    """Return the page: the same for the same host, so it tells no time."""
    environment = Environment(
        loader=PackageLoader("pcietune.report.html"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_shown,
    )
    style, script = (_text(environment, name) for name in ("page.css", "page.js"))
    audited = seen.outcome.audit
    return environment.get_template("page.html").render(
        title=host_name(seen.outcome.platform),
        version=__version__,
        style=Markup(style),  # noqa: S704 -- our own file
        script=Markup(script),  # noqa: S704 -- our own file
        style_hash=_hash(style),
        script_hash=_hash(script),
        facts=list(facts(seen.outcome)),
        summary=list(summary(seen.outcome)),
        judged=audited is not None,
        nodes=numa_nodes(seen.nodes, seen.view.peers),
        matrices=list(matrices(seen.view)),
        legend=list(legend(seen.view)),
        once=any(pair.once is not None for pair in seen.view.pairs.values()),
        senders=list(senders(seen.fabric, seen.view)),
        blocks=list(blocks(() if audited is None else audited.findings)),
        groups=None if seen.groups is None else list(groups(seen.groups)),
        warnings=seen.warnings,
        notes=seen.view.notes,
        problems=list(dict.fromkeys(chain(map(str, seen.problems)))),
    )


def _text(environment: Environment, name: str) -> str:
    """Return a template's text as it is."""
    loader = environment.loader
    assert loader is not None  # noqa: S101 -- html_page gave it one
    return loader.get_source(environment, name)[0]


def _hash(text: str) -> str:
    """Return what a Content-Security-Policy knows a text by (W3C CSP Level 3, 2.3.1)."""
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"


def _shown(value: object) -> object:
    """Return what stands on the page: text with escapes for what nobody could see."""
    if isinstance(value, Markup) or not isinstance(value, str):
        return value
    return printable(value)
