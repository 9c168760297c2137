"""bench/experiments as a package, for its tests. bench/ is not left on the path, as it has a folder
torch that is not PyTorch."""

import importlib
import sys
from pathlib import Path

BENCH = Path(__file__).resolve().parents[2] / "bench"

sys.path.insert(0, str(BENCH))
try:
    importlib.import_module("experiments")
finally:
    sys.path.remove(str(BENCH))
