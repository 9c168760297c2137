"""How much a path goes to and fro: the measures of study nu, and three that need no ridge."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Callable

import numpy as np

from .interfaces import Vector

ON_RIDGE = 1e-9  # nearer than this is on it
MEASURES = {
    "detour": "length of the path over the distance between its ends",
    "reversals": "share of steps that make an obtuse angle with the one before",
    "uphill": "share of steps after which J is higher",
    "crossings": "changes of side of the ridge",
    "away": "most steps in a row that lead away from the ridge after a crossing",
}


def measure(
    points: Sequence[Vector],
    f: Sequence[float],
    ridge: Callable[[Vector], float] | None,
    f_star: float,
) -> dict[str, float]:
    """Empty without two points that differ."""
    steps = np.diff(np.array(points), axis=0) if len(points) > 1 else np.zeros((0, 1))
    lengths = np.linalg.norm(steps, axis=1)
    if not lengths.any():
        return {}
    found = {
        "detour": _detour(points, float(lengths.sum())),
        "reversals": _share(np.einsum("ij,ij->i", steps[1:], steps[:-1]) < 0),
        "uphill": _share(np.diff(f) > 0),
    }
    if ridge is not None:
        above = next((k for k, value in enumerate(f) if value <= f_star), len(f))
        found |= _ridge([ridge(x) for x in points[:above]])
    return found


def _detour(points: Sequence[Vector], length: float) -> float:
    """Infinite when the path ends where it began."""
    between = float(np.linalg.norm(points[-1] - points[0]))
    return length / between if between > 0 else float("inf")


def _share(happened: np.ndarray[tuple[int, ...], np.dtype[np.bool_]]) -> float:
    return float(happened.mean()) if happened.size else 0.0


def _ridge(distances: Sequence[float]) -> dict[str, float]:
    """Counts while J is above its minimum. A step that crosses leads away already."""
    crossings = away = most = 0
    last = 0.0  # the distance when it was last not on the ridge
    for distance in distances:
        d = 0.0 if abs(distance) < ON_RIDGE else distance
        if d * last < 0:
            crossings, away = crossings + 1, 1
        elif crossings and away and abs(d) > abs(last):
            away += 1
        else:
            away = 0
        most = max(most, away)
        last = d or last
    return {"crossings": float(crossings), "away": float(most)}
