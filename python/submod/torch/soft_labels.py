"""The losses of soft labels: label smoothing, distillation, annotators who disagree."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._door import checked
from .._options import Classes, loss_options
from .._views import canonical
from . import _autograd, _ops, modules
from ._calls import Weight, flattened, weight_tensor, weights_for
from ._memory import require_pair


def jaccard_metric_loss(
    logits: Tensor,
    soft_labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    class_weight: Weight = None,
    smoothing: float = 0.0,
    overlap: str = "min",
    *,
    from_logits: bool = True,
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
) -> Tensor:
    """Jaccard metric loss (Wang, Ning and Blaschko 2023): logits and soft_labels (N, C, ..), labels
    from 0 to 1, which need not add up to 1; there is no gradient by them. The mean over the classes
    of 1 - (I + s) / (I + D + s), with p the probability of the class, y its soft label,
    D = sum of |p - y|, s = smoothing, and I = sum of min(p, y), or with overlap="product" sum of
    p y. 0 where p = y, and only there; with labels of 0 and 1 it is soft_jaccard.

    classes: "present" are those with a label > 0. Pixels are left out by pixel_weights of 0, as no
    label says that they are ignored. For one class give (N, 1, ..), logits.sigmoid() and
    from_logits=False. Other arguments as in lovasz_softmax; computed where rahman_wang is."""
    return _metric_loss(
        "jaccard_metric",
        logits,
        soft_labels,
        class_weight,
        overlap,
        pixel_weights,
        classes=classes,
        per_image=per_image,
        smoothing=smoothing,
        from_logits=from_logits,
        reduction=reduction,
        nonfinite=nonfinite,
    )


def dice_metric_loss(
    logits: Tensor,
    soft_labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    class_weight: Weight = None,
    smoothing: float = 0.0,
    overlap: str = "min",
    *,
    from_logits: bool = True,
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
) -> Tensor:
    """Dice metric loss: 1 - (2 I + s) / (2 I + D + s); with labels of 0 and 1 it is soft_dice. The
    rest as in jaccard_metric_loss."""
    return _metric_loss(
        "dice_metric",
        logits,
        soft_labels,
        class_weight,
        overlap,
        pixel_weights,
        classes=classes,
        per_image=per_image,
        smoothing=smoothing,
        from_logits=from_logits,
        reduction=reduction,
        nonfinite=nonfinite,
    )


def _numbers(logits: Tensor, soft_labels: Any) -> Tensor:
    """Soft labels as floating-point numbers in CPU memory."""
    require_pair(logits, logits, soft_labels=soft_labels)
    labels: Tensor = soft_labels
    if labels.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            "soft_labels require a gradient, and there is none by them; give soft_labels.detach()"
        )
    if labels.is_complex():
        raise TypeError(f"soft_labels of type {labels.dtype}; real numbers are needed")
    return labels.cpu() if labels.is_floating_point() else labels.cpu().float()


def _metric_loss(
    name: str,
    logits: Tensor,
    soft_labels: Tensor,
    class_weight: Weight,
    overlap: str,
    pixel_weights: Tensor | None,
    **given: Any,
) -> Tensor:
    """given: the other fields of LossOptions."""
    labels = _numbers(logits, soft_labels)
    options = loss_options(class_weight=weight_tensor(class_weight), **given)
    (chosen,) = checked(overlap=overlap).values()
    scores, labels = canonical("soft", logits.cpu(), labels, options.per_image)
    weights = weights_for(pixel_weights, "soft", logits, scores, options.per_image)
    flat, held = flattened(options)
    inputs = (scores, labels, weights, name, chosen, *flat)
    loss = _autograd.apply(_ops.soft_loss, *inputs, keep=held)
    return loss if loss.device == logits.device else loss.to(logits.device)


class _MetricLoss(modules._Loss):
    """What both share."""

    _kind = "soft"

    def __init__(
        self,
        classes: Classes = "present",
        per_image: bool = False,
        class_weight: Weight = None,
        smoothing: float = 0.0,
        overlap: str = "min",
        from_logits: bool = True,
        reduction: str = "mean",
        nonfinite: str = "raise",
    ) -> None:
        super().__init__()
        self._keep(
            classes=classes,
            per_image=per_image,
            class_weight=class_weight,
            smoothing=smoothing,
            overlap=overlap,
            from_logits=from_logits,
            reduction=reduction,
            nonfinite=nonfinite,
        )


class JaccardMetricLoss(_MetricLoss):
    """See submod.torch.jaccard_metric_loss."""

    _function = staticmethod(jaccard_metric_loss)


class DiceMetricLoss(_MetricLoss):
    """See submod.torch.dice_metric_loss."""

    _function = staticmethod(dice_metric_loss)
