"""Proximal gradient with variance reduction."""

from __future__ import annotations

from ... import optim
from ..interfaces import Optimiser
from ..task import Task

INNER = 2  # passes of a stage, of which each step takes two gradients; and there is a full one


class Svrg(Optimiser):
    name = "svrg"
    title = "prox-SVRG"
    group = "solvers"
    needs = ("smooth part", "prox", "minibatches")

    def run(self, task: Task) -> None:
        optim.svrg(
            task.problem,
            task.start,
            task.size * task.step,
            inner=INNER * task.batches,
            seed=task.seed,
            **task.limits(1 + 2 * INNER),
        )
