"""How fast pcietune is, as ratios within one run: ``python -m benchmarks`` in the checkout."""

import sys
from pathlib import Path

sys.path.append(str(Path(__file__).parents[1] / "tests"))  # the emulated and the recorded hosts
