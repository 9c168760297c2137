"""A problem in C: lib.so:make, where make is a function submod_status make(submod_problem *) that
fills the table of optim.h. It starts at 0 for seed 0, else about 1 away from it in each
variable. Its minimum is looked for within RADIUS, so it must be convex."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .. import _bindings
from .._callbacks import Trap
from .._problem import _Made
from .interfaces import Instance, Problem, Settings
from .mistakes import Mistake

RADIUS = 100.0


class FromTable(_Made):
    """A problem that has a table already, which it clears in the end."""

    def __init__(self, table: _bindings.Problem) -> None:
        Trap.__init__(self)
        self._table, self.n, self.batches = table, table.dimension, max(1, table.batches)


class LibraryProblem(Problem):
    """where: lib.so:make"""

    def __init__(self, where: str) -> None:
        path, found, symbol = where.rpartition(":")
        if not found or not Path(path).is_file():
            raise Mistake(f"{where!r}: a library and a function are needed, as in lib.so:make")
        self.path, self.symbol = Path(path).resolve(), symbol
        self.name = self.title = f"{self.path.stem}:{symbol}"
        self.sources = (self.path,)
        try:
            known = hasattr(ctypes.CDLL(str(self.path)), symbol)
        except OSError as error:
            raise Mistake(f"{path} cannot be loaded as a library: {error}") from error
        if not known:
            raise Mistake(f"{path} has no function {symbol}")

    def instances(self, quick: bool) -> Sequence[Settings]:
        return ({},)

    def make(self, settings: Settings, seed: int) -> Instance:
        table = _bindings.Problem()
        status = getattr(ctypes.CDLL(str(self.path)), self.symbol)(ctypes.byref(table))
        if status != 0 or table.dimension < 1 or not table.subgradient:
            raise Mistake(f"{self.name} returned {status}, or left dimension or subgradient out")
        problem = FromTable(table)
        start = np.zeros(problem.n)
        if seed:
            start = np.random.default_rng(seed).normal(size=problem.n)
        return Instance(problem, start, radius=RADIUS)
