"""Extensions of log det K[A, A], at A x - b. The prox is iterative, up to a gap of 1e-10."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import Function
from ..interfaces import Settings
from .extension_family import ExtensionFamily


class Logdet(ExtensionFamily):
    name = "logdet"
    title = "extension of log det"
    calls = (60, 300)

    def instances(self, quick: bool) -> Sequence[Settings]:
        sizes = [(4, 8)] if quick else [(5, 15), (10, 30)]
        return [
            {"dimension": n, "rows": rows, "batches": batches}
            for n, rows in sizes
            for batches in (1, 4)
        ]

    def function(self, settings: Settings, seed: int) -> Function:
        """Of points in the plane: near ones are alike, and add little."""
        rows = int(settings["rows"])
        points = np.random.default_rng([seed, rows]).random((rows, 2))
        squares = ((points[:, None] - points) ** 2).sum(-1)
        return Function.logdet(np.eye(rows) + 4 * np.exp(-squares / 0.1)) / rows
