"""Methods without a step size, which know how far they are from the minimum."""

from __future__ import annotations

from ... import optim
from ..interfaces import Optimiser
from ..task import Task


class Bundle(Optimiser):
    name = "bundle"
    title = "proximal bundle"
    group = "solvers"
    needs = ("convex", "bound")
    tuned = False

    def run(self, task: Task) -> None:
        radius = task.instance.radius
        optim.bundle(task.problem, task.start, radius=radius, tolerance=0.0, **task.limits())


class LevelBundle(Optimiser):
    name = "level-bundle"
    title = "level bundle"
    group = "solvers"
    needs = ("convex", "bound")
    tuned = False

    def run(self, task: Task) -> None:
        radius = task.instance.radius
        optim.level_bundle(task.problem, task.start, radius=radius, tolerance=0.0, **task.limits())


class Bmrm(Optimiser):
    name = "bmrm"
    title = "BMRM"
    group = "solvers"
    needs = ("convex", "weight decay")
    tuned = False

    def run(self, task: Task) -> None:
        optim.bundle(task.problem, task.start, bmrm=True, tolerance=0.0, **task.limits())


class Bcfw(Optimiser):
    name = "bcfw"
    title = "block-coordinate Frank-Wolfe"
    group = "solvers"
    needs = ("convex", "minibatches", "weight decay")
    tuned = False

    def run(self, task: Task) -> None:
        optim.bcfw(task.problem, task.start, seed=task.seed, tolerance=0.0, **task.limits())
