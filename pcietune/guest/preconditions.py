"""What has to hold of the VM itself for what is wanted of it."""

from collections.abc import Iterator, Sequence

from pcietune.errors import BadInputError
from pcietune.guest.choice.choice import Choice
from pcietune.guest.kinds import Backend
from pcietune.guest.wish import Wish
from pcietune.model.function import PciFunction

_NVIDIA = 0x10DE
_DISPLAY = 0x03  # base class
_FIRST_TURING = 0x1E00  # device ids of 2018 and later; Volta's are 1d81 to 1df6
_CLIQUE_BY_CHAIN = (8, 1)  # QEMU that looks for a free place for the capability
_IOMMUFD = (9, 0)
_MAPS_PEERS = (7, 0)  # Linux, by iommufd
_WARRANTS = (
    "clique 0 tells NVIDIA's driver that peer-to-peer between these GPUs was tested here, and it is"
    " believed unseen: a wrong word means hangs, or wrong data in silence, which bandwidth tests do"
    " not see. Before use: nvidia-smi topo -p2p w, a one-way copy that the receiving GPU checks,"
    " and all_reduce_perf -c 1 under a time limit. The hypervisor must not be hidden (kvm=off)."
    " NCCL_P2P_DISABLE=1 is the way out."
)


def check_wish(wish: Wish) -> None:
    """Do nothing if what is wanted can be had of any host.

    Raises:
        BadInputError: It cannot.
    """
    if (wish.gpus is None) == (not wish.functions):
        raise BadInputError(
            "either a number of GPUs, or the functions that the VM gets have to be said",
            hint="pcietune guest plan --gpus 1",
        )
    if wish.confidential:
        raise BadInputError(
            "confidential computing is on: other rules hold for what such a VM may be given, and"
            " pcietune does not judge them",
            hint="plan for GPUs that are not in that mode, and say --confidential off",
        )
    if wish.backend is Backend.IOMMUFD and wish.qemu < _IOMMUFD:
        raise BadInputError(
            f"QEMU {_version(wish.qemu)} knows no iommufd, which came with {_version(_IOMMUFD)}",
            hint="leave out --iommufd, or say --qemu 9.0",
        )


def of_the_vm(choice: Choice, wish: Wish, release: tuple[int, int] | None) -> Iterator[str]:
    """Yield what to know of how the VM is run, in sentences.

    Args:
        choice: What it gets.
        wish: What is wanted of it.
        release: Of the host's kernel; None if not known.

    Raises:
        BadInputError: A clique is wanted, and cannot be.
    """
    if wish.clique:
        _check_clique([gpu.chosen.function for gpu in choice.gpus], wish.qemu)
        yield _WARRANTS
    if wish.backend is Backend.IOMMUFD and (release is None or release < _MAPS_PEERS):
        kernel = "of a kernel that is not known" if release is None else f"of {_version(release)}"
        yield (
            f"iommufd {kernel} maps no BARs of the VM's other functions, as Linux 7.0 and later do:"
            " GPUDirect RDMA and peer-to-peer in the VM fail without"
        )


def _check_clique(gpus: Sequence[PciFunction], qemu: tuple[int, int]) -> None:
    nvidia = [gpu for gpu in gpus if gpu.vendor == _NVIDIA and gpu.class_code >> 16 == _DISPLAY]
    if len(nvidia) < 2 or len(nvidia) != len(gpus):
        raise BadInputError(
            f"a clique is of two NVIDIA GPUs or more, and this VM has {len(nvidia)} of {len(gpus)}",
            hint="leave out --clique",
        )
    newer = next((gpu for gpu in nvidia if gpu.device >= _FIRST_TURING), None)
    if newer is not None and qemu < _CLIQUE_BY_CHAIN:
        raise BadInputError(
            f"QEMU {_version(qemu)} has no place for a clique in {newer.address} ({newer.id}):"
            " where it puts it, Turing and later have MSI-X",
            hint="leave out --clique, or say --qemu 8.1",
        )


def _version(numbers: tuple[int, int]) -> str:
    return f"{numbers[0]}.{numbers[1]}"
