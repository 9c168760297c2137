"""The losses that the Lovász losses are compared and mixed with, of NumPy arrays: baseline.h."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from ._losses import (
    ClassOptions,
    GroupOptions,
    Losses,
    LossesWithGradient,
    Result,
    Scalar,
    WithGradient,
    run_loss,
)
from ._options import Classes

if TYPE_CHECKING:
    from typing_extensions import Unpack


class WeightOptions(GroupOptions, total=False):
    class_weight: Any


class SigmoidOptions(GroupOptions, total=False):
    from_logits: bool


class OverlapOptions(ClassOptions, total=False):
    smoothing: float


@overload
def cross_entropy(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[WeightOptions],
) -> float: ...
@overload
def cross_entropy(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[WeightOptions],
) -> WithGradient: ...
@overload
def cross_entropy(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[WeightOptions],
) -> Losses: ...
@overload
def cross_entropy(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[WeightOptions],
) -> LossesWithGradient: ...
@overload
def cross_entropy(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[WeightOptions],
) -> Result: ...
def cross_entropy(
    scores: Any,
    labels: Any,
    *,
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Any = None,
    return_grad: bool = False,
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Cross-entropy of the softmax: the mean over the pixels, each weighted by the weight of its
    label, as PyTorch's cross_entropy has it; 0 without pixels. Shapes and the rest as in
    lovasz_softmax."""
    return run_loss(
        "cross_entropy",
        scores,
        labels,
        return_grad,
        pixel_weights,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        reduction=reduction,
    )


@overload
def hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[WeightOptions],
) -> float: ...
@overload
def hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[WeightOptions],
) -> WithGradient: ...
@overload
def hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[WeightOptions],
) -> Losses: ...
@overload
def hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[WeightOptions],
) -> LossesWithGradient: ...
@overload
def hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[WeightOptions],
) -> Result: ...
def hinge(
    scores: Any,
    labels: Any,
    *,
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Any = None,
    return_grad: bool = False,
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Hinge loss: scores and labels (batch, ..) or one image as (pixels,), labels 0 or 1. The mean
    over the pixels of max(0, 1 - score) at label 1 and max(0, 1 + score) at label 0.
    class_weight: two numbers, of background and foreground. The rest as in lovasz_softmax."""
    return run_loss(
        "hinge",
        scores,
        labels,
        return_grad,
        pixel_weights,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        reduction=reduction,
    )


@overload
def rahman_wang(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[SigmoidOptions],
) -> float: ...
@overload
def rahman_wang(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[SigmoidOptions],
) -> WithGradient: ...
@overload
def rahman_wang(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[SigmoidOptions],
) -> Losses: ...
@overload
def rahman_wang(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[SigmoidOptions],
) -> LossesWithGradient: ...
@overload
def rahman_wang(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[SigmoidOptions],
) -> Result: ...
def rahman_wang(
    scores: Any,
    labels: Any,
    *,
    per_image: bool = False,
    ignore_index: int | None = None,
    from_logits: bool = True,
    return_grad: bool = False,
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """The loss of Rahman and Wang (2016): scores and labels (batch, ..) or one image as (pixels,),
    labels 0 or 1. 1 - I/U of the probabilities p, a sigmoid of the scores: I = sum of p y,
    U = sum of p + y, minus I. from_logits: False when scores are p already. The rest as in
    lovasz_softmax."""
    return run_loss(
        "rahman_wang",
        scores,
        labels,
        return_grad,
        pixel_weights,
        per_image=per_image,
        ignore_index=ignore_index,
        from_logits=from_logits,
        reduction=reduction,
    )


@overload
def soft_dice(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[OverlapOptions],
) -> float: ...
@overload
def soft_dice(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[OverlapOptions],
) -> WithGradient: ...
@overload
def soft_dice(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[OverlapOptions],
) -> Losses: ...
@overload
def soft_dice(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[OverlapOptions],
) -> LossesWithGradient: ...
@overload
def soft_dice(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[OverlapOptions],
) -> Result: ...
def soft_dice(
    scores: Any,
    labels: Any,
    *,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Any = None,
    from_logits: bool = True,
    smoothing: float = 0.0,
    return_grad: bool = False,
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Soft Dice loss: the mean over the classes of 1 - (2 I + s) / (sum of p + sum of y + s), with
    p the probability of the class, y = 1 where it is the label, I = sum of p y and s = smoothing.
    Shapes and the rest as in lovasz_softmax."""
    return run_loss(
        "soft_dice",
        scores,
        labels,
        return_grad,
        pixel_weights,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        from_logits=from_logits,
        smoothing=smoothing,
        reduction=reduction,
    )


@overload
def soft_jaccard(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[OverlapOptions],
) -> float: ...
@overload
def soft_jaccard(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[OverlapOptions],
) -> WithGradient: ...
@overload
def soft_jaccard(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[OverlapOptions],
) -> Losses: ...
@overload
def soft_jaccard(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[OverlapOptions],
) -> LossesWithGradient: ...
@overload
def soft_jaccard(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[OverlapOptions],
) -> Result: ...
def soft_jaccard(
    scores: Any,
    labels: Any,
    *,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Any = None,
    from_logits: bool = True,
    smoothing: float = 0.0,
    return_grad: bool = False,
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Soft Jaccard loss: the mean over the classes of 1 - (I + s) / (U + s), with U = sum of p +
    sum of y - I; p, y, I and s as in soft_dice. Shapes and the rest as in lovasz_softmax."""
    return run_loss(
        "soft_jaccard",
        scores,
        labels,
        return_grad,
        pixel_weights,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        from_logits=from_logits,
        smoothing=smoothing,
        reduction=reduction,
    )
