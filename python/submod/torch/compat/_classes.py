"""What the frameworks' modules share: shapes, and a loss per class for those that weight and
average in their own ways."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .. import functional
from .._memory import require_tensors

IGNORED = 2  # in the truth of a class, beside 0 and 1; small, for every type
NONFINITE = "propagate"  # as frameworks do: a GradScaler looks for it
OUTSIDE = 3  # no class: the loss is NaN where nobody looks at labels


def rows(tensor: Tensor) -> Tensor:
    """(batch, ..) as (batch, numbers)."""
    return tensor[:, None] if tensor.ndim == 1 else tensor.flatten(1)


def hinge(
    logits: Tensor, labels: Tensor, per_image: bool, ignore_index: int | None, reduction: str
) -> Tensor:
    """The Lovász hinge of all numbers of an image, or of the batch, whatever their shape is."""
    require_tensors(logits=logits, labels=labels)
    if logits.shape[:1] != labels.shape[:1] or logits.numel() != labels.numel():
        raise ValueError(
            f"labels of shape {tuple(labels.shape)} for logits of shape {tuple(logits.shape)}: "
            "a label per logit is needed"
        )
    return functional.lovasz_hinge(
        rows(logits),
        rows(labels),
        per_image,
        ignore_index,
        reduction=reduction,
        nonfinite=NONFINITE,
    )


def label_map(labels: Tensor, logits: Tensor) -> Tensor:
    """Labels, a class per pixel, in the shape (batch, ..) that belongs to logits (batch, C, ..)."""
    require_tensors(logits=logits, labels=labels)
    shape = logits.shape[:1] + logits.shape[2:]
    if labels.shape[:1] == shape[:1] and labels.numel() == shape.numel():
        return labels.reshape(shape)
    raise ValueError(
        f"labels of shape {tuple(labels.shape)} for logits of shape {tuple(logits.shape)}: "
        f"{tuple(shape)} is needed"
    )


def one_hot(labels: Tensor, number: int, ignore_index: int | None = None) -> Tensor:
    """Labels (batch, ..) as the truth of each class, (batch, number, ..)."""
    labels = labels[:, None]
    ignored = torch.zeros_like(labels, dtype=torch.bool)
    if ignore_index is not None:
        ignored = labels == ignore_index
    outside = ((labels < 0) | (labels >= number)) & ~ignored
    if labels.device.type == "cpu" and outside.any():
        raise ValueError(
            f"labels: {labels[outside][0].item()} is no class; they must be in [0, {number}), or "
            "be the ignored one"
        )
    classes = torch.arange(number, device=labels.device)
    truth = (labels == classes.view(-1, *[1] * (labels.ndim - 2))).to(torch.uint8)
    return truth.masked_fill(ignored, IGNORED).masked_fill(outside, OUTSIDE)


def class_losses(probabilities: Tensor, truth: Tensor, per_image: bool) -> Tensor:
    """The Lovász extension of the Jaccard loss, (groups, C): of each class in each image, or in the
    batch. probabilities and truth: (batch, C, ..), truth 0, 1 or IGNORED."""
    require_tensors(probabilities=probabilities, truth=truth)
    number = probabilities.shape[1]
    losses: Tensor = functional.lovasz_sigmoid(
        _as_images(probabilities, per_image),
        _as_images(truth, per_image),
        "all",
        per_image=True,
        ignore_index=IGNORED,
        from_logits=False,
        reduction="none",
        nonfinite=NONFINITE,
    )
    return losses.view(-1, number)


def present(truth: Tensor, per_image: bool) -> Tensor:
    """Which classes are there, (groups, C): as class_losses() numbers them."""
    return (_as_images(truth, per_image) == 1).flatten(1).any(1).view(-1, truth.shape[1])


def _as_images(values: Tensor, per_image: bool) -> Tensor:
    """(batch, C, ..): each class of each image, or of the batch, as an image of one class."""
    flat = values.flatten(2) if values.ndim > 2 else values[..., None]
    if not per_image:
        flat = flat.movedim(1, 0).flatten(1)[None]
    return flat.reshape(flat.shape[0] * flat.shape[1], 1, flat.shape[2], 1)


def one_of(value: Any, name: str, *allowed: Any) -> Any:
    """An argument that has only these values."""
    if value not in allowed:
        words = ", ".join(map(repr, allowed))
        raise ValueError(f"{name} = {value!r}; it must be one of {words}")
    return value
