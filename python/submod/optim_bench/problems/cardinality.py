"""Extensions of concave functions of |A|, at A x - b: "sqrt", and "top", the mean of the largest
tenth (the conditional value at risk)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ... import Function
from ..interfaces import Settings
from .extension_family import ExtensionFamily


class Cardinality(ExtensionFamily):
    name = "cardinality"
    title = "extension of a concave function of |A|"

    def instances(self, quick: bool) -> Sequence[Settings]:
        rows, sizes = (30, (5,)) if quick else (200, (10, 50))
        return [
            {"shape": shape, "dimension": n, "rows": rows, "batches": batches}
            for n in sizes
            for shape, batches in (("sqrt", 1), ("sqrt", 4), ("top", 1), ("top", 4))
            if not quick or (shape == "sqrt") == (batches == 1)
        ]

    def function(self, settings: Settings, seed: int) -> Function:
        n = int(settings["rows"])
        if settings["shape"] == "sqrt":
            return Function.sqrt(n) / float(np.sqrt(n))
        return Function.truncation(n, n // 10) / (n // 10)
