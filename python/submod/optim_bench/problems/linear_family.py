"""What the families of linear models share: instances from data and a layer."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence

import numpy as np

from ..interfaces import Instance, Problem, Reference, Settings
from ..reference import by_bundle, by_search
from . import discs, linear
from .linear import Array, Layer


class LinearFamily(Problem):
    """The mean loss of images under a linear model. A family says which loss it is."""

    calls = (100, 600)
    decay = 1e-2
    convex = True

    def instances(self, quick: bool) -> Sequence[Settings]:
        """Each in a deterministic and in a minibatch form."""
        side, images, features = (6, 4, (8,)) if quick else (16, 8, (8, 32))
        return [
            {"features": n, "side": side, "images": images, "batches": batches}
            for n in features
            for batches in (1, images)
        ]

    def data(self, settings: Settings, seed: int) -> tuple[Array, Array]:
        """X (images, pixels, features) and labels (images, pixels)."""
        return discs.discs(seed, settings["images"], settings["side"], settings["features"])

    @abstractmethod
    def layer(self, labels: Array) -> Layer:
        """The loss of these labels."""

    def make(self, settings: Settings, seed: int) -> Instance:
        X, labels = self.data(settings, seed)
        layer = self.layer(labels)
        problem = linear.problem(X, layer, settings["batches"])
        return Instance(
            problem,
            np.zeros(problem.n),
            weight_decay=self.decay,
            convex=self.convex,
            parts=linear.parts(X, layer) if self.convex else None,
            lipschitz=layer.curvature(linear.norm(X) ** 2) or None,
        )

    def reference(self, instance: Instance) -> Reference:
        return by_bundle(instance) if self.convex else by_search(instance)
