"""Streams of counts that metrics are made of: metric.h and scoring.h.

Each takes batches by update(), gives its values by compute(), adds up with others by merge() and
starts again by reset(). Several threads may update.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ._arrays import Array, int32, labels_array, scores_array, vector, view_labels, view_scores
from ._bindings import CalibrationValues as CValues
from ._bindings import FineGrainedValues as FValues
from ._bindings import Labels, Metrics, MetricSettings, RatesValues
from ._door import flag
from ._library import Handle, Uncopied, both_locked, call, function
from ._metrics import metric_settings
from ._numbers import real, whole
from ._views import canonical

Floats = npt.NDArray[np.float64]
Counts = npt.NDArray[np.int64]
Self = TypeVar("Self", bound="Stream")


def label_maps(
    **maps: Any,
) -> tuple[dict[str, Labels], list[Array], tuple[int, ...]]:
    """Label maps (batch, ..) of the same shape as views, the arrays that these are views of, and
    the shape."""
    arrays = {name: labels_array(value, name) for name, value in maps.items()}
    shapes = {array.shape for array in arrays.values()}
    if len(shapes) != 1 or () in shapes:
        said = ", ".join(f"{name} of shape {array.shape}" for name, array in arrays.items())
        raise ValueError(f"{said}; the same (batch, ..) is needed")
    views = {name: view_labels(array) for name, array in arrays.items()}
    kept = [array for _, array in views.values()]
    return {name: view for name, (view, _) in views.items()}, kept, shapes.pop()


class Stream(Uncopied):
    """What the streams share. _kind: their name in C."""

    _kind: str
    _argument: str

    def __init__(
        self,
        classes: int,
        ignore_index: int | None,
        absent: str,
        class_list: Iterable[int] | None,
        leave_out: int | None,
        **create: Any,
    ) -> None:
        self.classes = whole(classes, "classes")
        self._settings: MetricSettings = metric_settings(
            ignore_index, absent, class_list, leave_out
        )
        given = {"classes": self.classes, "settings": self._settings, **create}
        self._handle = Handle(f"{self._kind}_create", free=f"{self._kind}_free", **given)

    def _call(self, verb: str, **arguments: Any) -> None:
        with self._handle.lock:
            call(f"{self._kind}_{verb}", **{self._argument: self._handle}, **arguments)

    def merge(self: Self, other: Self) -> None:
        """What other has counted is counted here too."""
        if type(other) is not type(self):
            raise TypeError(f"{type(other).__name__} cannot be merged into {type(self).__name__}")
        with both_locked(self._handle, other._handle):
            self._call("merge", other=other._handle)

    def reset(self) -> None:
        """Back to no counts."""
        with self._handle.lock:
            function(f"{self._kind}_reset")(self._handle)

    def _confusion(self) -> Any:
        """The handle of the counts of pixels."""
        return function(f"{self._kind}_confusion")(self._handle)

    @property
    def confusion(self) -> Counts:
        """confusion[t, p]: pixels of truth t predicted as p. A copy."""
        counts = np.empty((self.classes, self.classes), np.int64)
        with self._handle.lock:
            address = function("confusion_counts")(self._confusion())
            ctypes.memmove(counts.ctypes.data, address, counts.nbytes)
        return counts


# ---- counts of pixels ----


class Rates(NamedTuple):
    """Of each class, or their means."""

    iou: Any
    dice: Any
    accuracy: Any
    precision: Any
    recall: Any
    f_score: Any
    tversky: Any


class ConfusionValues(NamedTuple):
    """What the counts of pixels give."""

    classes: Rates  # arrays, one number per class; NaN for classes that are left out
    mean: Rates  # numbers, over the chosen classes
    pixel_accuracy: float
    frequency_weighted_iou: float
    pixels: int


def _group_numbers(groups: Any, name: str, classes: int) -> npt.NDArray[np.int32]:
    numbers = int32(groups, name)
    if numbers.shape != (classes,):
        raise ValueError(f"{name} of shape {numbers.shape}; a number per class, ({classes},)")
    return np.ascontiguousarray(numbers)


class Confusion(Stream):
    """Counts of pixels: IoU, Dice, accuracy, precision, recall, F and Tversky, per class and as
    means.

    ignore_index, absent, class_list, leave_out: as in MeanIoU. b: of F, 1 is Dice; alpha, beta: what
    false positives and false negatives weigh in the Tversky index. metric.h has the formulas, and
    the table of what happens to absent classes.
    """

    _kind = _argument = "confusion"

    def __init__(
        self,
        classes: int,
        *,
        ignore_index: int | None = None,
        absent: str = "one",
        class_list: Iterable[int] | None = None,
        leave_out: int | None = None,
        b: float = 1.0,
        alpha: float = 0.5,
        beta: float = 0.5,
    ) -> None:
        super().__init__(classes, ignore_index, absent, class_list, leave_out)
        weights = {"b": real(b, "b"), "alpha": real(alpha, "alpha"), "beta": real(beta, "beta")}
        self._weights = weights
        self.compute()  # what would be refused later, is now

    def _confusion(self) -> Any:
        return self._handle

    def update(self, prediction: Any, truth: Any) -> None:
        """Label maps (batch, ..) of the same shape."""
        views, kept, _ = label_maps(prediction=prediction, truth=truth)
        self._call("add", **views)
        del kept

    def add_counts(self, counts: Any) -> None:
        """What was counted elsewhere, laid out as `confusion` is."""
        array = np.ascontiguousarray(labels_array(counts, "counts"), np.int64)
        if array.shape != (self.classes, self.classes):
            raise ValueError(f"counts of shape {array.shape}; {(self.classes,) * 2} is needed")
        self._call("add_counts", counts=array)

    def compute(self) -> ConfusionValues:
        """The metrics of what was counted so far."""
        names = Rates._fields
        values = {name: np.empty(self.classes) for name in names}
        means, rates = Metrics(), RatesValues()
        settings = {"settings": self._settings}
        with self._handle.lock:
            given = {name: values[name] for name in names[:3]}
            self._call("metrics", metrics=means, **given, **settings)
            given = {name: values[name] for name in names[3:]}
            self._call("rates", means=rates, **self._weights, **given, **settings)
        mean = Rates(
            means.mean_iou,
            means.mean_dice,
            means.mean_accuracy,
            rates.precision,
            rates.recall,
            rates.f_score,
            rates.tversky,
        )
        return ConfusionValues(
            Rates(**values),
            mean,
            means.pixel_accuracy,
            means.frequency_weighted_iou,
            means.pixels,
        )

    def regroup(
        self,
        truth_group: Any,
        prediction_group: Any = None,
        *,
        groups: int | None = None,
        absent: str = "one",
        leave_out: int | None = None,
    ) -> Confusion:
        """The counts of groups of classes, such as the categories of Cityscapes: class c of the
        truth becomes group truth_group[c], or is left out for -1; predictions likewise, and none of
        them can be left out."""
        truth = _group_numbers(truth_group, "truth_group", self.classes)
        given = truth if prediction_group is None else prediction_group
        predicted = _group_numbers(given, "prediction_group", self.classes)
        count = whole(max(truth.max(), predicted.max()) + 1 if groups is None else groups, "groups")
        coarse = Confusion(count, absent=absent, leave_out=leave_out, **self._weights)
        arguments = {"truth_group": truth, "prediction_group": predicted, "groups": count}
        with self._handle.lock:
            coarse._handle = Handle(
                "confusion_regroup", free="confusion_free", confusion=self._handle, **arguments
            )
        return coarse


# ---- instances ----


class InstanceValues(NamedTuple):
    """iIoU of each group, NaN for those that are left out, and their mean."""

    iou: Floats
    mean: float


class InstanceIoU(Stream):
    """iIoU: each instance of a class counts the same, whatever its size (Cityscapes).

    An instance is what has one id, from first_id on, and one truth in an image. average_size: the
    average size of the instances of each class, 0 for classes that have none; None: of those seen.
    """

    _kind = _argument = "instances"

    def __init__(
        self,
        classes: int,
        *,
        first_id: int = 1,
        average_size: Any = None,
        ignore_index: int | None = None,
    ) -> None:
        first = whole(first_id, "first_id", ctypes.c_int64)
        super().__init__(classes, ignore_index, "one", None, None, first_id=first)
        self._size: Floats | None = None
        if average_size is not None:
            self._size = vector(average_size, "average_size", self.classes).copy()
        self.compute()

    def update(self, prediction: Any, truth: Any, ids: Any) -> None:
        """Label maps (batch, ..) of the same shape, and the ids of instances."""
        views, kept, _ = label_maps(prediction=prediction, truth=truth, ids=ids)
        self._call("add", **views)
        del kept

    def compute(self, truth_group: Any = None, prediction_group: Any = None) -> InstanceValues:
        """The iIoU of each class, or of groups of classes, given as in Confusion.regroup."""
        groups, given = self.classes, {}
        if truth_group is not None:
            truth = _group_numbers(truth_group, "truth_group", self.classes)
            predicted = prediction_group if prediction_group is not None else truth
            predicted = _group_numbers(predicted, "prediction_group", self.classes)
            groups = int(max(truth.max(), predicted.max())) + 1
            given = {"truth_group": truth, "prediction_group": predicted}
        elif prediction_group is not None:
            raise ValueError("prediction_group needs a truth_group")
        iou, mean = np.empty(max(groups, 0)), ctypes.c_double()
        outputs = {"iou": iou, "mean": ctypes.byref(mean)}
        self._call("iou", average_size=self._size, groups=groups, **given, **outputs)
        return InstanceValues(iou, mean.value)

    def sizes(self) -> tuple[Counts, Floats]:
        """Per class: how many instances were seen, and their average size."""
        count, size = np.empty(self.classes, np.int64), np.empty(self.classes)
        self._call("sizes", count=count, average_size=size)
        return count, size


# ---- boundaries ----


class BoundaryValues(NamedTuple):
    """Boundary IoU of each class, NaN for those that are left out, and their mean."""

    iou: Floats
    mean: float


class BoundaryIoU(Stream):
    """IoU of the pixels within a distance of contours (Cheng et al. 2021): ratio times the
    diagonal of the image, rounded, or `distance` pixels. Other options as in MeanIoU."""

    _kind = _argument = "boundary"

    def __init__(
        self,
        classes: int,
        *,
        ratio: float = 0.02,
        distance: int | None = None,
        ignore_index: int | None = None,
        absent: str = "one",
        class_list: Iterable[int] | None = None,
        leave_out: int | None = None,
    ) -> None:
        super().__init__(classes, ignore_index, absent, class_list, leave_out)
        self._ratio = real(ratio, "ratio")
        self._distance = None if distance is None else whole(distance, "distance")
        if not 0 <= self._ratio < float("inf"):
            raise ValueError(f"ratio = {ratio}; a finite number >= 0 is needed")
        self.compute()

    def update(self, prediction: Any, truth: Any) -> None:
        """Label maps (batch, height, width) of the same shape."""
        views, kept, shape = label_maps(prediction=prediction, truth=truth)
        if len(shape) != 3:
            raise ValueError(f"label maps of shape {shape}; (batch, height, width) is needed")
        height, width = shape[1:]
        distance = self._distance
        if distance is None:
            distance = function("boundary_distance")(height, width, self._ratio)
        self._call("add", height=height, width=width, distance=distance, **views)
        del kept

    def compute(self) -> BoundaryValues:
        """Of what was counted so far."""
        iou, mean = np.empty(self.classes), ctypes.c_double()
        self._call("iou", iou=iou, mean=ctypes.byref(mean), settings=self._settings)
        return BoundaryValues(iou, mean.value)


# ---- images one by one ----


class FineGrainedValues(NamedTuple):
    """mIoU^D, mIoU^I, mIoU^C, and the means over the worst 10, 20 .. 100 % of the last two."""

    dataset: float
    image: float
    of_class: float
    image_mean: float
    class_mean: float
    images: int  # that took part
    classes: int


class FineGrainedIoU(Stream):
    """Fine-grained mIoUs (Wang et al. 2023), of which the paper leaves a class out in images whose
    truth does not have it: absent="truth". Other options as in MeanIoU."""

    _kind, _argument = "fine_grained", "fine"

    def __init__(
        self,
        classes: int,
        *,
        ignore_index: int | None = None,
        absent: str = "truth",
        class_list: Iterable[int] | None = None,
        leave_out: int | None = None,
    ) -> None:
        super().__init__(classes, ignore_index, absent, class_list, leave_out)

    def update(self, prediction: Any, truth: Any) -> None:
        """Label maps (batch, ..) of the same shape."""
        views, kept, _ = label_maps(prediction=prediction, truth=truth)
        self._call("add", **views)
        del kept

    def compute(self) -> FineGrainedValues:
        """Of what was added so far; NaN without images."""
        values = FValues()
        self._call("get", values=values)
        return FineGrainedValues(*(getattr(values, name) for name in FineGrainedValues._fields))

    def worst(self, percent: float) -> tuple[float, float]:
        """mIoU^Iq and mIoU^Cq: over the worst q % of the images, and of the images of each class."""
        image, of_class = ctypes.c_double(), ctypes.c_double()
        outputs = {"image": ctypes.byref(image), "of_class": ctypes.byref(of_class)}
        self._call("worst", percent=real(percent, "percent"), **outputs)
        return image.value, of_class.value

    def table(self) -> Floats:
        """(images, classes): the IoU of each class in each image; NaN for those left out. A
        copy."""
        images = ctypes.c_size_t()
        with self._handle.lock:
            address = function("fine_grained_table")(self._handle, ctypes.byref(images))
            iou = np.empty((images.value, self.classes))
            if address:
                ctypes.memmove(iou.ctypes.data, address, iou.nbytes)
        return iou


# ---- calibration ----


class CalibrationValues(NamedTuple):
    """Errors of the predicted class, and the expected ones of each class with their mean."""

    expected: float
    maximum: float
    root_mean_square: float
    class_mean: float
    classes: Floats
    pixels: int


class CalibrationError(Stream):
    """Calibration errors in bins of confidence. from_logits: False for probabilities. ones_apart:
    whether a probability of 1 has a bin of its own, as in torchmetrics. class_list, leave_out: for
    class_mean, as in MeanIoU."""

    _kind = _argument = "calibration"

    def __init__(
        self,
        classes: int,
        *,
        bins: int = 15,
        from_logits: bool = True,
        ones_apart: bool = False,
        ignore_index: int | None = None,
        class_list: Iterable[int] | None = None,
        leave_out: int | None = None,
    ) -> None:
        self.bins = whole(bins, "bins")
        create = {"bins": self.bins, "from_logits": flag(from_logits, "from_logits")}
        super().__init__(classes, ignore_index, "one", class_list, leave_out, **create)
        self._apart = flag(ones_apart, "ones_apart")
        self.compute()

    def update(self, scores: Any, truth: Any) -> None:
        """Scores (batch, classes, ..) and labels (batch, ..), as for lovasz_softmax."""
        labels = labels_array(truth, "truth")
        scores, labels = canonical("multiclass", scores_array(scores), labels, False)
        scores_, scores = view_scores(scores)
        labels_, labels = view_labels(labels)
        self._call("add", scores=scores_, truth=labels_)

    def compute(self) -> CalibrationValues:
        """Of what was counted so far; NaN without pixels."""
        values, of_class = CValues(), np.empty(self.classes)
        outputs = {"class_error": of_class, "values": values}
        self._call("errors", ones_apart=self._apart, settings=self._settings, **outputs)
        return CalibrationValues(
            values.expected,
            values.maximum,
            values.root_mean_square,
            values.class_mean,
            of_class,
            values.pixels,
        )

    def table(self, of_class: int | None = None) -> tuple[Counts, Counts, Floats]:
        """What a reliability diagram shows: pixels, those that were right, and the sum of their
        confidences in each bin, confidences of 1 last; of the predicted class, or of one class."""
        row = 0 if of_class is None else 1 + whole(of_class, "of_class")
        count, right = np.empty((2, self.bins + 1), np.int64)
        confidence = np.empty(self.bins + 1)
        self._call("bins", row=row, count=count, right=right, confidence=confidence)
        return count, right, confidence

    @property
    def confusion(self) -> Counts:
        """There are none."""
        raise AttributeError("a CalibrationError has no confusion counts")


def labels_of(names: Sequence[Any]) -> tuple[list[Any], npt.NDArray[np.int32]]:
    """Distinct names in the order of their first occurrence, and the number of each."""
    distinct = list(dict.fromkeys(names))
    return distinct, np.array([distinct.index(name) for name in names], np.int32)
