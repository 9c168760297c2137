"""Hinge of a linear model: the easy control, whose prox goes pixel by pixel."""

from __future__ import annotations

from . import layers
from .linear import Array, Layer
from .linear_family import LinearFamily


class Hinge(LinearFamily):
    name = "hinge"
    title = "hinge, linear model"

    def layer(self, labels: Array) -> Layer:
        return layers.LovaszHinge(labels, "hamming")
