"""A Lovász loss in the manner of MONAI's DiceLoss; MONAI has none.

    from submod.torch.compat.monai import LovaszLoss  # was: monai.losses.DiceLoss

Arguments, shapes, averages and weights are those of DiceLoss, and so are the warnings. At a
prediction of zeros and ones the loss is DiceLoss(jaccard=True) without smoothing, except that a
class that is neither there nor predicted costs 0, where that is 0/0. Soft labels, and numbers
outside [0, 1] after the activation, raise.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from typing import Any, Callable

import torch
from torch import Tensor
from torch.nn.modules.loss import _Loss

from .._memory import require_tensors
from ._classes import IGNORED, class_losses, one_hot, one_of

__all__ = ["LovaszLoss"]


class LovaszLoss(_Loss):
    """include_background: False leaves out channel 0.
    to_onehot_y: target is a map of labels (B, 1, ..); else it has a channel of 0 and 1 per class.
    sigmoid, softmax, other_act: at most one of them, what makes probabilities of the input.
    reduction: "mean" or "sum" over images and classes; "none" for all, (B, C, 1, ..).
    batch: one loss per class of the whole batch; with "none" (C, 1, ..).
    weight: a number, or one for each class that counts, factors of their losses.
    ignore_index: the label of pixels without a part; for a target of channels the channel whose
    pixels have none, or any other number if those without a label have none."""

    class_weight: Tensor | None

    def __init__(
        self,
        include_background: bool = True,
        to_onehot_y: bool = False,
        sigmoid: bool = False,
        softmax: bool = False,
        other_act: Callable[[Tensor], Tensor] | None = None,
        reduction: Any = "mean",
        batch: bool = False,
        weight: Sequence[float] | float | Tensor | None = None,
        ignore_index: int | None = None,
    ) -> None:
        reduction = getattr(reduction, "value", reduction)  # MONAI's LossReduction
        super().__init__(reduction=one_of(reduction, "reduction", "none", "mean", "sum"))
        if other_act is not None and not callable(other_act):
            raise TypeError(f"other_act = {other_act!r}; None or a function is needed")
        if bool(sigmoid) + bool(softmax) + (other_act is not None) > 1:
            raise ValueError("more than one of sigmoid, softmax and other_act; choose one")
        self.include_background = include_background
        self.to_onehot_y = to_onehot_y
        self.sigmoid = sigmoid
        self.softmax = softmax
        self.other_act = other_act
        self.batch = batch
        self.ignore_index = ignore_index
        weight = None if weight is None else torch.as_tensor(weight)
        if weight is not None and not (weight >= 0).all():
            raise ValueError(f"weight = {weight.tolist()}; the numbers must be >= 0")
        self.register_buffer("class_weight", weight)

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        """input: (B, C, ..). target: the same shape, or (B, 1, ..) with to_onehot_y."""
        require_tensors(input=input, target=target)
        truth = self._truth(target, input.shape[1])
        probabilities = self._activated(input)
        if not self.include_background and not _single(input.shape[1], "include_background=False"):
            probabilities, truth = probabilities[:, 1:], truth[:, 1:]
        if truth.shape != probabilities.shape:
            raise ValueError(
                f"target of shape {tuple(truth.shape)} for input of shape "
                f"{tuple(probabilities.shape)}, after to_onehot_y and include_background: they "
                "must be the same"
            )
        losses = class_losses(probabilities, truth, per_image=not self.batch)
        losses = self._weighted(losses)
        if self.reduction == "none":
            shape = losses.shape[1:] if self.batch else losses.shape
            return losses.view(*shape, *[1] * (input.ndim - 2))
        return losses.sum() if self.reduction == "sum" else losses.mean()

    def _truth(self, target: Tensor, channels: int) -> Tensor:
        """With a channel per class; ignored pixels are marked."""
        if self.to_onehot_y and not _single(channels, "to_onehot_y=True"):
            if target.shape[1] != 1:
                raise ValueError(
                    f"target of shape {tuple(target.shape)}: to_onehot_y needs (B, 1, ..)"
                )
            ignored = self._ignored(target)
            truth = one_hot(target[:, 0], channels, self.ignore_index)
        else:
            ignored = self._ignored(target)
            truth = target.to(torch.uint8) if target.dtype == torch.bool else target
        return truth if ignored is None else truth.masked_fill(ignored, IGNORED)

    def _ignored(self, target: Tensor) -> Tensor | None:
        """Which pixels have no part, (B, 1, ..)."""
        if self.ignore_index is None:
            return None
        if target.shape[1] == 1:
            return target == self.ignore_index
        if 0 <= self.ignore_index < target.shape[1]:
            return target[:, self.ignore_index, None] == 1
        return target.sum(1, keepdim=True) == 0

    def _activated(self, input: Tensor) -> Tensor:
        if self.sigmoid:
            return torch.sigmoid(input)
        if self.softmax and not _single(input.shape[1], "softmax=True"):
            return torch.softmax(input, 1)
        return input if self.other_act is None else self.other_act(input)

    def _weighted(self, losses: Tensor) -> Tensor:
        """A single class has no weight."""
        number = losses.shape[1]
        if self.class_weight is None or number == 1:
            return losses
        weight = self.class_weight.to(losses)
        if weight.ndim and weight.shape != (number,):
            raise ValueError(
                f"weight: {weight.numel()} numbers for {number} classes; without the background "
                "if include_background=False"
            )
        return losses * weight


def _single(channels: int, argument: str) -> bool:
    """Whether there is one channel only, for which the argument has no meaning."""
    if channels == 1:
        warnings.warn(f"single channel prediction, `{argument}` ignored.", stacklevel=4)
    return channels == 1
