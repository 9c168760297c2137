"""Methods without a step size, which know how far they are from the minimum."""

from __future__ import annotations

from ... import optim
from ..interfaces import Optimiser
from ..task import Task


class Bundle(Optimiser):
    name = "bundle"
    title = "proximal bundle"
    group = "solvers"
    needs = ("convexity", "bound")
    tuned = False

    def run(self, task: Task) -> None:
        optim.bundle(task.problem, task.start, radius=task.instance.radius, **task.limits())


class Bmrm(Optimiser):
    name = "bmrm"
    title = "BMRM"
    group = "solvers"
    needs = ("convexity", "weight decay")
    tuned = False

    def run(self, task: Task) -> None:
        optim.bundle(task.problem, task.start, bmrm=True, **task.limits())


class Bcfw(Optimiser):
    """Its first point comes from planes at the start: a call for all of them."""

    name = "bcfw"
    title = "block-coordinate Frank-Wolfe"
    group = "solvers"
    needs = ("convexity", "minibatches", "weight decay")
    tuned = False

    def run(self, task: Task) -> None:
        optim.bcfw(task.problem, task.start, seed=task.seed, **task.limits(before=1))
