"""Linear models on a user's features: an .npz file with arrays X, y and, if wanted, start.

X is (images, pixels, features), or (pixels, features) for one image; a column of ones makes a bias.
y has a class for each pixel: of 0 and 1 the loss is the Lovász hinge, of more Lovász-Softmax. start
has a weight for each feature, or for each feature and class."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any
from zipfile import is_zipfile

import numpy as np

from ..interfaces import Instance, Settings
from . import layers
from .linear import Array, Layer
from .linear_family import LinearFamily


def from_npz(path: str | Path) -> Features:
    """What `--npz FILE` adds to the bench. ValueError: a file that is not as this module says."""
    file = Path(path)
    if not is_zipfile(file):
        raise ValueError("it must be there and be a .npz file; np.savez(FILE, X=X, y=y) writes one")
    with np.load(file) as arrays:
        given = {key: arrays[key] for key in arrays.files}
    if not {"X", "y"} <= set(given):
        raise ValueError(f"{file} has {sorted(given)}; it must have arrays X and y")
    return Features(file.stem, *_checked(given["X"], given["y"]), given.get("start"), (file,))


def _checked(X: Array, y: Array) -> tuple[Array, Array]:
    if X.ndim == 2:
        X, y = X[None], y[None]
    if X.ndim != 3 or y.shape != X.shape[:2] or 0 in X.shape:
        raise ValueError(
            f"X of shape {X.shape} and y of shape {y.shape}; X must be (images, pixels, features) "
            "or (pixels, features), and y the same without features"
        )
    if not np.isfinite(X).all():
        raise ValueError("X has NaN or Inf; all features must be finite")
    labels = y.astype(np.int64)
    if (labels != y).any() or labels.min() < 0 or labels.max() < 1:
        raise ValueError("y must have whole numbers from 0 on, the classes, and not all 0")
    return X.astype(float), labels


class Features(LinearFamily):
    """Without a name of its own before there are data: the bench takes it from from_npz alone."""

    def __init__(
        self, name: str, X: Array, y: Array, start: Any = None, files: tuple[Path, ...] = ()
    ) -> None:
        self.name, self.title = f"npz_{name}", f"features of {name}"
        self.classes = int(y.max()) + 1
        self.convex = self.classes == 2
        self.X, self.y = X, y
        self.start = None if start is None else np.asarray(start, dtype=float).ravel()
        n = X.shape[-1] * (1 if self.convex else self.classes)
        if self.start is not None and (self.start.size != n or not np.isfinite(self.start).all()):
            raise ValueError(f"start has {self.start.size} numbers; it must have {n} finite ones")
        self.sources = files

    def instances(self, quick: bool) -> Sequence[Settings]:
        return [{"batches": batches} for batches in sorted({1, len(self.X)})]

    def data(self, settings: Settings, seed: int) -> tuple[Array, Array]:
        """The seed has no say: it is the optimisers'."""
        return self.X, self.y

    def layer(self, labels: Array) -> Layer:
        if self.convex:
            return layers.LovaszHinge(labels)
        return layers.LovaszSoftmax(labels, self.classes)

    def make(self, settings: Settings, seed: int) -> Instance:
        instance = super().make(settings, seed)
        return instance if self.start is None else replace(instance, start=self.start)
