"""Whatever bytes they are given, pcietune's readers refuse them or make sense of them.

Each target is fuzzed for a moment only; ``make fuzz`` does it for minutes.
"""

import os
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from itertools import repeat
from pathlib import Path

import pytest
from fuzz.campaign import FOUND, Ended, fuzz
from fuzz.targets import TARGETS

SECONDS = 2
FOUND_BEFORE = [
    pytest.param(path, id=f"{path.parent.name}/{path.name}") for path in sorted(FOUND.glob("*/*"))
]


@pytest.fixture(scope="module")
def moments() -> Mapping[str, Ended]:
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return dict(zip(TARGETS, pool.map(fuzz, TARGETS, repeat(SECONDS)), strict=True))


@pytest.mark.parametrize("name", TARGETS)
def test_a_moment_of_fuzzing_finds_nothing(name: str, moments: Mapping[str, Ended]) -> None:
    ended = moments[name]

    assert not ended.failed, ended.said[-4000:]
    assert "stat::number_of_executed_units" in ended.said


@pytest.mark.parametrize("name", TARGETS)
def test_what_the_fuzzer_sets_out_from_holds(name: str) -> None:
    for seed in TARGETS[name].seeds():
        assert len(seed) <= TARGETS[name].longest
        TARGETS[name].look(seed)


@pytest.mark.parametrize("path", FOUND_BEFORE)
def test_what_a_fuzzer_found_before_holds_now(path: Path) -> None:
    TARGETS[path.parent.name].look(path.read_bytes())
