"""Mean IoU of images, batches and datasets, and the equibatch sampler: metric.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import int32, labels_array, view_labels
from ._bindings import Absent, MetricSettings, MiouValues
from ._door import choices, pick
from ._files import Path, Saved, Words
from ._library import Handle, Uncopied, both_locked, call, function
from ._numbers import whole
from ._options import set_classes

ABSENT = choices(Absent)


class MeanIoUValues(NamedTuple):
    image: float  # mean over the images of the mean IoU of each
    batch: float  # mean over the batches
    dataset: float  # of all counts together
    images: int  # that took part in their mean
    batches: int


def metric_settings(
    ignore_index: int | None,
    absent: str,
    class_list: Iterable[int] | None,
    leave_out: int | None,
) -> MetricSettings:
    settings: MetricSettings = function("metric_defaults")()
    settings.absent = pick("absent", absent, ABSENT)
    set_classes(settings, class_list, ignore_index)
    if leave_out is not None:
        settings.has_leave_out = 1
        settings.leave_out = whole(leave_out, "leave_out", ctypes.c_int32)
    return settings


class MeanIoU(Saved, Uncopied):
    """Image-, batch- and dataset-mIoU of a dataset that comes batch by batch.

    absent: what a class without pixels counts for: "one" (0/0 = 1, as in the paper), "zero",
    "skip" (left out when neither in the truth nor predicted), "truth" (left out when not in the
    truth). class_list: the classes to average over; leave_out: one not to, such as the background.
    Before the first image all three means are NaN. Several threads may add.
    """

    _kind = _argument = "miou"
    _in_file = "mean IoU counts"

    def __init__(
        self,
        classes: int,
        *,
        ignore_index: int | None = None,
        absent: str = "one",
        class_list: Iterable[int] | None = None,
        leave_out: int | None = None,
    ) -> None:
        settings = metric_settings(ignore_index, absent, class_list, leave_out)
        self.classes = whole(classes, "classes")
        create = {"classes": self.classes, "settings": settings}
        self._handle = Handle("miou_create", free="miou_free", **create)

    @classmethod
    def _settings_in(cls, words: Words, path: Path) -> tuple[dict[str, Any], int]:
        return cls._means_in(words, path, list(ABSENT))

    def add(self, prediction: Any, truth: Any) -> None:
        """A batch: label maps (batch, ..) of the same shape."""
        prediction = labels_array(prediction, "prediction")
        truth = labels_array(truth, "truth")
        if prediction.shape != truth.shape or truth.ndim < 1:
            raise ValueError(
                f"prediction of shape {prediction.shape}, truth of shape {truth.shape}; "
                "the same (batch, ..) is needed"
            )
        prediction_, prediction = view_labels(prediction)
        truth_, truth = view_labels(truth)
        with self._handle.lock:
            call("miou_add", miou=self._handle, prediction=prediction_, truth=truth_)

    def merge(self, other: MeanIoU) -> None:
        """What other has seen was seen too."""
        with both_locked(self._handle, other._handle):
            call("miou_merge", miou=self._handle, other=other._handle)

    def reset(self) -> None:
        """Back to no images."""
        with self._handle.lock:
            function("miou_reset")(self._handle)

    def compute(self) -> MeanIoUValues:
        """The means of what was added so far."""
        values = MiouValues()
        with self._handle.lock:
            call("miou_get", miou=self._handle, values=values)
        return MeanIoUValues(
            values.image, values.batch, values.dataset, values.images, values.batches
        )

    @property
    def confusion(self) -> npt.NDArray[np.int64]:
        """confusion[t, p]: pixels of truth t predicted as p. A copy."""
        counts = np.empty((self.classes, self.classes), np.int64)
        with self._handle.lock:
            address = function("confusion_counts")(function("miou_confusion")(self._handle))
            ctypes.memmove(counts.ctypes.data, address, counts.nbytes)
        return counts


def miou(
    prediction: Any,
    truth: Any,
    classes: int,
    *,
    per_image: bool = False,
    ignore_index: int | None = None,
    absent: str = "one",
    class_list: Iterable[int] | None = None,
    leave_out: int | None = None,
) -> float:
    """Mean IoU of label maps (batch, ..): of all images together, or the mean over the images of
    that of each; NaN of no images. Options as in MeanIoU."""
    stream = MeanIoU(
        classes,
        ignore_index=ignore_index,
        absent=absent,
        class_list=class_list,
        leave_out=leave_out,
    )
    stream.add(prediction, truth)
    values = stream.compute()
    return values.image if per_image else values.dataset


class Equibatch(Uncopied, Iterator[int]):
    """Draws images such that each class is visited once every `window` draws, for ever (paper,
    Sec. 3.1). image_classes[i]: the classes that image i contains. Equal seeds, equal draws.

    rank, ranks: of several processes, which share the draws of one sampler with this seed: the
    first is for rank 0, the next for rank 1, and so on. So the batches of equal size that the ranks
    draw at a step are, together, the batch that one process would draw."""

    def __init__(
        self,
        image_classes: Sequence[Iterable[int]],
        classes: int,
        seed: int = 0,
        *,
        rank: int = 0,
        ranks: int = 1,
    ) -> None:
        lists = [list(ids) for ids in image_classes]
        start = np.zeros(len(lists) + 1, np.uintp)
        np.cumsum([len(ids) for ids in lists], out=start[1:])
        ids = int32([c for ids in lists for c in ids], "image_classes")
        count, start_seed = whole(classes, "classes"), whole(seed, "seed", ctypes.c_uint64)
        images = {"images": len(lists), "start": start, "class_ids": ids}
        create = {"classes": count, "seed": start_seed, **images}
        self._rank, self._ranks = whole(rank, "rank"), whole(ranks, "ranks")
        if not self._rank < self._ranks:
            raise ValueError(f"rank = {rank} of ranks = {ranks}; it must be in [0, ranks)")
        self._handle = Handle("equibatch_create", free="equibatch_free", **create)

    @property
    def window(self) -> int:
        """Every class is visited once in so many draws, of all ranks together."""
        window: int = function("equibatch_window")(self._handle)
        return window

    def draw(self) -> tuple[int, int]:
        """The next image, and the class it was drawn for."""
        image, drawn_for = ctypes.c_int32(), ctypes.c_int32()
        places = {"image": ctypes.byref(image), "drawn_for": ctypes.byref(drawn_for)}
        mine = (0, 0)
        with self._handle.lock:
            for rank in range(self._ranks):
                call("equibatch_next", sampler=self._handle, **places)
                mine = (image.value, drawn_for.value) if rank == self._rank else mine
        return mine

    def __next__(self) -> int:
        return self.draw()[0]
