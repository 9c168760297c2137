"""mmsegmentation's Lovász loss.

    from submod.torch.compat.mmseg import LovaszLoss  # was: mmseg.models.losses

Registered under its own name it is what a configuration means by type='LovaszLoss':
mmseg.registry.MODELS.register_module(module=LovaszLoss, force=True).

As there, class_weight multiplies the loss of its class in a mean over the number of classes. There,
and not here: per_image=False with another reduction than "none" raises, though it has no effect;
so does one pixel alone that counts; multiclass without any is an empty tensor, or raises, instead
of 0. Here, and not there: a label that is neither a class nor ignored raises; there it is
background. So does the softmax of one class, which is always 1.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Union

import numpy as np
import torch
from torch import Tensor, nn

from .. import functional
from ._classes import NONFINITE, class_losses, hinge, label_map, one_hot, one_of, present

__all__ = ["LovaszLoss"]

ClassWeight = Union[str, Sequence[float], None]


class LovaszLoss(nn.Module):
    """loss_type: "multi_class", Lovász-Softmax of logits (N, C, ..) and labels (N, ..); "binary",
    the Lovász hinge of as many logits as labels 0 or 1, which has no classes and weights.
    classes: "present", "all" or a list.
    per_image: a loss per image, then reduction, "mean", "sum" or "none"; else one of the batch.
    class_weight: numbers, or the name of a file .npy or .json with them.
    loss_weight: a factor. loss_name: what a model calls the loss in its logs."""

    def __init__(
        self,
        loss_type: str = "multi_class",
        classes: str | list[int] = "present",
        per_image: bool = False,
        reduction: str = "mean",
        class_weight: ClassWeight = None,
        loss_weight: float = 1.0,
        loss_name: str = "loss_lovasz",
    ) -> None:
        super().__init__()
        self.loss_type = one_of(loss_type, "loss_type", "binary", "multi_class")
        self.classes = classes if isinstance(classes, list) else _named(classes)
        self.per_image = per_image
        self.reduction = one_of(reduction, "reduction", "none", "mean", "sum")
        self.class_weight = _read(class_weight)
        self.loss_weight = loss_weight
        self._loss_name = loss_name

    @property
    def loss_name(self) -> str:
        """What a model calls the loss in its logs."""
        return self._loss_name

    def forward(
        self,
        cls_score: Tensor,
        label: Tensor,
        weight: Tensor | None = None,
        avg_factor: float | None = None,
        reduction_override: str | None = None,
        ignore_index: int | None = 255,
    ) -> Tensor:
        """weight: without effect, as there. avg_factor: what the mean over images divides by."""
        one_of(reduction_override, "reduction_override", None, "none", "mean", "sum")
        reduction = reduction_override or self.reduction
        if self.loss_type == "binary":
            losses = hinge(cls_score, label, self.per_image, ignore_index, "none")
        elif self.class_weight is None:
            losses = self._unweighted(cls_score, label, ignore_index)
        else:
            losses = self._weighted(cls_score, label, ignore_index)
        if not self.per_image:
            return self.loss_weight * losses.sum()  # of the one group
        return self.loss_weight * _reduced(losses, reduction, avg_factor)

    def _unweighted(self, logits: Tensor, labels: Tensor, ignore_index: int | None) -> Tensor:
        return functional.lovasz_softmax(
            logits,
            label_map(labels, logits),
            self.classes,
            self.per_image,
            ignore_index,
            reduction="none",
            nonfinite=NONFINITE,
        )

    def _weighted(self, logits: Tensor, labels: Tensor, ignore_index: int | None) -> Tensor:
        """The mean of w times the loss over the classes that count, of each group."""
        number = logits.shape[1]
        weight = logits.new_tensor(self.class_weight)
        if weight.shape != (number,):
            raise ValueError(f"class_weight: {weight.numel()} numbers for {number} classes")
        if number == 1:
            raise ValueError('the softmax of one class is always 1; loss_type="binary" is for one')
        truth = one_hot(label_map(labels, logits), number, ignore_index)
        losses = class_losses(logits.softmax(1), truth, self.per_image) * weight
        if isinstance(self.classes, list):
            return losses[:, self.classes].mean(1)
        if self.classes == "all":
            return losses.mean(1)
        there = present(truth, self.per_image)
        return (losses * there).sum(1) / there.sum(1).clamp(min=1)


def _named(classes: str) -> str:
    return str(one_of(classes, "classes", "all", "present"))


def _reduced(losses: Tensor, reduction: str, avg_factor: float | None) -> Tensor:
    if reduction == "none":
        return losses
    if avg_factor is None:
        return losses.sum() if reduction == "sum" else losses.mean()
    if reduction == "sum":
        raise ValueError('avg_factor can not be used with reduction="sum"')
    return losses.sum() / avg_factor


def _read(weight: ClassWeight) -> list[float] | None:
    """Numbers as they are, or those of a file."""
    if isinstance(weight, str):
        if weight.endswith(".npy"):
            weight = np.load(weight).tolist()
        elif weight.endswith(".json"):
            weight = json.loads(Path(weight).read_text(encoding="utf-8"))
        else:
            raise ValueError(
                f"class_weight = {weight!r}; a file .npy or .json, or the numbers themselves"
            )
    if weight is None:
        return None
    numbers: list[float] = torch.as_tensor(weight, dtype=torch.float64).tolist()
    return numbers
