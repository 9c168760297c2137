"""examples/train_ddp.py, started as its first line says, on a few small images."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.slow

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "train_ddp.py"
LINE = re.compile(r"^step (\d+): loss of the batch (\d\.\d+), of ranks (\d\.\d+)$", re.MULTILINE)
SCORE = re.compile(r"^mean IoU of (\d+) images: (\d+\.\d+) %$", re.MULTILINE)


def run(*arguments, ranks=0):
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(ranks)]
    command = [sys.executable, "-B", *(launcher if ranks else []), SCRIPT, "--quick", *arguments]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, capture_output=True, text=True, timeout=400, env=environment)


def test_two_ranks():
    """Two images on one rank and one on the other, of batches that have each class in turn: the
    loss of the batch is not the mean of the losses of the ranks. One table of results."""
    if not torch.distributed.is_available() or not torch.distributed.is_gloo_available():
        pytest.skip("this PyTorch has no gloo")
    done = run("--equibatch", "--batch", "3", "--show-every", "1", ranks=2)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("2 ranks, 3 images a step")
    found = LINE.findall(done.stdout)
    assert [int(step) for step, _, _ in found] == [1, 2, 3, 4]
    assert all(0 < float(loss) < 1 for _, *both in found for loss in both)
    assert any(abs(float(batch) - float(of_ranks)) > 1e-3 for _, batch, of_ranks in found)
    ((images, score),) = SCORE.findall(done.stdout)
    assert int(images) == 4 and 0 < float(score) < 100


def test_one_process():
    """Where both losses are one; and what is refused."""
    done = run("--loss", "rank")
    assert done.returncode == 0, done.stderr
    found = LINE.findall(done.stdout)
    assert len(found) == 2 and all(batch == of_ranks for _, batch, of_ranks in found)
    assert len(SCORE.findall(done.stdout)) == 1
    refused = run("--data", "voc")
    assert refused.returncode == 2 and refused.stderr == "train_ddp: --data voc needs --root DIR\n"
