import pytest

from pcietune.model.kernel_release import KernelRelease


@pytest.mark.parametrize(
    ("text", "series", "stable", "changed"),
    [
        pytest.param("6.12.83", (6, 12), 83, False, id="kernel.org"),
        pytest.param("7.1.0-rc3", (7, 1), 0, False, id="release candidate"),
        pytest.param("6.12.117+deb13-amd64", (6, 12), 117, True, id="Debian 13"),
        pytest.param("6.12.117-1-amd64", (6, 12), 117, True, id="built from a stable release"),
        pytest.param("6.1.0-40-amd64", (6, 1), None, True, id="Debian 12"),
        pytest.param("6.8.0-45-generic", (6, 8), None, True, id="Ubuntu"),
        pytest.param("5.14.0-427.13.1.el9_4.x86_64", (5, 14), None, True, id="RHEL"),
        pytest.param("6.12.83-113.160.amzn2023.x86_64", (6, 12), 83, True, id="Amazon Linux"),
        pytest.param("5.14.21-150500.55.7-default", (5, 14), 21, True, id="SLES"),
        pytest.param("6.6", (6, 6), 0, False, id="no third number"),
    ],
)
def test_a_release_says_what_it_is_built_from_unless_a_distribution_counts_itself(
    text: str, series: tuple[int, int], stable: int | None, *, changed: bool
) -> None:
    assert KernelRelease.parse(text) == KernelRelease(series, stable, changed)


@pytest.mark.parametrize("text", [None, "", "linux", "6"])
def test_what_is_no_release_is_not_known(text: str | None) -> None:
    assert KernelRelease.parse(text) is None
