"""What NVIDIA's driver tells is kept for the time when VFIO has the GPUs, and recorded."""

import json
import tarfile
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from threading import Barrier

import pytest
from host.hindered import as_nobody, files_of_at_most
from host.nvidia.fake_nvidia_smi import FakeNvidiaSmi, Gpu, query
from trees.function import gpu
from trees.host import TreeHost
from trees.machines import one_switch

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, ConfigSpaceError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.host.nvidia.kept import keep_nvidia, read_nvidia
from pcietune.host.nvidia.learning import learn_and_keep
from pcietune.host.nvidia.tool import NvidiaSmi
from pcietune.host.recordings.recording import record
from pcietune.host.source import open_host
from pcietune.host.sysfs import SysfsHost
from pcietune.model.nvidia_gpu import NvidiaGpu, NvidiaGpus
from pcietune.report.nvidia import nvidia_lines

FIRST, SECOND = PciAddress.parse("0000:23:00.0"), PciAddress.parse("0000:26:00.0")


@pytest.fixture
def tree(tmp_path: Path) -> TreeHost:
    """Return a host with a GPU that NVIDIA's driver has, and one that it has not."""
    tree = one_switch(tmp_path / "host", driver="nvidia")
    tree.add(replace(gpu("0000:26:00.0"), driver="vfio-pci"))
    (tree.root / "var/lib").mkdir(parents=True)
    return tree


def _live(tree: TreeHost) -> SysfsHost:
    return SysfsHost(HostFiles(tree.root, recorded=False))


def _kept(tree: TreeHost) -> NvidiaGpus:
    kept = read_nvidia(HostFiles(tree.root, recorded=False))
    assert kept is not None
    return kept


def test_what_the_driver_tells_is_kept_by_location_and_id(tree: TreeHost, tmp_path: Path) -> None:
    fake = FakeNvidiaSmi(tmp_path / "bin", query(Gpu()), confidential="CC status: OFF\n")

    told = learn_and_keep(_live(tree), str(fake.directory))

    [function] = [each for each in _live(tree).functions() if each.address == FIRST]
    boot_id = _live(tree).platform().boot_id
    assert boot_id is not None
    known = NvidiaGpu("0000:20:01.0/00.0/00.0/00.0", function.id, 4, mig=False, boot_id=boot_id)
    assert told == NvidiaGpus((known,), confidential=False)
    assert _kept(tree) == told
    assert dict(told.by_address(_live(tree).functions())) == {FIRST: known}


def test_no_uuid_and_no_serial_number_is_kept(tree: TreeHost, tmp_path: Path) -> None:
    learn_and_keep(_live(tree), str(FakeNvidiaSmi(tmp_path / "bin", query(Gpu())).directory))

    text = (tree.root / "var/lib/pcietune/nvidia.json").read_text()
    assert "GPU-" not in text
    assert "1654523003308" not in text
    assert set(json.loads(text)["gpus"][0]) == {"location", "id", "module", "mig", "boot_id"}


def test_gpus_that_vfio_has_meanwhile_stay_known(tree: TreeHost, tmp_path: Path) -> None:
    both = query(Gpu(module="4"), Gpu("00000000:26:00.0", module="2"))
    learn_and_keep(_live(tree), str(FakeNvidiaSmi(tmp_path / "one", both).directory))

    later = FakeNvidiaSmi(tmp_path / "two", query(Gpu(module="4", mig="Enabled")))
    learn_and_keep(_live(tree), str(later.directory))

    known = _kept(tree).by_address(_live(tree).functions())
    assert [(known[each].module, known[each].mig) for each in (FIRST, SECOND)] == [
        (4, True),
        (2, False),
    ]


def test_two_that_learn_at_once_forget_nothing_of_each_other(tree: TreeHost) -> None:
    files = HostFiles(tree.root, recorded=False)
    gpus = [NvidiaGpu(f"0000:20:{n:02x}.0", "10de:20b2", n, None, None) for n in range(1, 9)]
    together = Barrier(len(gpus))

    def learn(gpu: NvidiaGpu) -> None:
        together.wait()
        keep_nvidia(files, NvidiaGpus((gpu,)))

    with ThreadPoolExecutor(len(gpus)) as pool:
        list(pool.map(learn, gpus))

    assert sorted(each.location for each in _kept(tree).gpus) == [each.location for each in gpus]


def test_another_gpu_in_the_same_place_is_not_known(tree: TreeHost, tmp_path: Path) -> None:
    learn_and_keep(_live(tree), str(FakeNvidiaSmi(tmp_path / "bin", query(Gpu())).directory))
    functions = [replace(each, device=0x1234) for each in _live(tree).functions()]

    assert _kept(tree).by_address(functions) == {}


def test_nvidia_smi_is_not_run_where_its_driver_has_nothing(tmp_path: Path) -> None:
    tree = one_switch(tmp_path / "host", driver="vfio-pci")
    fake = FakeNvidiaSmi(tmp_path / "bin", query(Gpu()))

    with pytest.raises(BadInputError, match="has none of this host's GPUs") as raised:
        learn_and_keep(_live(tree), str(fake.directory))

    assert raised.value.hint is not None
    assert "pcietune guest plan --modules FILE" in raised.value.hint
    assert fake.calls() == []


def test_a_host_without_nvidias_gpus_is_told_so(tmp_path: Path) -> None:
    tree = TreeHost(tmp_path)

    with pytest.raises(BadInputError, match="this host has no GPU of NVIDIA's"):
        learn_and_keep(_live(tree), "")


def test_a_recording_has_no_driver(tree: TreeHost) -> None:
    recorded = SysfsHost(HostFiles(tree.root, recorded=True))

    with pytest.raises(BadInputError, match="a recorded host has none"):
        learn_and_keep(recorded, "")


def test_without_nvidia_smi_that_is_said(tree: TreeHost, tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="nvidia-smi is not on PATH"):
        learn_and_keep(_live(tree), str(tmp_path))


def test_what_nvidia_smi_complains_of_is_told(tree: TreeHost, tmp_path: Path) -> None:
    said = "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver.\nMore.\n"
    fake = FakeNvidiaSmi(tmp_path / "bin", said, code=9)

    with pytest.raises(ConfigSpaceError, match="NVIDIA-SMI has failed because") as raised:
        learn_and_keep(_live(tree), str(fake.directory))

    assert "More" not in str(raised.value)
    assert raised.value.hint == "try it by hand: nvidia-smi -q -x"
    assert not (tree.root / "var/lib/pcietune").exists()


def test_nvidia_smi_that_hangs_is_stopped(tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\nexec sleep 60\n")
    program.chmod(0o755)

    with pytest.raises(ConfigSpaceError, match="and was stopped"):
        NvidiaSmi(str(program), 0.1).gpus()


def test_nvidia_smi_that_cannot_be_run_is_told(tmp_path: Path) -> None:
    with pytest.raises(ConfigSpaceError, match="cannot be run: No such file or directory"):
        NvidiaSmi(str(tmp_path / "nvidia-smi")).gpus()


def test_a_driver_without_confidential_computing_tells_nothing_of_it(tmp_path: Path) -> None:
    program = tmp_path / "nvidia-smi"
    program.write_text("#!/bin/sh\necho Not supported; exit 3\n")
    program.chmod(0o755)

    assert NvidiaSmi(str(program)).confidential() is None


def test_a_recording_carries_what_was_learnt(tree: TreeHost, tmp_path: Path) -> None:
    fake = FakeNvidiaSmi(tmp_path / "bin", query(Gpu()), confidential="CC status: ON\n")
    learn_and_keep(_live(tree), str(fake.directory))
    archive = tmp_path / "host.tar"

    record(_live(tree), archive)

    with open_host([archive]) as host:
        recorded = read_nvidia(host.files)
    assert recorded == _kept(tree)
    assert recorded is not None
    assert recorded.confidential is True


def test_a_host_that_learnt_nothing_knows_nothing(tree: TreeHost, tmp_path: Path) -> None:
    archive = tmp_path / "host.tar"
    record(_live(tree), archive)

    assert read_nvidia(HostFiles(tree.root, recorded=False)) is None
    with tarfile.open(archive) as tar:
        assert "var/lib/pcietune/nvidia.json" not in tar.getnames()


@pytest.mark.parametrize("text", ["", "{", '{"gpus": [{"location": 1}], "confidential": null}'])
def test_a_broken_file_is_told_of_and_written_anew(
    tree: TreeHost, tmp_path: Path, text: str
) -> None:
    file = tree.put("var/lib/pcietune/nvidia.json", text)

    with pytest.raises(BadInputError, match="is broken") as raised:
        _kept(tree)

    assert raised.value.hint is not None
    assert "pcietune record --nvidia FILE" in raised.value.hint
    learn_and_keep(_live(tree), str(FakeNvidiaSmi(tmp_path / "bin", query(Gpu())).directory))
    assert len(_kept(tree).gpus) == 1
    assert file.stat().st_mode & 0o777 == 0o644


def test_a_full_disk_is_told_and_leaves_no_half_a_file(tree: TreeHost) -> None:
    files = HostFiles(tree.root, recorded=False)

    with files_of_at_most(8), pytest.raises(NotPermittedError, match="cannot keep what NVIDIA"):
        keep_nvidia(files, NvidiaGpus())

    assert read_nvidia(files) is None


def test_what_this_user_may_not_read_is_told(tree: TreeHost) -> None:
    files = HostFiles(tree.root, recorded=False)
    keep_nvidia(files, NvidiaGpus())
    (tree.root / "var/lib/pcietune/nvidia.json").chmod(0)
    (tree.root / "var").chmod(0o700)

    with as_nobody(), pytest.raises(NotPermittedError, match=r"nvidia\.json: Permission denied"):
        read_nvidia(files)


def test_what_was_learnt_is_told_a_line_for_each_gpu(tree: TreeHost) -> None:
    functions = [each for each in _live(tree).functions() if each.address in {FIRST, SECOND}]
    told = NvidiaGpus(
        (
            NvidiaGpu(functions[0].location, functions[0].id, 4, mig=False, boot_id=None),
            NvidiaGpu(functions[1].location, functions[1].id, None, mig=None, boot_id=None),
        ),
        confidential=None,
    )

    assert nvidia_lines(told, functions) == [
        "0000:23:00.0: module 4, MIG off",
        "0000:26:00.0: no module id of its own, MIG not known",
        "confidential computing: not known",
    ]
