"""What an optimiser is given: an objective to ask, a start, a size, and a budget of calls.

A call looks at all of f once: a subgradient, a prox, or the gradient of the smooth part with the
prox of the rest. That of one of m minibatches is 1/m of a call. J is also evaluated for the curve,
at about LINES points: that costs no calls, and its seconds do not count either."""

from __future__ import annotations

import ctypes
import math
import time
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Callable

import numpy as np

from .. import optim
from .._bindings import FULL_BATCH
from .._numbers import whole
from .interfaces import Instance, Reference, Vector

LINES = 100  # of a curve
SOLVED = 1e-10  # a run ends when J - f* has become this small, as a share of what it was
SMALL = 20  # up to so many variables points are kept
EXACT = 1e-9  # calls are sums of parts


@dataclass
class Curve:
    """How a run went: after these calls and seconds, this J. points, and J there: of problems with
    few variables, for the measures of oscillation. Without minibatches these are the points after
    every step; with them those at the end of every pass, or of every iteration where one is longer
    than a pass."""

    calls: list[float] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list)
    f: list[float] = field(default_factory=list)
    points: list[Vector] = field(default_factory=list)
    at_points: list[float] = field(default_factory=list)


class Task:
    """One run of an optimiser. In Python:

    while task.left:
        value, g = task.subgradient(x)
        x = x - task.size * task.step * g
        task.tell(x)

    Those that run in C hand task.limits(..) on instead."""

    def __init__(
        self, instance: Instance, reference: Reference, calls: float, size: float, seed: int
    ) -> None:
        self.instance, self.reference = instance, reference
        self.problem, self.start = instance.problem, instance.start.copy()
        self.n, self.batches = self.problem.n, self.problem.batches
        self.budget, self.size, self.seed = calls, size, seed
        self.f_star, self.weight_decay = reference.f_star, instance.weight_decay
        self.calls, self._looks, self.curve = 0.0, 0, Curve()
        self.keeps_points = self.n <= SMALL
        self._objective = Objective(instance)
        self.first, self.start_slope = self._objective.subgradient(self.start, None)
        self._solved, self._aside = False, 0.0
        self._due = self._point_due = 0.0  # calls at which J, and a point, are written down next
        self._last = (0.0, 0.0, self.first)  # calls, seconds and J, last told
        self._began = time.perf_counter()
        self.tell(self.start)

    # ---- what sizes are multiples of ----

    @cached_property
    def length(self) -> float:
        """From the start to the minimum: known to all, so that one grid serves all problems."""
        return float(np.linalg.norm(self.reference.x - self.start)) or 1.0

    @cached_property
    def slope(self) -> float:
        """The length of a subgradient at the start."""
        return float(np.linalg.norm(self.start_slope)) or 1.0

    @property
    def step(self) -> float:
        """Natural for methods that multiply gradients: the first one then goes all the way."""
        return self.length / self.slope

    @property
    def coordinate_step(self) -> float:
        """Natural for methods whose steps do not depend on the length of gradients, like Adam's."""
        return self.length / float(np.sqrt(self.n))

    # ---- for optimisers in Python ----

    @property
    def left(self) -> bool:
        """Whether to go on."""
        return self.calls < self.budget and not self._solved

    @cached_property
    def rng(self) -> np.random.Generator:
        return np.random.default_rng(self.seed)

    def subgradient(self, x: Vector, batch: int | None = None) -> tuple[float, Vector]:
        """J(x) and a subgradient of J, or of one minibatch of it."""
        self._count(batch)
        return self._objective.subgradient(x, batch)

    def prox(self, x: Vector, lam: float, batch: int | None = None) -> Vector:
        """The u with the least J(u) + lam/2 |u - x|^2, of a problem without smooth part."""
        self._count(batch)
        return self._objective.prox(x, lam, batch)

    def tell(self, x: Vector) -> None:
        """The answer is now x."""
        if self._is_due or self._is_point_due or not self.left:
            aside = time.perf_counter()
            self._record(x, self._objective.value(x), aside - self._began - self._aside)
            self._aside += time.perf_counter() - aside

    # ---- for those in C ----

    def limits(
        self, cost: float = 1.0, own_values: bool = True, before: float = 0.0
    ) -> dict[str, Any]:
        """For submod.optim's functions, where an iteration costs so many calls, after so many
        before the first point. own_values: their values are those of J."""
        iterations = max(1, round((self.budget - before) / cost))
        self.curve = Curve()  # it tells of its start itself
        self._due = self._point_due = 0.0
        return {
            "max_iterations": iterations,
            "trace_every": max(1, math.ceil(self._trace_pause / cost)),
            "tolerance": 0.0,  # it ends where all others end, not at a gap of its own
            "keep_best": False,
            "weight_decay": self.weight_decay,
            "trace": self._follow(cost, own_values, before),
        }

    def _follow(
        self, cost: float, own_values: bool, before: float
    ) -> Callable[[optim.TraceLine], bool]:
        def follow(line: optim.TraceLine) -> bool:
            self.calls = before + line.iteration * cost
            f = line.f if own_values else self._objective.value(line.x)
            self._record(line.x, f, line.seconds)
            return self._solved

        return follow

    # ---- when J is evaluated, and points are kept ----

    @property
    def _pause(self) -> float:
        """Calls between two lines of the curve: a line costs as much as a pass over minibatches."""
        if self.keeps_points and self.batches <= 1:
            return 0.0
        return max(self.budget / LINES, 1.0 if self.batches > 1 else 0.0)

    @property
    def _point_pause(self) -> float:
        """Calls between two points: a step, or a pass over all minibatches."""
        return 1.0 if self.batches > 1 else 0.0

    @property
    def _trace_pause(self) -> float:
        return min(self._pause, self._point_pause) if self.keeps_points else self._pause

    @property
    def _is_due(self) -> bool:
        return self.calls >= self._due - EXACT

    @property
    def _is_point_due(self) -> bool:
        return self.keeps_points and self.calls >= self._point_due - EXACT

    def _record(self, x: Vector, f: float, seconds: float) -> None:
        """What a run is judged by, the curve, does not depend on whether points are kept."""
        curve, self._last = self.curve, (self.calls, seconds, f)
        if self._is_point_due:
            curve.points.append(np.array(x))
            curve.at_points.append(f)
            self._point_due = self.calls + self._point_pause
        if self._is_due or not self.left:
            self._write_down(*self._last)
            self._due = self.calls + self._pause

    def _write_down(self, calls: float, seconds: float, f: float) -> None:
        self.curve.calls.append(calls)
        self.curve.seconds.append(seconds)
        self.curve.f.append(f)
        self._solved = f - self.f_star <= SOLVED * (self.first - self.f_star)

    def finish(self) -> None:
        """The run is over: the last that was told of belongs to the curve."""
        if self.curve.calls and self._last[0] > self.curve.calls[-1]:
            self._write_down(*self._last)

    def _count(self, batch: int | None) -> None:
        """In minibatches, which are whole numbers."""
        self._looks += self.batches if batch is None else 1
        self.calls = self._looks / self.batches


class Objective:
    """J by the table of its problem, be that in C or in Python."""

    def __init__(self, instance: Instance) -> None:
        self.problem, self.decay = instance.problem, instance.weight_decay
        self.table = instance.problem._table

    def value(self, x: Vector) -> float:
        if not self.table.value:
            return self.subgradient(x, None)[0]
        x, value = self._vector(x), ctypes.c_double()
        self._check(self.table.value(self.table.ctx, x.ctypes.data, ctypes.byref(value)))
        return value.value + self.decay / 2 * float(x @ x)

    def subgradient(self, x: Vector, batch: int | None) -> tuple[float, Vector]:
        x, value, g = self._vector(x), ctypes.c_double(), np.zeros(self.problem.n)
        places = x.ctypes.data, ctypes.byref(value), g.ctypes.data
        self._check(self.table.subgradient(self.table.ctx, self._number(batch), *places))
        return value.value + self.decay / 2 * float(x @ x), g + self.decay * x

    def prox(self, x: Vector, lam: float, batch: int | None) -> Vector:
        """decay/2 |u|^2 + lam/2 |u - x|^2 is one square around a point nearer to 0."""
        if not self.table.prox or self.table.smooth:
            raise ValueError("the problem has no prox of its own: say needs = ('prox',)")
        total, u = lam + self.decay, np.zeros(self.problem.n)
        x = self._vector(x) * (lam / total)
        number = self._number(batch)
        self._check(self.table.prox(self.table.ctx, number, x.ctypes.data, total, u.ctypes.data))
        return u

    def _vector(self, x: Vector) -> Vector:
        x = np.ascontiguousarray(x, dtype=np.float64)
        if x.shape != (self.problem.n,):
            raise ValueError(f"x of shape {x.shape}; it must have {self.problem.n} entries")
        if not np.isfinite(x).all():
            raise OverflowError("x has become infinite or NaN")
        return x

    def _number(self, batch: int | None) -> int:
        if batch is None:
            return int(FULL_BATCH)
        if not 0 <= whole(batch, "batch") < self.problem.batches:
            raise ValueError(f"batch {batch}; there are {self.problem.batches}")
        return batch

    def _check(self, status: int) -> None:
        raised = [error for trap in self.problem._traps() if (error := trap.take()) is not None]
        if raised:
            raise raised[0]
        if status < 0:
            raise RuntimeError(f"a callback of the problem returned {status}")
