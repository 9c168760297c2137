"""Synthetic images: discs in noise, as in study last_layer."""

from __future__ import annotations

import numpy as np

from .linear import Array


def discs(
    seed: int, images: int, side: int, features: int, classes: int = 2
) -> tuple[Array, Array]:
    """X (images, side^2, features), whose last feature is 1, and labels. Each image has a disc of
    each class but 0. A feature is normal, around a mean that belongs to the class and differs a
    little from image to image."""
    rng = np.random.default_rng([seed, images, side, features, classes])
    mean = 0.7 * rng.normal(size=(classes, features))
    labels = np.array([_draw(rng, side, classes) for _ in range(images)])
    own = mean + 0.1 * rng.normal(size=(images, classes, features))
    X = own[np.arange(images)[:, None], labels] + rng.normal(size=(*labels.shape, features))
    X[..., -1] = 1
    return X, labels


def _draw(rng: np.random.Generator, side: int, classes: int) -> Array:
    rows, columns = np.indices((side, side)) + 0.5
    label = np.zeros((side, side), np.int64)
    for c in range(1, classes):
        radius = side * (0.1 + 0.2 * rng.random())
        y, x = radius + (side - 2 * radius) * rng.random(2)
        label[(rows - y) ** 2 + (columns - x) ** 2 < radius**2] = c
    return label.ravel()
