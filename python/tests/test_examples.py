"""The examples run, without a warning, and say what they claim."""

import subprocess
import sys
from pathlib import Path

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


def run(name, *arguments):
    command = [sys.executable, "-B", "-W", "error", str(EXAMPLES / name), *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_custom_function():
    printed = run("custom_function.py")
    assert "submodular: no counterexample found" in printed
    assert "adding 1 gains 1 at [], but 3 once 0 is there" in printed


def test_prox_path(tmp_path):
    table = tmp_path / "path.csv"
    printed = run("prox_path.py", "--csv", table)
    gap = float(printed.split("largest gap ")[1].split()[0])
    difference = float(printed.split("Fujishige-Wolfe ")[1].split()[0])
    assert gap < 1e-9 and difference < 1e-6
    lines = table.read_text().splitlines()
    assert len(lines) == 61 and lines[0].startswith("lambda,gap,u0")
    largest = [float(line.split(",")[0]) for line in lines[1:]]
    assert largest == sorted(largest)
