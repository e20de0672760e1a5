"""What has to hold of the VM itself for what is wanted of it."""

from collections.abc import Iterator

from pcietune.errors import BadInputError
from pcietune.guest.kinds import Backend
from pcietune.guest.needs import check_cpus
from pcietune.guest.wish import Wish

_MAPS_PEERS = (7, 0)  # Linux, by iommufd
_WARRANTS = (
    "clique 0 tells NVIDIA's driver that peer-to-peer between these GPUs was tested here, which it"
    " believes without a test: where that is not so transfers hang, or data is wrong in silence,"
    " which bandwidth tests do not show. Before use: nvidia-smi topo -p2p w, a one-way copy that"
    " the receiving GPU checks, and all_reduce_perf -c 1 under a time limit. The hypervisor must"
    " not be hidden (kvm=off). NCCL_P2P_DISABLE=1 is the way out."
)


def check_wish(wish: Wish) -> None:
    """Do nothing if what is wanted can be had of any host.

    Raises:
        BadInputError: It cannot.
    """
    if wish.gpus is not None and wish.functions:
        raise BadInputError(
            "both a number of GPUs and functions by name were given",
            hint="leave out --gpus, and name all GPUs by --function; or leave out --function",
        )
    if wish.gpus is None and not wish.functions:
        raise BadInputError(
            "a number of GPUs, or the functions that the VM gets, has to be said",
            hint="pcietune guest plan --gpus 1",
        )
    if wish.cpus is not None:
        check_cpus(wish.cpus, wish.qemu)
    if wish.confidential:
        raise BadInputError(
            "confidential computing is on: other rules hold for what such a VM may be given, and"
            " pcietune does not judge them",
            hint="plan for GPUs that are not in that mode, and say --confidential off",
        )


def of_the_vm(wish: Wish, release: tuple[int, int] | None) -> Iterator[str]:
    """Yield what to know of how the VM is run, in sentences.

    Args:
        wish: What is wanted of it.
        release: Of the host's kernel; None if not known.
    """
    if wish.clique:
        yield _WARRANTS
    if wish.backend is Backend.IOMMUFD and (release is None or release < _MAPS_PEERS):
        kernel = "of a kernel that is not known" if release is None else f"of {_version(release)}"
        yield (
            f"iommufd {kernel} maps no BARs of the VM's other functions, as Linux 7.0 and later do:"
            " GPUDirect RDMA and peer-to-peer in the VM fail without"
        )


def _version(numbers: tuple[int, int]) -> str:
    return f"{numbers[0]}.{numbers[1]}"
