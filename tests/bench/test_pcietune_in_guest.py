"""The quick way to run pcietune in the guest is as good as a process of its own."""

import pytest

from bench.guest import Guest

pytestmark = pytest.mark.machine("small")


@pytest.mark.parametrize(
    "arguments",
    [
        pytest.param(["--version"], id="good"),
        pytest.param(["topo", "--no-such-option"], id="bad usage"),
        pytest.param(["no-such-command"], id="no such command"),
    ],
)
def test_it_exits_and_prints_as_the_process_does(guest: Guest, arguments: list[str]) -> None:
    assert guest.pcietune(*arguments) == guest.run(*guest.PCIETUNE, *arguments)


def test_it_runs_as_the_user_that_is_asked_for(guest: Guest) -> None:
    quick = guest.pcietune("topo", user="nobody")

    assert quick == guest.run(*guest.PCIETUNE, "topo", user="nobody")
