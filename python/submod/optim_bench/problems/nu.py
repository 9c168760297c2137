"""The paper's example of bad conditioning, f(x) = max(0, nu x_1, x_2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import optim
from ..interfaces import Instance, Reference, Settings
from . import known


class Nu(known.KnownFamily):
    name = "nu"
    title = "max(0, nu x1, x2)"
    calls = (100, 300)

    def instances(self, quick: bool) -> Sequence[Settings]:
        return [{"nu": nu} for nu in ((0.1, 1.3) if quick else (0.01, 0.1, 0.7, 1.0, 1.3))]

    def make(self, settings: Settings, seed: int) -> Instance:
        """The seed draws a start where the first plane slopes more, next to the ridge. f = 0 for
        x <= 0, and nowhere less."""
        nu = float(settings["nu"])
        rng = np.random.default_rng(seed)
        start = np.array([2 + rng.random(), 0.5 + rng.random()])
        nearest = np.zeros(2)
        return known.Known(
            optim.nu_problem(nu),
            start,
            radius=float(np.linalg.norm(start)),
            ridge=lambda x: float((nu * x[0] - x[1]) / np.hypot(1, nu)),
            minimum=Reference(nearest, 0.0, 0.0),
        )
