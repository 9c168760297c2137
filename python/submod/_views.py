"""Arrays as the views of tensor.h and loss.h: addresses, sizes and strides, nothing copied.

NumPy arrays and PyTorch tensors come here as Memory. Shapes are canonical by then: scores are
(batch, classes, pixels..), labels (batch, pixels..) or, where each class has its own, the shape of
the scores; canonical() brings them there by indexing alone, for arrays of both kinds.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any, NamedTuple

import numpy as np

from ._bindings import Gradient, Labels, LabelType, PixelWeights, Scores, ScoreType

LABEL_TYPES = {
    "uint8": LabelType.U8,
    "bool": LabelType.U8,
    "int32": LabelType.I32,
    "int64": LabelType.I64,
}
SCORE_TYPES = {"float32": ScoreType.F32, "float16": ScoreType.F16, "bfloat16": ScoreType.BF16}


# What the labels of each loss are: "multiclass", a class per pixel; "multilabel", 0 or 1 for each
# class of a pixel; "binary", 0 or 1 per pixel, for one score per pixel. Losses that are not
# here, the metric losses, have "soft" ones: a number from 0 to 1 for each class of a pixel.
KINDS = {
    "lovasz_softmax": "multiclass",
    "lovasz_sigmoid": "multilabel",
    "lovasz_hinge": "binary",
    "cross_entropy": "multiclass",
    "hinge": "binary",
    "rahman_wang": "binary",
    "soft_dice": "multiclass",
    "soft_jaccard": "multiclass",
}


def weights_of(kind: str, classes: int) -> int:
    """How many numbers class_weight has."""
    return 2 if kind == "binary" else classes


class Memory(NamedTuple):
    address: int
    shape: tuple[int, ...]
    strides: tuple[int, ...]  # in elements
    type: str


def pixels(shape: tuple[int, ...], strides: tuple[int, ...]) -> tuple[int, int] | None:
    """Several dimensions as one: how many pixels, and the step between them; None when they are not
    evenly spaced."""
    count, step = 1, 1
    for size, stride in zip(reversed(shape), reversed(strides)):
        if size == 1:
            continue
        if size == 0:
            return 0, 1
        if count == 1:
            step = stride
        elif stride != count * step:
            return None
        count *= size
    return count, step


def _spaced(memory: Memory, first: int) -> tuple[int, int] | None:
    """pixels() of the dimensions from `first` on. Without elements any step will do: a copy would
    not change the strides, since NumPy and PyTorch call such arrays contiguous."""
    if 0 in memory.shape:
        return math.prod(memory.shape[first:]), 1
    return pixels(memory.shape[first:], memory.strides[first:])


def scores_view(memory: Memory) -> Scores | None:
    """None when the pixels are not evenly spaced."""
    spaced = _spaced(memory, 2)
    if spaced is None:
        return None
    batch, classes = memory.shape[:2]
    kind = SCORE_TYPES[memory.type]
    return Scores(
        memory.address,
        kind,
        batch,
        classes,
        spaced[0],
        memory.strides[0],
        memory.strides[1],
        spaced[1],
    )


def labels_view(memory: Memory, own_classes: bool) -> Labels | None:
    """None when the pixels are not evenly spaced, or the classes share their labels."""
    first = 2 if own_classes else 1
    spaced = _spaced(memory, first)
    if spaced is None:
        return None
    class_stride = 0
    if own_classes:
        # The step to a second class, if there is none or it is empty, is anything but 0.
        class_stride = memory.strides[1] if memory.shape[1] > 1 and 0 not in memory.shape else 1
        if class_stride == 0:
            return None
    kind = LABEL_TYPES[memory.type]
    batch, step = memory.shape[0], memory.strides[0]
    return Labels(memory.address, kind, batch, spaced[0], step, spaced[1], class_stride)


def pixel_weights_view(memory: Memory) -> PixelWeights | None:
    """Of (batch, pixels..), float32. None when the pixels are not evenly spaced."""
    assert memory.type == "float32"
    spaced = _spaced(memory, 1)
    if spaced is None:
        return None
    data = ctypes.cast(memory.address, ctypes.POINTER(ctypes.c_float))
    return PixelWeights(data, memory.shape[0], spaced[0], memory.strides[0], spaced[1])


def gradient_view(memory: Memory, scale: float = 1.0) -> Gradient:
    """Of an array that was made for it: float32, pixels evenly spaced."""
    view = scores_view(memory)
    assert view is not None and memory.type == "float32"
    return Gradient(view.data, view.batch_stride, view.class_stride, view.pixel_stride, scale, 0)


def canonical(kind: str, scores: Any, labels: Any, per_image: bool) -> tuple[Any, Any]:
    """Scores and labels in the shapes above. kind: as in KINDS."""
    if kind == "binary":
        return _canonical_binary(scores, labels)
    if scores.ndim < 2:
        raise ValueError(f"scores of shape {tuple(scores.shape)}: (batch, classes, ..) is needed")
    if kind == "multiclass" and labels.ndim == scores.ndim and labels.shape[1] == 1:
        labels = labels[:, 0]
    if kind == "multilabel":
        if labels.ndim == scores.ndim - 1 and scores.shape[1] == 1:
            labels = labels[:, None]
        _refuse_ambiguous(scores, labels)
    shape = tuple(scores.shape)
    own = kind in ("multilabel", "soft")
    wanted = shape if own else shape[:1] + shape[2:]
    if kind == "multiclass":
        _refuse_one_hot(tuple(labels.shape), shape, wanted)
    _require_shape(labels, wanted, shape)
    if is_list(kind, scores, per_image):
        return scores.T[None], (labels.T if own else labels)[None]
    return scores, labels


def is_list(kind: str, scores: Any, per_image: bool) -> bool:
    """Whether scores as they were given are a list of pixels: one image of them all."""
    return bool(scores.ndim == 1 if kind == "binary" else scores.ndim == 2 and not per_image)


def canonical_weights(weights: Any, shape: tuple[int, ...], is_list: bool) -> Any:
    """(batch, pixels..) of weights that were given as labels are, without classes, or broadcast to
    that. shape: of the canonical scores; is_list: what the function of that name says."""
    wanted = (*shape[:1], *shape[2:])[1 if is_list else 0 :]
    given = tuple(weights.shape)
    if weights.ndim == len(wanted) + 1 and given[1] == 1:
        weights = weights[:, 0]
    ends = zip(reversed(tuple(weights.shape)), reversed(wanted))
    if weights.ndim > len(wanted) or not all(size in (1, whole) for size, whole in ends):
        raise ValueError(
            f"pixel_weights of shape {given}; {wanted} is needed, a number per pixel, or what "
            "broadcasts to it"
        )
    expand = getattr(weights, "expand", None)  # of tensors
    weights = expand(wanted) if expand is not None else np.broadcast_to(weights, wanted)
    return weights[None] if is_list else weights


def _refuse_one_hot(labels: tuple[int, ...], scores: tuple[int, ...], wanted: Any) -> None:
    """Labels with a channel per class, behind the batch or last, where class numbers are due."""
    for axis, shape in ((1, scores), (-1, (*wanted, scores[1]))):
        if labels == shape:
            raise ValueError(
                f"labels of shape {labels} have a channel per class; class numbers of shape "
                f"{tuple(wanted)} are needed. From one-hot labels, labels.argmax({axis}) makes them"
            )


def _refuse_ambiguous(scores: Any, labels: Any) -> None:
    """Images of one class without a channel look like lists of pixels of several classes."""
    if scores.ndim == labels.ndim == 3 and scores.shape[1] != 1:
        raise ValueError(
            f"scores and labels of three dimensions, {tuple(scores.shape)}: for images of one "
            "class, (N, H, W), give scores[:, None], for lists of pixels of several classes, "
            "(N, C, L), give scores[..., None], and labels likewise"
        )


def _canonical_binary(scores: Any, labels: Any) -> tuple[Any, Any]:
    """The same shape for both, but for a channel that only the scores have."""
    if scores.ndim == labels.ndim + 1 and scores.ndim >= 2 and scores.shape[1] == 1:
        _require_shape(labels, scores.shape[:1] + scores.shape[2:], scores.shape)
        return scores, labels
    _require_shape(labels, scores.shape, scores.shape)
    if scores.ndim == 0:
        raise ValueError("scores are a single number: (batch, pixels..) is needed")
    if scores.ndim == 1:
        return scores[None, None], labels[None]
    return scores[:, None], labels


def _require_shape(labels: Any, wanted: Any, scores: Any) -> None:
    if tuple(labels.shape) != tuple(wanted):
        raise ValueError(
            f"labels of shape {tuple(labels.shape)} for scores of shape {tuple(scores)}; "
            f"{tuple(wanted)} is needed"
        )
