"""What the optimisers of the last layer came to, and how they compare."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..intervals import Interval, paired_seeds
from ..lab import Lab
from .jobs import draws, folder_of
from .methods import Method, left

Values = npt.NDArray[np.float64]
NEAR = 0.01  # of what was left at the start


@dataclass(frozen=True)
class Curves:
    """Of a method on all draws: arrays (draws, passes over the images)."""

    left: Values  # J - J*
    iou: Values  # on val
    step: float = 0.0
    look: float = 0.0
    errors: Values = field(default_factory=lambda: np.empty(0))  # of Algorithm 2's directions

    def passes_until_near(self) -> Values:
        """After which J - J* stays below NEAR of its first value; infinite: never."""
        far = self.left > NEAR * self.left[:, :1]
        last = far.shape[1] - 1 - np.argmax(far[:, ::-1], axis=1)
        return np.where(far[:, -1], np.inf, last + 1.0)


def curves(lab: Lab, method: Method | None) -> Curves:
    """None: the bundle method, after whose last pass nothing changes."""
    file = "bundle.npz" if method is None else f"run-{method.file}.npz"
    found = [one_curve(lab, draw, file) for draw in draws(lab, False)]
    values = {key: np.stack([one[key] for one in found]) for key in ("left", "iou")}
    picked = {key: float(found[0].get(key, 0.0)) for key in ("step", "look")}
    errors = np.concatenate([one.get("errors", np.empty(0)) for one in found])
    return Curves(**values, **picked, errors=errors)


def one_curve(lab: Lab, draw: Any, file: str) -> dict[str, Any]:
    folder = folder_of(lab, draw)
    found = folder.read_arrays(file)
    here = np.minimum(np.arange(draw.epochs + 1), len(found["J"]) - 1)
    bound = float(folder.read_arrays("bundle.npz")["bound"])
    return {**found, "left": left(found["J"], bound)[here], "iou": found["iou"][here]}


def ratio(ours: Curves, theirs: Curves) -> Interval:
    """What is left of J at the end, ours over theirs: the geometric mean over the draws."""
    found = paired_seeds(*(np.log(one.left[:, -1]).tolist() for one in (ours, theirs)))
    return Interval(*np.exp(found).tolist())


def iou_difference(ours: Curves, theirs: Curves) -> Interval:
    """At the end, in points."""
    return paired_seeds(*((100 * one.iou[:, -1]).tolist() for one in (ours, theirs)))


def below(found: Interval, most: float = 1.0) -> str:
    """Whether a ratio is, for a table of claims."""
    if found.high < most:
        return "held"
    return "not held" if found.low > most else "not shown"
