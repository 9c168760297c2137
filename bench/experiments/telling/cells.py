"""Tables as texts: numbers of a column with the same decimals for people, all digits that count
for programs."""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any

from .section import Table

DIGITS = 4  # of the largest number of a column


def is_fraction(value: Any) -> bool:
    """Of Python or of NumPy."""
    return isinstance(value, Real) and not isinstance(value, Integral)


def is_numeric(column: Sequence[Any]) -> bool:
    """Then it is set to the right."""
    return all(value is None or isinstance(value, Real) for value in column)


def decimals(column: Sequence[Any]) -> int:
    sizes = [abs(x) for x in column if is_fraction(x) and math.isfinite(x) and x != 0]
    return min(max(DIGITS - 1 - math.floor(math.log10(max(sizes))), 0), 6) if sizes else 0


def shown(table: Table) -> list[list[str]]:
    """The cells, row by row."""
    columns = [formatted(column) for column in columns_of(table)]
    return [list(row) for row in zip(*columns)]


def columns_of(table: Table) -> list[list[Any]]:
    return [[row[i] for row in table.rows] for i in range(len(table.columns))]


def formatted(column: Sequence[Any]) -> list[str]:
    places = decimals(column)
    return [cell(value, f".{places}f") for value in column]


def cell(value: Any, kind: str) -> str:
    if value is None:
        return ""
    return format(value, kind) if is_fraction(value) else str(value)


def write_csv(table: Table, folder: Path) -> None:
    with open(folder / f"{table.name}.csv", "w", encoding="utf-8", newline="") as to:
        rows = csv.writer(to, lineterminator="\n")
        rows.writerow(table.columns)
        rows.writerows([cell(value, ".6g") for value in row] for row in table.rows)
