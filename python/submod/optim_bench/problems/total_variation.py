"""Total-variation denoising, J(x) = strength sum over edges of |x_i - x_j| + q_i/2 (x_i - y_i)^2.
The first part is the Lovász extension of a cut, whose prox is exact. With all q_i = 1 a prox is all
there is to do; where pixels differ in their noise, and so in q, it is not."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ... import Function, optim
from ..interfaces import Instance, Problem, Reference, Settings
from .linear import Array
from .short_prox import short_prox

STRENGTH = 0.3


@dataclass(frozen=True)
class Denoising(Instance):
    """With what the minimum is proved by."""

    cut: Function | None = None
    y: Array | None = None
    q: Array | None = None


class TotalVariation(Problem):
    name = "total_variation"
    title = "total-variation denoising"
    calls = (100, 400)

    def instances(self, quick: bool) -> Sequence[Settings]:
        if quick:
            members = [(1, 32, 1), (6, 6, 100)]
        else:
            members = [(r, c, k) for r, c in ((1, 64), (1, 256), (16, 16)) for k in (1, 100)]
        return [{"rows": r, "columns": c, "condition": k} for r, c, k in members]

    def make(self, settings: Settings, seed: int) -> Instance:
        rows, columns = int(settings["rows"]), int(settings["columns"])
        condition = float(settings["condition"])
        rng = np.random.default_rng([seed, rows, columns])
        q = condition ** -rng.random(rows * columns)
        y = _steps(rows, columns) + 0.3 * rng.normal(size=q.size) / np.sqrt(q)
        cut = STRENGTH * Function.cut(q.size, _edges(rows, columns))

        def smooth(x: Array) -> tuple[float, Array]:
            return float(q @ (x - y) ** 2) / 2, q * (x - y)

        def subgradient(x: Array) -> tuple[float, Array]:
            (value, g), (rest, slope) = cut.lovasz(x), smooth(x)
            return value + rest, g + slope

        f = optim.Problem(
            q.size, subgradient, smooth=smooth, prox=lambda x, lam: short_prox(cut, x, lam)[0]
        )
        start = np.zeros(q.size)
        # J(x) <= J(0) = q y^2 / 2 for the minimum x, whose sum of q (x - y)^2 is no larger then.
        radius = np.linalg.norm(y) + np.sqrt(q @ y**2 / q.min())
        return Denoising(f, start, radius=float(radius), lipschitz=1.0, cut=cut, y=y, q=q)

    def reference(self, instance: Instance) -> Reference:
        """By FISTA. A base s of the cut proves J(x) >= <s, x> + rest >= sum of s y - s^2/(2 q)."""
        assert isinstance(instance, Denoising)
        cut, y, q = instance.cut, instance.y, instance.q
        assert cut is not None and y is not None and q is not None
        x = optim.fista(
            instance.problem, y, lipschitz=1.0, max_iterations=5000, gradient_tolerance=1e-9
        ).x
        s = cut.prox(x - q * (x - y), 1.0).s
        value = cut.lovasz(x)[0] + float(q @ (x - y) ** 2) / 2
        return Reference(x, value, min(value, float(s @ y - (s**2 / (2 * q)).sum())))


def _edges(rows: int, columns: int) -> Array:
    """Of a grid: to the right and down."""
    number = np.arange(rows * columns).reshape(rows, columns)
    right = np.stack([number[:, :-1].ravel(), number[:, 1:].ravel()], 1)
    down = np.stack([number[:-1].ravel(), number[1:].ravel()], 1)
    return np.concatenate([right, down])


def _steps(rows: int, columns: int) -> Array:
    """A picture of a few flat pieces."""
    i, j = np.indices((rows, columns))
    steps = np.sign(j - columns / 3) + (i > rows / 2) - (j > columns * 0.8)
    return np.asarray(steps, dtype=float).ravel()
