"""Other IOMMU groups than the ones a tree starts with."""

from trees.host import TreeHost


def into_group(tree: TreeHost, address: str, number: int) -> None:
    """Move a function to another IOMMU group."""
    own = tree.directory(address) / "iommu_group"
    (own.resolve() / "devices" / address).unlink()
    own.unlink()
    group = f"sys/kernel/iommu_groups/{number}"
    path = str(tree.directory(address).relative_to(tree.root.resolve()))
    tree.link(f"{group}/devices/{address}", path)
    tree.link(f"{path}/iommu_group", group)
