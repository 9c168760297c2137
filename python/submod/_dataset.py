"""The Lovász-Softmax loss of a whole dataset: histogram.h."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import labels_array, memory, scores_array, view_labels, view_scores
from ._door import flag
from ._library import Handle, both_locked, call, function, workspace
from ._numbers import real, whole
from ._settings import DELTA, Classes, loss_settings, split_classes
from ._views import canonical, gradient_view


class Histogram(Handle):
    """A submod_histogram, whose counts (classes, 2, bins) can be taken out and put in."""

    def __init__(self, classes: int, delta: float) -> None:
        size = (whole(classes, "classes"), real(delta, "delta"))
        super().__init__("histogram_create", *size, free="histogram_free")
        bins = ctypes.c_size_t()
        self._address: int = function("histogram_counts")(self, None, ctypes.byref(bins))
        self.shape = (size[0], 2, bins.value)
        self.delta: float = function("histogram_delta")(self)

    def counts(self) -> npt.NDArray[np.float64]:
        """A copy."""
        copy = np.empty(self.shape)
        with self.lock:
            ctypes.memmove(copy.ctypes.data, self._address, copy.nbytes)
        return copy

    def set_counts(self, counts: Any) -> None:
        counts = np.ascontiguousarray(counts, dtype=np.float64)
        if counts.shape != self.shape:
            raise ValueError(f"counts of shape {counts.shape}; {self.shape} is needed")
        ctypes.memmove(self._address, counts.ctypes.data, counts.nbytes)


class DatasetJaccard:
    """Histograms of errors that add up over batches, processes and machines, the loss of all of
    them together, and its gradient by the scores of any batch.

        dataset = submod.DatasetJaccard(21)
        for scores, labels in batches:
            dataset.add(scores, labels)
        loss = dataset.loss()
        gradient = dataset.gradient(scores, labels)

    delta: the loss is within delta of the exact one. classes, class_weight and ignore_index as in
    lovasz_softmax; probabilities: what add and gradient get is a softmax's output. Several threads
    may add.
    """

    def __init__(
        self,
        classes: int,
        delta: float = DELTA,
        *,
        average: Classes = "present",
        class_weight: Any = None,
        ignore_index: int | None = None,
        probabilities: bool = False,
    ) -> None:
        self._histogram = Histogram(classes, delta)
        chosen, class_list = split_classes(average)
        self._options = {
            "average": average if class_list is None else class_list,
            "class_weight": None if class_weight is None else np.array(class_weight),
            "ignore_index": ignore_index,
            "probabilities": flag(probabilities, "probabilities"),
        }
        self._settings = loss_settings(
            classes,
            classes=chosen,
            class_list=class_list,
            class_weight=class_weight,
            ignore_index=ignore_index,
        )
        self._input = int(probabilities)
        self._solved = False
        # What would be refused later, is now: a batch of no images.
        self.add(np.zeros((0, self.classes, 1), np.float32), np.zeros((0, 1), np.uint8))
        self._solve(None)

    @property
    def classes(self) -> int:
        return self._histogram.shape[0]

    @property
    def bins(self) -> int:
        return self._histogram.shape[2]

    @property
    def delta(self) -> float:
        """What is guaranteed: at most the delta asked for."""
        return self._histogram.delta

    @property
    def counts(self) -> npt.NDArray[np.float64]:
        """(classes, 2, bins): background, foreground; errors ascending. A copy."""
        return self._histogram.counts()

    def add(self, scores: Any, labels: Any) -> None:
        """Counts the errors of a batch."""
        scores, labels = canonical("softmax", scores_array(scores), labels_array(labels), False)
        scores_, scores = view_scores(scores)
        labels_, labels = view_labels(labels)
        batch = (ctypes.byref(scores_), self._input, ctypes.byref(labels_))
        end = (ctypes.byref(self._settings), workspace())
        with self._histogram.lock:
            call("histogram_add", self._histogram, *batch, *end)
            self._solved = False

    def scale(self, factor: float) -> None:
        """All counts times a factor >= 0: old batches decay."""
        with self._histogram.lock:
            call("histogram_scale", self._histogram, real(factor, "factor"))
            self._solved = False

    def merge(self, other: DatasetJaccard) -> None:
        """What other has counted is counted here too."""
        with both_locked(self._histogram, other._histogram):
            call("histogram_merge", self._histogram, other._histogram)
            self._solved = False

    def reset(self) -> None:
        with self._histogram.lock:
            call("histogram_reset", self._histogram)
            self._solved = False

    def loss(self) -> float:
        """Of all that was added."""
        return self._solve(None)

    def class_losses(self) -> npt.NDArray[np.float64]:
        """One per class; NaN for those left out of the mean."""
        losses = np.empty(self.classes)
        self._solve(losses.ctypes.data)
        return losses

    def gradient(self, scores: Any, labels: Any) -> npt.NDArray[np.float32]:
        """The derivative of loss() by these scores, which should have been added."""
        given = scores_array(scores)
        scores, labels = canonical("softmax", given, labels_array(labels), False)
        scores_, scores = view_scores(scores)
        labels_, labels = view_labels(labels)
        gradient = np.empty(scores.shape, np.float32)
        batch = (ctypes.byref(scores_), self._input, ctypes.byref(labels_))
        target = ctypes.byref(gradient_view(memory(gradient)))
        end = (target, ctypes.byref(self._settings), workspace())
        with self._histogram.lock:
            if not self._solved:
                self._solve(None)
            call("histogram_gradient", self._histogram, *batch, *end)
        if given.ndim == 2:
            gradient = np.ascontiguousarray(gradient[0].T)
        return gradient.reshape(given.shape)

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes to be as this is."""
        return {"classes": self.classes, "bins": self.bins, "counts": self.counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        if (state["classes"], state["bins"]) != (self.classes, self.bins):
            raise ValueError(
                f"a state of {state['classes']} classes and {state['bins']} bins, "
                f"here are {self.classes} and {self.bins}"
            )
        counts = np.asarray(state["counts"], dtype=np.float64)
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("a state with counts that are negative or not finite")
        with self._histogram.lock:
            self._histogram.set_counts(counts)
            self._solved = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made from the state."""
        return _made_again, (self.classes, self.delta, self._options, self.state_dict())

    def _solve(self, class_losses: int | None) -> float:
        loss = ctypes.c_double()
        settings = ctypes.byref(self._settings)
        with self._histogram.lock:
            call("histogram_solve", self._histogram, settings, ctypes.byref(loss), class_losses)
            self._solved = True
        return loss.value


def _made_again(
    classes: int, delta: float, options: dict[str, Any], state: dict[str, Any]
) -> DatasetJaccard:
    dataset = DatasetJaccard(classes, delta, **options)
    dataset.load_state_dict(state)
    return dataset
