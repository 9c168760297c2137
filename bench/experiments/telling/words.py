"""What ways of training are called in tables and figures, and how numbers are written."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..intervals import Interval
from ..jobs import Way
from ..street.results import spread

LOSSES = {
    "cross_entropy": "cross-entropy",
    "weighted_cross_entropy": "weighted cross-entropy",
    "lovasz": "Lovász-Softmax",
    "lovasz_all": "Lovász-Softmax (all classes)",
    "lovasz_per_image": "Lovász-Softmax (per image)",
    "lovasz_tversky": "Lovász-Softmax (Tversky 0.5, 2)",
    "lovasz+cross_entropy": "Lovász + cross-entropy",
    "dataset_lovasz": "dataset-level Lovász",
    "soft_jaccard": "soft Jaccard",
    "soft_dice": "soft Dice",
    "hinge": "hinge",
    "lovasz_hinge": "Lovász hinge",
    "prox_lovasz_hinge": "Lovász hinge (prox layer)",
    "lovasz_sigmoid": "Lovász-Sigmoid",
    "rahman_wang": "Rahman–Wang",  # noqa: RUF001
}
TASKS = {"camvid-car": "car", "camvid-people": "pedestrian + bicyclist"}


def title(way: Way) -> str:
    name = LOSSES[way.loss]
    return name if way.sampling == "shuffled" else f"{name} ({way.sampling})"


def mean_and_spread(values: Sequence[float], scale: float = 100.0, digits: int = 1) -> str:
    middle, half = scale * float(np.mean(values)), scale * spread(values)
    return f"{middle:.{digits}f} ± {half:.{digits}f}"


def points(found: Interval, digits: int = 1) -> str:
    """A difference in percentage points."""
    value, low, high = (signed(100 * x, digits) for x in found)
    return f"{value} [{low}, {high}]"


def signed(x: float, digits: int) -> str:
    """What is not 0 keeps its sign when it is rounded to 0: it says on which side it is."""
    text = f"{x:+.{digits}f}"
    return text if abs(x) > 1e-9 else text[1:]


def points_and_verdict(found: Interval) -> str:
    return f"{points(found)} {found.verdict}"


def listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names) or "none"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def by_verdict(what: str, found: dict[str, Interval]) -> str:
    """Which are better, worse, and not shown."""
    parts = [
        f"{word}: {listed([name for name, one in found.items() if one.verdict == word])}"
        for word in ("better", "worse", "not shown")
    ]
    return f"{what}: {'; '.join(parts)}."
