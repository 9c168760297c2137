"""The last layer of a network alone, a convex problem with a minimum that can be certified:

    J(w) = mean over the images of LovászHinge(features w) + DECAY/2 |w|^2.

Optimisers see subgradients, or the direction of the supplement's modified backpropagation: the loss
layer sends lambda (s - prox(s)) back in place of the gradient by the scores s."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

import submod

from .data import TOGETHER, Data, Features, Labels

DECAY = 5e-4  # the paper's
Vector = npt.NDArray[np.float64]
Sent = Callable[[Features, Labels, float], Any]  # (scores, labels, lambda) -> by the scores


def exact_prox(scores: Features, labels: Labels, lam: float) -> Any:
    return submod.prox_lovasz_hinge(scores, labels, lam)[1]


class GreedyPath:
    """The same with Algorithm 2 of the supplement for the prox, which need not be exact; keeps how
    far it was off: |direction - exact one| / |exact one| of every image."""

    def __init__(self) -> None:
        self.errors: list[float] = []

    def __call__(self, scores: Features, labels: Labels, lam: float) -> Any:
        """In margins m = 1 - y s: there s - prox(s) = y (prox(m) - m)."""
        y = 2.0 * labels - 1
        margins = 1 - y * scores
        moved = np.stack([greedy_prox(own, truth, lam) for own, truth in zip(margins, labels)])
        found = lam * y * (moved - margins) / len(labels)
        exact = exact_prox(scores, labels, lam)
        off, size = (np.linalg.norm(x, axis=1) for x in (found - exact, exact))
        self.errors += np.divide(off, size, out=np.zeros_like(off), where=size > 0).tolist()
        return found


def greedy_prox(margins: Vector, labels: Labels, lam: float) -> Vector:
    """Its warning is no news: it has no certificate even where it is exact."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", submod.AccuracyWarning)
        return submod.Function.jaccard(labels).prox(margins, lam, "greedy_path", hinge=True).u


class Layer:
    """The problem of some data. sent and look: what the loss layer sends back, and how far it
    looks: where a step of size eta is to be taken, lambda = 1 / (look eta pixels |x|^2), with the
    mean of |x|^2. With look = 1 prox looks as far as the step may get: the step moves a score by
    about eta |x|^2, as the weights of a subgradient sum to one, and prox moves the scores of an
    image by 1 / (lambda pixels) on average. As look tends to 0, it becomes the subgradient."""

    def __init__(self, data: Data, sent: Sent | None = None, look: float = 0.0) -> None:
        self.data, self.sent = data, sent
        squares = np.square(data.features, dtype=np.float64)
        self.reach = look * squares.sum() / len(data.features)
        self.problem = submod.optim.Problem(
            data.features.shape[-1],
            self.subgradient,
            direction=self.direction if sent else None,
            metric=self.val_iou,
            batches=len(data.features) // TOGETHER,
        )

    def batch(self, w: Vector, number: int | None) -> tuple[Features, Features, Labels]:
        """Features, scores and labels of a minibatch; None: of all, as where there is but one."""
        first = None if number is None else number * TOGETHER
        here = slice(first, None if first is None else first + TOGETHER)
        features = self.data.features[here]
        return features, scores_of(features, w), self.data.labels[here]

    def subgradient(self, w: Vector, number: int | None = None) -> tuple[Any, Vector]:
        features, scores, labels = self.batch(w, number)
        value, by_scores = submod.lovasz_hinge(scores, labels, return_grad=True)
        return value, by_weights(features, by_scores)

    def direction(self, w: Vector, per_step: float, number: int | None = None) -> Vector:
        assert self.sent is not None
        features, scores, labels = self.batch(w, number)
        return by_weights(features, self.sent(scores, labels, per_step / self.reach))

    def val_iou(self, w: Vector) -> float:
        """The mean over the images of val."""
        chosen = scores_of(self.data.val_features, w) > 0
        truth = self.data.val_labels == 1
        both, either = (chosen & truth).sum(1), (chosen | truth).sum(1)
        iou = np.divide(both, either, out=np.ones(len(truth)), where=either > 0)
        return float(iou.mean())


def scores_of(features: Features, w: Vector) -> Features:
    return (features @ w.astype(np.float32)).astype(np.float32)


def by_weights(features: Features, by_scores: Any) -> Vector:
    """The chain rule, added up in double precision."""
    flat = features.reshape(-1, features.shape[-1]).astype(np.float64)
    return by_scores.reshape(-1).astype(np.float64) @ flat
