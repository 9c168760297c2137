"""The table of runs, in order of priority. PLAN.md explains it.

Runs whose settings depend on tuning (rates, length of pre-training, arithmetic) follow the tuning
runs, and the first run without a result is the next, so complete results make each choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product

import pandas as pd

SEEDS = tuple(range(1, 13))  # evaluated
TUNING = (101, 102)  # never evaluated on test
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
PRETRAINING_RATE, PRETRAINING = 3e-3, (400, 800)  # steps tried
STEPS = 150  # of fine-tuning
MARGIN = 1.0  # equivalence margin in points

LOSSES = (
    "cross_entropy", "weighted_cross_entropy", "lovasz", "lovasz_image_all", "lovasz+cross_entropy",
    "soft_jaccard",
)  # fmt: skip
SCRATCH, SCRATCH_SEEDS = ("cross_entropy", "lovasz", "lovasz+cross_entropy"), SEEDS[:6]
LENGTHS, LENGTH_SEEDS = (4, 10), SEEDS[:5]  # times STEPS; A has the runs with STEPS
GROUPS, GROUP_IMAGES, GROUP_SEEDS = (1, 2, 4, 8, 16), 16, SEEDS[:6]
TARGETS = ("tree", "sign", "fence", "car", "pedestrian", "bicyclist")
BINARY = ("cross_entropy", "hinge", "lovasz_hinge", "rahman_wang", "lovasz_sigmoid")
BINARY_SEEDS = SEEDS[:6]
TESTED, TEST_TIME_SEEDS = ("cross_entropy", "lovasz"), SEEDS[:6]
DRAWS, DRAWN = SEEDS[:10], "car"  # of the last layer's problems, and their foreground
PASSES, PASS_IMAGES, PLANES = 100, 4, 2000  # over the images; in a minibatch; of the bundle method
SIZES = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)  # of the last layer's steps
REACHES = (1.0, 0.1, 0.01)  # of the prox, in step sizes
OPTIMISERS = ("gradient", "momentum", "adam", "prox", "algorithm2", "momentum+prox")


@dataclass(frozen=True)
class Run:
    """A training; in E, decisions of a network of A; in F, an optimiser of the last layer, whose
    name stands for the loss."""

    experiment: str
    role: str  # "tune", "pretrain" or "evaluate"; only "evaluate" touches test
    loss: str
    rate: float
    seed: int
    steps: int
    start: int = 0  # pre-training steps before, 0 means from scratch
    images: int = 8  # per step
    group: int = 0  # images per loss group, 0 means the loss's own choice
    target: str = ""  # foreground class of a binary problem
    arithmetic: str = "fast"  # or "reference", see PLAN.md
    curve: int = 0  # validates every so many steps

    @property
    def key(self) -> str:
        parts = [self.experiment, self.role, self.loss, f"{self.rate:g}", f"s{self.seed}"]
        parts += [f"{self.start}+{self.steps}"]
        parts += [f"n{self.images}"] * (self.images != 8) + [f"g{self.group}"] * bool(self.group)
        parts += [self.target] * bool(self.target)
        parts += [self.arithmetic] * (self.arithmetic != "fast")
        return "_".join(parts)

    @property
    def pretraining(self) -> Run | None:
        """The run whose network this one starts from."""
        if self.experiment == "E":
            return replace(self, experiment="A")
        return pretraining(self.seed, self.start, self.arithmetic) if self.start else None


def pretraining(seed: int, steps: int, arithmetic: str) -> Run:
    # Tuning seeds always pre-train in fast arithmetic, so that arithmetics are compared in pairs.
    arithmetic = "fast" if seed in TUNING else arithmetic
    return Run(
        "A", "pretrain", "cross_entropy", PRETRAINING_RATE, seed, steps,
        arithmetic=arithmetic, curve=100,
    )  # fmt: skip


# What the tuning runs decide, by the rules of PLAN.md. results has a row per run, by its key.


def where(results: pd.DataFrame, **settings: object) -> pd.DataFrame:
    """The rows with these settings."""
    for name, value in settings.items():
        results = results[results[name] == value]
    return results


def tuned(results: pd.DataFrame, **settings: object) -> pd.Series[float]:
    """Mean val by loss and rate of the tuning runs with these settings."""
    rows = where(results, role="tune", arithmetic="fast", **settings)
    return rows.val.astype(float).groupby([rows.loss, rows.rate.astype(float)]).mean()


def best_rate(results: pd.DataFrame, **settings: object) -> float:
    """The rate with the highest mean val, over losses too; NaN without tuning runs."""
    means = tuned(results, **settings).groupby("rate").mean()
    return float(means.idxmax()) if len(means) else float("nan")


def gain(results: pd.DataFrame, *pair: list[Run]) -> float:
    """Mean val of the second runs less that of the first."""
    first, second = (results.val[[run.key for run in runs]].astype(float).mean() for runs in pair)
    return float(second - first)


def table(results: pd.DataFrame) -> Iterator[Run]:
    """All runs. Reading on requires the results of all runs before."""
    short, long = ([pretraining(seed, n, "fast") for seed in TUNING] for n in PRETRAINING)
    yield from (*short, *long)
    start = PRETRAINING[int(gain(results, short, long) >= MARGIN)]
    for loss, rate, seed in product(LOSSES, RATES, TUNING):
        yield Run("A", "tune", loss, rate, seed, STEPS, start)
    common = best_rate(results, experiment="A", start=start)
    best = {k: best_rate(results, experiment="A", start=start, loss=k) for k in LOSSES}
    fast = [[Run("A", "tune", k, best[k], s, STEPS, start) for s in TUNING] for k in TESTED]
    exact = [[replace(run, arithmetic="reference") for run in runs] for runs in fast]
    for pair in zip(*exact):
        yield from pair
    moved = gain(results, *fast) - gain(results, *exact)
    arithmetic = "fast" if abs(moved) < MARGIN / 2 else "reference"

    def evaluated(experiment: str, loss: str, rate: float, seed: int, steps: int = STEPS) -> Run:
        return Run(
            experiment, "evaluate", loss, rate, seed, steps, start,
            arithmetic=arithmetic, curve=max(30, steps // 10) if loss in TESTED else 0,
        )  # fmt: skip

    for seed in SEEDS:
        yield pretraining(seed, start, arithmetic)
        yield from (evaluated("A", loss, best[loss], seed) for loss in LOSSES)
    for seed, loss in product(SEEDS, LOSSES):
        yield evaluated("A", loss, common, seed)
    yield from scratch(results, start, arithmetic)
    for seed, times, loss in product(LENGTH_SEEDS, LENGTHS, TESTED):
        yield evaluated("B", loss, best[loss], seed, times * STEPS)
    for seed, group in product(GROUP_SEEDS, (*GROUPS, 0)):
        loss = "lovasz" if group else "lovasz_image_present"
        run = evaluated("C", loss, best["lovasz"], seed)
        yield replace(run, images=GROUP_IMAGES, group=group, curve=0)
    yield from binary(results, start, arithmetic)
    for seed, loss in product(TEST_TIME_SEEDS, TESTED):
        yield replace(evaluated("E", loss, best[loss], seed), curve=0)
    yield from last_layer(results, start, arithmetic)


def scratch(results: pd.DataFrame, start: int, arithmetic: str) -> Iterator[Run]:
    """As many steps as pre-training and fine-tuning have together."""
    steps = start + STEPS
    for loss, rate, seed in product(SCRATCH, RATES, TUNING):
        yield Run("A", "tune", loss, rate, seed, steps)
    best = {k: best_rate(results, experiment="A", start=0, loss=k) for k in SCRATCH}
    for seed, loss in product(SCRATCH_SEEDS, SCRATCH):
        yield Run("A", "evaluate", loss, best[loss], seed, steps, arithmetic=arithmetic)


def binary(results: pd.DataFrame, start: int, arithmetic: str) -> Iterator[Run]:
    for loss, rate, target in product(BINARY, RATES, TARGETS):
        yield Run("D", "tune", loss, rate, TUNING[0], STEPS, start, target=target)
    best = {k: best_rate(results, experiment="D", loss=k) for k in BINARY}
    for seed, loss, target in product(BINARY_SEEDS, BINARY, TARGETS):
        run = Run("D", "evaluate", loss, best[loss], seed, STEPS, start, target=target)
        yield replace(run, arithmetic=arithmetic)


def minimum(draw: int, start: int, arithmetic: str) -> Run:
    """Certifies the minimum of a draw's problem."""
    # A tuning seed's network is pre-trained in fast arithmetic, and features are used as it is.
    arithmetic = "fast" if draw in TUNING else arithmetic
    return Run("F", "pretrain", "bundle", 0, draw, PLANES, start, PASS_IMAGES, 0, DRAWN, arithmetic)


def settings(optimiser: str) -> list[str]:
    """The optimiser with each reach of its prox, if it has one."""
    has_prox = "prox" in optimiser or "algorithm2" in optimiser
    return [f"{optimiser}@{reach:g}" for reach in REACHES] if has_prox else [optimiser]


def last_layer(results: pd.DataFrame, start: int, arithmetic: str) -> Iterator[Run]:
    def made(role: str, name: str, size: float, draw: int) -> Run:
        of = minimum(draw, start, arithmetic)
        return replace(of, role=role, loss=name, rate=size, steps=PASSES)

    names = [name for optimiser in OPTIMISERS for name in settings(optimiser)]
    for draw in TUNING:
        yield minimum(draw, start, arithmetic)
        yield from (made("tune", name, size, draw) for name in names for size in SIZES)
    for draw in DRAWS:
        yield minimum(draw, start, arithmetic)
        for optimiser in OPTIMISERS:
            name, size = tuned(results, experiment="F").loc[settings(optimiser)].idxmax()
            yield made("evaluate", name, size, draw)
