"""The optimisers of the last layer: what they do with a direction, and which direction they get.
All pass once over the images in an epoch, in minibatches; the bundle method, in an iteration."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from submod import optim

from .data import Data
from .problem import DECAY, GreedyPath, Layer, Sent, exact_prox

STEPS = (1e-3, 3e-3, 1e-2, 3e-2, 1e-1, 3e-1, 1.0, 3.0)  # of all methods
LOOKS = (1.0, 0.1, 0.01)  # how far prox looks, against the step: layer_problem.Layer
CERTIFIED = 2e-6  # the gap at which the minimum counts as known
PLANES = 2000  # of the bundle method, at most

RULES: dict[str, optim.Step] = {
    "gradient": optim.GD(),
    "momentum": optim.Momentum(0.9),
    "Adam": optim.Adam(),
}
SUBGRADIENT, PROX, ALGORITHM_2 = "subgradient", "prox", "Algorithm 2"


@dataclass(frozen=True)
class Method:
    rule: str
    direction: str = SUBGRADIENT

    @property
    def name(self) -> str:
        return self.rule if self.direction == SUBGRADIENT else f"{self.rule}, {self.direction}"

    @property
    def file(self) -> str:
        return self.name.replace(", ", "-").replace(" ", "-").lower()

    @property
    def looks(self) -> tuple[float, ...]:
        return (0.0,) if self.direction == SUBGRADIENT else LOOKS

    def sent(self) -> Sent | None:
        """By the loss layer, in place of the gradient."""
        if self.direction == SUBGRADIENT:
            return None
        return exact_prox if self.direction == PROX else GreedyPath()


METHODS = (
    *(Method(rule, direction) for direction in (SUBGRADIENT, PROX) for rule in RULES),
    Method("gradient", ALGORITHM_2),
)


def run(
    method: Method, data: Data, epochs: int, step: float, look: float, seed: int, every: int = 1
) -> dict[str, Any]:
    """J and the IoU on val after every so many epochs, and at the start. seed: of the order of the
    minibatches."""
    sent = method.sent()
    problem = Layer(data, sent, look).problem
    iterations = epochs * problem.batches
    found = optim.descend(
        problem,
        data.start,
        optim.Schedule.poly(step, iterations),  # (1 - k/K)^0.9, as in the paper
        step=RULES[method.rule],
        direction="subgradient" if sent is None else "prox",
        order="shuffled",
        seed=seed,
        trace=True,
        max_iterations=iterations,
        weight_decay=DECAY,
        keep_best=False,
        trace_every=every * problem.batches,
    )
    errors = sent.errors if isinstance(sent, GreedyPath) else []
    return {**curve(found, problem.batches), "step": step, "look": look, "errors": errors}


def minimum(data: Data) -> dict[str, Any]:
    """By the bundle method: a bound that J is nowhere below, and how it got there."""
    found = optim.bundle(
        Layer(data).problem,
        data.start,
        tolerance=CERTIFIED,
        max_iterations=PLANES,
        weight_decay=DECAY,
        trace=True,
    )
    return {**curve(found, 1), "bound": found.lower_bound, "gap": found.gap}


def curve(found: optim.Result, per_pass: int) -> dict[str, Any]:
    lines = found.trace
    return {
        "passes": np.array([line.iteration for line in lines]) / per_pass,
        "J": np.array([line.f for line in lines]),
        "iou": np.array([line.metric for line in lines]),
    }


def left(values: Any, bound: float) -> Any:
    """J less its minimum, which is not known better than it is certified."""
    return np.maximum(values - bound, CERTIFIED)


def tried(method: Method, data: Data, epochs: int, seed: int, bound: float) -> list[list[float]]:
    """Of every step and look: these, and the log10 of what is left of J at the end."""
    rows = []
    for look in method.looks:
        for step in STEPS:
            last = run(method, data, epochs, step, look, seed, epochs)["J"][-1]
            rows.append([step, look, float(np.log10(left(last, bound)))])
    return rows
