"""FISTA on the problem itself and on its Moreau envelope: both by proxes of weight 1 / size."""

from __future__ import annotations

from ... import optim
from ..interfaces import Optimiser
from ..task import Task


class Fista(Optimiser):
    """Without a smooth part it is an accelerated proximal point method."""

    name = "fista"
    title = "FISTA"
    group = "proxes"
    needs = ("prox", "convexity")

    def run(self, task: Task) -> None:
        lipschitz = 1 / (task.size * task.step)
        optim.fista(task.problem, task.start, lipschitz=lipschitz, **task.limits())


class SmoothedFista(Optimiser):
    """Nesterov smoothing. The run sees values of the envelope; the curve is about J."""

    name = "smoothed-fista"
    title = "smoothed, FISTA"
    group = "proxes"
    needs = ("prox", "convexity")

    def run(self, task: Task) -> None:
        lam = 1 / (task.size * task.step)
        envelope = optim.smoothed(task.problem, lam)
        limits = task.limits(own_values=False)
        optim.fista(envelope, task.start, lipschitz=lam, restart=False, **limits)
