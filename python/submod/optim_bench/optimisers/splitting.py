"""Methods for f(A x) + g(x), by the proxes of f and g."""

from __future__ import annotations

from ... import optim
from ..interfaces import Optimiser
from ..task import Task


class PrimalDual(Optimiser):
    name = "primal-dual"
    title = "primal-dual"
    group = "solvers"
    needs = ("parts", "convex")
    split = staticmethod(optim.primal_dual)

    def run(self, task: Task) -> None:
        parts = task.instance.parts
        assert parts is not None
        step = task.size * task.step
        self.split(parts.f, parts.A, task.start, parts.g, step=step, **task.limits())


class Admm(PrimalDual):
    name = "admm"
    title = "ADMM"
    group = "solvers"
    split = staticmethod(optim.admm)
