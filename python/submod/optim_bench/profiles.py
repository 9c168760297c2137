"""Profiles: which share of the problems is solved, how fast.

Dolan and Moré (2002): time is measured in that of the fastest for each problem. Moré and Wild
(2009): it is measured in gradients, which for us are calls. Problems in which an optimiser does not
take part count as not solved."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from .interfaces import Vector
from .records import Record

Table = npt.NDArray[np.float64]  # (problems, optimisers)


def times(records: Sequence[Record], optimisers: Sequence[str], accuracy: float) -> Table:
    """Calls that each optimiser needs on each problem; inf: not solved."""
    problems = {
        place: k for k, place in enumerate(dict.fromkeys((r.where, r.seed) for r in records))
    }
    found = np.full((len(problems), len(optimisers)), np.inf)
    column = {name: k for k, name in enumerate(optimisers)}
    for record in records:
        place = problems[record.where, record.seed], column[record.optimiser]
        found[place] = min(found[place], record.to_reach(accuracy))
    return found


def performance_ratios(table: Table) -> Table:
    """t / (the least t of that problem); inf where it is not solved. At the start: 1 for all."""
    best = table.min(axis=1, keepdims=True)
    ratios = np.full_like(table, np.inf)
    np.divide(table, best, out=ratios, where=np.isfinite(table) & (best > 0))
    ratios[(table == 0) & (best == 0)] = 1.0
    return ratios


def share_within(values: Table, limits: Vector) -> Table:
    """(limits, optimisers): the share of problems with a value of at most the limit."""
    return np.asarray((values[None, :, :] <= limits[:, None, None]).mean(axis=1))
