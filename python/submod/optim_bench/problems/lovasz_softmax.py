"""Lovász-Softmax of a linear model. Not convex: its minimum is the best that a search finds, and
nothing is proved about it."""

from __future__ import annotations

from ..interfaces import Settings
from . import layers
from .discs import discs
from .linear import Array, Layer
from .linear_family import LinearFamily

CLASSES = 3


class LovaszSoftmax(LinearFamily):
    name = "lovasz_softmax"
    title = "Lovász-Softmax, linear model"
    calls = (100, 400)
    convex = False

    def data(self, settings: Settings, seed: int) -> tuple[Array, Array]:
        of = settings["images"], settings["side"], settings["features"]
        return discs(seed, *of, CLASSES)

    def layer(self, labels: Array) -> Layer:
        return layers.LovaszSoftmax(labels, CLASSES)
