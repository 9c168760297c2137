"""Differences with 95 % bootstrap intervals, paired: the same seeds, the same test images.

Images are resampled; of each resample the index is computed anew, as the IoU of a dataset is no
mean over its images. Seeds are resampled too, as another training gives another network."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
Counts = npt.NDArray[np.int64]  # (images, truth, prediction)
Index = Callable[[Counts], float]


class Interval(NamedTuple):
    """A difference, and where 95 % of its resamples lie."""

    value: float
    low: float
    high: float

    @property
    def verdict(self) -> str:
        if self.low > 0:
            return "better"
        return "worse" if self.high < 0 else "not shown"


def iou_of(counts: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Of each class, from counts (.., truth, prediction); 0/0 = 1, as in the paper."""
    both = np.diagonal(counts, axis1=-2, axis2=-1)
    either = counts.sum(-1) + counts.sum(-2) - both
    return np.divide(both, either, out=np.ones_like(both), where=either > 0)


def dataset_miou(counts: Counts) -> float:
    return float(iou_of(counts.sum(0).astype(float)).mean())


def dataset_iou(counts: Counts) -> float:
    """Of class 1 of two."""
    return float(iou_of(counts.sum(0).astype(float))[1])


def image_iou(counts: Counts) -> float:
    return float(iou_of(counts.astype(float))[:, 1].mean())


def image_miou(counts: Counts) -> float:
    return float(iou_of(counts.astype(float)).mean())


def worst_tenth(counts: Counts) -> float:
    """The mean over the tenth of the images with the lowest mIoU."""
    of_images = np.sort(iou_of(counts.astype(float)).mean(-1))
    return float(of_images[: max(1, len(of_images) // 10)].mean())


def paired(
    index: Index, ours: Sequence[Counts], theirs: Sequence[Counts], seed: int = 0
) -> Interval:
    """The mean over the seeds of index(ours) - index(theirs). ours[k] and theirs[k] are of one seed
    and of the same images."""
    rng = np.random.default_rng(seed)
    images, seeds = len(ours[0]), len(ours)

    def difference(picked: npt.NDArray[np.int64], of: npt.NDArray[np.int64]) -> float:
        return float(np.mean([index(ours[k][picked]) - index(theirs[k][picked]) for k in of]))

    whole = difference(np.arange(images), np.arange(seeds))
    found = [
        difference(rng.integers(images, size=images), rng.integers(seeds, size=seeds))
        for _ in range(RESAMPLES)
    ]
    low, high = np.percentile(found, [2.5, 97.5])
    return Interval(whole, float(low), float(high))
