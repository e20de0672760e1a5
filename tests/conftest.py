"""What holds for all rings of tests."""

import pytest
from hypothesis import HealthCheck, settings

# How long an example takes is the machine's business, which may have others to do.
settings.register_profile("pcietune", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("pcietune")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what takes minutes last, so that what fails in seconds is seen first."""
    items.sort(key=lambda item: item.get_closest_marker("bench") is not None)
