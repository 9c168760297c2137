"""Cross-entropy of a linear model with two classes: the smooth control."""

from __future__ import annotations

from . import layers
from .linear import Array, Layer
from .linear_family import LinearFamily


class Logistic(LinearFamily):
    name = "logistic"
    title = "cross-entropy, linear model"

    def layer(self, labels: Array) -> Layer:
        return layers.Logistic(labels)
