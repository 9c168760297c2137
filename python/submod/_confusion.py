"""Streams of counts that metrics are made of, and the counts of pixels: metric.h.

Each takes batches by update(), gives its values by compute(), adds up with others by merge(),
starts again by reset(), goes to a file by save() and comes back by load(). Several threads may
update.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from ._arrays import int32, labels_array, view_labels
from ._bindings import Labels, Metrics, MetricSettings
from ._files import Saved
from ._library import Handle, Uncopied, both_locked, call, function
from ._metrics import metric_settings
from ._numbers import Array, whole

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


class Stream(Saved, Uncopied):
    """What the streams share."""

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

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes to be as this is. For other processes: load it there into one
        of the same options, and merge that."""
        count = ctypes.c_size_t()
        with self._handle.lock:
            self._call("words", count=ctypes.byref(count))
            words = np.empty(count.value, np.uint64)
            self._call("words", words=words, count=ctypes.byref(count))
        return {"kind": self._kind, "classes": self.classes, "words": words}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Back to what state_dict() had saved, of the same kind and classes."""
        if (state["kind"], state["classes"]) != (self._kind, self.classes):
            raise ValueError(
                f"a state of {state['kind']} with {state['classes']} classes, this is "
                f"{self._kind} with {self.classes}"
            )
        self._set_words(np.ascontiguousarray(state["words"], np.uint64))

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


class ConfusionValues(NamedTuple):
    """What the counts of pixels give."""

    classes: Rates  # arrays, one number per class; NaN for classes that are left out
    mean: Rates  # numbers, over the chosen classes
    pixel_accuracy: float
    frequency_weighted_iou: float
    pixels: int


def group_numbers(groups: Any, name: str, classes: int) -> npt.NDArray[np.int32]:
    numbers = int32(groups, name)
    if numbers.shape != (classes,):
        raise ValueError(f"{name} of shape {numbers.shape}; a number per class, ({classes},)")
    return np.ascontiguousarray(numbers)


class Confusion(Stream):
    """Counts of pixels: IoU, Dice and accuracy, per class and as means.

    ignore_index, absent, class_list, leave_out: as in MeanIoU. metric.h has the formulas, and the
    table of what happens to absent classes.
    """

    _kind = _argument = "confusion"
    _in_file = "confusion counts"

    def __init__(
        self,
        classes: int,
        *,
        ignore_index: int | None = None,
        absent: str = "one",
        class_list: Iterable[int] | None = None,
        leave_out: int | None = None,
    ) -> None:
        super().__init__(classes, ignore_index, absent, class_list, leave_out)
        self.compute()  # what would be refused later, is now

    def _confusion(self) -> Any:
        return self._handle

    def update(self, prediction: Any, truth: Any) -> None:
        """Label maps (batch, ..) of the same shape."""
        views, kept, _ = label_maps(prediction=prediction, truth=truth)
        self._call("add", **views)
        del kept

    def add_counts(self, counts: Any) -> None:
        """What was counted elsewhere, laid out as the property confusion has them."""
        array = np.ascontiguousarray(labels_array(counts, "counts"), np.int64)
        if array.shape != (self.classes, self.classes):
            raise ValueError(f"counts of shape {array.shape}; {(self.classes,) * 2} is needed")
        self._call("add_counts", counts=array)

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes to be as this is."""
        words = self.confusion.view(np.uint64)
        return {"kind": self._kind, "classes": self.classes, "words": words}

    def _set_words(self, words: npt.NDArray[np.uint64]) -> None:
        create = {"classes": self.classes, "settings": self._settings}
        loaded = Handle("confusion_create", free="confusion_free", **create)
        if words.size != self.classes**2:
            raise ValueError(f"words of shape {words.shape}; {(self.classes,) * 2} is needed")
        call("confusion_add_counts", confusion=loaded, counts=words.view(np.int64))
        with self._handle.lock:
            self.reset()
            self._call("merge", other=loaded)

    def compute(self) -> ConfusionValues:
        """The metrics of what was counted so far."""
        values = Rates(*(np.empty(self.classes) for _ in Rates._fields))
        means = Metrics()
        self._call("metrics", metrics=means, **values._asdict(), settings=self._settings)
        return ConfusionValues(
            values,
            Rates(means.mean_iou, means.mean_dice, means.mean_accuracy),
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
        truth = group_numbers(truth_group, "truth_group", self.classes)
        given = truth if prediction_group is None else prediction_group
        predicted = group_numbers(given, "prediction_group", self.classes)
        count = whole(max(truth.max(), predicted.max()) + 1 if groups is None else groups, "groups")
        coarse = Confusion(count, absent=absent, leave_out=leave_out)
        arguments = {"truth_group": truth, "prediction_group": predicted, "groups": count}
        with self._handle.lock:
            coarse._handle = Handle(
                "confusion_regroup", free="confusion_free", confusion=self._handle, **arguments
            )
        return coarse


def labels_of(names: Sequence[Any]) -> tuple[list[Any], npt.NDArray[np.int32]]:
    """Distinct names in the order of their first occurrence, and the number of each."""
    distinct = list(dict.fromkeys(names))
    return distinct, np.array([distinct.index(name) for name in names], np.int32)
