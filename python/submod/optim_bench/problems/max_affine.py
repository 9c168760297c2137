"""Random piecewise-linear functions, f(x) = max over j of <a_j, x> + b_j, made around a minimum."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import optim
from ..interfaces import Instance, Reference, Settings
from . import known
from .linear import Array


class MaxAffine(known.KnownFamily):
    name = "max_affine"
    title = "random max-affine"
    calls = (200, 1000)

    def instances(self, quick: bool) -> Sequence[Settings]:
        sizes = [(5, 1), (20, 100)] if quick else [(5, 1), (20, 1), (20, 100), (60, 1), (60, 100)]
        return [{"dimension": n, "condition": c} for n, c in sizes]

    def make(self, settings: Settings, seed: int) -> Instance:
        a, b, x = planes(int(settings["dimension"]), float(settings["condition"]), seed)
        return known.Known(
            optim.max_affine(a, b),
            np.zeros(x.size),
            radius=2 * float(np.linalg.norm(x)),
            minimum=Reference(x, 0.0, 0.0),
        )


def planes(n: int, condition: float, seed: int) -> tuple[Array, Array, Array]:
    """a, b and the minimum x. n + 1 planes meet there, and a mean of them is flat: so f >= 0, and
    f(x) = 0. As many again lie below. The slopes along the last axis are `condition` times smaller
    than along the first."""
    rng = np.random.default_rng([seed, n])
    x = rng.normal(size=n)
    a = rng.normal(size=(2 * (n + 1), n)) * np.geomspace(1, 1 / condition, n)
    a[: n + 1] -= rng.dirichlet(np.ones(n + 1)) @ a[: n + 1]
    below = np.concatenate([np.zeros(n + 1), rng.exponential(size=n + 1)])
    return a, -a @ x - below, x
