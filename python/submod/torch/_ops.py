"""The operators: torch.ops.submod.*, opaque to torch.compile, each with a fake and a derivative.

Shapes are canonical (see _views). Operators have flat arguments: flat() takes LossOptions apart,
_options() puts them together again, and OPTIONS is what their schemas say of them.
need_gradient = False, when nobody will ask for it, saves its computation; the second output is then
empty.
"""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Callable

import torch
from torch import Tensor

from .._dataset import Dataset, solve
from .._library import call, workspace
from .._options import LossOptions
from .._views import KINDS
from . import _autograd, _cuda
from ._memory import loss_call, loss_type, new_gradient

if TYPE_CHECKING:
    from torch._library.custom_ops import CustomOpDef

    _Decorator = Callable[[Callable[..., Any]], CustomOpDef]

# The fields of LossOptions in their order, but for the classes: a name, or "list" and the list.
OPTIONS = (
    "str classes, SymInt[]? class_list, bool per_image, SymInt? ignore_index, "
    "Tensor? class_weight, str engine, float delta, bool from_logits, float smoothing"
)


def flat(options: LossOptions) -> tuple[Any, ...]:
    """As OPTIONS has them."""
    classes, *rest = options[:-2]  # no measure, no reduction
    return (classes, None, *rest) if isinstance(classes, str) else ("list", classes, *rest)


def _options(classes: str, class_list: Any, *rest: Any) -> LossOptions:
    return LossOptions(classes if class_list is None else list(class_list), *rest)


def _operator(name: str, arguments: str, results: str = "(Tensor, Tensor)") -> _Decorator:
    """torch.ops.submod.<name> of a function that takes scores and labels first."""
    schema = f"(Tensor scores, Tensor labels, {arguments}) -> {results}"
    return torch.library.custom_op(
        f"submod::{name}", mutates_args=(), device_types="cpu", schema=schema
    )


def _fake_loss(scores: Tensor, *rest: Any) -> tuple[Tensor, Tensor]:
    """Of all operators that return (loss, gradient); need_gradient is last."""
    return scores.new_empty((), dtype=loss_type(scores)), new_gradient(scores, rest[-1])


def _loss_tensor(scores: Tensor, loss: float) -> Tensor:
    return torch.tensor(loss, dtype=loss_type(scores))


@_operator("loss", f"str name, {OPTIONS}, bool need_gradient")
def loss(
    scores: Tensor, labels: Tensor, name: str, *options_and_need: Any
) -> tuple[Tensor, Tensor]:
    """submod_<name>"""
    *options, need_gradient = options_and_need
    c = loss_call(KINDS[name], scores, labels, _options(*options), need_gradient)
    found = ctypes.c_double()
    call(name, **c.arguments, loss=ctypes.byref(found), work=workspace())
    return _loss_tensor(scores, found.value), c.gradient


@loss.register_kernel("cuda")
def loss_on_cuda(scores: Tensor, labels: Tensor, name: str, *options_and_need: Any) -> Any:
    *options, need_gradient = options_and_need
    return _cuda.lovasz(name, scores, labels, _options(*options), need_gradient)


loss.register_fake(_fake_loss)
_autograd.register(loss)


@_operator(
    "prox_lovasz_hinge", "float lam, bool per_image, SymInt? ignore_index, bool need_gradient"
)
def prox_lovasz_hinge(
    scores: Tensor,
    labels: Tensor,
    lam: float,
    per_image: bool,
    ignore_index: int | None,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """The Lovász hinge, and lam (scores - prox(scores)) / groups in place of its gradient."""
    options = LossOptions(per_image=per_image, ignore_index=ignore_index)
    c = loss_call("binary", scores, labels, options, need_gradient)
    found = ctypes.c_double()
    value = {**c.arguments, "gradient": None, "loss": ctypes.byref(found)}
    call("lovasz_hinge", **value, work=workspace())
    if need_gradient:
        call("prox_lovasz_hinge", **c.arguments, lam=lam, work=workspace())
    return _loss_tensor(scores, found.value), c.gradient


prox_lovasz_hinge.register_fake(_fake_loss)
_autograd.register(prox_lovasz_hinge)


@_operator("dataset_counts", f"SymInt bins, {OPTIONS}", "Tensor")
def dataset_counts(scores: Tensor, labels: Tensor, bins: int, *options: Any) -> Tensor:
    """The errors of a batch counted in bins: (classes, 2, bins), float64."""
    c = loss_call("multiclass", scores, labels, _options(*options), False)
    del c.arguments["gradient"]
    dataset = Dataset(scores.shape[1], 0.5 / bins)
    call("dataset_add", dataset=dataset, **c.arguments, work=workspace())
    return torch.from_numpy(dataset.counts())


@dataset_counts.register_fake
def _(scores: Tensor, labels: Tensor, bins: int, *_: Any) -> Tensor:
    return scores.new_empty((scores.shape[1], 2, bins), dtype=torch.float64)


def solved(counts: Tensor, options: LossOptions) -> tuple[Dataset, float]:
    """A dataset of these counts, and its loss."""
    number, _, bins = counts.shape
    dataset = Dataset(number, 0.5 / bins)
    dataset.set_counts(counts.numpy())
    return dataset, solve(dataset, options.settings(number))


@_operator("dataset_loss", f"Tensor counts, float scale, {OPTIONS}, bool need_gradient")
def dataset_loss(
    scores: Tensor, labels: Tensor, counts: Tensor, scale: float, *options_and_need: Any
) -> tuple[Tensor, Tensor]:
    """The loss of all counts, and scale times its gradient by these scores."""
    *flat_options, need_gradient = options_and_need
    options = _options(*flat_options)
    dataset, found = solved(counts, options)
    c = loss_call("multiclass", scores, labels, options, need_gradient, scale)
    if need_gradient:
        call("dataset_gradient", dataset=dataset, **c.arguments, work=workspace())
    return _loss_tensor(scores, found), c.gradient


dataset_loss.register_fake(_fake_loss)
_autograd.register(dataset_loss)
