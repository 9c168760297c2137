"""The table of runs, in order of priority. PLAN.md explains it.

Runs whose settings depend on tuning (rates, length of pre-training, arithmetic) follow the tuning
runs, and next_run returns the first run without a result, so complete results make each choice.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace

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
        if not self.start:
            return None
        return pretraining(self.seed, self.start, self.arithmetic)


def pretraining(seed: int, steps: int, arithmetic: str) -> Run:
    # Tuning seeds always pre-train in fast arithmetic, so that arithmetics are compared in pairs.
    arithmetic = "fast" if seed in TUNING else arithmetic
    return Run(
        "A", "pretrain", "cross_entropy", PRETRAINING_RATE, seed, steps,
        arithmetic=arithmetic, curve=100,
    )  # fmt: skip


class Choices:
    """What the tuning runs decide, by the rules of PLAN.md. results has a row per run."""

    def __init__(self, results: pd.DataFrame) -> None:
        self.results = results

    def score(self, *runs: Run) -> float:
        """Mean validation mIoU over runs, in points; binary runs have the mean over images, the
        last layer's optimisers -log10 (J - J*) at the end."""
        return float(self.results.loc[[run.key for run in runs], "val"].mean())

    def pretraining(self) -> int:
        """The shortest length that a doubling improves by less than the margin."""
        short, long = (
            self.score(*(pretraining(s, n, "fast") for s in TUNING)) for n in PRETRAINING
        )
        return PRETRAINING[int(long - short >= MARGIN)]

    def best_rate(self, tried: list[Run], **settings: object) -> float:
        """The rate with the highest mean score over the tried runs with these settings."""
        own = [r for r in tried if all(getattr(r, k) == v for k, v in settings.items())]
        return max(RATES, key=lambda rate: self.score(*(r for r in own if r.rate == rate)))

    def best_setting(self, tried: list[Run]) -> tuple[str, float]:
        """Name and rate of the runs with the highest mean score over their seeds."""
        found = dict.fromkeys((r.loss, r.rate) for r in tried)
        return max(
            found, key=lambda one: self.score(*(r for r in tried if (r.loss, r.rate) == one))
        )

    def arithmetic(self, fast: list[Run]) -> str:
        """Fast, unless it moves Lovász less cross-entropy by half the margin or more."""
        reference = [replace(run, arithmetic="reference") for run in fast]
        moved = [self.score(*of[1::2]) - self.score(*of[::2]) for of in (fast, reference)]
        return "fast" if abs(moved[0] - moved[1]) < MARGIN / 2 else "reference"


def table(results: pd.DataFrame) -> Iterator[Run]:
    """All runs. Reading on requires the results of all runs before."""
    pick = Choices(results)
    for steps in PRETRAINING:
        yield from (pretraining(seed, steps, "fast") for seed in TUNING)
    start = pick.pretraining()
    tried = [
        Run("A", "tune", loss, rate, seed, STEPS, start)
        for loss in LOSSES
        for rate in RATES
        for seed in TUNING
    ]
    yield from tried
    best = {loss: pick.best_rate(tried, loss=loss) for loss in LOSSES}
    common = pick.best_rate(tried)
    fast = [
        Run("A", "tune", loss, best[loss], seed, STEPS, start)
        for seed in TUNING
        for loss in ("cross_entropy", "lovasz")
    ]
    yield from (replace(run, arithmetic="reference") for run in fast)
    arithmetic = pick.arithmetic(fast)

    def evaluated(experiment: str, loss: str, rate: float, seed: int, steps: int = STEPS) -> Run:
        return Run(
            experiment, "evaluate", loss, rate, seed, steps, start,
            arithmetic=arithmetic, curve=max(30, steps // 10) if loss in TESTED else 0,
        )  # fmt: skip

    for seed in SEEDS:
        yield pretraining(seed, start, arithmetic)
        yield from (evaluated("A", loss, best[loss], seed) for loss in LOSSES)
    for seed in SEEDS:
        yield from (evaluated("A", loss, common, seed) for loss in LOSSES)
    yield from scratch(pick, start, arithmetic)
    for seed in LENGTH_SEEDS:
        for times in LENGTHS:
            for loss in TESTED:
                yield evaluated("B", loss, best[loss], seed, times * STEPS)
    for seed in GROUP_SEEDS:
        for group in (*GROUPS, 0):
            loss = "lovasz" if group else "lovasz_image_present"
            run = evaluated("C", loss, best["lovasz"], seed)
            yield replace(run, images=GROUP_IMAGES, group=group, curve=0)
    yield from binary(pick, start, arithmetic)
    for seed in TEST_TIME_SEEDS:
        for loss in TESTED:
            yield replace(evaluated("E", loss, best[loss], seed), curve=0)
    yield from last_layer(pick, start, arithmetic)


def scratch(pick: Choices, start: int, arithmetic: str) -> Iterator[Run]:
    """As many steps as pre-training and fine-tuning have together."""
    tried = [
        Run("A", "tune", loss, rate, seed, start + STEPS)
        for loss in SCRATCH
        for rate in RATES
        for seed in TUNING
    ]
    yield from tried
    best = {loss: pick.best_rate(tried, loss=loss) for loss in SCRATCH}
    for seed in SCRATCH_SEEDS:
        for loss, rate in best.items():
            yield Run("A", "evaluate", loss, rate, seed, start + STEPS, arithmetic=arithmetic)


def binary(pick: Choices, start: int, arithmetic: str) -> Iterator[Run]:
    tried = [
        Run("D", "tune", loss, rate, TUNING[0], STEPS, start, target=target)
        for loss in BINARY
        for rate in RATES
        for target in TARGETS
    ]
    yield from tried
    best = {loss: pick.best_rate(tried, loss=loss) for loss in BINARY}
    for seed in BINARY_SEEDS:
        for loss, rate in best.items():
            for target in TARGETS:
                run = Run("D", "evaluate", loss, rate, seed, STEPS, start, target=target)
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


def last_layer(pick: Choices, start: int, arithmetic: str) -> Iterator[Run]:
    def made(role: str, name: str, size: float, draw: int) -> Run:
        of = minimum(draw, start, arithmetic)
        return replace(of, role=role, loss=name, rate=size, steps=PASSES)

    tried: list[Run] = []
    for draw in TUNING:
        yield minimum(draw, start, arithmetic)
        own = [
            made("tune", name, size, draw)
            for optimiser in OPTIMISERS
            for name in settings(optimiser)
            for size in SIZES
        ]
        yield from own
        tried += own
    for draw in DRAWS:
        yield minimum(draw, start, arithmetic)
        for optimiser in OPTIMISERS:
            name, size = pick.best_setting([r for r in tried if r.loss in settings(optimiser)])
            yield made("evaluate", name, size, draw)


def next_run(results: pd.DataFrame, done: set[str]) -> Run | None:
    """The first run that is not done."""
    return next((run for run in table(results) if run.key not in done), None)
