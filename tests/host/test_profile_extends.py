"""Profiles that extend others: what they mean, and where the complaints stand."""

import hashlib
import string
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pcietune.errors import BadInputError
from pcietune.host.host_files import HostFiles
from pcietune.host.profiles.file import lint_file, lint_profile, parse_profile
from pcietune.host.profiles.source import Origin, ProfileSource
from pcietune.host.profiles.store import Profiles, shipped_profiles
from pcietune.model.profile import AtsPolicy, ModeName, RuntimePmPolicy
from pcietune.model.role_name import RoleName
from pcietune.model.severity import Severity

PARENT = """\
version: 1
summary: the parent
match: {ids: ["10de:20f3"], dmi: {sys_vendor: Example}}
roles:
  gpu: {ids: ["10de:20f3"], classes: ["0302"], trusted: true}
  nic: {ids: ["15b3:101b"], place: gpu-switch}
layout: {gpu: 8, numa-nodes: [2, 4]}
modes:
  vm: {ports: {nic-side: {set: [DirectTrans+], require: [SrcValid+]}}, ats: judge}
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    folder = tmp_path / "etc/pcietune/profiles.d"
    folder.mkdir(parents=True)
    (folder / "parent.yaml").write_text(PARENT)
    return folder


@pytest.fixture
def profiles(tmp_path: Path) -> Profiles:
    return Profiles(HostFiles(tmp_path, recorded=False), shipped_profiles())


def test_mappings_merge_key_by_key_and_lists_replace(profiles: Profiles, site: Path) -> None:
    (site / "child.yaml").write_text(
        "extends: parent\n"
        "match: {ids: ['10de:20b2', '10de:20b0']}\n"
        "roles: {gpu: {ids: ['10de:20b2']}}\n"
        "modes: {vm: {ports: {nic-side: {require: [ReqRedir+]}}, runtime-pm: keep-on}}\n"
        "severity: {link.width: error}\n"
    )

    loaded = profiles.load("child")

    child, parent = loaded.profile, profiles.load("parent").profile
    rule = child.modes[ModeName.VM].ports
    assert child.summary == "the parent"
    assert child.match.pattern.ids == ("10de:20b2", "10de:20b0")
    assert child.match.dmi == {"sys_vendor": "Example"}
    assert child.roles[RoleName.GPU].pattern.ids == ("10de:20b2",)
    assert child.roles[RoleName.GPU].pattern.classes == (0x0302,)
    assert child.roles[RoleName.NIC] == parent.roles[RoleName.NIC]
    assert [[str(want) for want in (*each.set, *each.require)] for each in rule.values()] == [
        ["DirectTrans+", "ReqRedir+"]
    ]
    assert child.modes[ModeName.VM].ats is AtsPolicy.JUDGE
    assert child.modes[ModeName.VM].runtime_pm is RuntimePmPolicy.KEEP_ON
    assert child.severities == {"link.width": Severity.ERROR}
    assert [source.name for source in loaded.parents] == ["parent"]


def test_nothing_as_a_value_drops_what_the_parent_says(profiles: Profiles, site: Path) -> None:
    (site / "child.yaml").write_text("extends: parent\nmatch: {dmi: ~}\nlayout:\n")

    child = profiles.load("child").profile

    assert child.match.pattern.ids == ("10de:20f3",)
    assert not child.match.dmi
    assert not child.layout.cards


def test_the_sha256_is_that_of_both_files_one_after_the_other(
    profiles: Profiles, site: Path
) -> None:
    text = "extends: parent\nsummary: the child\n"
    (site / "child.yaml").write_text(text)

    profile = profiles.load("child").profile

    assert profile.sha256 == hashlib.sha256((text + PARENT).encode()).hexdigest()


def test_a_site_profile_refines_the_shipped_one_of_its_name(profiles: Profiles, site: Path) -> None:
    (site / "gpu-rdma.yaml").write_text("extends: gpu-rdma\nmodes: {vm: {ats: ignore}}\n")

    loaded = profiles.load("gpu-rdma")

    assert loaded.source.replaces_shipped
    assert loaded.profile.generic
    assert loaded.profile.modes[ModeName.VM].ats is AtsPolicy.IGNORE
    assert [parent.path for parent in loaded.parents] == [shipped_profiles() / "gpu-rdma.yaml"]


def test_a_file_extends_its_neighbour_before_the_hosts(
    profiles: Profiles, site: Path, tmp_path: Path
) -> None:
    (tmp_path / "parent.yaml").write_text(PARENT.replace("the parent", "the neighbour"))
    (tmp_path / "child.yaml").write_text("extends: parent\n")
    (site / "other.yaml").write_text("extends: parent\n")

    assert profiles.load(f"{tmp_path}/child.yaml").profile.summary == "the neighbour"
    assert profiles.load("other").profile.summary == "the parent"


def test_a_name_longer_than_any_files_is_no_profile(profiles: Profiles, tmp_path: Path) -> None:
    child = tmp_path / "child.yaml"
    child.write_text(f"extends: {'x' * 300}\n")

    with pytest.raises(BadInputError, match=r"child\.yaml:1:10: no profile is called 'xxx"):
        profiles.load(str(child))


def test_a_chain_of_three_is_merged_from_the_eldest(profiles: Profiles, site: Path) -> None:
    (site / "middle.yaml").write_text("extends: parent\nlayout: {gpu: 4, nic: 2}\n")
    (site / "child.yaml").write_text("extends: middle\nlayout: {nic: [2, 4]}\n")

    loaded = profiles.load("child")

    assert loaded.profile.layout.cards == {RoleName.GPU: (4,), RoleName.NIC: (2, 4)}
    assert loaded.profile.layout.numa_nodes == (2, 4)
    assert [source.name for source in loaded.parents] == ["middle", "parent"]


@pytest.mark.parametrize("name", [path.stem for path in sorted(shipped_profiles().iterdir())])
def test_a_profile_that_says_nothing_of_its_own_means_what_it_extends(
    profiles: Profiles, site: Path, name: str
) -> None:
    (site / "child.yaml").write_text(f"extends: {name}\n")

    child, parent = profiles.load("child").profile, profiles.load(name).profile

    assert replace(child, name=name, sha256=parent.sha256) == parent


@given(
    text=st.text(alphabet=string.printable, max_size=60),
    key=st.sampled_from(
        ["", "match:", "roles: {nic:", "layout:", "modes: {vm: {ports:", "severity:"]
    ),
)
@example(text="~", key="match:")
@example(text="{gpu: [8, {}]}", key="layout:")
@example(text="{[a]: ~}", key="roles: {nic:")
def test_any_text_over_a_profile_loads_or_is_bad_input(text: str, key: str) -> None:
    profiles = Profiles(HostFiles(Path("/nowhere"), recorded=False), shipped_profiles())
    source = ProfileSource("p", Origin.FILE, "/nowhere/p.yaml")
    data = f"extends: gpu-rdma\n{key} {text}{'}' * key.count('{')}".encode()

    said = lint_profile(data, source, profiles)

    try:
        parse_profile(data, source, profiles)
    except BadInputError as refusal:
        assert [str(each) for each in said] == str(refusal).split("\n")  # noqa: PT017 -- either way is right
    else:
        assert all(each.warning for each in said)


@pytest.mark.parametrize(
    ("files", "complaint"),
    [
        pytest.param(
            {"child": "summary: a\nextends: parnt\n"},
            "child.yaml:2:10: no profile is called 'parnt'; did you mean 'parent'?",
            id="unknown",
        ),
        pytest.param(
            {"child": "extends: other\n", "other": "extends: child\n"},
            "other.yaml:1:10: profiles extend each other in a circle: child -> other -> child",
            id="circle",
        ),
        pytest.param(
            {"child": "extends: child\n"},
            "child.yaml:1:10: profiles extend each other in a circle: child -> child",
            id="itself",
        ),
        pytest.param(
            {"child": "extends: p2\n", **{f"p{n}": f"extends: p{n + 1}\n" for n in range(2, 10)}},
            "p8.yaml:1:10: more than 8 profiles extend each other",
            id="too many",
        ),
        pytest.param(
            {"child": "extends: ../parent\n"},
            "child.yaml:1:10: '../parent' is not a profile's name; "
            "write it as pcietune profile list does; its keys hold where this has none",
            id="path",
        ),
        pytest.param(
            {"child": "extends: off\n"},
            'child.yaml:1:10: expected text, but YAML reads off as false; quote it: "off"',
            id="no text",
        ),
        pytest.param(
            {"child": "extends: other\n", "other": "- a\n"},
            "other.yaml:1:1: expected a mapping",
            id="list",
        ),
        pytest.param(
            {"child": "extends: parent\nlayout: {gpu: 8, gpus: 2}\n"},
            "child.yaml:2:18: unknown key 'gpus'; did you mean 'gpu'?",
            id="key of the child",
        ),
        pytest.param(
            {"child": "extends: other\n", "other": f"{PARENT}colour: red\n"},
            "other.yaml:10:1: unknown key 'colour'; valid: *",
            id="key of the parent",
        ),
        pytest.param(
            {"child": "extends: parent\nroles: {nic: ~}\n"},
            "child.yaml:2:8: missing key 'nic' in 'roles'",
            id="dropped, but needed",
        ),
        pytest.param(
            {"child": "extends: parent\nlayout: {dpu: 1}\n"},
            "child.yaml:2:15: 'dpu' is counted, but is no role here",
            id="contradiction",
        ),
        pytest.param(
            {"child": "extends: parent\nmodes: {vm: {ports: {nic-side: {set: [SrcValid-]}}}}\n"},
            "child.yaml:2:39: SrcValid- contradicts SrcValid+ of {site}/parent.yaml:9",
            id="set contradicts what the parent requires",
        ),
        pytest.param(
            {
                "child": "extends: parent\n"
                "modes: {vm: {ports: {nic-side: {require: [DirectTrans+]}}}}\n"
            },
            "child.yaml:2:43: DirectTrans+ repeats DirectTrans+ of {site}/parent.yaml:9",
            id="requires what the parent sets",
        ),
        pytest.param(
            {
                "child": "extends: other\nlayout: {gpu: 4}\n",
                "other": PARENT.replace("{gpu: 8,", "{gpu: 8, switch-groups: {count: 4, gpu: 2},"),
            },
            "child.yaml:2:15: 4 groups of 2 'gpu' are more than 4 in all",
            id="counts too few for the parent's groups",
        ),
        pytest.param(
            {"child": "extends: parent\nmatch: {place: ~}\n"},
            "child.yaml:2:16: expected text, but YAML reads ~ as nothing; *",
            id="drops what is not there",
        ),
    ],
)
def test_a_complaint_stands_where_the_mistake_is(
    profiles: Profiles, site: Path, files: dict[str, str], complaint: str
) -> None:
    for name, text in files.items():
        (site / f"{name}.yaml").write_text(text)

    with pytest.raises(BadInputError) as refusal:
        profiles.load("child")

    said = str(refusal.value).splitlines()
    wanted = f"{site}/{complaint.replace('{site}', str(site))}"
    assert any(_fits(line, wanted) for line in said), said
    assert [str(each) for each in lint_file(f"{site}/child.yaml", profiles)] == said


@pytest.mark.parametrize(
    ("child", "warning"),
    [
        pytest.param(
            "roles: {nic: {trusted: false}}\n",
            "child.yaml:2:24: warning: DirectTrans+ has no effect: role nic is not trusted "
            "({site}/other.yaml:11)",
            id="trust taken away",
        ),
        pytest.param(
            "modes: {vm: {ports: {nic-side: {require: [SrcValid-]}}}}\n",
            "child.yaml:2:42: warning: SrcValid+ contradicts SrcValid- of nic-side where a port is "
            "at both places ({site}/other.yaml:10)",
            id="against the parent's other place",
        ),
    ],
)
def test_a_warning_stands_in_the_child_where_that_is_what_it_follows_from(
    profiles: Profiles, site: Path, child: str, warning: str
) -> None:
    trusted = PARENT.replace("place: gpu-switch", "place: gpu-switch, trusted: true")
    both = trusted.replace(
        "  vm: {ports: {", "  vm: {ports: {\n    gpu-side: {require: [SrcValid+]},\n    "
    )
    (site / "other.yaml").write_text(both)
    (site / "child.yaml").write_text(f"extends: other\n{child}")

    said = [str(each) for each in lint_file(f"{site}/child.yaml", profiles)]

    assert f"{site}/{warning.replace('{site}', str(site))}" in said, said


def _fits(line: str, wanted: str) -> bool:
    start, star, _ = wanted.partition("*")
    return line.startswith(start) if star else line == wanted


def test_what_extends_a_shipped_profile_is_not_changed_by_the_site(
    tmp_path: Path, site: Path
) -> None:
    shipped = tmp_path / "shipped"
    shipped.mkdir()
    (shipped / "parent.yaml").write_text(PARENT.replace("the parent", "as shipped"))
    (shipped / "child.yaml").write_text("extends: parent\n")
    (site / "ours.yaml").write_text("extends: parent\n")

    profiles = Profiles(HostFiles(tmp_path, recorded=False), shipped)

    child = profiles.load("child")
    assert child.profile.summary == "as shipped"
    assert [parent.origin for parent in child.parents] == [Origin.SHIPPED]
    assert profiles.load("ours").profile.summary == "the parent"
