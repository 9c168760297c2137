"""kornia's Lovász losses.

    from submod.torch.compat.kornia import LovaszSoftmaxLoss  # was: kornia.losses

As there, each image has a loss over all classes, present or not, and weight multiplies the loss of
its class in a mean that still divides by the number of classes. Without images theirs raises, and
this is 0. Labels that are no class raise in both for the softmax; for the hinge a label beside 0
and 1 raises here only, and so does a weight (C, 1), which there is averaged over all classes. A
wrong shape raises kornia's ShapeError where kornia is imported, which is a ValueError.
"""

from __future__ import annotations

import sys

import torch
from torch import Tensor, nn

from .. import functional
from .._memory import require_tensors
from ._classes import NONFINITE, class_losses, one_hot

__all__ = ["LovaszHingeLoss", "LovaszSoftmaxLoss", "lovasz_hinge_loss", "lovasz_softmax_loss"]


def lovasz_softmax_loss(pred: Tensor, target: Tensor, weight: Tensor | None = None) -> Tensor:
    """Lovász-Softmax: logits (B, C, H, W), labels (B, H, W); one image of logits may go with many
    of labels. weight: a number per class (C,), any, and there is a gradient by it."""
    _require_shapes(pred, target)
    if pred.shape[1] < 2:
        raise ValueError(
            "Invalid pred shape, we expect BxNxHxW, with N > 1. "
            f"Got: {tuple(pred.shape)}; lovasz_hinge_loss is for one score per pixel"
        )
    _require_match(pred, target, one_for_all=True)
    pred = pred.expand(target.shape[0], -1, -1, -1)
    if weight is None:
        loss = functional.lovasz_softmax(pred, target.long(), "all", True, nonfinite=NONFINITE)
        return loss.to(pred.dtype)
    _require_weight(weight, pred)
    truth = one_hot(target.long(), pred.shape[1])
    losses = class_losses(pred.softmax(1), truth, per_image=True)
    loss = (losses * weight).mean() if len(losses) else losses.sum()
    return loss.to(torch.promote_types(pred.dtype, weight.dtype))


def lovasz_hinge_loss(pred: Tensor, target: Tensor) -> Tensor:
    """Lovász hinge: logits (B, 1, H, W), labels (B, H, W), 0 or 1."""
    _require_shapes(pred, target)
    if pred.shape[1] != 1:
        raise _shape_error(pred, "pred", "B", "1", "H", "W")
    _require_match(pred, target, one_for_all=False)
    if not pred.is_floating_point():
        return functional.lovasz_hinge(pred.float(), target, nonfinite=NONFINITE)
    return functional.lovasz_hinge(pred, target, nonfinite=NONFINITE).to(pred.dtype)


class LovaszSoftmaxLoss(nn.Module):
    """lovasz_softmax_loss with its weight, which may be a parameter."""

    weight: Tensor | None

    def __init__(self, weight: Tensor | None = None) -> None:
        super().__init__()
        if isinstance(weight, nn.Parameter):
            self.weight = weight
        else:
            self.register_buffer("weight", weight, persistent=False)

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """The loss, a tensor of one number."""
        return lovasz_softmax_loss(pred, target, self.weight)


class LovaszHingeLoss(nn.Module):
    """lovasz_hinge_loss as a module."""

    def forward(self, pred: Tensor, target: Tensor) -> Tensor:
        """The loss, a tensor of one number."""
        return lovasz_hinge_loss(pred, target)


def _require_shapes(pred: Tensor, target: Tensor) -> None:
    require_tensors(pred=pred, target=target)
    if pred.ndim != 4:
        raise _shape_error(pred, "pred", "B", "N", "H", "W")
    if target.ndim != 3:
        raise _shape_error(target, "target", "B", "H", "W")


def _require_match(pred: Tensor, target: Tensor, one_for_all: bool) -> None:
    shapes = f"Got: {tuple(pred.shape)} and {tuple(target.shape)}"
    batch = pred.shape[0] == target.shape[0] or (one_for_all and pred.shape[0] == 1)
    if not batch or pred.shape[2:] != target.shape[1:]:
        raise ValueError(f"pred and target shapes must be the same. {shapes}")
    if pred.device != target.device:
        raise ValueError(
            f"pred and target must be in the same device. Got: {pred.device} and {target.device}"
        )


def _require_weight(weight: Tensor, pred: Tensor) -> None:
    require_tensors(weight=weight)
    if weight.shape != pred.shape[1:2]:
        raise ValueError(
            f"weight of shape {tuple(weight.shape)} for {pred.shape[1]} classes; "
            "a number per class is needed"
        )
    if weight.device != pred.device:
        raise ValueError(
            f"weight and pred must be in the same device. Got: {weight.device} and {pred.device}"
        )


def _shape_error(tensor: Tensor, name: str, *wanted: str) -> ValueError:
    """Of the type that callers of kornia catch, if they have it."""
    theirs = sys.modules.get("kornia.core.exceptions")
    kind = getattr(theirs, "ShapeError", ValueError)
    found = kind(
        f"Shape dimension mismatch: {name} is {tuple(tensor.shape)}. "
        f"Expected shape: ({', '.join(wanted)})"
    )
    return found if isinstance(found, ValueError) else ValueError(str(found))
