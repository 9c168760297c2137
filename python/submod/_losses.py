"""The Lovász losses of NumPy arrays: loss.h."""

from __future__ import annotations

import ctypes
from typing import TYPE_CHECKING, Any, Literal, TypedDict, Union, overload

import numpy as np
import numpy.typing as npt

from ._arrays import labels_array, memory, scores_array, view_labels, view_scores
from ._door import checked, flag
from ._library import call, workspace
from ._settings import DELTA, Classes, loss_settings, split_classes
from ._views import canonical, gradient_view

if TYPE_CHECKING:
    from typing_extensions import Unpack

WithGradient = tuple[float, npt.NDArray[np.float32]]
Result = Union[float, WithGradient]


class HingeOptions(TypedDict, total=False):
    """For the overloads, which only tell type checkers what return_grad returns."""

    per_image: bool
    ignore_index: int | None
    engine: str
    delta: float


class Options(HingeOptions, total=False):
    classes: Classes
    class_weight: Any
    probabilities: bool


@overload
def lovasz_softmax(
    scores: Any, labels: Any, *, return_grad: Literal[False] = ..., **options: Unpack[Options]
) -> float: ...
@overload
def lovasz_softmax(
    scores: Any, labels: Any, *, return_grad: Literal[True], **options: Unpack[Options]
) -> WithGradient: ...
@overload
def lovasz_softmax(
    scores: Any, labels: Any, *, return_grad: bool, **options: Unpack[Options]
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
    probabilities: bool = False,
    return_grad: bool = False,
) -> Result:
    """Lovász-Softmax loss: scores (batch, classes, ..), labels (batch, ..) in [0, classes).
    One class is refused, as its softmax is always 1: lovasz_hinge and lovasz_sigmoid are for one
    score per pixel.

    classes: which ones the mean is over: "present", "all" or a list.
    per_image: a loss per image, averaged; else one loss of the whole batch.
    ignore_index: the label of pixels that have no part in anything.
    class_weight: one number per class, not all 0, for a weighted mean over the classes.
    engine: "exact" sorts; "histogram" counts in bins, and the loss is off by at most delta.
    probabilities: scores are a softmax's output rather than its input.
    return_grad: (loss, gradient by the scores, float32) instead of the loss.
    """
    return _loss(
        "softmax",
        scores,
        labels,
        probabilities,
        return_grad,
        classes,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        engine=engine,
        delta=delta,
    )


@overload
def lovasz_sigmoid(
    scores: Any, labels: Any, *, return_grad: Literal[False] = ..., **options: Unpack[Options]
) -> float: ...
@overload
def lovasz_sigmoid(
    scores: Any, labels: Any, *, return_grad: Literal[True], **options: Unpack[Options]
) -> WithGradient: ...
@overload
def lovasz_sigmoid(
    scores: Any, labels: Any, *, return_grad: bool, **options: Unpack[Options]
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
    probabilities: bool = False,
    return_grad: bool = False,
) -> Result:
    """Lovász-Sigmoid loss, one binary problem per class: scores and labels (batch, classes, ..),
    labels 0 or 1. Both of three dimensions, which could mean images of one class or lists of pixels
    of several, is refused: scores[:, None] or scores[..., None] says which, and labels likewise.
    The rest as in lovasz_softmax."""
    return _loss(
        "sigmoid",
        scores,
        labels,
        probabilities,
        return_grad,
        classes,
        per_image=per_image,
        ignore_index=ignore_index,
        class_weight=class_weight,
        engine=engine,
        delta=delta,
    )


@overload
def lovasz_hinge(
    scores: Any, labels: Any, *, return_grad: Literal[False] = ..., **options: Unpack[HingeOptions]
) -> float: ...
@overload
def lovasz_hinge(
    scores: Any, labels: Any, *, return_grad: Literal[True], **options: Unpack[HingeOptions]
) -> WithGradient: ...
@overload
def lovasz_hinge(
    scores: Any, labels: Any, *, return_grad: bool, **options: Unpack[HingeOptions]
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
) -> Result:
    """Lovász hinge loss: scores and labels (batch, ..) or one image as (pixels,), labels 0 or 1.
    The rest as in lovasz_softmax."""
    return _loss(
        "hinge",
        scores,
        labels,
        False,
        return_grad,
        per_image=per_image,
        ignore_index=ignore_index,
        engine=engine,
        delta=delta,
    )


def prox_lovasz_hinge(
    scores: Any,
    labels: Any,
    lam: float,
    *,
    per_image: bool = True,
    ignore_index: int | None = None,
) -> tuple[npt.NDArray[np.float32], npt.NDArray[np.float32]]:
    """(u, d): u = argmin over z of lovasz_hinge(z) + lam/2 |z - scores|^2 for each image (or the
    batch), and d = lam (scores - u) / images, which takes the place of the gradient in the paper's
    modified backpropagation."""
    lam, per_image, ignore_index = checked(lam=lam, per_image=per_image, ignore_index=ignore_index)
    given = scores_array(scores)
    scores, labels = canonical("hinge", given, labels_array(labels), per_image)
    scores_, scores = view_scores(scores)
    labels_, labels = view_labels(labels)
    settings = loss_settings(1, per_image=per_image, ignore_index=ignore_index)
    u, d = np.empty(scores.shape, np.float32), np.empty(scores.shape, np.float32)
    targets = [ctypes.byref(gradient_view(memory(array))) for array in (u, d)]
    batch = (ctypes.byref(scores_), ctypes.byref(labels_))
    end = (None, ctypes.byref(settings), workspace())
    call("prox_lovasz_hinge", *batch, lam, *targets, *end)
    return u.reshape(given.shape), d.reshape(given.shape)


def _loss(
    kind: str,
    scores: Any,
    labels: Any,
    probabilities: bool,
    return_grad: bool,
    classes: Classes = "present",
    **options: Any,
) -> Result:
    probabilities, return_grad = checked(probabilities=probabilities, return_grad=return_grad)
    options["per_image"] = flag(options["per_image"], "per_image")
    given = scores_array(scores)
    scores, labels = canonical(kind, given, labels_array(labels), options["per_image"])
    scores_, scores = view_scores(scores)
    labels_, labels = view_labels(labels, own_classes=kind == "sigmoid")
    chosen, class_list = split_classes(classes)
    settings = loss_settings(scores_.classes, classes=chosen, class_list=class_list, **options)
    gradient = np.empty(scores.shape, np.float32) if return_grad else None
    target = None if gradient is None else ctypes.byref(gradient_view(memory(gradient)))
    front: list[Any] = [ctypes.byref(scores_), ctypes.byref(labels_)]
    if kind != "hinge":
        front.insert(1, int(probabilities))
    loss = ctypes.c_double()
    end = (ctypes.byref(loss), target, None, ctypes.byref(settings), workspace())
    call("lovasz_" + kind, *front, *end)
    if gradient is None:
        return loss.value
    if kind != "hinge" and given.ndim == 2 and not options["per_image"]:
        gradient = np.ascontiguousarray(gradient[0].T)
    return loss.value, gradient.reshape(given.shape)
