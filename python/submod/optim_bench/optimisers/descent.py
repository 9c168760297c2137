"""Methods that drive a step rule by subgradients or by the prox direction: they differ by a row of
the table in step_rules.py."""

from __future__ import annotations

from dataclasses import dataclass

from ... import optim
from ..._steps import Step
from ..interfaces import Optimiser
from ..task import Task

# What the size is a multiple of: a property of the task.
STEP, COORDINATE_STEP = "step", "coordinate_step"


@dataclass(frozen=True)
class Descent(Optimiser):
    """x <- rule(x, direction of the next minibatch, or of f where there are none)."""

    name: str
    title: str
    rule: Step = optim.GD()  # noqa: RUF009, it cannot change
    schedule: str = "constant"  # a method of optim.Schedule
    unit: str = STEP
    direction: str = "subgradient"
    needs: tuple[str, ...] = ()
    tuned: bool = True
    full: bool = False  # never takes minibatches
    group: str = "subgradients"

    def run(self, task: Task) -> None:
        parts = task.batches > 1 and not self.full
        size = getattr(task, self.unit) * task.size if self.tuned else 1.0
        optim.descend(
            task.problem,
            task.start,
            getattr(optim.Schedule, self.schedule)(size),
            step=self.rule,
            direction=self.direction,
            lam=1 / (task.size * task.step),
            order="shuffled" if parts else "full",
            seed=task.seed,
            f_star=task.f_star,
            **task.limits(1 / task.batches if parts else 1),
        )


@dataclass(frozen=True)
class ProxDescent(Descent):
    """The same with lam (x - prox(x)): plain steps are proximal point, or proximal gradient."""

    direction: str = "prox"
    needs: tuple[str, ...] = ("prox direction",)
    group: str = "proxes"
