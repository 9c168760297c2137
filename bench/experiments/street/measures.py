"""Indices of CamVid's classes that the tables of several classes need, from confusion counts."""

from __future__ import annotations

import numpy as np

from ..intervals import Counts, Index, Numbers, Weights, iou_of, of_dataset
from .camvid import CLASSES

# Cityscapes's categories. CamVid's bicyclists are riders with their bicycles; its cars are all
# vehicles but two-wheelers.
CATEGORIES = {
    "flat": ("road", "pavement"),
    "construction": ("building", "fence"),
    "object": ("pole", "sign"),
    "nature": ("tree",),
    "sky": ("sky",),
    "human": ("pedestrian", "bicyclist"),
    "vehicle": ("car",),
}
RARE = 5  # classes that are called small


def class_iou(counts: Counts) -> Numbers:
    """Of each class over the dataset."""
    return iou_of(counts.sum(0).astype(float))


@Index
def category_iou(counts: Counts, weights: Weights) -> Numbers:
    """Mean over categories: classes of one are not told apart."""
    into = np.array([[name in of for name in CLASSES] for of in CATEGORIES.values()], np.int64)
    return of_dataset(into @ counts @ into.T, weights).mean(1)


@Index
def small_against_large(counts: Counts, weights: Weights) -> Numbers:
    """Mean IoU of the rarest classes in the truth, less that of the others."""
    order = np.argsort(counts.sum((0, 2)), kind="stable")
    found = of_dataset(counts, weights)
    return found[:, order[:RARE]].mean(1) - found[:, order[RARE:]].mean(1)
