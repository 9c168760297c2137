"""Tables of scores: a row for each way, a column for each measure, the best of a column marked; and
the same with every seed in rows of its own, for CSV. And tables of differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np

from ..intervals import Interval
from . import words
from .section import Table

BEST = " *"  # after the best of a column


class Column(NamedTuple):
    title: str
    values: Sequence[Sequence[float]]  # of each row, of each seed
    scale: float = 100.0
    digits: int = 1
    rising: bool = True  # larger is better

    def texts(self) -> list[str]:
        means = np.array([np.mean(of_row) for of_row in self.values])
        best = means.max() if self.rising else means.min()
        return [
            words.mean_and_spread(of_row, self.scale, self.digits) + (BEST if mean == best else "")
            for of_row, mean in zip(self.values, means)
        ]


def scored(
    name: str, caption: str, rows: Sequence[Sequence[str]], heads: Sequence[str],
    columns: Sequence[Column],
) -> Table:  # fmt: skip
    """rows: what stands before the scores, under heads."""
    texts = [column.texts() for column in columns]
    body = [[*row, *(text[k] for text in texts)] for k, row in enumerate(rows)]
    note = "Mean over the seeds ± half of their spread; * the best of a column."
    return Table(name, f"{caption} {note}", [*heads, *(c.title for c in columns)], body)


def raw(
    name: str, caption: str, rows: Sequence[Sequence[str]], heads: Sequence[str],
    columns: Sequence[Column], seeds: Sequence[int],
) -> Table:  # fmt: skip
    """Every seed by itself, unrounded but for noise, for CSV."""
    body = [
        [*row, seed, *(f"{column.values[k][j]:.6f}" for column in columns)]
        for k, row in enumerate(rows)
        for j, seed in enumerate(seeds)
    ]
    return Table(name, caption, [*heads, "seed", *(c.title for c in columns)], body, shown=False)


def differences(
    name: str, caption: str, head: str, found: Mapping[str, Mapping[str, Interval]]
) -> list[Table]:
    """found: by column, by row. As text, and as numbers for CSV."""
    rows = list(next(iter(found.values())))
    body = [[row, *(words.points_and_verdict(of[row]) for of in found.values())] for row in rows]
    numbers = [
        [column, row, *of[row], of[row].verdict] for column, of in found.items() for row in rows
    ]
    return [
        Table(name, caption, [head, *found], body),
        Table(
            f"{name}_numbers", f"The same as fractions of 1. {caption}",
            ["index", head, "difference", "low", "high", "verdict"], numbers, shown=False,
        ),
    ]  # fmt: skip
