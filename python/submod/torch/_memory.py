"""Tensors as the library's views, and what all calls of a loss share, on the CPU and on CUDA."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from .._bindings import Labels, PixelWeights, Scores
from .._door import OVERLAPS
from .._errors import UnsupportedError
from .._numbers import wrong_type
from .._options import LossOptions
from .._views import (
    LABEL_TYPES,
    SCORE_TYPES,
    Memory,
    gradient_view,
    labels_view,
    pixel_weights_view,
    pixels,
    scores_view,
    weights_of,
)


def memory(tensor: Tensor) -> Memory:
    name = str(tensor.dtype)[len("torch.") :]
    return Memory(tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), name)


def require_tensors(**given: Any) -> None:
    """By the names that the caller knows them by."""
    for name, value in given.items():
        if not isinstance(value, Tensor):
            raise wrong_type(value, name, "a tensor")
        if value.layout != torch.strided:
            raise TypeError(
                f"{name}: a dense tensor is needed, this one is {value.layout}; "
                f"{name}.to_dense() makes one of it"
            )


def require_pair(logits: Any, labels: Any, **others: Any) -> None:
    """Tensors, all on the same device."""
    require_tensors(logits=logits, labels=labels, **others)
    for name, tensor in {"labels": labels, **others}.items():
        if logits.device != tensor.device:
            raise UnsupportedError(
                f"submod.torch: scores are on {logits.device} and {name} on {tensor.device}; move "
                f"one to the other, as by {name}.to(scores.device)"
            )


def view_scores(tensor: Tensor) -> tuple[Scores, Tensor]:
    """float32, float16 and bfloat16 as they are; float64 is rounded to float32. A copy only if the
    pixels are not evenly spaced. The view, and the tensor that it is a view of."""
    if str(tensor.dtype)[len("torch.") :] not in SCORE_TYPES:
        if not tensor.is_floating_point():
            raise TypeError(f"scores of type {tensor.dtype}; floating-point numbers are needed")
        tensor = tensor.float()
    view = scores_view(memory(tensor))
    if view is None:
        tensor = tensor.contiguous()
        view = scores_view(memory(tensor))
    assert view is not None
    return view, tensor


# Stands for labels beyond int64. It is not a class, and nobody uses it as ignore_index.
_NO_LABEL = torch.iinfo(torch.int64).min


def as_int64(labels: Tensor) -> Tensor:
    """Converts labels to int64 and rounds fractions towards zero. uint64 labels beyond int64 become
    _NO_LABEL instead of wrapping around, as from 2^64 - 1 to -1."""
    whole = labels.to(torch.int64)
    return whole.masked_fill(whole < 0, _NO_LABEL) if labels.dtype == torch.uint64 else whole


def whole_labels(tensor: Tensor) -> Tensor:
    """Returns uint8, bool, int32 and int64 unchanged, and other real types as int64. Refuses labels
    that this would change, except on devices, where checking would have to wait."""
    if str(tensor.dtype)[len("torch.") :] in LABEL_TYPES:
        return tensor
    if tensor.is_complex():
        raise TypeError(f"labels of type {tensor.dtype}; whole numbers are needed")
    whole = as_int64(tensor)
    if tensor.device.type == "cpu" and not torch.equal(whole.double(), tensor.double()):
        raise ValueError(
            f"labels of type {tensor.dtype}; not all are whole numbers that fit into int64"
        )
    return whole


def view_labels(tensor: Tensor, own_classes: bool = False) -> tuple[Labels, Tensor]:
    tensor = whole_labels(tensor)
    view = labels_view(memory(tensor), own_classes)
    if view is None:
        tensor = tensor.contiguous()
        view = labels_view(memory(tensor), own_classes)
    assert view is not None
    return view, tensor


def view_truth(kind: str, labels: Tensor, overlap: str | None) -> tuple[dict[str, Any], Tensor]:
    """The arguments that say it, and the tensor that they are a view of."""
    if kind != "soft":
        view, labels = view_labels(labels, own_classes=kind == "multilabel")
        return {"labels": view}, labels
    assert overlap is not None
    soft, labels = view_scores(labels)
    return {"soft_labels": soft, "overlap": OVERLAPS[overlap]}, labels


def view_weights(tensor: Tensor | None) -> tuple[PixelWeights | None, Tensor | None]:
    """Weights of pixels in float32; those of a device are looked at there."""
    if tensor is None:
        return None, None
    tensor = tensor.to(torch.float32)
    view = pixel_weights_view(memory(tensor))
    if view is None:
        tensor = tensor.contiguous()
        view = pixel_weights_view(memory(tensor))
    assert view is not None
    return view, tensor


def new_gradient(
    scores: Tensor, need_gradient: bool, number: torch.dtype = torch.float32
) -> Tensor:
    """In the memory layout of the scores, if its pixels are evenly spaced: channels_last stays."""
    if not need_gradient:
        return scores.new_empty((0,), dtype=number)
    gradient = torch.empty_like(scores, dtype=number)
    if pixels(tuple(gradient.shape[2:]), tuple(gradient.stride()[2:])) is None:
        gradient = torch.empty(scores.shape, dtype=number, device=scores.device)
    return gradient


def loss_type(scores: Tensor) -> torch.dtype:
    """A loss of half-precision scores keeps the precision that it was computed in."""
    return torch.float64 if scores.dtype == torch.float64 else torch.float32


def key_of(name: str, scores: Tensor, weights: Tensor | None, options: LossOptions) -> str:
    """What has to be the same on all ranks, in words."""
    weight, measure = options.class_weight, options.measure
    shown = options._replace(
        class_weight=weight.tolist() if isinstance(weight, Tensor) else weight,
        measure="custom" if callable(measure) else measure,
    )._asdict()
    del shown["group"]
    given = "without" if weights is None else "with"
    where = f"on {scores.device.type}"
    settings = ", ".join(f"{key}={value!r}" for key, value in shown.items())
    return f"{name} of {scores.shape[1]} classes {where} {given} pixel_weights, {settings}"


class LossCall(NamedTuple):
    """The arguments that submod_<loss> and submod_gpu_<loss> share, and what they are views of."""

    arguments: dict[str, Any]
    gradient: Tensor
    used: tuple[Any, ...]


def loss_call(
    kind: str,
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    options: LossOptions,
    need_gradient: bool,
    scale: float = 1.0,
    losses: Any = None,
    overlap: str | None = None,
) -> LossCall:
    """kind: as in KINDS; weights: of pixels; scale: of the gradient; losses: room for those of the
    groups; overlap: of metric losses."""
    gradient = new_gradient(scores, need_gradient)
    scores_, used = view_scores(scores)
    truth, used_labels = view_truth(kind, labels, overlap)
    weights_, used_weights = view_weights(weights)
    arguments = {
        "scores": scores_,
        **truth,
        "gradient": gradient_view(memory(gradient), scale) if need_gradient else None,
        "settings": options.settings(weights_of(kind, scores_.classes), weights_, losses),
    }
    return LossCall(arguments, gradient, (used, used_labels, used_weights))
