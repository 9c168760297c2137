"""Differences with 95 % intervals, paired: the same seeds, the same test images.

What another test set would give: images are resampled, and of each resample the index is computed
anew, as the IoU of a dataset is no mean over its images. Frames of a video look like their
neighbours, so runs of neighbours are drawn.

What another training would give: the difference varies from seed to seed. Three seeds drawn with
replacement would claim far too much (the interval would end at the smallest and the largest of
them, which hold the truth in 75 % of cases); so to each resample is added what Student's t says
about a mean of so few. The same goes for what is known in a few groups only, whose members share
their networks: folds of heads, networks with several draws of features."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

RESAMPLES = 2000
Counts = npt.NDArray[np.int64]  # (images, truth, prediction)
Numbers = npt.NDArray[np.float64]
Weights = npt.NDArray[np.float64]  # (resamples, images): how often each image was drawn


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


class Index:
    """A number that says how good a network is, from an array with an entry per image: of these
    images, or of resamples of them."""

    def __init__(self, resampled: Callable[[npt.NDArray[Any], Weights], Numbers]) -> None:
        self.resampled, self.__doc__ = resampled, resampled.__doc__

    def __call__(self, found: npt.NDArray[Any]) -> float:
        return float(self.resampled(found, np.ones((1, len(found))))[0])


def iou_of(counts: Numbers) -> Numbers:
    """Of each class, from counts (.., truth, prediction); 0/0 = 1, as in the paper."""
    both = np.diagonal(counts, axis1=-2, axis2=-1)
    either = counts.sum(-1) + counts.sum(-2) - both
    return np.divide(both, either, out=np.ones_like(both), where=either > 0)


def of_dataset(counts: Counts, weights: Weights) -> Numbers:
    """IoU (resamples, classes) over all pixels."""
    images, classes, _ = counts.shape
    sums = weights @ counts.reshape(images, -1).astype(float)
    return iou_of(sums.reshape(-1, classes, classes))


def of_images(counts: Counts) -> Numbers:
    """IoU (images, classes)."""
    return iou_of(counts.astype(float))


@Index
def mean(values: Numbers, weights: Weights) -> Numbers:
    """Of a number per image."""
    return weights @ values / weights.sum(1)


@Index
def dataset_miou(counts: Counts, weights: Weights) -> Numbers:
    return of_dataset(counts, weights).mean(1)


@Index
def dataset_iou(counts: Counts, weights: Weights) -> Numbers:
    """Of class 1 of two."""
    return of_dataset(counts, weights)[:, 1]


@Index
def image_iou(counts: Counts, weights: Weights) -> Numbers:
    """Of class 1 of two."""
    return mean.resampled(of_images(counts)[:, 1], weights)


@Index
def image_miou(counts: Counts, weights: Weights) -> Numbers:
    return mean.resampled(of_images(counts).mean(1), weights)


@Index
def worst_tenth(counts: Counts, weights: Weights) -> Numbers:
    """The mean over the tenth of the images with the lowest mIoU."""
    values = of_images(counts).mean(1)
    order = np.argsort(values, kind="stable")
    drawn = weights[:, order]
    wanted = np.maximum(1.0, drawn.sum(1, keepdims=True) // 10)
    before = drawn.cumsum(1) - drawn
    used = np.clip(wanted - before, 0.0, drawn)
    return used @ values[order] / wanted[:, 0]


@lru_cache(maxsize=8)
def drawn(images: int, neighbours: int) -> Weights:
    """How often each image is in each resample: of runs of so many neighbours that begin anywhere;
    the first image is the last one's neighbour."""
    rng = np.random.default_rng(0)
    length = min(neighbours, images)
    starts = rng.integers(images, size=(RESAMPLES, -(-images // length)))
    picked = (starts[:, :, None] + np.arange(length)).reshape(RESAMPLES, -1)[:, :images] % images
    weights = np.zeros((RESAMPLES, images))
    np.add.at(weights, (np.arange(RESAMPLES)[:, None], picked), 1.0)
    return weights


def of_few(differences: Sequence[float]) -> Numbers:
    """How far the mean over all possible seeds, or groups, may be from the mean over these:
    Student's t at evenly spaced levels, in random order. Nothing for a single one, which tells
    nothing."""
    from scipy import stats

    few = len(differences)
    if few == 1:
        return np.zeros(RESAMPLES)
    levels = (np.random.default_rng(1).permutation(RESAMPLES) + 0.5) / RESAMPLES
    error = np.std(differences, ddof=1) / np.sqrt(few)
    return np.asarray(error * stats.t.ppf(levels, few - 1))


def paired(
    index: Index,
    ours: Sequence[npt.NDArray[Any]],
    theirs: Sequence[npt.NDArray[Any]],
    neighbours: int = 1,
) -> Interval:
    """The mean over the seeds of index(ours) - index(theirs). ours[k] and theirs[k] are of one seed
    and of the same images. neighbours: so many in a row are drawn together."""
    weights = drawn(len(ours[0]), neighbours)
    seen = [index(one) - index(other) for one, other in zip(ours, theirs)]
    again = [
        index.resampled(one, weights) - index.resampled(other, weights)
        for one, other in zip(ours, theirs)
    ]
    return around(float(np.mean(seen)), np.mean(again, 0) + of_few(seen))


def means_of(groups: Sequence[int], values: npt.NDArray[Any]) -> Numbers:
    """Of each group, over the last axis of values, which are in these groups: (.., groups)."""
    own = np.asarray(groups)
    return np.stack([values[..., own == group].mean(-1) for group in np.unique(own)], -1)


def paired_groups(differences: Numbers, groups: Sequence[int]) -> Interval:
    """The mean over seeds and groups of differences (seeds, members). Members of a group share
    their networks, so a group counts once, with its mean: groups vary, and seeds do. What varies
    with both counts twice, which makes the interval rather too wide than too narrow."""
    cells = means_of(groups, differences)
    value = float(cells.mean())
    spread = np.add.outer(of_few(cells.mean(0).tolist()), of_few(cells.mean(1).tolist()))
    return around(value, value + spread)


def paired_seeds(ours: Sequence[float], theirs: Sequence[float]) -> Interval:
    """Of numbers that are known for whole test sets only: seeds vary, images do not."""
    seen = [one - other for one, other in zip(ours, theirs)]
    value = float(np.mean(seen))
    return around(value, value + of_few(seen))


def around(value: float, found: Numbers) -> Interval:
    low, high = np.percentile(found, [2.5, 97.5])
    return Interval(value, float(low), float(high))
