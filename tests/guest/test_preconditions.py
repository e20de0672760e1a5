"""What has to hold of a VM for what is wanted of it: by the history of Linux."""

import pytest

from pcietune.errors import BadInputError
from pcietune.guest.kinds import Backend
from pcietune.guest.preconditions import check_wish, of_the_vm
from pcietune.guest.wish import Wish

IOMMUFD = Wish(gpus=1, backend=Backend.IOMMUFD, qemu=(9, 0))


def test_a_clique_warns_of_what_it_vouches_for() -> None:
    (warning,) = of_the_vm(Wish(gpus=2, clique=True), (6, 12))

    assert "data is wrong in silence" in warning
    assert "NCCL_P2P_DISABLE=1" in warning


@pytest.mark.parametrize(
    ("release", "said"), [((6, 18), "iommufd of 6.18"), (None, "a kernel that is not known")]
)
def test_iommufd_warns_of_kernels_that_map_no_peers(
    release: tuple[int, int] | None, said: str
) -> None:
    (warning,) = of_the_vm(IOMMUFD, release)

    assert said in warning


def test_iommufd_of_linux_7_0_needs_no_warning() -> None:
    assert list(of_the_vm(IOMMUFD, (7, 0))) == []


@pytest.mark.parametrize(
    "wish",
    [
        Wish(),
        Wish(gpus=1, functions=("0000:13:00.0",)),
        Wish(gpus=1, confidential=True),
    ],
)
def test_what_no_host_can_give_is_refused_with_a_way_out(wish: Wish) -> None:
    with pytest.raises(BadInputError) as error:
        check_wish(wish)

    assert error.value.hint


def test_what_a_host_may_give_is_not_refused() -> None:
    check_wish(IOMMUFD)
    check_wish(Wish(functions=("0000:13:00.0",), confidential=False))
