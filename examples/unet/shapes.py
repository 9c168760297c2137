"""Synthetic images: shapes on grey ground, told apart by outline and, roughly, colour."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import torch

from .data import Example, Segmentation

# Where a shape is: u to the right and v down, in units of its radius. Each kind is 0.72 times as
# frequent as the one before.
KINDS = {
    "disc": lambda u, v: u**2 + v**2 < 1,
    "square": lambda u, v: np.maximum(abs(u), abs(v)) < 0.85,
    "triangle": lambda u, v: (v < 0.7) & (v > 2 * abs(u) - 1),
    "cross": lambda u, v: (np.minimum(abs(u), abs(v)) < 0.3) & (np.maximum(abs(u), abs(v)) < 1),
    "ring": lambda u, v: (u**2 + v**2 < 1) & (u**2 + v**2 > 0.3),
    "bar": lambda u, v: (abs(u) < 1) & (abs(v) < 0.25),
    "diamond": lambda u, v: abs(u) + abs(v) < 1,
    "frame": lambda u, v: abs(np.maximum(abs(u), abs(v)) - 0.7) < 0.2,
    "moon": lambda u, v: (u**2 + v**2 < 1) & ((u - 0.5) ** 2 + v**2 > 0.6),
    "star": lambda u, v: np.sqrt(abs(u)) + np.sqrt(abs(v)) < 1.05,
    "dot": lambda u, v: u**2 + v**2 < 0.1,
}
SIDE, SHAPES, NOISE = 64, 4, 0.12
SPREAD = 0.06  # of the colours of one kind, which overlap with those of its neighbours
FREQUENCY = 0.72 ** np.arange(len(KINDS))


def colour(kind: int, rng: np.random.Generator) -> np.ndarray:
    """Around a circle of hues, with the kinds that look alike far apart."""
    hue = 2 * np.pi * (5 * kind % len(KINDS)) / len(KINDS)
    clean = 0.5 + 0.35 * np.cos(hue - 2 * np.pi / 3 * np.arange(3))
    return clean + rng.normal(0, SPREAD, size=3)


def draw_image(rng: np.random.Generator) -> tuple[Any, Any]:
    rows, columns = np.mgrid[0:SIDE, 0:SIDE].astype(np.float64)
    slope = rng.normal(0, 0.2, size=2)
    ground = rng.uniform(0.3, 0.7) + (slope[0] * rows + slope[1] * columns) / SIDE
    image = np.repeat(ground[None], 3, axis=0)
    labels = np.zeros((SIDE, SIDE), np.int64)
    kinds = list(KINDS.values())
    for kind in rng.choice(len(kinds), size=SHAPES, p=FREQUENCY / FREQUENCY.sum()):
        x, y = rng.uniform(4, SIDE - 4, size=2)
        radius, angle = rng.uniform(6, 14), rng.uniform(-0.4, 0.4)
        right, down = (columns - x) / radius, (rows - y) / radius
        turned = np.cos(angle) * right + np.sin(angle) * down
        inside = kinds[kind](turned, np.cos(angle) * down - np.sin(angle) * right)
        image[:, inside] = colour(int(kind), rng)[:, None]
        labels[inside] = 1 + kind
    image += rng.normal(0, NOISE, size=image.shape)
    return image.astype(np.float32) - np.float32(0.5), labels


def tensors(image: Any, labels: Any) -> Example:
    return torch.from_numpy(image), torch.from_numpy(labels)


def load(images: int, seed: int = 0) -> Segmentation:
    """Three quarters of the images to train with. Kept as arrays: workers of a DataLoader get
    copies of these, where each tensor would be an open file that they share."""
    rng = np.random.default_rng(seed)
    readers = [partial(tensors, *draw_image(rng)) for _ in range(images)]
    train = images * 3 // 4
    return Segmentation(["ground", *KINDS], 3, readers[:train], readers[train:])
