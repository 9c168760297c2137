"""Nesterov's function that resists, f(x) = max_i x_i, with weight decay. From 0 on, an oracle that
answers with the first of the largest entries shows one new variable a call."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import Function, optim
from ..interfaces import Instance, Parts, Reference, Settings
from . import known
from .linear import Array
from .short_prox import short_prox


class WorstCase(known.KnownFamily):
    name = "worst_case"
    title = "max of coordinates, resisting"
    calls = (150, 1000)

    def instances(self, quick: bool) -> Sequence[Settings]:
        return [{"dimension": n} for n in ((20, 60) if quick else (20, 100, 500))]

    def make(self, settings: Settings, seed: int) -> Instance:
        """The seed is not used: there is one such function. x = -1 / (decay n) in all entries has
        the least J, -1 / (2 decay n)."""
        n = int(settings["dimension"])
        decay = 1 / np.sqrt(n)
        largest = Function.truncation(n, 1)  # min(|A|, 1): its extension is max_i x_i
        f = optim.Problem(
            n,
            lambda x: largest.lovasz(x, ties="index"),
            prox=lambda x, lam: short_prox(largest, x, lam)[0],
        )
        least = -1 / (2 * decay * n)
        minimum: Array = np.full(n, -1 / (decay * n))
        return known.Known(
            f,
            np.zeros(n),
            weight_decay=decay,
            parts=Parts(f, np.eye(n)),
            minimum=Reference(minimum, least, least),
        )
