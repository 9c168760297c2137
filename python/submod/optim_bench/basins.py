"""How well a size has to be known: the width of the basin around the best one."""

from __future__ import annotations

import math
from typing import NamedTuple

from .records import Sizes, best_size, median_final

FACTOR = 10.0  # accuracies within this of the best are in the basin


class Basin(NamedTuple):
    """decades: between the ends, where the accuracy is FACTOR times the best one, interpolated on
    logarithmic axes. open: it goes on beyond the grid."""

    decades: float
    open: bool


def basin(sizes: Sizes) -> Basin:
    grid = sorted(sizes)
    accuracy = [median_final(sizes[size]) for size in grid]
    best = grid.index(best_size(sizes))
    limit = FACTOR * accuracy[best]
    ends = [_end(grid, accuracy, best, limit, way) for way in (-1, 1)]
    return Basin(abs(ends[1][0] - ends[0][0]), ends[0][1] or ends[1][1])


def _end(
    grid: list[float], accuracy: list[float], best: int, limit: float, way: int
) -> tuple[float, bool]:
    """Of the basin in one direction: log10 of the size, and whether that is the grid's end."""
    k = best
    while 0 <= k + way < len(grid) and accuracy[k + way] <= limit:
        k += way
    here = math.log10(grid[k])
    if not 0 <= k + way < len(grid):
        return here, True
    rise = math.log10(accuracy[k + way] / accuracy[k])
    share = math.log10(limit / accuracy[k]) / rise
    return here + share * (math.log10(grid[k + way]) - here), False
