"""Runs as they are compared: by their accuracy, (J - f*) / (J at the start - f*), best so far."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from .bench import Outcome
from .cache import Result
from .interfaces import Vector
from .jobs import Job
from .task import SOLVED

TARGETS = (1e-1, 1e-2, 1e-4)  # accuracies whose calls are counted


@dataclass(frozen=True)
class Record:
    """One run. where: its problem with settings, which together with the seed is a problem of the
    profiles."""

    where: str
    seed: int
    optimiser: str
    size: float
    status: str
    calls: Vector
    seconds: Vector
    accuracy: Vector  # after these, never below SOLVED
    oscillation: dict[str, float] = field(default_factory=dict)

    @property
    def final(self) -> float:
        return float(self.accuracy[-1])

    def to_reach(self, accuracy: float, clock: str = "calls") -> float:
        """Calls, or seconds; inf: it does not."""
        reached = self.accuracy <= accuracy
        return float(getattr(self, clock)[reached.argmax()]) if reached.any() else np.inf


def records_of(outcome: Outcome) -> list[Record]:
    return [
        _record(job, run, outcome.minima[job.member])
        for job, runs in outcome.runs.items()
        for run in runs
    ]


def _record(job: Job, run: Result, minimum: Result) -> Record:
    fall = max(minimum["first"] - minimum["f_star"], 1e-300)
    f = np.minimum.accumulate(np.array(run["f"] or [minimum["first"]]))
    return Record(
        str(job.member),
        job.member.seed,
        job.optimiser,
        run["size"],
        run["status"],
        np.array(run["calls"] or [0.0]),
        np.array(run["seconds"] or [0.0]),
        np.maximum((f - minimum["f_star"]) / fall, SOLVED),
        run["oscillation"],
    )


# ---- tuning ----

Sizes = dict[float, list[Record]]


def by_size(records: Sequence[Record]) -> dict[tuple[str, str], Sizes]:
    """(where, optimiser) -> size -> runs, one for each seed."""
    found: dict[tuple[str, str], Sizes] = defaultdict(lambda: defaultdict(list))
    for record in records:
        found[record.where, record.optimiser][record.size].append(record)
    return found


def best_size(sizes: Sizes) -> float:
    """The one with the best median accuracy over the seeds; among equals the fastest."""

    def quality(size: float) -> tuple[float, float]:
        runs = sizes[size]
        final = median_final(runs)
        return final, float(np.median([run.to_reach(final) for run in runs]))

    return min(sizes, key=quality)


def tuned(records: Sequence[Record]) -> list[Record]:
    """Of each optimiser on each problem, the runs of its best size."""
    return [run for sizes in by_size(records).values() for run in sizes[best_size(sizes)]]


def untuned(records: Sequence[Record]) -> list[Record]:
    """Of each optimiser, the runs of the one size that serves it best on all its problems: the mean
    over problems of the digits that are right."""
    found: dict[str, dict[float, list[float]]] = defaultdict(lambda: defaultdict(list))
    for (_, optimiser), sizes in by_size(records).items():
        for size, runs in sizes.items():
            found[optimiser][size].append(float(np.log10(median_final(runs))))
    best = {name: min(sizes, key=lambda s: np.mean(sizes[s])) for name, sizes in found.items()}
    return [record for record in records if record.size == best[record.optimiser]]


def median_final(runs: Sequence[Record]) -> float:
    return float(np.median([run.final for run in runs]))
