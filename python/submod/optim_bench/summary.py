"""What tables and figures tell: numbers for each optimiser, and for each of its problems."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .basins import Basin, basin
from .bench import Outcome
from .interfaces import Optimiser
from .oscillation import MEASURES
from .records import TARGETS, Record, Sizes, best_size, by_size, records_of, untuned

GROUPS = ("subgradients", "averages", "proxes", "solvers")  # in figures, others after these


@dataclass(frozen=True)
class Quartiles:
    low: float
    median: float
    high: float

    def __str__(self) -> str:
        return f"{self.median:.2g} [{self.low:.2g}, {self.high:.2g}]"


def quartiles(values: Sequence[float]) -> Quartiles:
    """By values that were found, so that inf is no trouble."""
    return Quartiles(*(float(q) for q in np.percentile(values, (25, 50, 75), method="nearest")))


@dataclass(frozen=True)
class Place:
    """An optimiser on a problem with settings."""

    where: str
    optimiser: str
    sizes: Sizes
    best_size: float
    basin: Basin | None  # None: it has no size

    @property
    def best(self) -> list[Record]:
        """The tuned runs, one for each seed."""
        return self.sizes[self.best_size]

    @property
    def accuracy(self) -> Quartiles:
        return quartiles([run.final for run in self.best])

    @property
    def rank(self) -> tuple[float, float]:
        """Less is better: the accuracy, then the calls that it took."""
        final = self.accuracy.median
        return final, float(np.median([run.to_reach(final) for run in self.best]))


class Summary:
    """All places, in the order of the catalogue."""

    def __init__(self, outcome: Outcome) -> None:
        self.outcome = outcome
        self.records = records_of(outcome)
        self.places = [_place(outcome, *item) for item in by_size(self.records).items()]
        names = {place.optimiser for place in self.places}
        known = outcome.catalogue.optimisers
        self.optimisers: list[Optimiser] = [known[name] for name in known if name in names]
        there = dict.fromkeys(optimiser.group for optimiser in self.optimisers)
        first = [group for group in GROUPS if group in there]
        self.groups = first + [group for group in there if group not in GROUPS]
        self.wheres = list(dict.fromkeys(place.where for place in self.places))
        self.in_parts = {str(m) for m, found in outcome.minima.items() if found["batches"] > 1}
        self.tuned = [run for place in self.places for run in place.best]
        self.untuned = untuned(self.records)

    def of(self, optimiser: str) -> list[Place]:
        return [place for place in self.places if place.optimiser == optimiser]

    def at(self, where: str) -> list[Place]:
        """The best first."""
        return sorted((p for p in self.places if p.where == where), key=lambda place: place.rank)

    def solved(self, optimiser: str) -> list[float]:
        """For each target, the share of the problems in which it takes part that reach it."""
        runs = [run for place in self.of(optimiser) for run in place.best]
        return [float(np.mean([run.final <= target for run in runs])) for target in TARGETS]

    def basins(self, optimiser: str) -> Quartiles | None:
        found = [place.basin.decades for place in self.of(optimiser) if place.basin is not None]
        return quartiles(found) if found else None

    def oscillation(self, optimiser: str, minibatches: bool) -> dict[str, Quartiles]:
        """Over all tuned runs whose points were kept, on problems with minibatches or without."""
        places = [p for p in self.of(optimiser) if (p.where in self.in_parts) == minibatches]
        kept = [run.oscillation for place in places for run in place.best]
        values = {name: [one[name] for one in kept if name in one] for name in MEASURES}
        return {name: quartiles(found) for name, found in values.items() if found}


def _place(outcome: Outcome, key: tuple[str, str], sizes: Sizes) -> Place:
    where, name = key
    tuned = outcome.catalogue.optimisers[name].tuned
    return Place(where, name, sizes, best_size(sizes), basin(sizes) if tuned else None)
