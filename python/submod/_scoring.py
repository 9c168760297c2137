"""Streams for what the counts of pixels do not give: scoring.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple

import numpy as np

from ._arrays import vector
from ._bindings import FineGrainedValues as FValues
from ._confusion import Counts, Floats, Stream, group_numbers, label_maps
from ._files import Path, Words, whole_number
from ._library import function
from ._metrics import ABSENT
from ._numbers import real, whole

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
    _in_file = "instance counts"

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

    @classmethod
    def _settings_in(cls, words: Words, path: Path) -> tuple[dict[str, Any], int]:
        found, used = super()._settings_in(words, path)
        return {**found, "first_id": whole_number(words[used])}, used + 1

    def update(self, prediction: Any, truth: Any, ids: Any) -> None:
        """Label maps (batch, ..) of the same shape, and the ids of instances."""
        views, kept, _ = label_maps(prediction=prediction, truth=truth, ids=ids)
        self._call("add", **views)
        del kept

    def compute(self, truth_group: Any = None, prediction_group: Any = None) -> InstanceValues:
        """The iIoU of each class, or of groups of classes, given as in Confusion.regroup."""
        groups, given = self.classes, {}
        if truth_group is not None:
            truth = group_numbers(truth_group, "truth_group", self.classes)
            predicted = prediction_group if prediction_group is not None else truth
            predicted = group_numbers(predicted, "prediction_group", self.classes)
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
    _in_file = "boundary counts"

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
    _in_file = "fine-grained IoUs"

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

    @classmethod
    def _settings_in(cls, words: Words, path: Path) -> tuple[dict[str, Any], int]:
        return cls._means_in(words, path, list(ABSENT))

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
        """mIoU^Iq and mIoU^Cq: over the worst q % of images, and of the images of each class."""
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
