"""The losses that are compared. Each takes scores (images, classes, height, width), labels (images,
height, width) and the engine of the Lovász losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

import submod.torch as st

from .features import CLASSES, IGNORE, Split

Loss = Callable[[Tensor, Tensor, str], Tensor]
ENET = 1.02  # ENet's weight of a class with share p of the pixels is 1 / ln(1.02 + p)


@lru_cache(maxsize=1)
def enet_weights(train: Tensor) -> Tensor:
    pixels = torch.bincount(train.flatten(), minlength=256)[: len(CLASSES)].double()
    return (1 / (ENET + pixels / pixels.sum()).log()).float()


def lovasz(scores: Tensor, labels: Tensor, engine: str, **settings: Any) -> Tensor:
    return st.lovasz_softmax(scores, labels, ignore_index=IGNORE, engine=engine, **settings)


def cross_entropy(scores: Tensor, labels: Tensor, weight: Tensor | None = None) -> Tensor:
    return functional.cross_entropy(scores, labels.long(), weight, ignore_index=IGNORE)


def grouped(scores: Tensor, labels: Tensor, engine: str, images: int) -> Tensor:
    """Mean over consecutive groups of images of Lovász-Softmax."""
    parts = zip(torch.split(scores, images), torch.split(labels, images))
    return torch.stack([lovasz(s, y, engine) for s, y in parts]).mean()


MULTICLASS: dict[str, Loss] = {
    "cross_entropy": lambda s, y, engine: cross_entropy(s, y),
    "lovasz": lovasz,
    "lovasz_image_all": lambda s, y, engine: lovasz(s, y, engine, per_image=True, classes="all"),
    "lovasz+cross_entropy": lambda s, y, engine: lovasz(s, y, engine) + cross_entropy(s, y),
    "soft_jaccard": lambda s, y, engine: st.soft_jaccard(s, y, ignore_index=IGNORE),
    "lovasz_image_present": lambda s, y, engine: lovasz(s, y, engine, per_image=True),
}


def binary_cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    counts = labels != IGNORE
    return functional.binary_cross_entropy_with_logits(scores[:, 0][counts], labels[counts].float())


def hinge(scores: Tensor, labels: Tensor) -> Tensor:
    counts = labels != IGNORE
    sign = 2 * labels[counts].float() - 1
    return functional.relu(1 - sign * scores[:, 0][counts]).mean()


def sigmoid(scores: Tensor, labels: Tensor, engine: str) -> Tensor:
    return st.lovasz_sigmoid(
        scores, labels[:, None], classes="all", per_image=True, ignore_index=IGNORE, engine=engine
    )


# One score per pixel. Losses that are no sum over pixels are taken per image, as the paper does.
BINARY: dict[str, Loss] = {
    "cross_entropy": lambda s, y, engine: binary_cross_entropy(s, y),
    "hinge": lambda s, y, engine: hinge(s, y),
    "lovasz_hinge": lambda s, y, engine: st.lovasz_hinge(s, y, ignore_index=IGNORE, engine=engine),
    "rahman_wang": lambda s, y, engine: st.rahman_wang(s, y, per_image=True, ignore_index=IGNORE),
    "lovasz_sigmoid": sigmoid,
}


def make(name: str, group: int, binary: bool, train: Split) -> Loss:
    """group: images per loss group; 0 means the loss's own choice."""
    if binary:
        return BINARY[name]
    if name == "weighted_cross_entropy":
        weights = enet_weights(train.labels)
        return lambda s, y, engine: cross_entropy(s, y, weights)
    if group:
        return lambda s, y, engine: grouped(s, y, engine, group)
    return MULTICLASS[name]
