"""What the optimisers of the last layer came to, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from .intervals import RESAMPLES, Interval
from .lab import Lab
from .layer_jobs import draws, folder_of
from .layer_methods import Method, left

Values = npt.NDArray[np.float64]
NEAR = 0.01  # of what was left at the start


@dataclass(frozen=True)
class Curves:
    """Of a method on all draws: arrays (networks, draws, passes over the images)."""

    left: Values  # J - J*
    iou: Values  # on val
    step: float = 0.0
    look: float = 0.0
    inexact: float = 0.0  # share of Algorithm 2's proxes

    def passes_until_near(self) -> Values:
        """After which J - J* stays below NEAR of its first value; infinite: never."""
        far = self.left > NEAR * self.left[..., :1]
        last = far.shape[-1] - 1 - np.argmax(far[..., ::-1], axis=-1)
        return np.where(far[..., -1], np.inf, last + 1.0)


def curves(lab: Lab, method: Method | None) -> Curves:
    """None: the bundle method, after whose last pass nothing changes."""
    file = "bundle.npz" if method is None else f"run-{method.file}.npz"
    found = [one_curve(lab, draw, file) for draw in draws(lab, False)]
    shape = (len(lab.plan.seeds), lab.plan.layer_draws, lab.plan.layer_epochs + 1)
    together = {key: np.stack([one[key] for one in found]) for key in ("left", "iou")}
    picked = {key: float(found[0].get(key, 0.0)) for key in ("step", "look")}
    inexact = np.mean([one.get("inexact", 0.0) for one in found])
    values = {key: one.reshape(shape) for key, one in together.items()}
    return Curves(**values, **picked, inexact=float(inexact))


def one_curve(lab: Lab, draw: Any, file: str) -> dict[str, Any]:
    folder = folder_of(lab, draw)
    found = folder.read_arrays(file)
    here = np.minimum(np.arange(draw.epochs + 1), len(found["J"]) - 1)
    bound = float(folder.read_arrays("bundle.npz")["bound"])
    return {**found, "left": left(found["J"], bound)[here], "iou": found["iou"][here]}


def over_draws(differences: Values) -> Interval:
    """The mean of (networks, draws), with its bootstrap interval: networks are resampled, and the
    draws of each."""
    rng = np.random.default_rng(0)
    networks, number = differences.shape
    which = rng.integers(networks, size=(RESAMPLES, networks, 1))
    draw = rng.integers(number, size=(RESAMPLES, networks, number))
    low, high = np.percentile(differences[which, draw].mean((1, 2)), [2.5, 97.5])
    return Interval(float(differences.mean()), float(low), float(high))


def ratio(ours: Curves, theirs: Curves) -> Interval:
    """What is left of J at the end, ours over theirs: the geometric mean over the draws."""
    logs = over_draws(np.log(ours.left[..., -1] / theirs.left[..., -1]))
    return Interval(*np.exp(logs).tolist())


def iou_difference(ours: Curves, theirs: Curves) -> Interval:
    """At the end, in points."""
    return over_draws(100 * (ours.iou[..., -1] - theirs.iou[..., -1]))


def below(found: Interval, most: float = 1.0) -> str:
    """Whether a ratio is, for a table of claims."""
    if found.high < most:
        return "held"
    return "not held" if found.low > most else "not shown"
