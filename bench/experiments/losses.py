"""The losses that are compared. Each takes scores (images, classes, height, width), labels (images,
height, width) and the engine of the Lovász losses."""

from __future__ import annotations

from collections.abc import Callable
from functools import lru_cache
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

import submod.torch as st

from .features import CLASSES, IGNORE, Split

Loss = Callable[[Tensor, Tensor, str], Tensor]
ENET = 1.02  # ENet's weight of a class with share p of the pixels is 1 / ln(1.02 + p)


@lru_cache(maxsize=1)
def enet_weights(train: Tensor) -> Tensor:
    pixels = torch.bincount(train.flatten(), minlength=256)[: len(CLASSES)].double()
    return (1 / (ENET + pixels / pixels.sum()).log()).float()


def lovasz(s: Tensor, y: Tensor, engine: str, **settings: Any) -> Tensor:
    return st.lovasz_softmax(s, y, ignore_index=IGNORE, engine=engine, **settings)


def cross_entropy(s: Tensor, y: Tensor, weight: Tensor | None = None) -> Tensor:
    return F.cross_entropy(s, y.long(), weight, ignore_index=IGNORE)


MULTICLASS: dict[str, Loss] = {
    "cross_entropy": lambda s, y, engine: cross_entropy(s, y),
    "lovasz": lovasz,
    "lovasz_image_all": lambda s, y, engine: lovasz(s, y, engine, per_image=True, classes="all"),
    "lovasz+cross_entropy": lambda s, y, engine: lovasz(s, y, engine) + cross_entropy(s, y),
    "soft_jaccard": lambda s, y, engine: st.soft_jaccard(s, y, ignore_index=IGNORE),
    "lovasz_image_present": lambda s, y, engine: lovasz(s, y, engine, per_image=True),
}


def mean(loss: Callable[[Tensor, Tensor], Tensor]) -> Loss:
    """Over the pixels that have a label."""
    return lambda s, y, engine: loss(s[:, 0][y != IGNORE], y[y != IGNORE].float()).mean()


# One score per pixel. Losses that are no sum over pixels are taken per image, as the paper does.
BINARY: dict[str, Loss] = {
    "cross_entropy": mean(F.binary_cross_entropy_with_logits),
    "hinge": mean(lambda s, y: F.relu(1 - (2 * y - 1) * s)),
    "lovasz_hinge": lambda s, y, engine: st.lovasz_hinge(s, y, ignore_index=IGNORE, engine=engine),
    "rahman_wang": lambda s, y, engine: st.rahman_wang(s, y, per_image=True, ignore_index=IGNORE),
    "lovasz_sigmoid": lambda s, y, engine: st.lovasz_sigmoid(
        s, y[:, None], classes="all", per_image=True, ignore_index=IGNORE, engine=engine
    ),
}


def make(name: str, group: int, binary: bool, train: Split) -> Loss:
    """group: the loss is a mean over groups of so many images; 0 is its own choice."""
    if binary:
        return BINARY[name]
    if name == "weighted_cross_entropy":
        weights = enet_weights(train.labels)
        return lambda s, y, engine: cross_entropy(s, y, weights)

    def grouped(s: Tensor, y: Tensor, engine: str) -> Tensor:
        parts = zip(torch.split(s, group), torch.split(y, group))
        return torch.stack([MULTICLASS[name](*part, engine) for part in parts]).mean()

    return grouped if group else MULTICLASS[name]
