"""The package as a typed program uses it: mypy --strict reads this file, and pytest runs it."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

import submod


def test_losses() -> None:
    scores = np.zeros((1, 2, 3, 1), np.float32)
    labels, flags = np.zeros((1, 3, 1), np.int64), np.zeros((1, 2, 3, 1), np.bool_)
    gradient: npt.NDArray[np.float32]
    loss: float = submod.lovasz_softmax(scores, labels, classes="all")
    value, gradient = submod.lovasz_softmax(scores, labels, classes="all", return_grad=True)
    assert value == loss and gradient.shape == scores.shape
    loss = submod.lovasz_sigmoid(scores, flags, per_image=True)
    value, gradient = submod.lovasz_sigmoid(scores, flags, per_image=True, return_grad=True)
    assert value == loss and gradient.shape == scores.shape
    loss = submod.lovasz_hinge(scores, flags, return_grad=False)
    value, gradient = submod.lovasz_hinge(scores, flags, return_grad=True)
    assert value == loss and gradient.shape == scores.shape
    for wanted in (False, True):
        assert isinstance(submod.lovasz_hinge(scores, flags, return_grad=wanted), tuple) is wanted


def test_measures_and_reductions() -> None:
    scores, labels = np.zeros((2, 2, 3), np.float32), np.zeros((2, 3), np.int64)
    measure = submod.Tversky(alpha=0.5, beta=2)
    total: float = submod.lovasz_softmax(scores, labels, measure=measure, reduction="sum")
    each: npt.NDArray[np.float64] = submod.lovasz_softmax(
        scores, labels, measure="hamming", per_image=True, reduction="none", pixel_weights=labels
    )
    losses, gradient = submod.cross_entropy(
        scores, labels, per_image=True, reduction="none", return_grad=True
    )
    assert total >= 0 and each.shape == losses.shape == (2,) and gradient.shape == scores.shape
    value: float = submod.lovasz_hinge(
        scores[0], labels, measure=lambda a, b, P, N: (a + b) / (P + N), reduction="mean"
    )
    assert value == 1.0


def test_functions() -> None:
    f: submod.Function = 2 * submod.Function.jaccard([1, 0, 1]) + np.ones(3)
    found = f.prox([0.0, 1.0, 2.0], 1.0, "min_norm")
    assert f.verify([0.0, 1.0, 2.0], 1.0, found.u, found.s, found.certificate).gap < 1e-6
    image: int = next(submod.Equibatch([[0], [1]], 2))
    assert image in (0, 1)


def test_metrics() -> None:
    labels = np.zeros((1, 4, 4), np.int64)
    counts = submod.metrics.Confusion(2, ignore_index=255)
    counts.update(labels, labels)
    assert counts.compute().classes.iou[0] == 1
    boundary = submod.metrics.BoundaryIoU(2)
    boundary.update(labels, labels)
    boundary.merge(submod.metrics.BoundaryIoU(2))
    mean: float = boundary.compute().mean
    assert mean == 1
