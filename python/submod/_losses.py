"""The Lovász losses of NumPy arrays: loss.h."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, overload

import numpy as np
import numpy.typing as npt

from ._arrays import (
    labels_array,
    memory,
    scores_array,
    view_labels,
    view_scores,
    view_weights,
)
from ._door import OVERLAPS, checked
from ._errors import NonFiniteError
from ._library import workspace
from ._masked import unmasked
from ._measures import Measure
from ._one_hot import channel_of, class_numbers, no_class, not_one_hot
from ._options import DELTA, Classes, LossOptions, call_loss, loss_options
from ._views import KINDS, canonical, gradient_view, is_list, weights_of

if TYPE_CHECKING:
    from typing_extensions import Unpack

Gradient = npt.NDArray[np.float32]
WithGradient = tuple[float, Gradient]
Losses = npt.NDArray[np.float64]
LossesWithGradient = tuple[Losses, Gradient]
Result = Union[float, Losses, tuple[Union[float, Losses], Gradient]]
Scalar = Literal["mean", "sum"]


class GroupOptions(TypedDict, total=False):
    """For the overloads, which only tell type checkers what return_grad and reduction return."""

    per_image: bool
    ignore_index: int | None
    pixel_weights: Any


class ClassOptions(GroupOptions, total=False):
    classes: Classes
    class_weight: Any
    from_logits: bool


class HingeOptions(GroupOptions, total=False):
    engine: str
    delta: float
    measure: Measure


class LovaszOptions(ClassOptions, HingeOptions, total=False):
    """What lovasz_softmax and lovasz_sigmoid take."""


def _truth(kind: str, labels: Any, overlap: str | None) -> tuple[dict[str, Any], Any]:
    """The arguments that say it, and the array that they are a view of."""
    if kind != "soft":
        view, labels = view_labels(labels, own_classes=kind == "multilabel")
        return {"labels": view}, labels
    (chosen,) = checked(overlap=overlap).values()
    soft, labels = view_scores(labels)
    return {"soft_labels": soft, "overlap": OVERLAPS[chosen]}, labels


def run_loss(
    name: str,
    scores: Any,
    labels: Any,
    return_grad: bool,
    pixel_weights: Any,
    overlap: str | None = None,
    **options: Any,
) -> Result:
    """submod_<name> of arrays; overlap: of metric losses; options: fields of LossOptions."""
    (want_gradient,) = checked(return_grad=return_grad).values()
    chosen = loss_options(**options)
    given = scores_array(scores)
    labels = labels_array(labels) if name in KINDS else scores_array(labels, "soft_labels")
    channel = channel_of(given, labels) if KINDS.get(name) == "multiclass" else None
    if channel is not None:
        labels, valid = class_numbers(labels, channel, no_class(chosen.ignore_index))
        if not valid.all():
            raise not_one_hot()
    rest = (labels, want_gradient, pixel_weights, chosen, overlap)
    try:
        return _run(name, given, *rest)
    except NonFiniteError:
        found = unmasked(name, given, labels, chosen.from_logits, chosen.ignore_index)
        if found is None:
            raise
    filled, mask = found
    result = _run(name, filled, *rest)
    if isinstance(result, tuple):
        result[1][mask] = 0
    return result


def _run(
    name: str,
    given: npt.NDArray[Any],
    labels: Any,
    want_gradient: bool,
    pixel_weights: Any,
    chosen: LossOptions,
    overlap: str | None = None,
) -> Result:
    kind = KINDS.get(name, "soft")
    listed = is_list(kind, given, chosen.per_image)
    scores, labels = canonical(kind, given, labels, chosen.per_image)
    scores_, scores = view_scores(scores)
    truth, labels = _truth(kind, labels, overlap)
    weights_, _kept = view_weights(pixel_weights, scores.shape, listed)
    gradient = np.empty(scores.shape, np.float32) if want_gradient else None
    losses = np.zeros(chosen.groups(scores_.batch))
    scale = 1.0 if chosen.reduction == "mean" else max(losses.size, 1)
    loss = ctypes.c_double()
    call_loss(
        name,
        scores=scores_,
        **truth,
        loss=ctypes.byref(loss),
        gradient=None if gradient is None else gradient_view(memory(gradient), scale),
        settings=chosen.settings(weights_of(kind, scores_.classes), weights_, losses),
        work=workspace(),
    )
    if gradient is not None and listed and kind != "binary":
        gradient = np.ascontiguousarray(gradient[0].T)
    found = losses if chosen.reduction == "none" else loss.value * scale
    return found if gradient is None else (found, gradient.reshape(given.shape))


@overload
def lovasz_softmax(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[LovaszOptions],
) -> float: ...
@overload
def lovasz_softmax(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[LovaszOptions],
) -> WithGradient: ...
@overload
def lovasz_softmax(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[LovaszOptions],
) -> Losses: ...
@overload
def lovasz_softmax(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[LovaszOptions],
) -> LossesWithGradient: ...
@overload
def lovasz_softmax(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[LovaszOptions],
) -> Result: ...
def lovasz_softmax(
    scores: Any,
    labels: Any,
    *,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Any = None,
    engine: str = "exact",
    delta: float = DELTA,
    from_logits: bool = True,
    return_grad: bool = False,
    measure: Measure = "jaccard",
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Lovász-Softmax loss: scores (batch, classes, ..), labels (batch, ..) in [0, classes).
    One class is refused, as its softmax is always 1: lovasz_hinge and lovasz_sigmoid are for one
    score per pixel.

    classes: which ones the mean is over: "present", "all" or a list.
    per_image: a loss per image, averaged; else one loss of the whole batch.
    ignore_index: the label of pixels that have no part in anything.
    class_weight: one number per class, not all 0, for a weighted mean over the classes.
    engine: "exact" sorts; "counting" counts, and sorts only where counting is off by more than
        2^-24 of the loss; "histogram" counts in bins, and the loss is off by at most delta.
    from_logits: False when scores are a softmax's output already.
    return_grad: (loss, gradient by the scores, float32) instead of the loss.
    measure: what wrong pixels cost: "jaccard", "hamming", submod.Tversky(alpha=, beta=), or a
        function F(a, b, P, N) of yours: the cost when, of P pixels in the foreground and N in the
        background, a and b are wrong. It must be increasing and submodular, with F(0, 0) = 0
        (submod.check_measure looks). a and b are arrays, unless it cannot take them: then it is
        asked number by number. What it raises is raised here. After the first loss with it, the
        measure is evaluated at sampled counts up to the same P and N, at most 404 pairs in some 2
        ms, and a SubmodularityWarning shows a counterexample if there is one.
        At most 16 functions that share their code, or objects of one class, are checked.
        submod.CustomMeasure(F, check=False) skips this check; so do DataLoader workers and ranks
        other than 0.
    pixel_weights: what each pixel counts for, numbers >= 0 of the labels' shape, or what broadcasts
        to it; they have no class axis. Rounded to float32. 0 leaves a pixel out.
    reduction: "mean" over the groups, the images with per_image and else the one batch; "sum";
        "none": an array of their losses, of one number without per_image. The gradient is then that
        of the sum: in image i it is that of loss i.

    A score of -Inf masks a class: its probability and gradient are 0. All classes of a pixel may
    not be masked. It costs a copy of the scores and a second call, where there is one.
    """
    return run_loss(
        "lovasz_softmax",
        scores,
        labels,
        return_grad,
        pixel_weights,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        engine=engine,
        delta=delta,
        from_logits=from_logits,
        measure=measure,
        reduction=reduction,
    )


@overload
def lovasz_sigmoid(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[LovaszOptions],
) -> float: ...
@overload
def lovasz_sigmoid(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[LovaszOptions],
) -> WithGradient: ...
@overload
def lovasz_sigmoid(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[LovaszOptions],
) -> Losses: ...
@overload
def lovasz_sigmoid(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[LovaszOptions],
) -> LossesWithGradient: ...
@overload
def lovasz_sigmoid(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[LovaszOptions],
) -> Result: ...
def lovasz_sigmoid(
    scores: Any,
    labels: Any,
    *,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Any = None,
    engine: str = "exact",
    delta: float = DELTA,
    from_logits: bool = True,
    return_grad: bool = False,
    measure: Measure = "jaccard",
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Lovász-Sigmoid loss, one binary problem per class: scores and labels (batch, classes, ..),
    labels 0 or 1. Both of three dimensions, which could mean images of one class or lists of pixels
    of several, is refused: scores[:, None] or scores[..., None] says which, and labels likewise.
    The rest as in lovasz_softmax."""
    return run_loss(
        "lovasz_sigmoid",
        scores,
        labels,
        return_grad,
        pixel_weights,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        engine=engine,
        delta=delta,
        from_logits=from_logits,
        measure=measure,
        reduction=reduction,
    )


@overload
def lovasz_hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Scalar = ...,
    **options: Unpack[HingeOptions],
) -> float: ...
@overload
def lovasz_hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Scalar = ...,
    **options: Unpack[HingeOptions],
) -> WithGradient: ...
@overload
def lovasz_hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[False] = ...,
    reduction: Literal["none"],
    **options: Unpack[HingeOptions],
) -> Losses: ...
@overload
def lovasz_hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: Literal[True],
    reduction: Literal["none"],
    **options: Unpack[HingeOptions],
) -> LossesWithGradient: ...
@overload
def lovasz_hinge(
    scores: Any,
    labels: Any,
    *,
    return_grad: bool,
    reduction: str = ...,
    **options: Unpack[HingeOptions],
) -> Result: ...
def lovasz_hinge(
    scores: Any,
    labels: Any,
    *,
    per_image: bool = True,
    ignore_index: int | None = None,
    engine: str = "exact",
    delta: float = DELTA,
    return_grad: bool = False,
    measure: Measure = "jaccard",
    pixel_weights: Any = None,
    reduction: str = "mean",
) -> Result:
    """Lovász hinge loss: scores and labels (batch, ..) or one image as (pixels,), labels 0 or 1.
    The rest as in lovasz_softmax."""
    return run_loss(
        "lovasz_hinge",
        scores,
        labels,
        return_grad,
        pixel_weights,
        per_image=per_image,
        ignore_index=ignore_index,
        engine=engine,
        delta=delta,
        measure=measure,
        reduction=reduction,
    )


def prox_lovasz_hinge(
    scores: Any,
    labels: Any,
    lam: float,
    *,
    per_image: bool = True,
    ignore_index: int | None = None,
    measure: Measure = "jaccard",
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """(u, d): u = argmin over z of lovasz_hinge(z) + lam/2 |z - scores|^2 for each image (or the
    batch), and d = lam (scores - u) / images, which takes the place of the gradient in the paper's
    modified backpropagation. measure: as in lovasz_hinge."""
    (number,) = checked(lam=lam).values()
    options = loss_options(per_image=per_image, ignore_index=ignore_index, measure=measure)
    given = scores_array(scores)
    scores, labels = canonical("binary", given, labels_array(labels), options.per_image)
    scores_, scores = view_scores(scores)
    labels_, labels = view_labels(labels)
    u, d = np.empty(scores.shape, np.float32), np.empty(scores.shape, np.float32)
    call_loss(
        "prox_hinge_layer",
        scores=scores_,
        labels=labels_,
        lam=number,
        prox=gradient_view(memory(u)),
        direction=gradient_view(memory(d)),
        settings=options.settings(2),
        work=workspace(),
    )
    return u.reshape(given.shape), d.reshape(given.shape)
