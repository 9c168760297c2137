"""The operators: torch.ops.submod.*, opaque to torch.compile, each with a fake and a derivative.

Shapes are canonical (see _views). need_gradient = False, when nobody will ask for it, saves its
computation; the second output is then empty.
"""

# No postponed annotations: PyTorch reads the operators' schemas from them.
import ctypes
from typing import Any, Optional, Sequence

import torch
from torch import Tensor

from .._dataset import Histogram
from .._library import call, workspace
from .._settings import loss_settings
from .._views import gradient_view, pixels
from . import _autograd
from ._memory import memory, view_labels, view_scores, weight_list


def _loss_tensor(scores: Tensor, loss: float) -> Tensor:
    return torch.tensor(loss, dtype=_loss_type(scores))


def _loss_type(scores: Tensor) -> torch.dtype:
    """A loss of half-precision scores keeps the precision that it was computed in."""
    return torch.float64 if scores.dtype == torch.float64 else torch.float32


def _new_gradient(scores: Tensor, need_gradient: bool) -> Tensor:
    """In the memory layout of the scores, if its pixels are evenly spaced: channels_last stays."""
    if not need_gradient:
        return scores.new_empty((0,), dtype=torch.float32)
    gradient = torch.empty_like(scores, dtype=torch.float32)
    if pixels(tuple(gradient.shape[2:]), tuple(gradient.stride()[2:])) is None:
        gradient = torch.empty(scores.shape, dtype=torch.float32, device=scores.device)
    return gradient


def _target(gradient: Tensor, need_gradient: bool) -> Any:
    return ctypes.byref(gradient_view(memory(gradient))) if need_gradient else None


def _fake_loss(scores: Tensor, need_gradient: bool) -> tuple[Tensor, Tensor]:
    return scores.new_empty((), dtype=_loss_type(scores)), _new_gradient(scores, need_gradient)


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
    gradient = _new_gradient(scores, need_gradient)
    scores_, used = view_scores(scores)
    labels_, used_labels = view_labels(labels, own_classes=kind == "sigmoid")
    settings = loss_settings(
        scores_.classes, classes=classes, class_list=class_list, per_image=per_image,
        ignore_index=ignore_index, class_weight=weight_list(class_weight), engine=engine,
        delta=delta,
    )  # fmt: skip
    front: list[Any] = [ctypes.byref(scores_), ctypes.byref(labels_)]
    if kind != "hinge":
        front.insert(1, int(probabilities))
    loss = ctypes.c_double()
    end = (ctypes.byref(loss), _target(gradient, need_gradient), None, ctypes.byref(settings))
    call("lovasz_" + kind, *front, *end, workspace())
    return _loss_tensor(scores, loss.value), gradient


@lovasz.register_fake
def _(
    scores: Tensor, labels: Tensor, kind: str, probabilities: bool, classes: int,
    class_list: Optional[Sequence[int]], per_image: bool, ignore_index: Optional[int],
    class_weight: Optional[Tensor], engine: str, delta: float, need_gradient: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
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
    gradient = _new_gradient(scores, need_gradient)
    scores_, used = view_scores(scores)
    labels_, used_labels = view_labels(labels)
    settings = loss_settings(1, per_image=per_image, ignore_index=ignore_index)
    loss = ctypes.c_double()
    batch = (ctypes.byref(scores_), ctypes.byref(labels_))
    options = ctypes.byref(settings)
    call("lovasz_hinge", *batch, ctypes.byref(loss), None, None, options, workspace())
    if need_gradient:
        target = _target(gradient, need_gradient)
        call("prox_lovasz_hinge", *batch, lam, None, target, None, options, workspace())
    return _loss_tensor(scores, loss.value), gradient


@prox_lovasz_hinge.register_fake
def _(
    scores: Tensor, labels: Tensor, lam: float, per_image: bool, ignore_index: Optional[int],
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
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
    scores_, used = view_scores(scores)
    labels_, used_labels = view_labels(labels)
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
    gradient = _new_gradient(scores, need_gradient)
    scores_, used = view_scores(scores)
    labels_, used_labels = view_labels(labels)
    histogram, loss = solve(counts, classes, class_list, class_weight)
    if need_gradient:
        settings = loss_settings(scores_.classes, ignore_index=ignore_index)
        batch = (ctypes.byref(scores_), int(probabilities), ctypes.byref(labels_))
        target = ctypes.byref(gradient_view(memory(gradient), scale))
        end = (target, ctypes.byref(settings), workspace())
        call("histogram_gradient", histogram, *batch, *end)
    return _loss_tensor(scores, loss), gradient


@histogram_loss.register_fake
def _(
    scores: Tensor, labels: Tensor, counts: Tensor, probabilities: bool, classes: int,
    class_list: Optional[Sequence[int]], ignore_index: Optional[int],
    class_weight: Optional[Tensor], scale: float, need_gradient: bool,
) -> tuple[Tensor, Tensor]:  # fmt: skip
    return _fake_loss(scores, need_gradient)


_autograd.register(histogram_loss)
