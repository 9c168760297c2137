"""Voxels of a head one by one, each described by its surroundings at several scales and by its
place; a linear model of these features, and one with a hidden layer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from scipy.ndimage import gaussian_filter
from torch import Tensor, nn

from . import heads as ibsr

SIGMAS = (1, 2, 4)  # of the scales, in millimetres; the image itself is another
NEAR, FAR = 3, 7  # neighbours at this distance, in millimetres
FEATURES = 29
DRAWN = 40000  # voxels of a head that trainings draw from
Image = npt.NDArray[np.float32]
Places = npt.NDArray[np.int64]  # (3, voxels)


class Scales(NamedTuple):
    head: ibsr.Head
    images: list[Image]


def scales_of(head: ibsr.Head) -> Scales:
    def blurred(sigma: float) -> Image:
        width = [sigma / spacing for spacing in head.spacing]
        return gaussian_filter(head.image, width, mode="nearest", truncate=3)

    return Scales(head, [head.image, *(blurred(sigma) for sigma in SIGMAS)])


def features(scales: Scales, at: Places) -> Image:
    """(voxels, FEATURES)"""
    image = scales.images

    def near(scale: Image, axis: int, by: int) -> Image:
        there = list(at)
        there[axis] = (at[axis] + by).clip(0, scale.shape[axis] - 1)
        return scale[tuple(there)]

    def slope(scale: Image) -> Image:
        by_axis = [near(scale, axis, 1) - near(scale, axis, -1) for axis in range(3)]
        return np.sqrt(np.square(by_axis).sum(0))

    columns = [scale[tuple(at)] for scale in image]
    columns += [slope(scale) for scale in image[1:]]
    for axis in range(3):
        for side in (-1, 1):
            for scale, distance in ((image[1], NEAR), (image[2], FAR)):
                by = round(distance / scales.head.spacing[axis])
                columns.append(near(scale, axis, side * by))
    return np.stack([*columns, *place_of(scales.head, at)], 1).astype(np.float32)


def place_of(head: ibsr.Head, at: Places) -> list[Any]:
    """In the box of the head, -1 to 1 each way, up to its squares; left and right are alike."""
    size = (head.high - head.low)[:, None]
    place = 2 * (at + 0.5 - head.low[:, None]) / size - 1
    squares = [place[a] * place[b] for a in range(3) for b in range(a, 3)]
    return [*place, *squares, np.abs(place[0])]


@lru_cache(maxsize=15)  # 5 MB each
def drawn_from(root: Path, name: str) -> tuple[Image, npt.NDArray[np.uint8]]:
    """Features and tissues of DRAWN voxels anywhere in the box of a head."""
    head = ibsr.read(root, name)
    rng = np.random.default_rng(list(name.encode()))
    at = np.stack([rng.integers(a, b, DRAWN) for a, b in zip(head.low, head.high)])
    return features(scales_of(head), at), head.tissue[tuple(at)]


@dataclass(frozen=True)
class Voxels:
    """A linear model, or one with a hidden layer. A batch is so many voxels of all heads."""

    hidden: int  # units; 0: linear

    @property
    def size(self) -> int:
        return self.hidden

    def network(self, seed: int) -> nn.Module:
        torch.manual_seed(seed)
        tissues = len(ibsr.TISSUES)
        if not self.hidden:
            return nn.Conv2d(FEATURES, tissues, 1)
        return nn.Sequential(
            nn.Conv2d(FEATURES, self.hidden, 1), nn.ReLU(), nn.Conv2d(self.hidden, tissues, 1)
        )

    def batches(
        self, root: Path, names: Sequence[str], seed: int, batch: int
    ) -> Callable[[int], tuple[Tensor, Tensor]]:
        found = [drawn_from(root, name) for name in names]
        inputs = np.concatenate([of_head for of_head, _ in found])
        tissues = np.concatenate([of_head for _, of_head in found])

        def batch_at(step: int) -> tuple[Tensor, Tensor]:
            chosen = np.random.default_rng((seed, 2, step)).integers(len(tissues), size=batch)
            truth = torch.from_numpy(tissues[chosen]).long()
            return as_image(inputs[chosen]), truth[None, :, None]

        return batch_at

    @torch.no_grad()
    def predict(
        self, networks: Sequence[nn.Module], head: ibsr.Head, slices: Sequence[int]
    ) -> npt.NDArray[np.uint8]:
        """The tissues (networks, slices, x, z)."""
        scales = scales_of(head)
        width, _, height = head.image.shape
        x, z = np.indices((width, height)).reshape(2, -1)
        found = np.empty((len(networks), len(slices), width, height), np.uint8)
        for k, y in enumerate(slices):
            seen = as_image(features(scales, np.stack([x, np.full_like(x, y), z])))
            for network, prediction in zip(networks, found):
                prediction[k] = network(seen).argmax(1).view(width, height).numpy()
        return found


def as_image(rows: Image) -> Tensor:
    """(1, FEATURES, voxels, 1)"""
    return torch.from_numpy(rows).T[None, :, :, None]
