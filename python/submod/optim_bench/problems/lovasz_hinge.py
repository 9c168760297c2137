"""Lovász hinge of a linear model: the paper's convex surrogate of the Jaccard loss."""

from __future__ import annotations

from . import layers
from .linear import Array, Layer
from .linear_family import LinearFamily


class LovaszHinge(LinearFamily):
    name = "lovasz_hinge"
    title = "Lovász hinge, linear model"

    def layer(self, labels: Array) -> Layer:
        return layers.LovaszHinge(labels)
