"""What holds for all rings of tests."""

import pytest


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run what takes minutes last, so that what fails in seconds is seen first."""
    items.sort(key=lambda item: item.get_closest_marker("bench") is not None)
