"""Losses of linear scores: f(w) = loss of X w, the last layer of a network.

A layer has the loss; this file has the way from weights to scores and back. Only scores are asked
for a prox, never weights. That is the paper's modified backpropagation: lam (s - prox(s)) takes the
place of the gradient by the scores s, and goes back through X like one."""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import lru_cache
from typing import Any

import numpy as np

from ... import optim
from ..interfaces import Parts

Array = np.ndarray[Any, Any]


class Layer(ABC):
    """A loss of scores, (images, pixels) or (images, pixels, classes): a mean over images."""

    classes: tuple[int, ...] = ()
    smooth = False  # True: the problem has no other part, and a prox that does nothing

    @abstractmethod
    def slope(self, scores: Array, images: slice) -> tuple[float, Array]:
        """The loss of these images and a subgradient, by their scores."""

    @abstractmethod
    def direction(self, scores: Array, lam: float, images: slice) -> Array:
        """lam (scores - prox(scores)), the prox with lam/2 |. - scores|^2."""

    def curvature(self, reach: float) -> float:
        """The Lipschitz constant of a smooth loss's gradient by the weights, reach = |X|^2."""
        return 0.0


ALL = slice(None)


def norm(X: Array) -> float:
    """As a matrix, with a row for each pixel."""
    return float(np.linalg.norm(X.reshape(-1, X.shape[-1]), 2))


def problem(X: Array, layer: Layer, batches: int = 1) -> optim.Problem:
    """X: (images, pixels, features). A minibatch has images / batches images, the next ones."""
    if X.shape[0] % batches:
        raise ValueError(f"{X.shape[0]} images do not make {batches} minibatches of equal size")
    shape, size = (X.shape[2], *layer.classes), X.shape[0] // batches

    def images(batch: int | None) -> slice:
        return ALL if batch is None else slice(batch * size, (batch + 1) * size)

    def forward(w: Array, part: slice) -> Array:
        return X[part] @ w.reshape(shape)

    def back(by_scores: Array, part: slice) -> Array:
        return np.tensordot(X[part], by_scores, ([0, 1], [0, 1])).ravel()

    @lru_cache(None)
    def reach(batch: int | None) -> float:
        """Weights that move by d move scores by no more than |X| |d|."""
        return norm(X[images(batch)]) ** 2

    def subgradient(w: Array, batch: int | None = None) -> tuple[float, Array]:
        value, by_scores = layer.slope(forward(w, images(batch)), images(batch))
        return value, back(by_scores, images(batch))

    def direction(w: Array, lam: float, batch: int | None = None) -> Array:
        part = images(batch)
        return back(layer.direction(forward(w, part), lam / reach(batch), part), part)

    def stay(w: Array, lam: float, batch: int | None = None) -> Array:
        return w

    return optim.Problem(
        int(np.prod(shape)),
        subgradient,
        direction=direction,
        smooth=subgradient if layer.smooth else None,
        prox=stay if layer.smooth else None,
        batches=batches,
    )


def parts(X: Array, layer: Layer) -> Parts:
    """The loss as a function of all scores, with its prox, and the matrix."""
    shape = X.shape[:2]

    def subgradient(z: Array) -> tuple[float, Array]:
        value, by_scores = layer.slope(z.reshape(shape), ALL)
        return value, by_scores.ravel()

    def prox(z: Array, lam: float) -> Array:
        return z - layer.direction(z.reshape(shape), lam, ALL).ravel() / lam

    loss = optim.Problem(X.shape[0] * X.shape[1], subgradient, prox=prox)
    return Parts(loss, X.reshape(-1, X.shape[2]))
