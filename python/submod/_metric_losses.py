"""The metric losses of NumPy arrays, whose labels are soft: baseline.h."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, TypedDict, overload

from ._losses import Losses, LossesWithGradient, Result, Scalar, WithGradient, run_loss
from ._options import Classes

if TYPE_CHECKING:
    from typing_extensions import Unpack


class MetricOptions(TypedDict, total=False):
    classes: Classes
    per_image: bool
    class_weight: Any
    from_logits: bool
    smoothing: float
    overlap: str
    pixel_weights: Any


@overload
def jaccard_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[MetricOptions],
) -> float: ...
@overload
def jaccard_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[MetricOptions],
) -> WithGradient: ...
@overload
def jaccard_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[MetricOptions],
) -> Losses: ...
@overload
def jaccard_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[MetricOptions],
) -> LossesWithGradient: ...
@overload
def jaccard_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[MetricOptions],
) -> Result: ...
def jaccard_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    classes: Classes = "present",
    per_image: bool = False,
    class_weight: Any = None,
    from_logits: bool = True,
    smoothing: float = 0.0,
    overlap: str = "min",
    return_grad: bool = False,
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Jaccard metric loss (Wang, Ning and Blaschko 2023), for labels from label smoothing, of a
    teacher, or of annotators who disagree: scores and soft_labels (batch, classes, ..), labels
    from 0 to 1, which need not add up to 1. The mean over the classes of
    1 - (I + s) / (I + D + s), with p the probability of the class, y its soft label,
    D = sum of |p - y|, s = smoothing, and I = sum of min(p, y), or with overlap="product" sum of
    p y. 0 where p = y, and only there; with labels of 0 and 1 it is soft_jaccard.

    classes: "present" are those with a label > 0. Pixels are left out by pixel_weights of 0, as no
    label says that they are ignored. One class needs from_logits=False, as its softmax is always 1.
    The rest as in lovasz_softmax."""
    return run_loss(
        "jaccard_metric",
        scores,
        soft_labels,
        return_grad,
        pixel_weights,
        overlap,
        classes=classes,
        per_image=per_image,
        class_weight=class_weight,
        from_logits=from_logits,
        smoothing=smoothing,
        reduction=reduction,
    )


@overload
def dice_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[MetricOptions],
) -> float: ...
@overload
def dice_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[MetricOptions],
) -> WithGradient: ...
@overload
def dice_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[MetricOptions],
) -> Losses: ...
@overload
def dice_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[MetricOptions],
) -> LossesWithGradient: ...
@overload
def dice_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[MetricOptions],
) -> Result: ...
def dice_metric_loss(
    scores: Any,
    soft_labels: Any,
    *,
    classes: Classes = "present",
    per_image: bool = False,
    class_weight: Any = None,
    from_logits: bool = True,
    smoothing: float = 0.0,
    overlap: str = "min",
    return_grad: bool = False,
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Dice metric loss of soft labels: 1 - (2 I + s) / (2 I + D + s); with labels of 0 and 1 it is
    soft_dice. The rest as in jaccard_metric_loss."""
    return run_loss(
        "dice_metric",
        scores,
        soft_labels,
        return_grad,
        pixel_weights,
        overlap,
        classes=classes,
        per_image=per_image,
        class_weight=class_weight,
        from_logits=from_logits,
        smoothing=smoothing,
        reduction=reduction,
    )
