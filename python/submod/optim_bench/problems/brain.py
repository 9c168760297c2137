"""Linear models on slices of a real T1 volume: all structures against the rest by the Lovász hinge,
and one class each by Lovász-Softmax."""

from __future__ import annotations

from collections.abc import Sequence

from ..interfaces import Settings
from . import brain_slices, layers
from .linear import Array, Layer
from .linear_family import LinearFamily


class BrainHinge(LinearFamily):
    name = "brain_hinge"
    title = "Lovász hinge, brain slices"
    calls = (60, 400)
    sources = (brain_slices.IMAGE, brain_slices.LABELS)
    decay = 1e-3

    def instances(self, quick: bool) -> Sequence[Settings]:
        images, step = (4, 8) if quick else (8, 3)
        return [{"images": images, "step": step, "batches": batches} for batches in (1, images)]

    def data(self, settings: Settings, seed: int) -> tuple[Array, Array]:
        """The seed has no say: there is one volume."""
        return brain_slices.slices(settings["images"], settings["step"])

    def layer(self, labels: Array) -> Layer:
        return layers.LovaszHinge(labels > 0)

    def missing(self) -> str | None:
        return brain_slices.missing()


class BrainSoftmax(BrainHinge):
    name = "brain_softmax"
    title = "Lovász-Softmax, brain slices"
    calls = (40, 300)
    convex = False

    def layer(self, labels: Array) -> Layer:
        return layers.LovaszSoftmax(labels, brain_slices.CLASSES)
