"""What the families of set functions share: their Lovász extension at A_k x - b_k, k = 1, .., 4, as
a mean, and weight decay."""

from __future__ import annotations

from abc import abstractmethod

import numpy as np

from ... import Function
from ..interfaces import Instance, Problem, Settings
from . import layers, linear

TERMS = 4


class ExtensionFamily(Problem):
    calls = (100, 600)
    decay = 0.02

    @abstractmethod
    def function(self, settings: Settings, seed: int) -> Function:
        """The set function, of settings["rows"] elements."""

    def make(self, settings: Settings, seed: int) -> Instance:
        n, rows = int(settings["dimension"]), int(settings["rows"])
        rng = np.random.default_rng([seed, n, rows])
        A = rng.normal(size=(TERMS, rows, n)) / np.sqrt(n)
        layer = layers.Extension(self.function(settings, seed), rng.normal(size=(TERMS, rows)))
        return Instance(
            linear.problem(A, layer, settings["batches"]),
            np.zeros(n),
            weight_decay=self.decay,
            parts=linear.parts(A, layer),
        )
