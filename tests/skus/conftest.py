"""The command line for every test here."""

import pytest
from cli.in_process import Pcietune


@pytest.fixture
def pcietune(capsys: pytest.CaptureFixture[str]) -> Pcietune:
    return Pcietune(capsys)
