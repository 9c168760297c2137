"""What an experiment tells: tables, figures and verdicts. report.py and document.py write them
down as HTML, Markdown and CSV."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Table:
    name: str  # of its CSV file
    caption: str
    columns: Sequence[str]
    rows: Sequence[Sequence[Any]]  # texts, numbers; None where there is nothing
    shown: bool = True  # or in the CSV file only


@dataclass(frozen=True)
class Figure:
    name: str  # of its PNG file
    caption: str
    draw: Callable[[], Any]  # a matplotlib figure
    shows_data: bool = False  # then it stays out of the repository


@dataclass(frozen=True)
class Claim:
    """Something the paper says, and what came out here."""

    paper: str
    measured: str
    verdict: str  # "held", "not shown", "not held"
    data: str  # on which data, with how many seeds or folds


@dataclass(frozen=True)
class Section:
    title: str
    text: Sequence[str]  # paragraphs
    tables: Sequence[Table] = field(default=())
    figures: Sequence[Figure] = field(default=())
    claims: Sequence[Claim] = field(default=())
