"""Drop-in for the PyTorch file that accompanies the paper: its names, arguments and conventions.

    import submod.torch.compat as L
    loss = L.lovasz_softmax(probas, labels, ignore=255)

Labels as there: (B, H, W), or (B, 1, H, W). Probabilities (B, C, H, W), or (B, H, W) from a sigmoid
together with classes=[c], the class that they are for. classes may also be True or False, which is
what its first version called only_present. Losses are the library's, exact.

Stricter than there: to the original a label outside [0, C) that `ignore` does not name is
background, and any numbers are probabilities; here both raise an exception that says where.

A module for each framework that has the loss in its own manner, with its names and arguments:

    compat.kornia    lovasz_softmax_loss, lovasz_hinge_loss, LovaszSoftmaxLoss, LovaszHingeLoss
    compat.mmseg     LovaszLoss
    compat.smp       LovaszLoss, for segmentation-models-pytorch

None of them imports the framework. Values and gradients are the framework's wherever it has any;
each module says where it has not (NaN, or an exception), and what is done here then. Logits that
are NaN or Inf give NaN in all of them, not an exception, so that a GradScaler can skip the step;
infinite logits of the right sign in a hinge have error and gradient 0, as in the frameworks.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Union

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..._function import Function
from .. import functional
from .._memory import require_tensors
from . import kornia, mmseg, smp

__all__ = [
    "StableBCELoss",
    "binary_xloss",
    "flatten_binary_scores",
    "flatten_probas",
    "iou",
    "iou_binary",
    "isnan",
    "kornia",
    "lovasz_grad",
    "lovasz_hinge",
    "lovasz_hinge_flat",
    "lovasz_softmax",
    "lovasz_softmax_flat",
    "mean",
    "mmseg",
    "smp",
    "xloss",
]

Classes = Union[str, bool, "list[int]"]


def lovasz_grad(gt_sorted: Tensor) -> Tensor:
    """The gradient of the Jaccard extension by errors sorted from the largest to the smallest;
    gt_sorted: their labels, 0 or 1."""
    require_tensors(gt_sorted=gt_sorted)
    mask = gt_sorted.detach().cpu().numpy()
    gains = Function.jaccard(mask).chain(range(mask.size)) if mask.size else mask
    return torch.as_tensor(gains, dtype=torch.float32, device=gt_sorted.device)


def lovasz_hinge(
    logits: Tensor, labels: Tensor, per_image: bool = True, ignore: int | None = None
) -> Tensor:
    """Binary Lovász hinge loss of logits and labels (B, H, W)."""
    require_tensors(logits=logits, labels=labels)
    labels = _without_channel(labels, logits.shape)
    return functional.lovasz_hinge(logits, labels, per_image=per_image, ignore_index=ignore)


def lovasz_hinge_flat(logits: Tensor, labels: Tensor) -> Tensor:
    """The same of one image: logits and labels (P,)."""
    return functional.lovasz_hinge(logits, labels)


def flatten_binary_scores(
    scores: Tensor, labels: Tensor, ignore: int | None = None
) -> tuple[Tensor, Tensor]:
    """Scores and labels of any shape as (P,), without the ignored pixels."""
    require_tensors(scores=scores, labels=labels)
    return _kept(scores.reshape(-1), labels.reshape(-1), ignore)


def lovasz_softmax(
    probas: Tensor,
    labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    ignore: int | None = None,
) -> Tensor:
    """Multi-class Lovász-Softmax loss of probabilities. classes: "present", "all" or a list."""
    require_tensors(probas=probas, labels=labels)
    labels = _without_channel(labels, probas.shape, probas.shape[:1] + probas.shape[2:])
    if probas.ndim == labels.ndim:
        probas = probas[:, None]
    if probas.shape[1] == 1:
        return _one_class(probas, labels, classes, per_image, ignore)
    return functional.lovasz_softmax(
        probas, labels, _named(classes), per_image, ignore_index=ignore, from_logits=False
    )


def lovasz_softmax_flat(probas: Tensor, labels: Tensor, classes: Classes = "present") -> Tensor:
    """The same of a list of pixels: probas (P, C), labels (P,)."""
    return lovasz_softmax(probas, labels, classes)


def flatten_probas(
    probas: Tensor, labels: Tensor, ignore: int | None = None
) -> tuple[Tensor, Tensor]:
    """Probabilities (B, C, H, W) as (P, C), or (B, H, W) as (P, 1), and labels (B, H, W) as (P,),
    without the ignored pixels."""
    require_tensors(probas=probas, labels=labels)
    if probas.ndim == 3:
        probas = probas[:, None]
    return _kept(probas.movedim(1, -1).flatten(0, -2), labels.reshape(-1), ignore)


def _kept(values: Tensor, labels: Tensor, ignore: int | None) -> tuple[Tensor, Tensor]:
    if ignore is None:
        return values, labels
    valid = labels != ignore
    return values[valid], labels[valid]


def _without_channel(labels: Tensor, *shapes: Sequence[int]) -> Tensor:
    """(B, 1, H, W) as (B, H, W), if that is one of the shapes."""
    if labels.ndim > 1 and labels.shape[1] == 1 and labels[:, 0].shape in shapes:
        return labels[:, 0]
    return labels


def _named(classes: Classes) -> str | list[int]:
    if isinstance(classes, bool):
        return "present" if classes else "all"
    return classes


def _one_class(
    probas: Tensor, labels: Tensor, classes: Classes, per_image: bool, ignore: int | None
) -> Tensor:
    """The output of a sigmoid for a single class, which classes has to name."""
    listed = _named(classes)
    if isinstance(listed, str) or len(listed) != 1:
        raise ValueError("probas of one class: classes has to be a list of that class")
    truth = (labels == listed[0]).to(torch.uint8)
    ignored = None
    if ignore is not None:
        ignored = 255
        truth = truth.masked_fill(labels == ignore, ignored)
    return functional.lovasz_sigmoid(
        probas, truth[:, None], "all", per_image, ignore_index=ignored, from_logits=False
    )


def binary_xloss(logits: Tensor, labels: Tensor, ignore: int | None = None) -> Tensor:
    """Binary cross-entropy of logits, averaged over the pixels that are not ignored."""
    logits, labels = _kept(logits, labels, ignore)
    return F.binary_cross_entropy_with_logits(logits, labels.to(logits.dtype))


def xloss(logits: Tensor, labels: Tensor, ignore: int | None = None) -> Tensor:
    """Cross-entropy of logits (B, C, H, W). As in the original, 255 is ignored by default."""
    return F.cross_entropy(logits, labels, ignore_index=255 if ignore is None else ignore)


class StableBCELoss(nn.Module):
    """Binary cross-entropy of logits."""

    def forward(self, input: Tensor, target: Tensor) -> Tensor:
        return F.binary_cross_entropy_with_logits(input, target.to(input.dtype))


def iou_binary(
    preds: Tensor,
    labels: Tensor,
    EMPTY: float = 1.0,
    ignore: int | None = None,
    per_image: bool = True,
) -> float:
    """IoU of the foreground, in percent; EMPTY: what 0/0 is."""
    images = zip(preds, labels) if per_image else iter([(preds, labels)])
    values = []
    for p, y in images:
        valid = torch.ones_like(y, dtype=torch.bool) if ignore is None else y != ignore
        predicted, true = (p == 1) & valid, (y == 1) & valid
        union = (predicted | true).sum().item()
        values.append((predicted & true).sum().item() / union if union else EMPTY)
    return 100 * float(mean(values))


def iou(
    preds: Tensor,
    labels: Tensor,
    C: int,
    EMPTY: float = 1.0,
    ignore: int | None = None,
    per_image: bool = False,
) -> Any:
    """IoU of each class but the ignored one, in percent, as an array."""
    classes = [c for c in range(C) if c != ignore]
    rows = []
    for c in classes:
        truth = (labels == c).long()
        if ignore is not None:
            truth = truth.masked_fill(labels == ignore, -1)
        rows.append(iou_binary((preds == c).long(), truth, EMPTY, -1, per_image))
    return torch.tensor(rows, dtype=torch.float64).numpy()


def isnan(x: Any) -> Any:
    """True for NaN, of a number or of each entry of a tensor."""
    return x != x


def mean(values: Iterable[Any], ignore_nan: bool = False, empty: Any = 0) -> Any:
    """The mean of anything that can be added; empty is that of nothing, or "raise"."""
    kept: Iterator[Any] = iter(values)
    if ignore_nan:
        kept = (v for v in kept if not isnan(v))
    listed = list(kept)
    if not listed:
        if empty == "raise":
            raise ValueError("Empty mean")
        return empty
    return sum(listed[1:], listed[0]) / len(listed)
