"""What came out on IBSR, head by head: indices, their paired differences, and tables of both."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import intervals
from ..intervals import Interval
from ..lab import Lab
from ..telling import words
from ..telling.section import Table
from .heads import TISSUES
from .runs import LOSSES, MODELS, Case, jaccard

SHOWN = {"linear": "linear", "hidden": "hidden layer", "unet": "2.5-D U-Net"}
CALLED = {
    "cross_entropy": "cross-entropy",
    "lovasz": "Lovász-Softmax",
    "lovasz+cross_entropy": "Lovász-Softmax + cross-entropy",
}
COLUMNS = (*TISSUES[1:], "mean")
BASE = "cross_entropy"
COMPARED = ("lovasz", "lovasz+cross_entropy")
Values = npt.NDArray[np.float64]  # (heads, COLUMNS), in percent


def of_volumes(counts: Any) -> Values:
    """Jaccard indices of whole heads."""
    return with_mean(jaccard(counts.sum(1)))


def of_slices(counts: Any) -> Values:
    """The mean over the slices that show any tissue; 0/0 = 1, as in the paper."""
    shows = counts[:, :, 1:].sum((2, 3)) > 0
    found = jaccard(counts)
    return with_mean(np.stack([own[here].mean(0) for own, here in zip(found, shows)]))


def with_mean(found: Values) -> Values:
    return 100 * np.concatenate([found, found.mean(-1, keepdims=True)], -1)


LEVELS: dict[str, Callable[[Any], Values]] = {"volume": of_volumes, "slice": of_slices}


class Difference(NamedTuple):
    """From cross-entropy: of a loss, at a level; its intervals by column."""

    model: str
    loss: str
    level: str
    found: list[Interval]


@dataclass(frozen=True)
class Results:
    lab: Lab
    heads: list[str]
    fold: list[int]  # of each head
    counts: dict[tuple[str, str], list[Any]]  # by model and loss: of each seed, in order of heads

    def values(self, model: str, loss: str, level: str) -> list[Values]:
        """Of each seed."""
        return [LEVELS[level](counts) for counts in self.counts[model, loss]]

    def gains(self, model: str, loss: str, level: str) -> npt.NDArray[np.float64]:
        """Over cross-entropy (seeds, heads, COLUMNS)."""
        ours, theirs = (self.values(model, name, level) for name in (loss, BASE))
        return np.subtract(ours, theirs)

    def difference(self, model: str, loss: str, level: str) -> Difference:
        """Heads of a fold share their networks, so folds are what counts."""
        columns = np.moveaxis(self.gains(model, loss, level), -1, 0)
        found = [intervals.paired_groups(column, self.fold) for column in columns]
        return Difference(model, loss, level, found)

    @cached_property
    def differences(self) -> list[Difference]:
        return [
            self.difference(model, loss, level)
            for model in MODELS
            for loss in COMPARED
            for level in LEVELS
        ]


def read(lab: Lab) -> Results:
    folds = [Case(lab, next(iter(MODELS)), k) for k in range(lab.plan.folds)]
    tested = sorted((name, case.fold) for case in folds for name in case.heads.test)
    counts = {
        (model, loss): [of_seed(lab, model, loss, seed) for seed in getattr(lab.plan, model).seeds]
        for model in MODELS
        for loss in LOSSES
    }
    return Results(lab, [name for name, _ in tested], [fold for _, fold in tested], counts)


def of_seed(lab: Lab, model: str, loss: str, seed: int) -> Any:
    """Confusion counts (heads, slices, truth, prediction), in order of the heads' names."""
    cases = [Case(lab, model, k) for k in range(lab.plan.folds)]
    found = [case.folder(case.final(loss, seed)).read_arrays("test.npz") for case in cases]
    order = np.argsort(np.concatenate([one["heads"] for one in found]))
    return np.concatenate([one["confusion"] for one in found])[order]


def tables(results: Results) -> list[Table]:
    told = (scores, differences, details, rates, plan, raw)
    return [table(results) for table in told]


def scores(results: Results) -> Table:
    rows = []
    for model, loss in results.counts:
        volume, in_slices = (
            np.mean(results.values(model, loss, level), axis=(0, 1)) for level in LEVELS
        )
        numbers = [f"{x:.2f}" for x in (*volume, in_slices[-1])]
        rows.append([SHOWN[model], CALLED[loss], *numbers])
    return Table(
        "ibsr",
        "Jaccard index in percent, mean over the test heads and seeds. The last column is the mean "
        "over single slices instead of whole volumes.",
        ["model", "trained with", *COLUMNS, "mean, per slice"],
        rows,
    )


def differences(results: Results) -> Table:
    of = {"volume": "whole volumes", "slice": "single slices"}
    rows = [
        [SHOWN[one.model], CALLED[one.loss], of[one.level], *map(in_words, one.found)]
        for one in results.differences
    ]
    return Table(
        "ibsr_differences",
        "Jaccard index less that of cross-entropy, in percentage points, with 95 % intervals "
        "(paired by head and seed; Student's t over the folds' means, and over the seeds').",
        ["model", "trained with", "index of", *COLUMNS],
        rows,
    )


def in_words(found: Interval) -> str:
    value, low, high = words.in_digits(found, 2)
    return f"{value} ({low} to {high}) {found.verdict}"


def details(results: Results) -> Table:
    rows = []
    for model, loss, level, found in results.differences:
        gains = results.gains(model, loss, level).mean(0)
        for k, column in enumerate(COLUMNS):
            numbers = [f"{x:.4f}" for x in found[k]]
            above = int((gains[:, k] > 0).sum())
            row = [model, loss, level, column, *numbers, found[k].verdict, above, len(gains)]
            rows.append(row)
    columns = ["model", "loss", "index_of", "structure", "difference", "low", "high", "verdict"]
    columns += ["heads_above", "heads"]
    return Table("ibsr_intervals", "The same with more digits.", columns, rows, shown=False)


def picked(results: Results, model: str, loss: str) -> list[float]:
    """The rate of each fold."""
    return [Case(results.lab, model, k).rate(loss) for k in range(results.lab.plan.folds)]


def rates(results: Results) -> Table:
    rows = [
        [SHOWN[model], CALLED[loss], *(f"{rate:g}" for rate in picked(results, model, loss))]
        for model, loss in results.counts
    ]
    folds = range(results.lab.plan.folds)
    columns = ["model", "trained with", *(f"fold {k + 1}" for k in folds)]
    return Table("ibsr_rates", "Learning rates that the validation heads picked.", columns, rows)


def plan(results: Results) -> Table:
    of_batch = {"linear": "voxels", "hidden": "voxels", "unet": "slices"}
    rows = []
    for model, effort in ((name, getattr(results.lab.plan, name)) for name in SHOWN):
        pretraining = f"{effort.pretraining_steps} steps, rate {effort.pretraining_rate:g}"
        tried = ", ".join(f"{rate:g}" for rate in effort.rates)
        batch = f"{effort.batch} {of_batch[model]}"
        rows.append([SHOWN[model], effort.size or None, batch, pretraining, effort.steps, tried])
    return Table(
        "ibsr_plan",
        "How each model is trained, on each fold and with each seed: Adam, the rate falls as "
        "(1 - step / steps)^0.9. Size: hidden units, or channels of the U-Net's first level.",
        ["model", "size", "batch", "pre-training", "steps of fine-tuning", "rates tried"],
        rows,
    )


def raw(results: Results) -> Table:
    rows = []
    for model, loss in results.counts:
        by_level = zip(*(results.values(model, loss, level) for level in LEVELS))
        seeds = getattr(results.lab.plan, model).seeds
        for seed, values in zip(seeds, by_level):
            for k, head in enumerate(results.heads):
                numbers = [f"{x:.4f}" for of_level in values for x in of_level[k]]
                rows.append([model, loss, seed, results.fold[k] + 1, head, *numbers])
    measures = [f"{level}_{column.replace(' ', '_')}" for level in LEVELS for column in COLUMNS]
    columns = ["model", "loss", "seed", "fold", "head", *measures]
    return Table("ibsr_heads", "Every head.", columns, rows, shown=False)
