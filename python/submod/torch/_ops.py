"""The operators: torch.ops.submod.*, opaque to torch.compile, each with a fake and a derivative.

Shapes are canonical (see _views), options flat (see _flat). need_gradient = False, when nobody will
ask for it, saves its computation; the second output is then empty.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np
import torch
from torch import Tensor

from .._errors import NonFiniteError
from .._library import workspace
from .._masked import unmasked
from .._options import LossOptions, call_loss
from .._views import KINDS
from . import _anywhere, _autograd, _cuda, _ranks
from ._flat import OPTIONS, loss_tensor, operator, taken
from ._memory import key_of, loss_call, loss_type, new_gradient, whole_labels


def _fake_groups(name: str, scores: Tensor, *options_and_need: Any) -> tuple[Tensor, Tensor]:
    """Losses of groups, as reduction has them, and their gradient."""
    _, _, per_image, _, _, engine, *_, measure, _, _, _, reduction, _, _, need = options_and_need
    groups = scores.shape[0] if per_image else 1
    losses = scores.new_empty((groups,) if reduction == "none" else (), dtype=loss_type(scores))
    number = _anywhere.number_type(name, scores, engine, measure)
    return losses, new_gradient(scores, need, number)


def _scale(images: int, options: LossOptions) -> float:
    """Of loss and gradient, which the library has of the mean over the groups."""
    return 1.0 if options.reduction == "mean" else max(options.groups(images), 1)


@operator("loss", f"str name, {OPTIONS}, bool need_gradient")
def loss(
    scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, name: str, *options_and_need: Any
) -> tuple[Tensor, Tensor]:
    """submod_<name>, or that of the ranks of a group"""
    options, need_gradient = taken(options_and_need)
    if _anywhere.FORCED and name in _anywhere.LOSSES:
        return _anywhere.lovasz(name, scores, labels, pixel_weights, options, need_gradient)
    batch = (name, scores, labels, pixel_weights, options)
    if _number_type(name, scores, options) == torch.float32:
        return _of_floats(*batch, need_gradient)
    whole_labels(labels)  # what is refused there
    found = _anywhere.lovasz(*batch, need_gradient)
    if bool(found[0].isnan().any()):
        _of_floats(*batch, False)  # for the words of the library
    return found


def _number_type(name: str, scores: Tensor, options: LossOptions) -> torch.dtype:
    return _anywhere.number_type(name, scores, options.engine, options.measure)


def _of_floats(name: str, scores: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    try:
        return _by_library(name, scores, *rest)
    except NonFiniteError:
        return _not_finite(name, scores, *rest)


def _by_library(
    name: str,
    scores: Tensor,
    labels: Tensor,
    pixel_weights: Tensor | None,
    options: LossOptions,
    need_gradient: bool,
    overlap: str | None = None,
) -> tuple[Tensor, Tensor]:
    losses, ranks = np.zeros(options.groups(scores.shape[0])), _ranks.of(options.group)
    inputs = (KINDS.get(name, "soft"), scores, labels, pixel_weights, options)
    c, counts = ranks.together(
        lambda: loss_call(*inputs, need_gradient, losses=losses, overlap=overlap),
        lambda: key_of(name, scores, pixel_weights, options),
        (scores.shape[0], 0),
    )
    scale = _scale(sum(images for images, _ in counts), options)
    if need_gradient:
        c.arguments["gradient"].scale = scale * (ranks.size if options.ddp else 1)
    found = ctypes.c_double()
    ranks.call(name, **c.arguments, loss=ctypes.byref(found), work=workspace())
    if options.reduction == "none":
        return torch.from_numpy(losses).to(loss_type(scores)), c.gradient
    return loss_tensor(scores, found.value * scale), c.gradient


def _not_finite(
    name: str,
    scores: Tensor,
    labels: Tensor,
    pixel_weights: Tensor | None,
    options: LossOptions,
    need_gradient: bool,
    overlap: str | None = None,
) -> tuple[Tensor, Tensor]:
    """What the library has refused: classes that are masked by -Inf, or the exception goes on, or
    NaN, as options.nonfinite has it. All ranks come here, if one has refused something."""
    ranks, known = _ranks.of(options.group), scores.to(torch.float32)
    how = (options.from_logits, options.ignore_index)
    try:
        found, _ = ranks.together(lambda: unmasked(name, known.numpy(), labels, *how))
        # None: it hears of the same again, unless that was of another rank.
        filled = scores if found is None else torch.from_numpy(found[0]).to(loss_type(scores))
        rest = (labels, pixel_weights, options, need_gradient, overlap)
        loss, gradient = _by_library(name, filled, *rest)
    except NonFiniteError:
        not_finite = ranks.any(not bool(known.isfinite().all()))
        if options.nonfinite == "raise" or not not_finite:
            raise
        groups = (options.groups(scores.shape[0]),) if options.reduction == "none" else ()
        nothing = scores.new_full(groups, math.nan, dtype=loss_type(scores))
        return nothing, new_gradient(scores, need_gradient).fill_(math.nan)
    if need_gradient and found is not None:
        gradient.masked_fill_(torch.from_numpy(found[1]), 0)
    return loss, gradient


@loss.register_kernel(None)
def loss_anywhere(
    scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, name: str, *options_and_need: Any
) -> Any:
    return _anywhere.lovasz(name, scores, labels, pixel_weights, *taken(options_and_need))


@loss.register_kernel("cuda")
def loss_on_cuda(
    scores: Tensor, labels: Tensor, pixel_weights: Tensor | None, name: str, *options_and_need: Any
) -> Any:
    """Batches over ranks are PyTorch's operations: the kernels of submod_gpu_global_counts and its
    like are for callers of C."""
    options, need_gradient = taken(options_and_need)
    number = _number_type(name, scores, options)
    if options.group or not _cuda.can_do(options) or number != torch.float32:
        return loss_anywhere(scores, labels, pixel_weights, name, *options_and_need)
    return _cuda.lovasz(name, scores, labels, pixel_weights, options, need_gradient)


@loss.register_fake
def _(scores: Tensor, labels: Tensor, weights: Any, name: str, *rest: Any) -> Any:
    return _fake_groups(name, scores, *rest)


_autograd.register(loss)


@operator("soft_loss", f"str name, str overlap, {OPTIONS}, bool need_gradient")
def soft_loss(
    scores: Tensor,
    labels: Tensor,
    pixel_weights: Tensor | None,
    name: str,
    overlap: str,
    *options_and_need: Any,
) -> tuple[Tensor, Tensor]:
    """submod_<name> of soft labels, in CPU memory alone."""
    options = taken(options_and_need)
    return _of_floats(name, scores, labels, pixel_weights, *options, overlap)


@soft_loss.register_fake
def _(scores: Tensor, labels: Tensor, weights: Any, name: str, overlap: str, *rest: Any) -> Any:
    return _fake_groups(name, scores, *rest)


_autograd.register(soft_loss)


@operator("prox_lovasz_hinge", f"float lam, {OPTIONS}, bool need_gradient")
def prox_lovasz_hinge(
    scores: Tensor, labels: Tensor, pixel_weights: None, lam: float, *options_and_need: Any
) -> tuple[Tensor, Tensor]:
    """The Lovász hinge, and lam (scores - prox(scores)) / groups in place of its gradient."""
    options, need_gradient = taken(options_and_need)
    found, _ = loss(scores, labels, None, "lovasz_hinge", *options_and_need[:-1], False)
    c = loss_call("binary", scores, labels, None, options, need_gradient)
    if not need_gradient:
        return found, c.gradient
    if bool(found.isnan().any()):
        return found, c.gradient.fill_(math.nan)
    direction = c.arguments.pop("gradient")
    direction.scale = _scale(scores.shape[0], options)
    call_loss("prox_hinge_layer", **c.arguments, lam=lam, direction=direction, work=workspace())
    return found, c.gradient


@prox_lovasz_hinge.register_kernel(None)
def prox_lovasz_hinge_anywhere(
    scores: Tensor, labels: Tensor, pixel_weights: None, lam: float, *options_and_need: Any
) -> Any:
    """By way of CPU memory: there is no sequence of tensor operations for a prox."""
    batch = (scores.cpu(), labels.cpu(), None)
    found, slope = prox_lovasz_hinge(*batch, lam, *options_and_need)
    gradient = new_gradient(scores, options_and_need[-1])
    return found.to(scores.device), gradient.copy_(slope)


@prox_lovasz_hinge.register_kernel("cuda")
def prox_lovasz_hinge_on_cuda(
    scores: Tensor, labels: Tensor, pixel_weights: None, lam: float, *options_and_need: Any
) -> Any:
    options, need_gradient = taken(options_and_need)
    if not _cuda.can_do(options):
        return prox_lovasz_hinge_anywhere(scores, labels, None, lam, *options_and_need)
    found, _ = _cuda.lovasz("lovasz_hinge", scores, labels, None, options, False)
    gradient = new_gradient(scores, need_gradient)
    if need_gradient:
        scale = _scale(scores.shape[0], options)
        _cuda.prox_gradient(scores, labels, lam, options, gradient, scale)
    return found, gradient


@prox_lovasz_hinge.register_fake
def _(scores: Tensor, labels: Tensor, weights: Any, lam: float, *rest: Any) -> Any:
    return _fake_groups("prox_lovasz_hinge", scores, *rest)


_autograd.register(prox_lovasz_hinge)
