import tempfile
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from trees.config import ENDPOINT, ConfigBuilder
from trees.fabrics import cascade
from trees.function import Function, downstream_port, gpu, nic, root_port
from trees.machines import one_switch
from tune.ats_hosts import OFF, ON, behind
from tune.judged import GPU, GPU_PORT, NIC, NIC_PORT, ROOT_PORT
from tune.paths_hosts import pair, undescribed, viewed

from pcietune.address import PciAddress
from pcietune.model.finding import RemedyKind
from pcietune.model.profile import ModeName
from pcietune.model.trace import Outcome
from pcietune.tune.paths.change import Cure
from pcietune.tune.paths.pairs import Look
from pcietune.tune.paths.view import Pair

UP = "0000:21:00.0"
VMS = Look(ModeName.VM)
BARE_METAL = Look(ModeName.BAREMETAL)


def cures(found: Pair) -> tuple[Cure, Cure]:
    assert found.cures is not None
    return found.cures


def named(cure: Cure) -> list[tuple[RemedyKind, str | None, list[str]]]:
    """Return kind, port and controls of each change."""
    return [
        (c.kind, None if c.port is None else str(c.port.address), [str(w) for w in c.wants])
        for c in cure.changes
    ]


def test_a_vms_nic_with_ats_needs_directtrans_at_the_port_above_it(tmp_path: Path) -> None:
    forth, _ = cures(pair(viewed(one_switch(tmp_path), ModeName.VM), NIC, GPU))

    assert named(forth) == [(RemedyKind.REGISTER, NIC_PORT, ["DirectTrans+"])]


def test_in_a_cascade_directtrans_is_needed_where_the_ways_part(tmp_path: Path) -> None:
    view = viewed(cascade(tmp_path), ModeName.VM)

    assert named(cures(pair(view, "NIC0", "GPU0"))[0])[0][1] == "0000:24:04.0"
    assert named(cures(pair(view, "NIC0", "GPU1"))[0])[0][1] == "0000:22:00.0"


def test_of_ats_in_firmware_and_directtrans_the_firmware_comes_first(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[nic(NIC, below=NIC_PORT, ats=None)])
    forth, _ = cures(pair(viewed(tree, ModeName.VM), NIC, GPU))

    assert [kind for kind, _, _ in named(forth)] == [RemedyKind.FIRMWARE, RemedyKind.REGISTER]
    assert "pcietune firmware --set --device 0000:24:00.0" in forth.changes[0].command


def test_a_gpu_without_ats_has_no_direct_way_to_a_nic_in_a_vm(tmp_path: Path) -> None:
    _, back = cures(pair(viewed(one_switch(tmp_path), ModeName.VM), NIC, GPU))

    assert back.changes == ()
    assert "it has no ATS capability" in str(back.obstacle)


def test_a_port_without_directtrans_has_no_cure(tmp_path: Path) -> None:
    without = downstream_port(NIC_PORT, below=UP, acs=(0x1F, 0x1D))
    tree = one_switch(tmp_path, instead=[without])
    forth, _ = cures(pair(viewed(tree, ModeName.VM), NIC, GPU))

    assert forth.obstacle == f"{NIC_PORT} does not implement DirectTrans"


@pytest.mark.parametrize("look", [VMS, BARE_METAL])
def test_two_without_a_common_switch_have_no_cure(tmp_path: Path, look: Look) -> None:
    tree = one_switch(tmp_path)
    tree.add(root_port("0000:40:01.0"), nic("0000:41:00.0", below="0000:40:01.0"))
    forth, _ = cures(pair(undescribed(tree, look), "0000:41:00.0", GPU))

    assert "no switch in common" in str(forth.obstacle)


def test_a_port_that_blocks_translation_requests_must_let_them_pass(tmp_path: Path) -> None:
    blocking = root_port(ROOT_PORT, acs=(0x5F, 0x1F))
    tree = one_switch(tmp_path, instead=[blocking])
    forth, _ = cures(pair(viewed(tree, ModeName.VM), NIC, GPU))

    assert (RemedyKind.KERNEL_ARGS, ROOT_PORT, ["TransBlk-"]) in named(forth)


def test_a_vm_by_iommufd_needs_its_peers_mapped(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, driver="vfio-pci")
    found = pair(undescribed(tree, Look(mapped={PciAddress.parse(NIC): False})), NIC, GPU)

    assert "Linux 7.0" in cures(found)[0].changes[-1].command


def test_a_translating_domain_on_bare_metal_needs_identity_though_acs_is_clear(
    tmp_path: Path,
) -> None:
    clear = [downstream_port(a, below=UP, acs=(0x5F, 0)) for a in (GPU_PORT, NIC_PORT)]
    without = nic(NIC, below=NIC_PORT, ats=OFF)
    tree = one_switch(tmp_path, instead=[*clear, without])
    found = pair(undescribed(tree, BARE_METAL), NIC, GPU)

    assert found.now.forth.write.outcome is Outcome.VIA_ROOT_COMPLEX
    (change,) = cures(found)[0].changes
    assert "iommu=pt" in change.command


def test_on_bare_metal_redirection_is_turned_off_by_the_command_line(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, iommu=False)
    forth, _ = cures(pair(undescribed(tree, BARE_METAL), NIC, GPU))

    # Of what the NIC writes, CmpltRedir decides nothing, nor does the port above the GPU.
    assert named(forth) == [(RemedyKind.KERNEL_ARGS, NIC_PORT, ["ReqRedir-"])]
    assert forth.changes[0].command.startswith("pcietune kernel-args --mode baremetal,")
    assert "'pci=disable_acs_redir=0000:20:01.0/00.0/04.0'" in forth.changes[0].command


def test_the_word_for_the_command_line_keeps_the_ports_that_are_in_it(tmp_path: Path) -> None:
    """Of two such words the kernel keeps the last (disable_acs_redir_param, drivers/pci/pci.c)."""
    tree = one_switch(tmp_path, iommu=False)
    tree.put("proc/cmdline", "ro pci=disable_acs_redir=0000:00:01.0 pci=nommconf")
    forth, _ = cures(pair(undescribed(tree, BARE_METAL), NIC, GPU))

    word = "'pci=disable_acs_redir=0000:00:01.0;0000:20:01.0/00.0/04.0'"
    assert word in forth.changes[0].command


EGRESS = 0x0020
ACS_VECTOR, PORT_NUMBER = 0x108, 0x57  # of every port in the trees: see trees.config


@pytest.mark.parametrize(
    ("nic_port", "gpu_port", "wanted"),
    [
        (EGRESS, 0, ["EgressCtrl-"]),
        (EGRESS | 0x0C, 0, ["ReqRedir-", "EgressCtrl-"]),
        (0x04, EGRESS, ["ReqRedir-"]),  # the GPU's port decides of what the GPU asks
        (0x0C, EGRESS | 0x0C, ["ReqRedir-"]),
    ],
)
def test_no_more_is_turned_off_than_is_in_the_requesters_way(
    tmp_path: Path, nic_port: int, gpu_port: int, wanted: list[str]
) -> None:
    words = {NIC_PORT: nic_port, GPU_PORT: gpu_port}
    ports = []
    for number, (port, word) in enumerate(words.items()):
        made = downstream_port(port, below=UP, acs=(0x087F, word))  # a vector of 8 bits
        made.config.put(PORT_NUMBER, bytes([number])).put(ACS_VECTOR, b"\xff")
        ports.append(made)
    tree = one_switch(tmp_path, iommu=False, instead=ports)
    forth, _ = cures(pair(undescribed(tree, BARE_METAL), NIC, GPU))

    assert named(forth) == [(RemedyKind.KERNEL_ARGS, NIC_PORT, wanted)]


@pytest.mark.parametrize("domain", ["DMA", "identity"])
def test_without_a_duty_no_change_is_named_for_the_hosts_own(tmp_path: Path, domain: str) -> None:
    tree = one_switch(tmp_path)
    for group in range(6):
        tree.group_type(group, domain)

    for cure in cures(pair(undescribed(tree), NIC, GPU)):
        assert cure.changes == ()
        assert "--mode" in str(cure.to_know)


def test_on_bare_metal_nothing_is_cleared_where_directtrans_shows_vms(tmp_path: Path) -> None:
    opened = downstream_port(NIC_PORT, below=UP, acs=(0x5F, 0x5D))
    tree = one_switch(tmp_path, iommu=False, instead=[opened])

    for cure in cures(pair(undescribed(tree, BARE_METAL), NIC, GPU)):
        assert cure.changes == ()
        assert f"DirectTrans+ at {NIC_PORT} is set for VMs" in str(cure.obstacle)


@pytest.mark.parametrize("word", ["vfio-pci.ids=10de:20f3", "vfio_pci.ids=8086:1,10DE:20F3"])
def test_on_bare_metal_nothing_is_cleared_above_what_vfio_pci_is_to_take(
    tmp_path: Path, word: str
) -> None:
    tree = one_switch(tmp_path, iommu=False)  # with a GPU 10de:20f3
    tree.put("proc/cmdline", f"ro {word}")
    forth, _ = cures(pair(undescribed(tree, BARE_METAL), NIC, GPU))

    assert forth.changes == ()
    assert "vfio-pci.ids=" in str(forth.obstacle)


@pytest.mark.parametrize("look", [Look(), VMS, BARE_METAL])
def test_nothing_is_opened_from_a_vms_function_to_the_hosts_own(tmp_path: Path, look: Look) -> None:
    drive = Function(
        NIC, ConfigBuilder("144d:a80a", 0x010802).express(ENDPOINT), below=NIC_PORT, driver="nvme"
    )
    of_a_vm = Function(
        GPU,
        ConfigBuilder("10de:2330", 0x030200).express(ENDPOINT).ats(*ON),
        below=GPU_PORT,
        driver="vfio-pci",
    )
    found = pair(undescribed(one_switch(tmp_path, instead=[drive, of_a_vm]), look), NIC, GPU)
    forth, back = cures(found)

    assert forth.changes == back.changes == ()
    assert f"VFIO relies on the isolation below {UP}" in str(forth.obstacle)
    assert f"{NIC} is not given to VMs" in str(back.obstacle)


def test_of_what_is_unknown_no_change_is_named_but_what_to_read(tmp_path: Path) -> None:
    clear = [downstream_port(a, below=UP, acs=(0x5F, 0)) for a in (GPU_PORT, NIC_PORT)]
    tree = one_switch(tmp_path, instead=[*clear, nic(NIC, below=NIC_PORT, ats=OFF)])
    for group in range(6):
        (tree.root / f"sys/kernel/iommu_groups/{group}/type").unlink()
    found = pair(undescribed(tree, BARE_METAL), NIC, GPU)

    assert found.now.forth.write.outcome is Outcome.UNKNOWN
    assert cures(found)[0].changes == ()
    assert "/sys/kernel/iommu_groups" in str(cures(found)[0].to_know)


def test_every_command_for_vms_names_the_mode(tmp_path: Path) -> None:
    blocking = root_port(ROOT_PORT, acs=(0x5F, 0x1F))
    clear = downstream_port(NIC_PORT, below=UP, acs=(0x5F, 0))
    tree = one_switch(tmp_path, instead=[blocking, clear])
    forth, _ = cures(pair(undescribed(tree, VMS), NIC, GPU))

    commands = [change.command for change in forth.changes]
    assert len(commands) == 3
    assert all(c.startswith("pcietune ") and "--mode vm" in c for c in commands)
    assert commands[-1] == "pcietune plan --mode vm; pcietune apply --mode vm"


def test_redirection_stays_where_vfio_has_anything_below_the_switch(tmp_path: Path) -> None:
    tree = one_switch(tmp_path, instead=[gpu(GPU, below=GPU_PORT, driver="vfio-pci")])
    forth, _ = cures(pair(undescribed(tree), NIC, GPU))

    assert forth.changes == ()
    assert f"VFIO relies on the isolation below {UP}" in str(forth.obstacle)


def test_what_is_direct_needs_nothing(tmp_path: Path) -> None:
    opened = downstream_port(NIC_PORT, below=UP, acs=(0x5F, 0x5D))
    tree = one_switch(tmp_path, instead=[opened])

    assert cures(pair(viewed(tree, ModeName.VM), NIC, GPU))[0] == Cure()


def test_on_a_host_of_vms_no_redirection_is_turned_off_for_the_hosts_own(tmp_path: Path) -> None:
    others = [
        Function(GPU, ConfigBuilder("10de:2330", 0x030200).express(ENDPOINT), below=GPU_PORT),
        nic(NIC, below=NIC_PORT),
    ]
    view = viewed(one_switch(tmp_path, instead=others), ModeName.VM)

    forth, back = cures(pair(view, NIC, GPU))
    assert forth.changes == back.changes == ()


def test_guests_that_nothing_keeps_apart_need_redirection_first(tmp_path: Path) -> None:
    clear = [downstream_port(a, below=UP, acs=(0x5F, 0)) for a in (GPU_PORT, NIC_PORT)]
    fitted = nic(NIC, below=NIC_PORT, ats=OFF)
    forth, _ = cures(
        pair(undescribed(one_switch(tmp_path, instead=[*clear, fitted]), VMS), NIC, GPU)
    )

    assert named(forth)[0] == (RemedyKind.KERNEL_ARGS, NIC_PORT, ["ReqRedir+"])


def test_behind_an_iommu_that_may_answer_with_guest_addresses_nothing_is_opened(
    tmp_path: Path,
) -> None:
    tree = one_switch(tmp_path)
    unit = "sys/devices/platform/soc/iommu/riscv-iommu@3010000"
    (tree.root / unit).mkdir(parents=True)
    tree.link("sys/class/iommu/riscv-iommu@3010000", unit)
    forth, _ = cures(pair(undescribed(behind(tree, "riscv-iommu@3010000"), VMS), NIC, GPU))

    assert "DirectTrans must stay off" in str(forth.obstacle)


@dataclass(frozen=True)
class Made:
    """A host of one switch that a property is tried on.

    Attributes:
        words: ACS Control by port.
        capable: ACS Capability of all ports, without P2P Egress Control.
        ats: Of the NIC.
        domain: Type of all groups.
    """

    words: Mapping[str, int]
    capable: int
    ats: tuple[int, int] | None
    domain: str

    def forth(self, look: Look) -> tuple[Outcome, Cure]:
        """Return where the NIC's writes to the GPU go, and what makes them direct."""
        with tempfile.TemporaryDirectory() as root:
            ports: list[Function] = [
                root_port(ROOT_PORT, acs=(self.capable, self.words[ROOT_PORT]))
            ]
            for address in (GPU_PORT, NIC_PORT):
                acs = (self.capable, self.words[address])
                ports.append(downstream_port(address, below=UP, acs=acs))
            fitted = nic(NIC, below=NIC_PORT, ats=self.ats)
            tree = one_switch(Path(root), instead=[*ports, fitted])
            for group in range(6):
                tree.group_type(group, self.domain)
            found = pair(undescribed(tree, look), NIC, GPU)
            return found.now.forth.write.outcome, cures(found)[0]

    def cured(self, cure: Cure) -> "Made":
        """Return the host once all that is named was done."""
        words = dict(self.words)
        ats, domain = self.ats, self.domain
        for change in cure.changes:
            for want in change.wants:
                bit = want.control.value
                address = str(change.port and change.port.address)
                words[address] = words[address] | bit if want.on else words[address] & ~bit
            ats = ON if change.text.startswith("ATS") else ats
            domain = "identity" if "iommu=pt" in change.command else domain
        return replace(self, words=words, ats=ats, domain=domain)


@st.composite
def hosts(draw: st.DrawFn) -> Made:
    capable = draw(st.sampled_from([0x5F, 0x1F, 0x5D, 0x1D]))
    words = {port: draw(st.integers(0, 0x7F)) & capable for port in (ROOT_PORT, GPU_PORT, NIC_PORT)}
    domain = draw(st.sampled_from(["DMA", "identity"]))
    return Made(words, capable, draw(st.sampled_from([None, OFF, ON])), domain)


@pytest.mark.parametrize("look", [VMS, BARE_METAL])
@settings(max_examples=60, deadline=None)
@given(made=hosts())
def test_what_is_named_makes_the_writes_direct_when_it_is_done(look: Look, made: Made) -> None:
    outcome, cure = made.forth(look)

    if cure.changes:
        assert outcome is not Outcome.DIRECT
        assert made.cured(cure).forth(look)[0] is Outcome.DIRECT
    else:
        assert (outcome is Outcome.DIRECT) == (cure == Cure())


@settings(max_examples=60, deadline=None)
@given(made=hosts())
def test_where_vms_are_served_no_redirection_is_ever_named_as_to_be_turned_off(made: Made) -> None:
    _, cure = made.forth(VMS)

    off = {str(want) for change in cure.changes for want in change.wants if not want.on}
    assert off <= {"TransBlk-"}
