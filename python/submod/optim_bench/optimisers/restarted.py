"""Averaged gradient descent that starts anew from its average, with half the step."""

from __future__ import annotations

from ... import optim
from ..interfaces import Optimiser
from ..task import Task

RESTARTS = 8


class Restarted(Optimiser):
    name = "restarted"
    title = "restarted gd"
    group = "averages"

    def run(self, task: Task) -> None:
        cost = 1 / task.batches
        period = max(1, round(task.budget / cost / RESTARTS))
        optim.descend(
            task.problem,
            task.start,
            optim.Schedule.step(task.size * task.step, 0.5, period),
            step=optim.Restarted(period),
            order="shuffled" if task.batches > 1 else "full",
            seed=task.seed,
            **task.limits(cost),
        )
