"""One row for each shipped profile: a server of its kind, and GPUs that make another kind of it.

Ids and classes are those of pci.ids and of public lspci listings.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from skus.server import Server

GENERIC = "gpu-rdma"
CONNECTX_6, CONNECTX_6_DX = "15b3:101b", "15b3:101d"
CONNECTX_7, CONNECTX_8 = "15b3:1021", "15b3:1023"
BLUEFIELD_2, BLUEFIELD_3 = "15b3:a2d6", "15b3:a2dc"
NVIDIA_NICS = (CONNECTX_7, CONNECTX_8, BLUEFIELD_3, CONNECTX_6_DX, CONNECTX_6, BLUEFIELD_2)
THOR_2, POLLARA, HI1822 = "14e4:1760", "1dd8:1002", "19e5:0200"
GAUDI = "1da3:1020 1200"


@dataclass(frozen=True)
class Sku:
    """A kind of server.

    Attributes:
        profile: What it is to be recognised as.
        server: One of them, whose NICs are of all generations that may serve it.
        gpus: Every GPU that makes a server of this kind.
        near: GPUs that do not, each with what such a server is instead; None for no match.
    """

    profile: str
    server: Server
    gpus: Sequence[str]
    near: Mapping[str, str | None]


_A100_BOARD = Server(["10de:20b2"], NVIDIA_NICS, nvswitches=["10de:1af1"] * 6)
_HOPPER_BOARD = Server(["10de:2330"], NVIDIA_NICS, nvswitches=["10de:22a3"] * 4)

SKUS = (
    Sku(
        "a100-sxm4-8gpu",
        _A100_BOARD,
        gpus=["10de:20b0", "10de:20b2"],
        near={"10de:20f1": GENERIC, "10de:20b5": GENERIC, "10de:20f3": "a800-sxm4-8gpu"},
    ),
    Sku(
        "a800-sxm4-8gpu",
        _A100_BOARD,
        gpus=["10de:20f3", "10de:20bd"],
        near={"10de:20f5": GENERIC, "10de:20f6": GENERIC, "10de:20b2": "a100-sxm4-8gpu"},
    ),
    Sku(
        "h100-sxm5-8gpu",
        _HOPPER_BOARD,
        gpus=["10de:2330", "10de:2336"],
        near={"10de:2324": "h800-sxm5-8gpu", "10de:2331": GENERIC, "10de:2339": GENERIC},
    ),
    Sku(
        "h800-sxm5-8gpu",
        _HOPPER_BOARD,
        gpus=["10de:2324"],
        near={"10de:2330": "h100-sxm5-8gpu", "10de:2322": GENERIC},
    ),
    Sku(
        "h200-sxm5-8gpu",
        _HOPPER_BOARD,
        gpus=["10de:2335"],
        near={"10de:2330": "h100-sxm5-8gpu", "10de:233b": GENERIC},
    ),
    Sku(
        "h20-sxm5-8gpu",
        _HOPPER_BOARD,
        gpus=["10de:2329", "10de:232c"],
        near={"10de:2328": GENERIC, "10de:2335": "h200-sxm5-8gpu"},
    ),
    Sku(
        "l20",
        Server(["10de:26ba"], NVIDIA_NICS, nics_each=1, vfs=2),
        gpus=["10de:26ba", "10de:26b7"],
        near={"10de:26b5": GENERIC},
    ),
    Sku(
        "l40s",
        Server(["10de:26b9"], [CONNECTX_7, BLUEFIELD_3], switches=2, gpus_each=4),
        gpus=["10de:26b9"],
        near={"10de:26b5": GENERIC, "10de:26ba": "l20"},
    ),
    Sku(
        GENERIC,
        Server(["10de:26b5"], NVIDIA_NICS, switches=3),
        gpus=["10de:26b5", "10de:20b5", "10de:2901", "10de:2204 0300"],
        near={GAUDI: None, "10de:2330": "h100-sxm5-8gpu", "1002:74a1 1200": "accelerator-rdma"},
    ),
    Sku(
        "accelerator-rdma",
        Server(["1002:74a1 1200"], [THOR_2, CONNECTX_7, POLLARA, HI1822]),
        gpus=["1002:74a1 1200", "1002:75a0 1200", "1002:740c 0380", "19e5:d802 1200"],
        near={GAUDI: None, "10de:26b5": GENERIC, "1002:73bf 0300": None},
    ),
)
