"""Which profile is chosen, and what the profile commands print."""

import json
import re
from pathlib import Path

import pytest
import yaml
from cli.in_process import Pcietune
from trees.config import ENDPOINT, ConfigBuilder
from trees.function import Function, nic, root_port
from trees.host import TreeHost
from trees.machines import one_switch

SHIPPED = Path(__file__).parents[2] / "profiles"


def test_list_names_every_profile_and_who_wrote_it(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    ours = (SHIPPED / "gpu-rdma.yaml").read_text()
    host.put("etc/pcietune/profiles.d/gpu-rdma.yaml", ours)
    host.put("etc/pcietune/profiles.d/ours.yaml", ours)

    run = pcietune("profile", "list", "--from", tmp_path)

    listed = [line.split()[:2] for line in run.stdout.splitlines()]
    names = {file.stem for file in SHIPPED.glob("*.yaml")} | {"ours"}
    assert listed == [
        [name, "site" if name in ("gpu-rdma", "ours") else "shipped"] for name in sorted(names)
    ]
    replacing = [line for line in run.stdout.splitlines() if "in place of the shipped" in line]
    assert [line.split()[0] for line in replacing] == ["gpu-rdma"]


def test_show_prints_the_file_as_it_is(pcietune: Pcietune) -> None:
    run = pcietune("profile", "show", "gpu-rdma")

    assert (run.exit_code, run.stdout) == (0, (SHIPPED / "gpu-rdma.yaml").read_text())


def test_match_says_why_and_which_is_chosen(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("profile", "match", "--from", tmp_path)

    assert run.exit_code == 0
    fits, other = (
        next(line for line in run.stdout.splitlines() if f"fit{ending}  {name}: " in line)
        for name, ending in (("a800-sxm4-8gpu", "s"), ("h200-sxm5-8gpu", ""))
    )
    assert fits.startswith("fits  a800-sxm4-8gpu: 1 x 10de:20f3")
    assert other == "does not fit  h200-sxm5-8gpu: no function 10de:2335"
    assert run.stdout.splitlines()[-1] == "chosen  a800-sxm4-8gpu"


def test_match_says_why_another_that_fits_is_not_chosen(pcietune: Pcietune, tmp_path: Path) -> None:
    one_switch(tmp_path)

    run = pcietune("profile", "match", "--from", tmp_path)

    (generic,) = (line for line in run.stdout.splitlines() if "  gpu-rdma: " in line)
    assert generic == (
        "fits  gpu-rdma: 1 switch carries a GPU and a NIC; not chosen: generic, which counts only "
        "where no other fits, and a800-sxm4-8gpu does"
    )


def test_match_prints_json_where_none_is_chosen_too(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    ours = (SHIPPED / "a800-sxm4-8gpu.yaml").read_text()
    host.put("etc/pcietune/profiles.d/ours.yaml", ours)

    run = pcietune("profile", "match", "--from", tmp_path, "--json")

    document = json.loads(run.stdout)
    fitting = {each["name"]: each for each in document["profiles"] if each["fits"]}
    assert run.exit_code == 9
    assert "a800-sxm4-8gpu and ours match this host equally well" in run.stderr
    assert (document["chosen"], document["nothing_here"]) == (None, False)
    assert fitting["ours"]["origin"] == "site"
    assert fitting["ours"]["why_not_chosen"] == "fits no better than a800-sxm4-8gpu"


def test_match_chooses_none_where_there_is_no_gpu(pcietune: Pcietune, tmp_path: Path) -> None:
    TreeHost(tmp_path).add(root_port("0000:20:01.0"))

    run = pcietune("profile", "match", "--from", tmp_path)

    assert run.exit_code == 0
    assert run.stdout.splitlines()[-1] == (
        "There is no GPU on this host: nothing here for pcietune."
    )


def test_show_merges_a_profile_with_what_it_extends(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put("etc/pcietune/profiles.d/ours.yaml", "extends: gpu-rdma\nsummary: Ours\ngeneric: ~")

    as_is = pcietune("profile", "show", "ours", "--from", tmp_path)
    merged = pcietune("profile", "show", "ours", "--resolved", "--from", tmp_path)

    generic = yaml.safe_load((SHIPPED / "gpu-rdma.yaml").read_text())
    del generic["generic"]
    assert as_is.stdout == "extends: gpu-rdma\nsummary: Ours\ngeneric: ~\n"
    assert yaml.safe_load(merged.stdout) == generic | {"summary": "Ours"}


def test_a_merged_profile_means_what_the_two_files_mean(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put(
        "etc/pcietune/profiles.d/ours.yaml",
        'extends: gpu-rdma\ngeneric: false\nmatch: {place: ~, ids: ["10de:20f3"]}',
    )
    merged = pcietune("profile", "show", "ours", "--resolved", "--from", tmp_path).stdout
    (tmp_path / "merged.yaml").write_text(merged)

    one, other = (
        pcietune("audit", "--from", tmp_path, "--mode", "vm", "--json", "--profile", named)
        for named in ("ours", f"{tmp_path}/merged.yaml")
    )

    assert one.document().findings == other.document().findings
    assert (one.exit_code, one.stderr) == (other.exit_code, other.stderr)


def test_lint_finds_what_a_profile_extends_beside_it(pcietune: Pcietune, tmp_path: Path) -> None:
    (tmp_path / "parent.yaml").write_text((SHIPPED / "gpu-rdma.yaml").read_text())
    child = tmp_path / "child.yaml"
    child.write_text("extends: parent\nlayout: {gpus: 8}\n")

    run = pcietune("profile", "lint", child)

    assert run.exit_code == 4
    assert run.stdout == f"{child}:2:10: unknown key 'gpus'; did you mean 'gpu'?\n"


def test_lint_checks_the_files_behind_one_that_is_missing(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    broken = tmp_path / "broken.yaml"
    broken.write_text("version: 2\n")

    run = pcietune("profile", "lint", SHIPPED / "gpu-rdma.yaml", tmp_path / "no.yaml", broken)

    assert run.exit_code == 4
    assert f"{broken}:1:10: 2 is not valid here" in run.stdout
    assert f"{tmp_path}/no.yaml: no such file" in run.stderr


@pytest.mark.parametrize(
    ("options", "identity"),
    [([], "urn:pcietune:profile:1"), (["--settings"], "urn:pcietune:settings:1")],
)
def test_schema_prints_one_json_document(
    pcietune: Pcietune, options: list[str], identity: str
) -> None:
    run = pcietune("profile", "schema", *options)

    assert run.exit_code == 0
    assert json.loads(run.stdout)["$id"] == identity


def test_lint_prints_complaints_as_its_result(pcietune: Pcietune, tmp_path: Path) -> None:
    file = tmp_path / "ours.yaml"
    file.write_text((SHIPPED / "gpu-rdma.yaml").read_text().replace("summary:", "sumary:"))

    run = pcietune("profile", "lint", file)

    assert run.exit_code == 4
    assert f"{file}:5:1: unknown key 'sumary'; did you mean 'summary'?" in run.stdout


@pytest.mark.parametrize("profile", sorted(SHIPPED.glob("*.yaml")), ids=lambda file: file.stem)
def test_lint_has_nothing_to_say_of_a_shipped_profile(pcietune: Pcietune, profile: Path) -> None:
    run = pcietune("profile", "lint", profile)

    assert (run.exit_code, run.stdout) == (0, "")
    assert run.stderr == f"pcietune: nothing is wrong or doubtful in {profile}\n"


def test_topo_shows_a_host_that_no_profile_describes_without_roles(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    config = ConfigBuilder("10de:2331", 0x030200).express(ENDPOINT)
    TreeHost(tmp_path).add(
        root_port("0000:20:01.0"), Function("0000:23:00.0", config, below="0000:20:01.0")
    )

    run = pcietune("topo", "--from", tmp_path)

    assert run.exit_code == 0
    assert "0000:23:00.0  10de:2331  class 0302" in run.stdout
    assert run.stderr == (
        "pcietune: no profile matches this host's GPUs, 10de:2331 (accelerator-rdma: no switch "
        "carries both a GPU and a NIC by its roles; gpu-rdma: no switch carries both a GPU and a "
        "NIC by its roles): no roles are shown\n"
    )


def test_gpus_without_a_profile_exit_9(pcietune: Pcietune, tmp_path: Path) -> None:
    host = TreeHost(tmp_path)
    config = ConfigBuilder("10de:2331", 0x030200).express(ENDPOINT)
    host.add(root_port("0000:20:01.0"), Function("0000:23:00.0", config, below="0000:20:01.0"))

    run = pcietune("audit", "--from", tmp_path, "--mode", "vm")

    assert run.exit_code == 9
    assert run.stderr == (
        "pcietune: no profile matches this host's GPUs, 10de:2331 (accelerator-rdma: no switch "
        "carries both a GPU and a NIC by its roles; gpu-rdma: no switch carries both a GPU and a "
        "NIC by its roles)\n"
        "  try: where no switch carries both a GPU and a NIC, ACS of switches decides nothing: "
        "look at the IOMMU's mode and at host bridges between peers; else write a profile "
        "(pcietune profile match says of each why it does not fit)\n"
    )


def test_two_profiles_that_match_equally_exit_9_with_both_names(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    text = pcietune("profile", "show", "gpu-rdma").stdout
    specific = re.sub("(?m)^generic:.*$", "", text).replace(
        "place: switch-group", 'ids: ["10de:20f3"]'
    )
    host.put("etc/pcietune/profiles.d/ours.yaml", specific)
    host.put("etc/pcietune/profiles.d/theirs.yaml", specific)
    host.put("etc/pcietune/profiles.d/a800-sxm4-8gpu.yaml", text)

    run = pcietune("audit", "--from", tmp_path, "--mode", "vm")

    assert run.exit_code == 9
    assert "the profiles ours and theirs match this host equally well" in run.stderr


@pytest.mark.parametrize("command", ["status", "audit", "plan"])
def test_a_host_without_a_gpu_is_nothing_for_pcietune(
    pcietune: Pcietune, tmp_path: Path, command: str
) -> None:
    TreeHost(tmp_path).add(root_port("0000:20:01.0"), nic("0000:24:00.0", below="0000:20:01.0"))

    run = pcietune(command, "--from", tmp_path, "--mode", "vm")

    assert run.exit_code == 0
    assert "There is no GPU on this host: nothing here for pcietune." in run.stdout
