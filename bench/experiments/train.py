"""Does the runs of table.py, one after the other, in one process.

    python -m experiments.train CACHE_DIR RESULTS_DIR

CACHE_DIR holds the features (experiments.features) and receives the trained weights. Each run
appends a row to RESULTS_DIR/EXPERIMENT.csv when it ends, and an evaluated run its pixel counts on
test to RESULTS_DIR/EXPERIMENT_counts.csv; rows show validation scores only. After an interruption
the same command continues with the first run that has no row.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Iterator
from dataclasses import asdict
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import torch
from torch import Tensor
from tqdm import tqdm

import submod

from . import last_layer, losses, scores, test_time
from .decoder import THINNED, WIDTH, Decoder, Pointwise, forward, forward_features, on_lattice
from .features import CLASSES, Split, save
from .storage import Lab, read
from .table import Run, table

LIBRARY = "0.2.1"  # the version that the plan pins
POWER = 0.9  # of the polynomial decay of rates
FOREGROUND = 0.005  # an image shows a binary problem's foreground if it fills so much of it
AT_ONCE = 8  # images, in evaluation


def shuffled(pool: npt.NDArray[np.int64], rng: np.random.Generator) -> Iterator[int]:
    while True:
        yield from rng.permutation(pool).tolist()


def batches(run: Run, train: Split) -> Iterator[Tensor]:
    """Image numbers of each step: a new permutation in each epoch, the same for all losses. In a
    binary problem, half of the images show foreground."""
    rng = np.random.default_rng([run.seed, run.start])
    pools = [np.arange(len(train.names))]
    if run.target:
        shown = train.share(run.target) >= FOREGROUND
        pools = [np.flatnonzero(shown), np.flatnonzero(~shown)]
    decks, of_each = [shuffled(pool, rng) for pool in pools], run.images // len(pools)
    for _ in range(run.steps):
        yield torch.tensor([k for deck in decks for k in islice(deck, of_each)])


@torch.no_grad()
def evaluate(net: Decoder, split: Split, run: Run) -> scores.Counts:
    """Counts of all classes, of a binary problem those of the foreground."""
    net.eval()
    found = []
    for chosen in torch.split(torch.arange(len(split.names)), AT_ONCE):
        labels = scores.problem(split.labels[chosen], run.target)
        s = forward(net, split, chosen, run.arithmetic, labels.shape[1:])
        guess = s[:, 0] > 0 if run.target else s.argmax(1)
        found.append(scores.count(guess, labels, 2 if run.target else len(CLASSES)))
    net.train()
    counts = np.concatenate(found)
    return counts[:, 1:] if run.target else counts


def validation(net: Decoder, run: Run, split: Split) -> dict[str, float]:
    """val chooses: dataset-mIoU, of a binary problem the foreground's IoU as a mean over images."""
    counts = evaluate(net, split, run)
    dataset, image = scores.dataset_miou(counts), scores.image_miou(counts)
    if run.target:
        return {"val": image, "val_dataset": dataset}
    return {"val": dataset, "val_image": image}


def train(lab: Lab, run: Run) -> tuple[Decoder, dict[int, float]]:
    """Returns the trained network, and validation scores after some steps. Training that diverges
    ends early."""
    torch.manual_seed(run.seed)
    net = lab.network(run.pretraining.key) if run.pretraining else Decoder(len(CLASSES))
    if run.target:
        net.classify = Pointwise(WIDTH, 1, 1)
    net.to(memory_format=torch.channels_last).train()
    split = lab.split("train")
    loss = losses.make(run.loss, run.group, bool(run.target), split)
    engine = "histogram" if run.arithmetic == "fast" else "exact"
    optimiser = torch.optim.AdamW(net.parameters(), run.rate)
    decay = torch.optim.lr_scheduler.PolynomialLR(optimiser, run.steps, POWER)
    curve: dict[int, float] = {}
    steps = tqdm(batches(run, split), run.key, run.steps, mininterval=10)
    for k, chosen in enumerate(steps, 1):
        labels = scores.problem(split.labels[chosen], run.target)
        if run.arithmetic == "fast":
            row, column = divmod(k % THINNED**2, THINNED)
            labels = labels[:, row::THINNED, column::THINNED]
            s = on_lattice(net.classify(forward_features(net, split, chosen, "fast")), row, column)
        else:
            s = forward(net, split, chosen, run.arithmetic, labels.shape[1:])
        if not s.isfinite().all():
            break
        value = loss(s, labels, engine)
        optimiser.zero_grad()
        torch.autograd.backward(value)
        optimiser.step()
        decay.step()
        if run.curve and k % run.curve == 0:
            curve[k] = validation(net, run, lab.split("val"))["val"]
    return net, curve


def fit(lab: Lab, run: Run) -> tuple[dict[str, Any], dict[str, scores.Counts]]:
    """Trains; returns validation scores and, of an evaluated run, counts on test."""
    net, curve = train(lab, run)
    text = " ".join(f"{k}:{v:.3f}" for k, v in curve.items())
    row = {**validation(net, run, lab.split("val")), "curve": text}
    save(net.state_dict(), lab.weights(run))
    return row, {run.key: evaluate(net, lab.split("test"), run)} if run.role == "evaluate" else {}


def execute(lab: Lab, run: Run) -> None:
    """Appends a run's row; one whose weights were lost has its row already."""
    began = time.process_time()
    work = {"E": test_time.decide_all, "F": last_layer.optimise}.get(run.experiment, fit)
    row, counts = work(lab, run)
    if run.key in read(lab.results).index:
        return
    for key, found in counts.items():
        lab.append(f"{run.experiment}_counts", {"key": key, "counts": scores.encode(found)})
    cost = {"cpu_seconds": round(time.process_time() - began, 1), "library": submod.__version__}
    scored = {k: round(v, 4) if k.startswith("val") else v for k, v in row.items()}
    lab.append(run.experiment, {"key": run.key, **asdict(run), **scored, **cost})


def describe_test(lab: Lab) -> None:
    """Writes names, drives and label counts of the test images, which all runs share."""
    file = lab.results / "test_images.csv"
    if file.exists():
        return
    split = lab.split("test")
    truth = scores.count(split.labels, split.labels, len(CLASSES))[..., 2]
    drives = [name.split("_")[0] for name in split.names]
    names = pd.DataFrame({"name": split.names, "drive": drives})
    names.join(pd.DataFrame(truth, columns=list(CLASSES))).to_csv(file, index=False)


def pending(lab: Lab) -> Run | None:
    """The next run; a network that later runs start from and that is gone is trained again."""
    rows = read(lab.results)
    run = next((run for run in table(rows) if run.key not in rows.index), None)
    while run and run.pretraining and not lab.weights(run.pretraining).exists():
        run = run.pretraining
    return run


def main() -> None:
    parser = argparse.ArgumentParser(prog="experiments.train", description=__doc__)
    parser.add_argument("cache", type=Path)
    parser.add_argument("results", type=Path)
    options = parser.parse_args()
    if submod.__version__ != LIBRARY:
        raise SystemExit(f"submod is {submod.__version__}; the plan pins {LIBRARY}")
    torch.set_num_threads(1)
    lab = Lab(options.cache, options.results)
    describe_test(lab)
    while run := pending(lab):
        execute(lab, run)


if __name__ == "__main__":
    main()
