"""What is learned from a host describes that host, and nothing of how it is set."""

from dataclasses import replace
from pathlib import Path

import pytest
import yaml
from cli.in_process import Pcietune
from trees.config import ENDPOINT, ConfigBuilder
from trees.dump import dump, one_switch_functions
from trees.fabrics import two_switches
from trees.function import Function, downstream_port, gpu, nic, nvswitch, root_port
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.registers.acs import LSPCI_NAMES


def _keep(pcietune: Pcietune, host: TreeHost, *options: str) -> str:
    """Learn a profile, make it the site's own, and return its text."""
    run = pcietune("profile", "learn", "--from", host.root, *options)
    assert (run.exit_code, run.stderr) == (0, "")
    name = run.stdout.partition(".yaml")[0].removeprefix("# ")
    host.put(f"etc/pcietune/profiles.d/{name}.yaml", run.stdout)
    return run.stdout


def _chosen(pcietune: Pcietune, host: TreeHost) -> str:
    run = pcietune("profile", "match", "--from", host.root)
    assert run.exit_code == 0
    return run.stdout.splitlines()[-1].removeprefix("chosen  ")


def test_a_learned_profile_lints_clean_and_describes_its_host(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = two_switches(tmp_path)
    host.add(nvswitch("0000:60:00.0"))
    _keep(pcietune, host)

    file = tmp_path / "etc/pcietune/profiles.d/gpu-server-8.yaml"
    lint = pcietune("profile", "lint", file)
    audit = pcietune("audit", "--from", tmp_path, "--mode", "vm", "--json")

    assert (lint.exit_code, lint.stdout) == (0, "")
    assert _chosen(pcietune, host) == "gpu-server-8"
    layout = {f.id: f.state for f in audit.document().findings if f.id.startswith("layout.")}
    assert {"layout.gpu", "layout.nvswitch", "layout.switch-group", "layout.nic-ports"} <= set(
        layout
    )
    assert set(layout.values()) == {"pass"}


def test_it_says_what_was_found(pcietune: Pcietune, tmp_path: Path) -> None:
    host = two_switches(tmp_path)
    host.add(nvswitch("0000:60:00.0"), nic("0000:44:00.1", below="0000:42:04.0"))

    text = _keep(pcietune, host)

    learned = yaml.safe_load(text)
    assert learned["match"] == {
        "place": None,
        "ids": ["10de:20f3"],
        "dmi": {"product_name": "GPU Server 8"},
    }
    assert learned["roles"]["nic"]["ids"] == ["15b3:101b"]
    assert learned["layout"] == {
        "gpu": 2,
        "nvswitch": 1,
        "switch-groups": {"count": 2, "gpu": 1, "nic": 2},
        "nic-ports": [1, 2],
        "numa-nodes": 1,
    }
    assert "0000:20:01.0/00.0: GPUs 0000:23:00.0 10de:20f3; NICs 0000:24:00.0 15b3:101b" in text
    assert "found, which need not be what should be there" in text


def test_the_acs_and_ats_of_the_host_are_not_learned(pcietune: Pcietune, tmp_path: Path) -> None:
    off = downstream_port("0000:22:04.0", below="0000:21:00.0", acs=(0x005F, 0x0000))
    as_linux_has_it = _keep(pcietune, one_switch(tmp_path / "one"))

    text = _keep(pcietune, one_switch(tmp_path / "other", instead=[off]))

    assert text == as_linux_has_it
    assert "modes" not in yaml.safe_load(text)
    assert not any(name in text for name in LSPCI_NAMES.values())


def test_a_host_whose_switches_differ_is_suspected(pcietune: Pcietune, tmp_path: Path) -> None:
    host = two_switches(tmp_path)
    host.add(
        downstream_port("0000:22:0c.0", below="0000:21:00.0"),
        gpu("0000:26:00.0", below="0000:22:0c.0"),
    )

    text = _keep(pcietune, host)

    assert "The switch groups differ: is one short of a card" in text
    assert yaml.safe_load(text)["layout"]["switch-groups"] == {
        "count": 2,
        "gpu": [1, 2],
        "nic": 2,
    }


def test_what_a_dump_teaches_takes_no_shipped_profiles_place_and_says_which_fits_as_well(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    file = tmp_path / "host.lspci"
    file.write_text(dump(one_switch_functions()))

    text = pcietune("profile", "learn", "--from", file).stdout

    assert text.startswith("# learned.yaml, learned from a host")
    assert "# The profile a800-sxm4-8gpu fits as well, and of two such none is chosen" in text
    assert "# numa-nodes: the dump does not say where all of them are" in text


def test_it_takes_a_profiles_place_only_if_it_is_called_so(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = one_switch(tmp_path)
    (tmp_path / "sys/devices/virtual/dmi/id/product_name").unlink()

    text = _keep(pcietune, host, "--name", "a800-sxm4-8gpu")

    assert "it takes the place of the profile a800-sxm4-8gpu" in text
    assert _chosen(pcietune, host) == "a800-sxm4-8gpu"


def test_a_product_name_is_matched_literally(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    host.put("sys/devices/virtual/dmi/id/product_name", 'A [8] * "Server"? \\ \u00fc')

    _keep(pcietune, host, "--name", "ours")

    assert _chosen(pcietune, host) == "ours"
    host.put("sys/devices/virtual/dmi/id/product_name", "A 8 Server")
    assert _chosen(pcietune, host) == "a800-sxm4-8gpu"


def test_gpus_of_any_vendor_are_learned(pcietune: Pcietune, tmp_path: Path) -> None:
    config = ConfigBuilder("1002:74a1", 0x120000).express(ENDPOINT)
    host = one_switch(tmp_path, instead=[Function("0000:23:00.0", config, below="0000:22:00.0")])

    text = _keep(pcietune, host)

    assert _chosen(pcietune, host) == "gpu-server-8"
    assert yaml.safe_load(text)["roles"]["gpu"] == {"ids": ["1002:74a1"], "classes": ["1200"]}


def test_a_gpu_of_another_kind_is_told_but_has_no_role(pcietune: Pcietune, tmp_path: Path) -> None:
    host = one_switch(tmp_path)
    display = ConfigBuilder("10de:1fb0", 0x030000).express(ENDPOINT)
    host.add(root_port("0000:40:01.0"), Function("0000:41:00.0", display, below="0000:40:01.0"))

    text = _keep(pcietune, host)

    assert "# 0000:41:00.0 10de:1fb0: a GPU of another kind" in text
    assert yaml.safe_load(text)["match"]["ids"] == ["10de:20f3"]


def test_where_no_switch_carries_a_gpu_and_a_nic_the_gpus_are_learned_all_the_same(
    pcietune: Pcietune, tmp_path: Path
) -> None:
    host = TreeHost(tmp_path)
    stray = replace(gpu("0000:21:00.0", below="0000:20:01.0"), attributes={"numa_node": "-1"})
    host.add(root_port("0000:20:01.0"), stray)

    text = _keep(pcietune, host)

    assert "No switch carries a GPU and a NIC" in text
    assert "firmware does not say where all of them are" in text
    assert yaml.safe_load(text)["layout"] == {"gpu": 1}
    assert _chosen(pcietune, host) == "gpu-server-8"


@pytest.mark.parametrize("add_nic", [False, True])
def test_a_host_without_a_gpu_teaches_nothing(
    pcietune: Pcietune, tmp_path: Path, *, add_nic: bool
) -> None:
    host = TreeHost(tmp_path)
    host.add(root_port("0000:20:01.0"))
    if add_nic:
        host.add(nic("0000:24:00.0", below="0000:20:01.0"))

    run = pcietune("profile", "learn", "--from", tmp_path)

    assert (run.exit_code, run.stdout) == (4, "")
    assert "there is no GPU on this host to learn from" in run.stderr


@pytest.mark.parametrize("name", ["a/b", "../ours", "", ".ours", "ours.yaml", "a\nb", " "])
def test_a_name_that_no_profile_can_have_is_refused(
    pcietune: Pcietune, tmp_path: Path, name: str
) -> None:
    one_switch(tmp_path)

    run = pcietune("profile", "learn", "--from", tmp_path, "--name", name)

    assert (run.exit_code, run.stdout) == (4, "")
    assert f"a profile cannot be called {name!r}" in run.stderr
