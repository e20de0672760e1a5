"""Kubernetes operators at work on this host, by the log directories that kubelet keeps for pods."""

from pcietune.address import PciAddress
from pcietune.errors import BadInputError, NotPermittedError
from pcietune.host.host_files import HostFiles
from pcietune.model.owners import Owner, OwnerKind

PODS = "var/log/pods"
"""Its directories are named NAMESPACE_POD_UID (pkg/kubelet/kuberuntime/helpers.go)."""

SRIOV_OPERATOR = "etc/sriov-operator"
"""Where the sriov-network-operator keeps what it did to each PF, in files named by address."""

_DAEMONS = {
    "nvidia-vfio-manager": OwnerKind.VFIO_MANAGER,
    "nic-configuration-daemon": OwnerKind.NIC_OPERATOR,
    "sriov-network-config-daemon": OwnerKind.SRIOV_OPERATOR,
}


def read_operators(files: HostFiles) -> tuple[list[Owner], list[str]]:
    """Return which of the operators that concern PCI functions run here, and what is not known.

    No namespace is named.
    """
    found, not_known = {}, []
    try:
        pods = [name.split("_")[1] for name in files.names(PODS) if name.count("_") > 1]
    except NotPermittedError as error:
        pods, not_known = [], [f"which operators of Kubernetes run here: {error}"]
    for daemon, kind in _DAEMONS.items():
        if any(pod.startswith(f"{daemon}-") for pod in pods):
            found[kind] = Owner(kind, f"/{PODS}", says=daemon)
    if files.exists(SRIOV_OPERATOR):
        kind = OwnerKind.SRIOV_OPERATOR
        addresses, unread = _physical_functions(files)
        not_known += unread
        found[kind] = Owner(kind, f"/{SRIOV_OPERATOR}", addresses=tuple(addresses))
    return list(found.values()), not_known


def _physical_functions(files: HostFiles) -> tuple[list[PciAddress], list[str]]:
    try:
        names = files.names(f"{SRIOV_OPERATOR}/pci")
    except NotPermittedError as error:
        return [], [f"which functions the sriov-network-operator has: {error}"]
    found = []
    for name in names:
        try:
            found.append(PciAddress.parse(name))
        except BadInputError:
            continue
    return found, []
