"""The operators: torch.ops.submod.*, opaque to torch.compile, each with a fake and a derivative.

Shapes are canonical (see _views). need_gradient = False, when nobody will ask for it, saves its
computation; the second output is then empty.
"""

# No postponed annotations: PyTorch reads the operators' schemas from them.
import ctypes
from typing import Optional, Sequence

import torch
from torch import Tensor

from .._dataset import Histogram
from .._library import call, workspace
from .._settings import loss_settings
from . import _autograd, _cuda
from ._memory import (
    loss_call,
    loss_type,
    new_gradient,
    target,
    view_labels,
    view_scores,
    weight_list,
)


def _loss_tensor(scores: Tensor, loss: float) -> Tensor:
    return torch.tensor(loss, dtype=loss_type(scores))


def _fake_loss(scores: Tensor, need_gradient: bool) -> tuple[Tensor, Tensor]:
    return scores.new_empty((), dtype=loss_type(scores)), new_gradient(scores, need_gradient)


@torch.library.custom_op("submod::lovasz", mutates_args=(), device_types="cpu")
def lovasz(
    scores: Tensor,
    labels: Tensor,
    kind: str,
    probabilities: bool,
    classes: int,
    class_list: Optional[Sequence[int]],
    per_image: bool,
    ignore_index: Optional[int],
    class_weight: Optional[Tensor],
    engine: str,
    delta: float,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """submod_lovasz_<kind>"""
    c = loss_call(
        scores,
        labels,
        kind,
        probabilities,
        classes,
        class_list,
        per_image,
        ignore_index,
        class_weight,
        engine,
        delta,
        need_gradient,
    )
    loss = ctypes.c_double()
    end = (ctypes.byref(loss), c.target, None, ctypes.byref(c.settings))
    call("lovasz_" + kind, *c.batch, *end, workspace())
    return _loss_tensor(scores, loss.value), c.gradient


lovasz.register_kernel("cuda")(_cuda.lovasz)


@lovasz.register_fake
def _(
    scores: Tensor,
    labels: Tensor,
    kind: str,
    probabilities: bool,
    classes: int,
    class_list: Optional[Sequence[int]],
    per_image: bool,
    ignore_index: Optional[int],
    class_weight: Optional[Tensor],
    engine: str,
    delta: float,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    return _fake_loss(scores, need_gradient)


_autograd.register(lovasz)


@torch.library.custom_op("submod::prox_lovasz_hinge", mutates_args=(), device_types="cpu")
def prox_lovasz_hinge(
    scores: Tensor,
    labels: Tensor,
    lam: float,
    per_image: bool,
    ignore_index: Optional[int],
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """The Lovász hinge, and lam (scores - prox(scores)) / groups in place of its gradient."""
    gradient = new_gradient(scores, need_gradient)
    scores_, _used = view_scores(scores)
    labels_, _used_labels = view_labels(labels)
    settings = loss_settings(1, per_image=per_image, ignore_index=ignore_index)
    loss = ctypes.c_double()
    batch = (ctypes.byref(scores_), ctypes.byref(labels_))
    options = ctypes.byref(settings)
    call("lovasz_hinge", *batch, ctypes.byref(loss), None, None, options, workspace())
    if need_gradient:
        direction = target(gradient, need_gradient)
        call("prox_lovasz_hinge", *batch, lam, None, direction, None, options, workspace())
    return _loss_tensor(scores, loss.value), gradient


@prox_lovasz_hinge.register_fake
def _(
    scores: Tensor,
    labels: Tensor,
    lam: float,
    per_image: bool,
    ignore_index: Optional[int],
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    return _fake_loss(scores, need_gradient)


_autograd.register(prox_lovasz_hinge)


@torch.library.custom_op("submod::histogram_counts", mutates_args=(), device_types="cpu")
def histogram_counts(
    scores: Tensor,
    labels: Tensor,
    probabilities: bool,
    ignore_index: Optional[int],
    bins: int,
) -> Tensor:
    """The errors of a batch counted in bins: (classes, 2, bins), float64."""
    scores_, _used = view_scores(scores)
    labels_, _used_labels = view_labels(labels)
    histogram = Histogram(scores_.classes, 0.5 / bins)
    settings = loss_settings(scores_.classes, ignore_index=ignore_index)
    batch = (ctypes.byref(scores_), int(probabilities), ctypes.byref(labels_))
    call("histogram_add", histogram, *batch, ctypes.byref(settings), workspace())
    return torch.from_numpy(histogram.counts())


@histogram_counts.register_fake
def _(
    scores: Tensor, labels: Tensor, probabilities: bool, ignore_index: Optional[int], bins: int
) -> Tensor:
    return scores.new_empty((scores.shape[1], 2, bins), dtype=torch.float64)


def solve(
    counts: Tensor,
    classes: int,
    class_list: Optional[Sequence[int]],
    class_weight: Optional[Tensor],
) -> tuple[Histogram, float]:
    """A histogram of these counts, and its loss."""
    number, _, bins = counts.shape
    histogram = Histogram(number, 0.5 / bins)
    histogram.set_counts(counts.numpy())
    settings = loss_settings(
        number, classes=classes, class_list=class_list, class_weight=weight_list(class_weight)
    )
    loss = ctypes.c_double()
    call("histogram_solve", histogram, ctypes.byref(settings), ctypes.byref(loss), None)
    return histogram, loss.value


@torch.library.custom_op("submod::histogram_loss", mutates_args=(), device_types="cpu")
def histogram_loss(
    scores: Tensor,
    labels: Tensor,
    counts: Tensor,
    probabilities: bool,
    classes: int,
    class_list: Optional[Sequence[int]],
    ignore_index: Optional[int],
    class_weight: Optional[Tensor],
    scale: float,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """The loss of all counts, and scale times its gradient by these scores."""
    gradient = new_gradient(scores, need_gradient)
    scores_, _used = view_scores(scores)
    labels_, _used_labels = view_labels(labels)
    histogram, loss = solve(counts, classes, class_list, class_weight)
    if need_gradient:
        settings = loss_settings(scores_.classes, ignore_index=ignore_index)
        batch = (ctypes.byref(scores_), int(probabilities), ctypes.byref(labels_))
        end = (target(gradient, True, scale), ctypes.byref(settings), workspace())
        call("histogram_gradient", histogram, *batch, *end)
    return _loss_tensor(scores, loss), gradient


@histogram_loss.register_fake
def _(
    scores: Tensor,
    labels: Tensor,
    counts: Tensor,
    probabilities: bool,
    classes: int,
    class_list: Optional[Sequence[int]],
    ignore_index: Optional[int],
    class_weight: Optional[Tensor],
    scale: float,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    return _fake_loss(scores, need_gradient)


_autograd.register(histogram_loss)
