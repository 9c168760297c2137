"""The operators of datasets: counts of batches, and the loss of all of them."""

from __future__ import annotations

from typing import Any, Callable

import torch
from torch import Tensor

from .._dataset import Dataset, solve
from .._library import workspace
from .._options import LossOptions, call_loss
from . import _anywhere, _autograd, _cuda, _ranks
from ._flat import OPTIONS, loss_tensor, operator, options_of, taken
from ._gains import real_type
from ._memory import loss_call, loss_type, new_gradient


@operator("dataset_counts", f"SymInt bins, {OPTIONS}", "Tensor")
def dataset_counts(
    scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, bins: int, *options: Any
) -> Tensor:
    """The errors of a batch, or of the batches of all ranks, counted in bins: (classes, 2, bins),
    float64."""
    how = _anywhere.dataset_counts if _anywhere.FORCED else _counts_by_library
    return _counted(how, scores, labels, pixel_weights, bins, options_of(*options))


@dataset_counts.register_kernel(None)
def dataset_counts_anywhere(
    scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, bins: int, *options: Any
) -> Tensor:
    how = _anywhere.dataset_counts
    return _counted(how, scores, labels, pixel_weights, bins, options_of(*options))


@dataset_counts.register_kernel("cuda")
def dataset_counts_on_cuda(
    scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, bins: int, *options: Any
) -> Any:
    chosen = options_of(*options)
    where: Any = _cuda if _cuda.can_do(chosen) else _anywhere
    return _counted(where.dataset_counts, scores, labels, pixel_weights, bins, chosen)


def _counts_by_library(
    scores: Tensor, labels: Tensor, weights: Tensor | None, bins: int, options: LossOptions
) -> Tensor:
    c = loss_call("multiclass", scores, labels, weights, options, False)
    del c.arguments["gradient"]
    dataset = Dataset(scores.shape[1], 0.5 / bins)
    call_loss("dataset_add", dataset=dataset, **c.arguments, work=workspace())
    return torch.from_numpy(dataset.counts())


def _counted(
    how: Callable[..., Tensor],
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    bins: int,
    options: LossOptions,
) -> Tensor:
    """What devices refuse is NaN, in all sums of it too."""
    ranks = _ranks.of(options.group)
    counts, _ = ranks.together(
        lambda: how(scores, labels, weights, bins, options),
        lambda: f"dataset_counts of {scores.shape[1]} classes in {bins} bins",
    )
    return ranks.sum(counts)


@dataset_counts.register_fake
def _(scores: Tensor, labels: Tensor, weights: Any, bins: int, *_: Any) -> Tensor:
    return scores.new_empty((scores.shape[1], 2, bins), dtype=real_type(scores))


def solved(counts: Tensor, options: LossOptions) -> tuple[Dataset, float]:
    """A dataset of these counts, and its loss."""
    number, _, bins = counts.shape
    dataset = Dataset(number, 0.5 / bins)
    dataset.set_counts(counts.numpy())
    return dataset, solve(dataset, options.settings(number))


@operator("dataset_loss", f"Tensor counts, Tensor scale, {OPTIONS}, bool need_gradient")
def dataset_loss(
    scores: Tensor,
    labels: Tensor,
    pixel_weights: Tensor | None,
    counts: Tensor,
    scale: Tensor,
    *options_and_need: Any,
) -> tuple[Tensor, Tensor]:
    """The loss of all counts, and scale times its gradient by these scores."""
    options, need_gradient = taken(options_and_need)
    batch = (scores, labels, pixel_weights)
    if _anywhere.FORCED:
        return _anywhere.dataset_loss(*batch, counts, scale, options, need_gradient)
    dataset, found = solved(counts, options)
    c = loss_call("multiclass", *batch, options, need_gradient, scale.item())
    if need_gradient:
        call_loss("dataset_gradient", dataset=dataset, **c.arguments, work=workspace())
    return loss_tensor(scores, found), c.gradient


@dataset_loss.register_kernel(None)
def dataset_loss_anywhere(
    scores: Tensor,
    labels: Tensor,
    pixel_weights: Tensor | None,
    counts: Tensor,
    scale: Tensor,
    *options_and_need: Any,
) -> Any:
    batch = (scores, labels, pixel_weights)
    return _anywhere.dataset_loss(*batch, counts, scale, *taken(options_and_need))


@dataset_loss.register_kernel("cuda")
def dataset_loss_on_cuda(
    scores: Tensor,
    labels: Tensor,
    pixel_weights: Tensor | None,
    counts: Tensor,
    scale: Tensor,
    *options_and_need: Any,
) -> Any:
    options, need_gradient = taken(options_and_need)
    where = _cuda if _cuda.can_do(options) else _anywhere
    batch = (scores, labels, pixel_weights)
    return where.dataset_loss(*batch, counts, scale, options, need_gradient)


@dataset_loss.register_fake
def _(scores: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    return scores.new_empty((), dtype=loss_type(scores)), new_gradient(scores, rest[-1])


_autograd.register(dataset_loss)
