"""Pixel counts per image and class, their compact text form, and the indices computed from them."""

from __future__ import annotations

import base64
import zlib
from typing import Any

import numpy as np
import numpy.typing as npt
from torch import Tensor

from .features import CLASSES, IGNORE

# (images, classes, 3): pixels in prediction and truth, in the prediction, in the truth
Counts = npt.NDArray[np.int32]
Numbers = npt.NDArray[np.float64]


def count(predicted: Tensor, labels: Tensor, classes: int) -> Counts:
    """Counts of each image; pixels without a label are left out."""
    found = np.zeros((len(labels), classes, 3), np.int32)
    for one, guess, truth in zip(found, predicted.numpy(), labels.numpy()):
        known = truth != IGNORE
        pairs = truth[known].astype(np.int64) * classes + guess[known]
        confusion = np.bincount(pairs, minlength=classes**2).reshape(classes, classes)
        one[:] = np.stack([confusion.diagonal(), confusion.sum(0), confusion.sum(1)], 1)
    return found


def encode(counts: Counts) -> str:
    """Base64 of the compressed counts without the truth's, which all runs share."""
    both, predicted = counts[..., 0], counts[..., 1]
    small = np.stack([both, predicted - both]).astype("<i4")
    planes = np.ascontiguousarray(small).view(np.uint8).reshape(-1, 4).T  # high bytes are mostly 0
    return base64.b64encode(zlib.compress(planes.tobytes(), 9)).decode()


def decode(text: str, truth: npt.NDArray[Any]) -> Counts:
    """truth: (images, classes), as in test_images.csv."""
    planes = np.frombuffer(zlib.decompress(base64.b64decode(text)), np.uint8).reshape(4, -1)
    both, wrong = np.ascontiguousarray(planes.T).view("<i4").reshape(2, *truth.shape)
    return np.stack([both, both + wrong, truth], -1).astype(np.int32)


def iou(counts: npt.NDArray[Any]) -> Numbers:
    """Intersection over union, in points; 0/0 is 100, as in the paper."""
    both, predicted, truth = np.moveaxis(counts.astype(float), -1, 0)
    either = predicted + truth - both
    return 100 * np.divide(both, either, out=np.ones_like(both), where=either > 0)


# The weights say how often each image counts, once if there are none: (images,), or a row of them
# for each of several results.


def dataset_iou(counts: npt.NDArray[Any], weights: Numbers | None = None) -> Numbers:
    """Of each class, over all pixels of all images."""
    return iou(counts.sum(-3) if weights is None else np.tensordot(weights, counts, 1))


def dataset_miou(counts: npt.NDArray[Any], weights: Numbers | None = None) -> Any:
    return dataset_iou(counts, weights).mean(-1)


def image_miou(counts: npt.NDArray[Any], weights: Numbers | None = None) -> Any:
    each = iou(counts).mean(-1)
    return each.mean() if weights is None else weights @ each / weights.sum(-1)


def problem(labels: Tensor, target: str) -> Tensor:
    """With a target class: 1 where it is, 0 elsewhere, IGNORE where there is no label."""
    if not target:
        return labels
    found = (labels == CLASSES.index(target)).to(labels.dtype)
    return found.masked_fill(labels == IGNORE, IGNORE)
