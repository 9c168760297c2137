"""A method for f(A x) + g(x), by the proxes of f and g."""

from __future__ import annotations

import numpy as np

from ... import optim
from ..interfaces import Instance, Optimiser, Parts
from ..task import Objective, Task


class PrimalDual(Optimiser):
    """Sizes are multiples of the step for which the bound of its theorem (solvers.h) is least."""

    name = "primal-dual"
    title = "primal-dual"
    group = "solvers"
    needs = ("parts", "convexity")

    def run(self, task: Task) -> None:
        parts = task.instance.parts
        assert parts is not None
        step = task.size * _natural(task, parts)
        optim.primal_dual(parts.f, parts.A, task.start, parts.g, step=step, **task.limits())


def _natural(task: Task, parts: Parts) -> float:
    """|start - minimum| / (|A| |subgradient of f|), that at A times the start"""
    image = parts.A @ task.start
    _, slope = Objective(Instance(parts.f, image)).subgradient(image, None)
    steepness = float(np.linalg.norm(slope)) or 1.0
    return task.length / (float(np.linalg.norm(parts.A, 2)) * steepness or 1.0)
