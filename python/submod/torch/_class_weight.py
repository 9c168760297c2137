"""The other mean of weighted classes: of weight times loss, divided by the number of classes."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._options import LossOptions
from ._memory import loss_type
from ._rank_ops import reduced_over_ranks, sum_over_ranks


def mean_weights(
    kind: str, scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, options: LossOptions
) -> Tensor:
    """(groups,): of the classes that the mean of a group is over; 0 if there are none. A weighted
    mean times this is the mean of weight times loss. Arguments as the operators have them."""
    taken = _taken(kind, scores, labels, pixel_weights, options)
    weight = torch.as_tensor(options.class_weight).to(scores.device, loss_type(scores))
    number = taken.sum(1)
    return torch.where(taken, weight, 0).sum(1) / number.clamp(min=1)


def reduced(losses: Tensor, reduction: str, options: LossOptions) -> Tensor:
    """Of the losses of groups, which with per_image are those of all ranks."""
    if reduction == "none":
        return losses
    if options.group and options.per_image:
        found: Tensor = reduced_over_ranks(losses, reduction == "mean", options.group)[0]
        return found
    total = losses.sum()
    return total / max(losses.shape[0], 1) if reduction == "mean" else total


def _taken(
    kind: str, scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, options: LossOptions
) -> Tensor:
    """(groups, classes): which ones the mean of each group is over."""
    groups, classes = options.groups(scores.shape[0]), scores.shape[1]
    if options.classes == "all":
        return torch.ones((groups, classes), dtype=torch.bool, device=scores.device)
    if not isinstance(options.classes, str):
        listed: Any = [c in options.classes for c in range(classes)]
        return torch.tensor(listed, device=scores.device).expand(groups, classes)
    there = _there(kind, classes, labels, pixel_weights, options.ignore_index)
    if options.per_image:
        return there
    there = there.any(0, keepdim=True)
    if options.group:
        there = sum_over_ranks(there.to(torch.int32), options.group) > 0
    return there


def _there(
    kind: str,
    classes: int,
    labels: Tensor,
    pixel_weights: Tensor | None,
    ignore_index: int | None,
) -> Tensor:
    """(batch, classes): which ones each image has."""
    multilabel = kind == "multilabel"
    numbers = labels.flatten(2 if multilabel else 1).to(torch.int64)
    limit = 2 if multilabel else classes
    counts = (numbers >= 0) & (numbers < limit)
    if ignore_index is not None:
        counts = counts & (numbers != ignore_index)
    if pixel_weights is not None:
        some = pixel_weights.flatten(1) > 0
        counts = counts & (some[:, None] if multilabel else some)
    if multilabel:
        return (counts & (numbers == 1)).any(2)
    places = torch.where(counts, numbers, classes)  # the last one is for what does not count
    found = counts.new_zeros((labels.shape[0], classes + 1))
    return found.scatter(1, places, True)[:, :classes]
