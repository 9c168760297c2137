"""What the optimisers of the last layer came to, and how they compare."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from ..intervals import Interval, means_of, paired_seeds
from ..lab import Lab
from .jobs import draws, folder_of
from .methods import Method
from .methods import left as left_of

Values = npt.NDArray[np.float64]
NEAR = 0.01  # of what was left at the start


@dataclass(frozen=True)
class Curves:
    """Of a method on all draws: arrays (draws, passes over the images)."""

    left: Values  # J - J*
    iou: Values  # on val
    networks: Sequence[int]  # whose features each draw has
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
    every = draws(lab, False)
    found = [one_curve(lab, draw, file) for draw in every]
    left, iou = (np.stack([one[key] for one in found]) for key in ("left", "iou"))
    step, look = (float(found[0].get(key, 0.0)) for key in ("step", "look"))
    errors = np.concatenate([one.get("errors", np.empty(0)) for one in found])
    return Curves(left, iou, [draw.network for draw in every], step, look, errors)


def one_curve(lab: Lab, draw: Any, file: str) -> dict[str, Any]:
    folder = folder_of(lab, draw)
    found = folder.read_arrays(file)
    here = np.minimum(np.arange(draw.epochs + 1), len(found["J"]) - 1)
    bound = float(folder.read_arrays("bundle.npz")["bound"])
    return {**found, "left": left_of(found["J"], bound)[here], "iou": found["iou"][here]}


def ratio(ours: Curves, theirs: Curves) -> Interval:
    """What is left of J at the end, ours over theirs: the geometric mean over the draws."""
    found = by_network(np.log(ours.left[:, -1] / theirs.left[:, -1]), ours.networks)
    return Interval(*np.exp(found).tolist())


def iou_difference(ours: Curves, theirs: Curves) -> Interval:
    """At the end, in points."""
    return by_network(100 * (ours.iou[:, -1] - theirs.iou[:, -1]), ours.networks)


def by_network(differences: Values, networks: Sequence[int]) -> Interval:
    """Draws of one network have its features in common, so a network counts once, with the mean of
    its draws."""
    means = means_of(networks, differences).tolist()
    return paired_seeds(means, [0.0] * len(means))


def below(found: Interval, most: float = 1.0) -> str:
    """Whether a ratio is, for a table of claims."""
    if found.high < most:
        return "held"
    return "not held" if found.low > most else "not shown"
