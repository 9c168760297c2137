"""The loss layers of the linear models, all in double precision: their minima are certified."""

from __future__ import annotations

import numpy as np

from ... import Function, prox_two_counts_points
from .linear import Array, Layer
from .means import Means
from .short_prox import short_prox


def jaccard_dual(errors: Array, mask: Array, lam: float, measure: str = "jaccard") -> Array:
    """lam (e - prox(e)) of f(max(e, 0)), f the extension of the measure: docs/mathematics.md,
    section 6."""
    _, s, _ = prox_two_counts_points(errors, mask, np.ones(errors.size), lam, measure=measure)
    return np.minimum(s, lam * np.maximum(errors, 0))


class LovaszHinge(Layer):
    """f(max(m, 0)) of the margins m = 1 - y s, y = 1 in the foreground and -1 outside. With
    "hamming" it is the mean hinge."""

    def __init__(self, labels: Array, measure: str = "jaccard") -> None:
        self.mask = labels.astype(bool)
        self.side = np.where(self.mask, 1.0, -1.0)
        self.measure = measure
        losses = [[Function.two_counts(mask, measure)] for mask in self.mask]
        self.means = Means(losses, np.ones((len(losses), 1)))

    def slope(self, scores: Array, images: slice) -> tuple[float, Array]:
        side = self.side[images]
        margin = 1 - side * scores
        value, g = self.means.lovasz(np.maximum(margin, 0), images)
        return value, -side * np.where(margin > 0, g, 0)

    def direction(self, scores: Array, lam: float, images: slice) -> Array:
        side, count = self.side[images], len(scores)
        rows = [
            jaccard_dual(margin, mask, lam * count, self.measure) / count
            for margin, mask in zip(1 - side * scores, self.mask[images])
        ]
        return -side * np.array(rows)


class LovaszSoftmax(Layer):
    """The mean over the classes in an image of f(e), e = |1[label is c] - p_c|, p the softmax of
    the scores. Not convex. The prox is that of f, between the softmax and the loss; the softmax is
    1/2-Lipschitz, so lam is four times as large there."""

    def __init__(self, labels: Array, classes: int) -> None:
        self.classes = (classes,)
        self.is_class = np.moveaxis(labels[..., None] == np.arange(classes), -1, 1)
        present = self.is_class.any(-1)
        self.weight = present / present.sum(1, keepdims=True)
        losses = [[Function.jaccard(mask) for mask in image] for image in self.is_class]
        self.means = Means(losses, self.weight)

    def _errors(self, scores: Array, images: slice) -> tuple[Array, Array]:
        """Probabilities and errors, with the classes before the pixels."""
        p = np.exp(scores - scores.max(-1, keepdims=True))
        p = np.moveaxis(p / p.sum(-1, keepdims=True), -1, 1)
        return p, np.where(self.is_class[images], 1 - p, p)

    def _back(self, by_errors: Array, p: Array, images: slice) -> Array:
        by_p = np.where(self.is_class[images], -by_errors, by_errors)
        return np.moveaxis(p * (by_p - (p * by_p).sum(1, keepdims=True)), 1, -1)

    def slope(self, scores: Array, images: slice) -> tuple[float, Array]:
        p, errors = self._errors(scores, images)
        value, g = self.means.lovasz(errors, images)
        return value, self._back(g, p, images)

    def direction(self, scores: Array, lam: float, images: slice) -> Array:
        p, errors = self._errors(scores, images)
        weight, mask = self.weight[images] / len(p), self.is_class[images]
        d = np.zeros_like(p)
        for k, c in zip(*np.nonzero(weight)):
            w = weight[k, c]
            d[k, c] = w * jaccard_dual(errors[k, c], mask[k, c], 4 * lam / w)
        return self._back(d, p, images)


class Logistic(Layer):
    """The mean of log(1 + exp(-y s)): two classes' cross-entropy."""

    smooth = True

    def __init__(self, labels: Array) -> None:
        self.side = np.where(labels, 1.0, -1.0)

    def curvature(self, reach: float) -> float:
        return reach / (4 * self.side.size)

    def slope(self, scores: Array, images: slice) -> tuple[float, Array]:
        side = self.side[images]
        value = np.logaddexp(0, -side * scores).mean()
        return float(value), -side * _sigmoid(-side * scores) / scores.size

    def direction(self, scores: Array, lam: float, images: slice) -> Array:
        """v = y prox(s) solves v - y s = sigmoid(-v) / (lam count). What is left is convex below 0
        and concave above: from there Newton's method never oversteps."""
        side, reach = self.side[images], 1 / (lam * scores.size)
        margin = side * scores
        v = np.clip(0, margin, margin + reach)
        for _ in range(100):
            p = _sigmoid(-v)
            step = (v - margin - reach * p) / (1 + reach * p * (1 - p))
            v = v - step
            if (np.abs(step) <= 1e-13 * (1 + np.abs(v))).all():
                break
        return -side * _sigmoid(-v) / scores.size


def _sigmoid(t: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-np.clip(t, -700, 700))))


class Extension(Layer):
    """The mean over images of the Lovász extension of F at scores - offset."""

    def __init__(self, function: Function, offset: Array) -> None:
        self.function, self.offset = function, offset
        self.means = Means([[function]] * len(offset), np.ones((len(offset), 1)))

    def slope(self, scores: Array, images: slice) -> tuple[float, Array]:
        return self.means.lovasz(scores - self.offset[images], images)

    def direction(self, scores: Array, lam: float, images: slice) -> Array:
        at, count = scores - self.offset[images], len(scores)
        return np.array([short_prox(self.function, x, lam * count)[1] for x in at]) / count
