"""What a dataset is, and how batches are drawn from it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Callable, NamedTuple

import numpy as np
import torch.nn.functional as F
from torch import Tensor
from torch.utils.data import DataLoader, Dataset

import submod

from .recipes import Recipe

IGNORE = 255
Example = tuple[Tensor, Tensor]  # image (channels, height, width), labels (height, width)


@dataclass
class Segmentation:
    """train and val: one function per image, which reads it, and can be pickled for the workers of
    a DataLoader. Labels are classes or IGNORE."""

    classes: Sequence[str]
    channels: int
    train: list[Callable[[], Example]]
    val: list[Callable[[], Example]]
    leave_out: int | None = None  # a class without a part in the mean IoU


class Draw(NamedTuple):
    image: int
    drawn_for: int  # the class that the crop must show; -1: any crop
    seed: int


def classes_of(data: Segmentation) -> list[list[int]]:
    """The classes in each training image. Reads them all."""
    found = (np.unique(read()[1].numpy()) for read in data.train)
    return [[int(label) for label in labels if label != IGNORE] for labels in found]


def draws(
    images: int, image_classes: list[list[int]] | None, classes: int, seed: int
) -> Iterator[Draw]:
    """For ever. With image_classes by equibatch, else all images in a new order in each epoch."""
    rng = np.random.default_rng(seed)
    if image_classes is None:
        while True:
            for image in rng.permutation(images):
                yield Draw(int(image), -1, int(rng.integers(2**62)))
    sampler = submod.Equibatch(image_classes, classes, seed)
    while True:
        yield Draw(*sampler.draw(), int(rng.integers(2**62)))


class Crops(Dataset):  # type: ignore[type-arg]
    """The training images under the recipe's random changes. An item's number is a Draw, whose
    seed decides all that is random: the same batches for any number of workers."""

    def __init__(self, data: Segmentation, recipe: Recipe) -> None:
        self.data, self.recipe = data, recipe

    def __getitem__(self, draw: Draw) -> Example:
        image, labels = self.data.train[draw.image]()
        rng = np.random.default_rng(draw.seed)
        recipe = self.recipe
        if recipe.size:
            image, labels = resize(image, labels, recipe.size)
        if recipe.scale:
            factor = rng.uniform(*recipe.scale)
            height, width = (max(1, round(side * factor)) for side in labels.shape)
            image, labels = resize(image, labels, (height, width))
        if recipe.crop:
            image, labels = crop(image, labels, recipe.crop, draw.drawn_for, rng)
        if recipe.flip and rng.random() < 0.5:
            image, labels = image.flip(-1), labels.flip(-1)
        return image, labels


def batches(
    data: Segmentation,
    recipe: Recipe,
    steps: int,
    image_classes: list[list[int]] | None,
    seed: int,
    workers: int,
    rank: int = 0,
    ranks: int = 1,
) -> Iterator[Example]:
    """Of several ranks each has its share of the batches that one process would have."""
    stream = draws(len(data.train), image_classes, len(data.classes), seed)
    whole = ([next(stream) for _ in range(recipe.batch)] for _ in range(steps))
    chosen = [batch[rank::ranks] for batch in whole]
    loader = DataLoader(Crops(data, recipe), batch_sampler=chosen, num_workers=workers)
    return iter(loader)


def resize(image: Tensor, labels: Tensor, size: tuple[int, int]) -> Example:
    """Bilinear, and nearest for the labels."""
    image = F.interpolate(image[None], size, mode="bilinear", antialias=True)[0]
    labels = F.interpolate(labels[None, None].float(), size, mode="nearest-exact")[0, 0]
    return image, labels.long()


def crop(
    image: Tensor,
    labels: Tensor,
    size: tuple[int, int],
    drawn_for: int,
    rng: np.random.Generator,
) -> Example:
    """At a random place; with drawn_for >= 0 at one that contains a random pixel of that class, if
    there still is one. Images that are too small are padded with 0 and IGNORE."""
    missing = [max(0, want - have) for want, have in zip(size, labels.shape)]
    padding = (0, missing[1], 0, missing[0])
    image, labels = F.pad(image, padding), F.pad(labels, padding, value=IGNORE)
    low, high = [0, 0], [have - want for want, have in zip(size, labels.shape)]
    pixels = (labels == drawn_for).nonzero() if drawn_for >= 0 else labels.new_empty((0, 2))
    if len(pixels):
        pixel = pixels[int(rng.integers(len(pixels)))].tolist()
        low = [max(0, p - want + 1) for p, want in zip(pixel, size)]
        high = [min(h, p) for p, h in zip(pixel, high)]
    top, left = (int(rng.integers(a, b + 1)) for a, b in zip(low, high))
    there = (..., slice(top, top + size[0]), slice(left, left + size[1]))
    return image[there].contiguous(), labels[there].contiguous()
