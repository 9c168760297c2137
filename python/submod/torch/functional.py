"""The Lovász losses as functions of tensors."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, Union

import torch
from torch import Tensor

from .._door import checked
from .._settings import DELTA, PRESENT, Classes, split_classes
from .._views import canonical
from . import _autograd, _ops
from ._memory import require_pair

Weight = Union[Tensor, "list[float]", None]


def weight_tensor(weight: Weight) -> Tensor | None:
    """In CPU memory, where the library reads it."""
    if weight is None:
        return None
    if isinstance(weight, (str, Mapping)):
        raise TypeError(f"class_weight = {weight!r}; a number per class is needed")
    return torch.as_tensor(weight, dtype=torch.float64).detach().cpu()


def checked_lam(lam: Any) -> float:
    (number,) = checked(lam=lam)
    if not 0 < number < math.inf:
        raise ValueError(f"lam = {lam} is not > 0 and finite")
    return float(number)


def lovasz_softmax(
    logits: Tensor,
    labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    engine: str = "exact",
    delta: float = DELTA,
    *,
    from_logits: bool = True,
) -> Tensor:
    """Lovász-Softmax loss: logits (N, C, ..), labels (N, ..) or (N, 1, ..) with values in [0, C).
    C = 1 is refused, as the softmax is always 1: lovasz_hinge and lovasz_sigmoid are for one score
    per pixel.

    classes: which ones the mean is over: "present", "all" or a list.
    per_image: a loss per image, averaged; else one loss of the whole batch.
    ignore_index: the label of pixels that have no part in anything.
    class_weight: one number per class, not all 0, for a weighted mean over the classes.
    engine: "exact" sorts; "histogram" counts in bins, is faster, and off by at most delta.
    from_logits: False when logits are a softmax's output already.

    NaN or Inf among the logits, or a label that is no class, raises an exception that says where.
    On CUDA, where looking would wait for the device, the loss is NaN instead, and so is its
    gradient; logits.cpu(), labels.cpu() give the words.
    """
    return _lovasz(
        "softmax",
        logits,
        labels,
        from_logits,
        classes,
        per_image,
        ignore_index,
        class_weight,
        engine,
        delta,
    )


def lovasz_sigmoid(
    logits: Tensor,
    labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    engine: str = "exact",
    delta: float = DELTA,
    *,
    from_logits: bool = True,
) -> Tensor:
    """Lovász-Sigmoid loss, a binary problem per class: logits and labels (N, C, ..), labels 0 or 1.
    For a single class logits are (N, 1, ..), and labels may be without that dimension. Both of
    three dimensions, which could mean (N, H, W) or (N, C, L), is refused: logits[:, None] or
    logits[..., None] says which, and labels likewise.
    The rest as in lovasz_softmax; from_logits: False when logits are a sigmoid's output."""
    return _lovasz(
        "sigmoid",
        logits,
        labels,
        from_logits,
        classes,
        per_image,
        ignore_index,
        class_weight,
        engine,
        delta,
    )


def lovasz_hinge(
    logits: Tensor,
    labels: Tensor,
    per_image: bool = True,
    ignore_index: int | None = None,
    engine: str = "exact",
    delta: float = DELTA,
) -> Tensor:
    """Lovász hinge loss: logits (N, ..) or (N, 1, ..), labels (N, ..), 0 or 1; or both (pixels,).
    The rest as in lovasz_softmax."""
    return _lovasz(
        "hinge", logits, labels, True, None, per_image, ignore_index, None, engine, delta
    )


def prox_lovasz_hinge(
    logits: Tensor,
    labels: Tensor,
    lam: float,
    per_image: bool = True,
    ignore_index: int | None = None,
) -> Tensor:
    """The Lovász hinge loss whose backward pass sends lam (logits - prox(logits)) in place of the
    gradient, prox(x) = argmin over z of loss(z) + lam/2 |z - x|^2: the paper's modified
    backpropagation. Where the loss is linear around the logits that is the gradient itself; the
    smaller lam > 0, the further it looks. It is computed in CPU memory: CUDA tensors are copied
    there, and the result back. The rest as in lovasz_hinge."""
    lam = checked_lam(lam)
    per_image, ignore_index = checked(per_image=per_image, ignore_index=ignore_index)
    require_pair(logits, labels)
    scores, labels = canonical("hinge", logits.cpu(), labels.cpu(), per_image)
    loss = _autograd.apply(_ops.prox_lovasz_hinge, scores, labels, lam, per_image, ignore_index)
    return loss.to(logits.device)


def _lovasz(
    kind: str,
    logits: Tensor,
    labels: Tensor,
    from_logits: bool,
    classes: Classes | None,
    per_image: bool,
    ignore_index: int | None,
    class_weight: Weight,
    engine: str,
    delta: float,
) -> Tensor:
    require_pair(logits, labels)
    per_image, ignore_index, from_logits, engine, delta = checked(
        per_image=per_image,
        ignore_index=ignore_index,
        from_logits=from_logits,
        engine=engine,
        delta=delta,
    )
    chosen, class_list = (PRESENT, None) if classes is None else split_classes(classes)
    scores, labels = canonical(kind, logits, labels, per_image)
    return _autograd.apply(
        _ops.lovasz,
        scores,
        labels,
        kind,
        not from_logits,
        chosen,
        class_list,
        per_image,
        ignore_index,
        weight_tensor(class_weight),
        engine,
        delta,
    )
