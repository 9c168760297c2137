"""Set-up of all tests."""

import importlib
import signal
import sys
from pathlib import Path

# bench/experiments as a package. bench/ does not stay on the path: its folder torch is not PyTorch.
BENCH = str(Path(__file__).resolve().parents[2] / "bench")
sys.path.insert(0, BENCH)
try:
    importlib.import_module("experiments")
finally:
    sys.path.remove(BENCH)

# A shell that starts us in the background has SIGINT ignored, here and in the processes of tests.
signal.signal(signal.SIGINT, signal.default_int_handler)
