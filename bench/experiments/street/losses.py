"""The losses that are compared, by name: modules of (scores, labels). What a loss keeps from batch
to batch is a buffer, so that a checkpoint has it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import submod
import submod.torch as st

from .camvid import IGNORE

PROX_LAMBDA = 1e-4  # of the prox layer: how far it looks, against |score - score'|^2
TVERSKY = submod.Tversky(alpha=0.5, beta=2)  # a missed pixel costs more than one too many
DECAY = 0.98  # of the dataset's counts: half of what counts is from the last 35 batches


class Of(nn.Module):
    """A function of scores and labels."""

    def __init__(self, function: Callable[[Tensor, Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
        return self.function(scores, labels)


class Sum(nn.Module):
    def __init__(self, *terms: nn.Module) -> None:
        super().__init__()
        self.terms = nn.ModuleList(terms)

    def forward(self, scores: Tensor, labels: Tensor) -> Tensor:
        return torch.stack([term(scores, labels) for term in self.terms]).sum()


def cross_entropy(weight: Tensor | None = None) -> nn.Module:
    return Of(partial(F.cross_entropy, weight=weight, ignore_index=IGNORE))


def of(function: Any, **settings: Any) -> Callable[..., nn.Module]:
    return lambda *_: Of(partial(function, ignore_index=IGNORE, **settings))


# Of so many classes, with so many pixels each in the training images. The soft-label losses
# jaccard_metric and dice_metric are missing: labels are hard here, where they equal soft_jaccard
# and soft_dice.
MULTICLASS: dict[str, Callable[[Tensor], nn.Module]] = {
    "cross_entropy": lambda pixels: cross_entropy(),
    "weighted_cross_entropy": lambda pixels: cross_entropy(balanced(pixels)),
    "lovasz": of(st.lovasz_softmax),
    "lovasz_all": of(st.lovasz_softmax, classes="all"),
    "lovasz_per_image": of(st.lovasz_softmax, per_image=True),
    "lovasz_tversky": of(st.lovasz_softmax, measure=TVERSKY),
    "lovasz+cross_entropy": lambda pixels: Sum(cross_entropy(), of(st.lovasz_softmax)()),
    "dataset_lovasz": lambda pixels: st.DatasetLovasz(
        len(pixels), decay=DECAY, ignore_index=IGNORE
    ),
    "soft_jaccard": of(st.soft_jaccard),
    "soft_dice": of(st.soft_dice),
}


def binary_cross_entropy(scores: Tensor, labels: Tensor) -> Tensor:
    counts = labels != IGNORE
    return F.binary_cross_entropy_with_logits(scores[:, 0][counts], labels[counts].float())


def hinge(scores: Tensor, labels: Tensor) -> Tensor:
    counts = labels != IGNORE
    return F.relu(1 - (2 * labels[counts].float() - 1) * scores[:, 0][counts]).mean()


def single(function: Any, **settings: Any) -> Callable[[], nn.Module]:
    """Of one score per pixel."""
    return of(lambda scores, labels, **more: function(scores[:, 0], labels, **more), **settings)


BINARY: dict[str, Callable[[], nn.Module]] = {
    "cross_entropy": lambda: Of(binary_cross_entropy),
    "hinge": lambda: Of(hinge),
    "lovasz_hinge": single(st.lovasz_hinge),
    "prox_lovasz_hinge": single(st.prox_lovasz_hinge, lam=PROX_LAMBDA),
    "lovasz_sigmoid": of(
        lambda scores, labels, **more: st.lovasz_sigmoid(scores, labels[:, None], **more)
    ),
    "rahman_wang": single(st.rahman_wang),
}


def balanced(pixels: Tensor) -> Tensor:
    """Weights by median frequency: the median of the classes' shares over that of the class."""
    share = pixels / pixels.sum()
    return (share.median() / share).float()
