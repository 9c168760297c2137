"""Methods for f(A x) + g(x), by the proxes of f and g. Sizes are multiples of the steps for which
the bounds of their theorems (solvers.h) are least."""

from __future__ import annotations

import numpy as np

from ... import optim
from ..interfaces import Instance, Optimiser, Parts
from ..task import Objective, Task


class PrimalDual(Optimiser):
    name = "primal-dual"
    title = "primal-dual"
    group = "solvers"
    needs = ("parts", "convexity")
    split = staticmethod(optim.primal_dual)

    def run(self, task: Task) -> None:
        parts = task.instance.parts
        assert parts is not None
        step = task.size * self.natural(task, parts)
        self.split(parts.f, parts.A, task.start, parts.g, step=step, **task.limits())

    def natural(self, task: Task, parts: Parts) -> float:
        """|start - minimum| / (|A| |subgradient of f|)"""
        return task.length / (float(np.linalg.norm(parts.A, 2)) * _steepness(task, parts) or 1.0)


class Admm(PrimalDual):
    name = "admm"
    title = "ADMM"
    split = staticmethod(optim.admm)

    def natural(self, task: Task, parts: Parts) -> float:
        """The same distance in the space of (x, A x), over |subgradient of f|."""
        away = task.reference.x - task.start
        distance = float(np.hypot(np.linalg.norm(away), np.linalg.norm(parts.A @ away)))
        return (distance or 1.0) / _steepness(task, parts)


def _steepness(task: Task, parts: Parts) -> float:
    """The length of a subgradient of f at A times the start."""
    image = parts.A @ task.start
    _, slope = Objective(Instance(parts.f, image)).subgradient(image, None)
    return float(np.linalg.norm(slope)) or 1.0
