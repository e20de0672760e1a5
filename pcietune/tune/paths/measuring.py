"""The commands that measure a pair, for what ``--measured`` reads.

They are those of perftest, nvbandwidth, nccl-tests (rccl-tests) and NVIDIA's GPUDirect Storage
tools, as their own help has them. What PCI does not tell stands in capitals, with what tells it.
"""

from collections.abc import Iterator

from pcietune.model.function import PciFunction
from pcietune.tune.paths.view import Pair, PeerKind

_NVIDIA, _AMD = 0x10DE, 0x1002
_IN_THE_VM = (
    "# run these in the VM that has both: a host's driver measures nothing of a VM's",
    "# the VM has other addresses; lspci -Dnn there tells them",
)
_INDEX_OF = {
    _NVIDIA: "nvidia-smi --query-gpu=index,pci.bus_id --format=csv",
    _AMD: "rocm-smi --showbus",
}
_VISIBLE = {
    _NVIDIA: "CUDA_DEVICE_ORDER=PCI_BUS_ID CUDA_VISIBLE_DEVICES=I,J",
    _AMD: "HIP_VISIBLE_DEVICES=I,J",
}
_RDMA = "-d MLX5_N -F --report_gbits -s 1048576 -D 10"  # sizes of 1 MiB for 10 s
_ALL_REDUCE = "all_reduce_perf -b 8 -e 1G -f 2 -g 2 -c 1"


def commands(pair: Pair, *, in_vm: bool) -> tuple[str, ...]:
    """Return what measures a pair: commands, and comments that begin with ``#``.

    Args:
        pair: The two; the second is a GPU.
        in_vm: Whether a VM has, or will have, the two.
    """
    vendor = pair.other.function.vendor
    if vendor not in _INDEX_OF:
        return ("# no program is known here that measures this vendor's GPUs",)
    by_kind = {PeerKind.NIC: _of_nic, PeerKind.GPU: _of_gpus, PeerKind.NVME: _of_drive}
    lines = by_kind[pair.one.kind](pair, in_vm=in_vm)
    return (*(_IN_THE_VM if in_vm else ()), *lines)


def _of_nic(pair: Pair, *, in_vm: bool) -> Iterator[str]:
    gpu = pair.other.function
    one = _address(pair.one.function, in_vm=in_vm, name="NIC_ADDRESS")
    yield f"# MLX5_N: ls /sys/bus/pci/devices/{one}/infiniband"
    if gpu.vendor == _NVIDIA:
        memory = f"--use_cuda_bus_id={_address(gpu, in_vm=in_vm, name='GPU_ADDRESS')}"
    else:
        memory = "--use_rocm=I"
        yield f"# I: {_INDEX_OF[gpu.vendor]}"
    yield "# the NIC's writes into the GPU: start this here, then the client on another host"
    yield f"ib_write_bw {_RDMA} {memory}"
    yield f"ib_write_bw {_RDMA} THIS_HOST"
    yield "# the NIC's reads of the GPU: start the server on the other host, then the client here"
    yield f"ib_write_bw {_RDMA}"
    yield f"ib_write_bw {_RDMA} {memory} OTHER_HOST"
    dmabuf = "--use_cuda_dmabuf" if gpu.vendor == _NVIDIA else "--use_rocm_dmabuf"
    yield f"# without nvidia_peermem, or beside it: add {dmabuf} to {memory}"
    yield f"# what the network alone lets through: the same without {memory}"
    yield "# ib_write_bw checks no data; between hosts all_reduce_perf -c 1 does"


def _of_gpus(pair: Pair, *, in_vm: bool) -> Iterator[str]:
    one, gpu = pair.one.function, pair.other.function
    addresses = (
        _address(one, in_vm=in_vm, name="GPU_ADDRESS"),
        _address(gpu, in_vm=in_vm, name="OTHER_GPU_ADDRESS"),
    )
    if one.vendor != gpu.vendor:
        yield "# no program is known here that measures GPUs of two vendors"
        return
    yield f"# I and J, of {' and '.join(addresses)}: {_INDEX_OF[gpu.vendor]}"
    visible = _VISIBLE[gpu.vendor]
    if gpu.vendor == _NVIDIA:
        yield f"{visible} nvbandwidth -t device_to_device_memcpy_write_ce"
        yield f"{visible} nvbandwidth -t device_to_device_memcpy_read_ce"
    yield "# with its data checked, under a time limit, since peers that fail may hang"
    yield f"{visible} timeout 300 {_ALL_REDUCE}"
    disabled = f"{visible} NCCL_P2P_DISABLE=1 timeout 300 {_ALL_REDUCE}"
    yield "# the same by shared memory, to compare"
    yield disabled


def _of_drive(pair: Pair, *, in_vm: bool) -> Iterator[str]:
    gpu = pair.other.function
    drive = _address(pair.one.function, in_vm=in_vm, name="NVME_ADDRESS")
    if gpu.vendor != _NVIDIA:
        yield "# no program is known here that measures drives and this vendor's GPUs"
        return
    yield f"# the drive's name: ls /sys/bus/pci/devices/{drive}/nvme"
    yield "# FILE: a file of 10 GiB or more on it; gdscheck -p tells whether it is supported"
    yield f"# I: {_INDEX_OF[gpu.vendor]}"
    yield "# the drive's writes into the GPU, then its reads of it, which overwrite FILE"
    for direction in (0, 1):
        yield f"gdsio -f FILE -d I -w 8 -s 10G -i 1M -x 0 -I {direction}"


def _address(function: PciFunction, *, in_vm: bool, name: str) -> str:
    return name if in_vm else str(function.address)
