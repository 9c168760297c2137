"""From probabilities to the segmentation with the best expected IoU or Dice: decision.h."""

from __future__ import annotations

from typing import Any, NamedTuple, Union

import numpy as np
import numpy.typing as npt

from ._arrays import flags, scores_array, view_scores
from ._bindings import DecisionInfo, DecisionMethod, DecisionScore, DecisionSettings
from ._door import choices, flag, pick
from ._library import call, function, workspace
from ._numbers import Array, as_array, real

MEASURES = choices(DecisionScore)
METHODS = choices(DecisionMethod)

Numbers = Union[float, npt.NDArray[np.float64]]


class Decision(NamedTuple):
    """What was decided, and how good it is. All but the first: a number for a single image, else
    arrays of shape (batch,) or (batch, classes)."""

    segmentation: Array  # flags, or the classes of the pixels
    lower: Numbers  # its expected score lies between lower
    upper: Numbers  # and upper
    best: Numbers  # no segmentation has a larger expected score
    threshold: Numbers  # the smallest probability that was chosen; 1 if none was
    chosen: Any  # the number of pixels that were chosen


def _settings(measure: str, method: str, empty: float) -> DecisionSettings:
    settings: DecisionSettings = function("decision_defaults")()
    settings.score = pick("measure", measure, MEASURES)
    settings.method = pick("method", method, METHODS)
    settings.empty = real(empty, "empty")
    return settings


def _images(probabilities: Any) -> Array:
    """(batch, 1, pixels..) of (batch, pixels..) or (pixels,)."""
    array = scores_array(probabilities)
    if array.ndim == 0:
        raise ValueError("probabilities are a single number: (batch, pixels..) is needed")
    return array[None, None] if array.ndim == 1 else array[:, None]


def _classes(probabilities: Any) -> Array:
    array = scores_array(probabilities)
    if array.ndim < 2:
        raise ValueError(f"probabilities of shape {array.shape}: (batch, classes, ..) is needed")
    return array


def _masks(array: Array, settings: DecisionSettings) -> tuple[Array, Any]:
    view, array = view_scores(array)
    masks = np.empty(array.shape, np.bool_)
    info = (DecisionInfo * max(view.batch * view.classes, 1))()
    call(
        "decide",
        probabilities=view,
        masks=masks,
        settings=settings,
        info=info,
        work=workspace(),
    )
    return masks, info


def _decision(segmentation: Array, info: Any, shape: tuple[int, ...]) -> Decision:
    def field(name: str, kind: Any = np.float64) -> Any:
        count = int(np.prod(shape, dtype=np.int64))
        numbers = np.array([getattr(one, name) for one in info[:count]], kind).reshape(shape)
        return numbers if shape else numbers.item()

    return Decision(
        segmentation,
        lower=field("lower"),
        upper=field("upper"),
        best=field("best"),
        threshold=field("threshold"),
        chosen=field("chosen", np.int64),
    )


def decide(
    probabilities: Any, *, measure: str = "iou", method: str = "rank", empty: float = 1.0
) -> Decision:
    """The segmentation of each image whose expected score is largest, for independent pixels:
    probabilities of the foreground, (batch, ..), or one image as (pixels,). segmentation: flags of
    the same shape.

    measure: "iou" or "dice".
    method: "rank", the best one (RankSEG's rule, with exact expectations); "greedy" grows it pixel
    by pixel while that helps; "threshold", the best ratio of expectations (Nowozin, 2014); "half",
    probabilities above 1/2, to compare with.
    empty: what an empty segmentation of an empty truth scores, from 0 to 1.
    Probabilities are rounded to float32.
    """
    array = _images(probabilities)
    masks, info = _masks(array, _settings(measure, method, empty))
    given = as_array(probabilities).shape
    return _decision(masks.reshape(given), info, given[:1] if len(given) > 1 else ())


def decide_classes(
    probabilities: Any,
    *,
    measure: str = "iou",
    method: str = "rank",
    empty: float = 1.0,
    overlap: bool = False,
) -> Decision:
    """The same for several classes: probabilities (batch, classes, ..). segmentation: a class for
    each pixel, (batch, ..). Each class decides by itself first; a pixel that several want, or none,
    goes to the class whose score it raises most. Never worse than the argmax, in expectation; the
    mean of best over the classes is a bound for all assignments.

    overlap: each class decides by itself, and that is all; segmentation: flags of the shape of
    probabilities. The rest as in decide.
    """
    array = _classes(probabilities)
    settings = _settings(measure, method, empty)
    if flag(overlap, "overlap"):
        masks, info = _masks(array, settings)
        return _decision(masks, info, array.shape[:2])
    view, array = view_scores(array)
    labels = np.empty(array.shape[:1] + array.shape[2:], np.int32)
    info = (DecisionInfo * max(view.batch * view.classes, 1))()
    call(
        "decide_classes",
        probabilities=view,
        labels=labels,
        settings=settings,
        info=info,
        work=workspace(),
    )
    return _decision(labels, info, array.shape[:2])


def expected_score(
    probabilities: Any, segmentation: Any, *, measure: str = "iou", empty: float = 1.0
) -> tuple[Numbers, Numbers]:
    """The expected score of given segmentations, flags of the shape of the probabilities: it lies
    between the two numbers, or arrays of numbers, that are returned. The rest as in decide."""
    array = _images(probabilities)
    given = as_array(probabilities).shape
    chosen = as_array(segmentation, "segmentation")
    if chosen.shape != given:
        raise ValueError(
            f"a segmentation of shape {chosen.shape} for probabilities of shape {given}; "
            "the same is needed"
        )
    masks = flags(chosen, "segmentation")
    view, array = view_scores(array)
    lower, upper = np.empty(view.batch), np.empty(view.batch)
    call(
        "expected_score",
        probabilities=view,
        masks=masks,
        lower=lower,
        upper=upper,
        settings=_settings(measure, "rank", empty),
        work=workspace(),
    )
    return (lower, upper) if len(given) > 1 else (lower.item(), upper.item())


def expected_iou(probabilities: Any, segmentation: Any, *, empty: float = 1.0) -> Numbers:
    """The middle of expected_score, which is right to about 1e-12."""
    lower, upper = expected_score(probabilities, segmentation, measure="iou", empty=empty)
    return lower + (upper - lower) / 2


def expected_dice(probabilities: Any, segmentation: Any, *, empty: float = 1.0) -> Numbers:
    """The middle of expected_score, which is right to about 1e-12."""
    lower, upper = expected_score(probabilities, segmentation, measure="dice", empty=empty)
    return lower + (upper - lower) / 2
