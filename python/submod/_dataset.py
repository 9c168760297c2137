"""The Lovász-Softmax loss of a whole dataset: dataset.h."""

from __future__ import annotations

import ctypes
from copy import copy
from typing import Any

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
from ._files import Path, Saved, Words, impossible
from ._library import Handle, both_locked, call, function, workspace
from ._measures import Measure
from ._numbers import real, real_array, whole
from ._options import DELTA, Classes, LossOptions, Settings, call_loss, loss_options
from ._views import canonical, gradient_view, is_list


class Dataset(Handle):
    """A submod_dataset, whose counts (classes, 2, bins) can be taken out and put in."""

    def __init__(self, classes: int, delta: float) -> None:
        number, wanted = whole(classes, "classes"), real(delta, "delta")
        super().__init__("dataset_create", classes=number, delta=wanted, free="dataset_free")
        bins = ctypes.c_size_t()
        self._address: int = function("dataset_counts")(self, None, ctypes.byref(bins))
        self.shape = (number, 2, bins.value)
        self.delta: float = function("dataset_delta")(self)

    def counts(self) -> npt.NDArray[np.float64]:
        """A copy."""
        copy = np.empty(self.shape)
        with self.lock:
            ctypes.memmove(copy.ctypes.data, self._address, copy.nbytes)
        return copy

    def set_counts(self, counts: Any) -> None:
        counts = real_array(counts, "counts")
        if counts.shape != self.shape:
            raise ValueError(f"counts of shape {counts.shape}; {self.shape} is needed")
        ctypes.memmove(self._address, counts.ctypes.data, counts.nbytes)


class _Batch:
    """Scores, labels and weights of pixels as the library's views, and what they are views of."""

    def __init__(self, scores: Any, labels: Any, pixel_weights: Any) -> None:
        self.given = scores_array(scores)
        self.is_list = is_list("multiclass", self.given, False)
        pair = canonical("multiclass", self.given, labels_array(labels), False)
        scores_, self.scores = view_scores(pair[0])
        labels_, self.labels = view_labels(pair[1])
        self.views = {"scores": scores_, "labels": labels_}
        shape = self.scores.shape
        self.weights_view, self.weights = view_weights(pixel_weights, shape, self.is_list)


class DatasetJaccard(Saved):
    """Histograms of errors that add up over batches, processes and machines, the loss of all of
    them together, and its gradient by the scores of any batch.

        dataset = submod.DatasetJaccard(21)
        for scores, labels in batches:
            dataset.add(scores, labels)
        loss = dataset.loss()
        gradient = dataset.gradient(scores, labels)

    num_classes: how many there are. delta: the loss is within delta of the exact one. classes:
    which ones the mean is over, as in lovasz_softmax; class_weight and ignore_index too.
    from_logits: False when what add and gradient get is a softmax's output already.
    measure: as in lovasz_softmax, of the counts of the whole dataset, which do not depend on it.
    Several threads may add.
    """

    _kind = _argument = "dataset"
    _in_file = "dataset counts"

    def __init__(
        self,
        num_classes: int,
        delta: float = DELTA,
        *,
        classes: Classes = "present",
        class_weight: Any = None,
        ignore_index: int | None = None,
        from_logits: bool = True,
        measure: Measure = "jaccard",
    ) -> None:
        self._dataset = Dataset(num_classes, delta)
        self._options = loss_options(
            classes=classes,
            class_weight=None if class_weight is None else copy(class_weight),
            ignore_index=ignore_index,
            from_logits=from_logits,
            measure=measure,
        )
        self._solved = False
        # What would be refused later, is now: a batch of no images.
        self.add(np.zeros((0, self.num_classes, 1), np.float32), np.zeros((0, 1), np.uint8))
        self._solve(None)

    @property
    def num_classes(self) -> int:
        """The number of classes."""
        return self._dataset.shape[0]

    @property
    def bins(self) -> int:
        """The number of bins per class and label."""
        return self._dataset.shape[2]

    @property
    def delta(self) -> float:
        """What is guaranteed: at most the delta asked for."""
        return self._dataset.delta

    @property
    def counts(self) -> npt.NDArray[np.float64]:
        """(classes, 2, bins): background, foreground; errors ascending. A copy."""
        return self._dataset.counts()

    def add(self, scores: Any, labels: Any, *, pixel_weights: Any = None) -> None:
        """Counts the errors of a batch; pixel_weights as in lovasz_softmax."""
        batch = _Batch(scores, labels, pixel_weights)
        with self._dataset.lock:
            call_loss(
                "dataset_add",
                dataset=self._dataset,
                **batch.views,
                settings=self._settings(batch),
                work=workspace(),
            )
            self._solved = False

    def scale(self, factor: float) -> None:
        """All counts times a factor >= 0: old batches decay."""
        with self._dataset.lock:
            call("dataset_scale", dataset=self._dataset, factor=real(factor, "factor"))
            self._solved = False

    def merge(self, other: DatasetJaccard) -> None:
        """What other has counted is counted here too."""
        with both_locked(self._dataset, other._dataset):
            call("dataset_merge", dataset=self._dataset, other=other._dataset)
            self._solved = False

    def reset(self) -> None:
        """Back to no counts."""
        with self._dataset.lock:
            call("dataset_reset", dataset=self._dataset)
            self._solved = False

    def loss(self) -> float:
        """Of all that was added."""
        return self._solve(None)

    def class_losses(self) -> npt.NDArray[np.float64]:
        """One per class; NaN for those left out of the mean."""
        losses = np.empty(self.num_classes)
        self._solve(losses)
        return losses

    def gradient(
        self, scores: Any, labels: Any, *, pixel_weights: Any = None
    ) -> npt.NDArray[np.float32]:
        """The derivative of loss() by these scores, which should have been added, with these
        pixel_weights."""
        batch = _Batch(scores, labels, pixel_weights)
        gradient = np.empty(batch.scores.shape, np.float32)
        with self._dataset.lock:
            if not self._solved:
                self._solve(None)
            call_loss(
                "dataset_gradient",
                dataset=self._dataset,
                **batch.views,
                gradient=gradient_view(memory(gradient)),
                settings=self._settings(batch),
                work=workspace(),
            )
        if batch.is_list:
            gradient = np.ascontiguousarray(gradient[0].T)
        return gradient.reshape(batch.given.shape)

    @property
    def _handle(self) -> Dataset:
        return self._dataset

    @classmethod
    def _settings_in(cls, words: Words, path: Path) -> tuple[dict[str, Any], int]:
        classes, bins = map(int, words[:2]) if words.size > 2 else (0, 0)
        if 2 * classes * bins != words.size - 2 or bins < 2:
            raise impossible(path)
        return {"num_classes": classes, "delta": 0.5 / bins}, 2

    def _set_words(self, words: Words) -> None:
        shape = self._dataset.shape
        counts = words.view(np.float64).reshape(shape)
        self.load_state_dict({"classes": shape[0], "bins": shape[2], "counts": counts})

    def state_dict(self) -> dict[str, Any]:
        """What load_state_dict takes to be as this is."""
        return {"classes": self.num_classes, "bins": self.bins, "counts": self.counts}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Back to what state_dict() had saved, of the same classes and bins."""
        if (state["classes"], state["bins"]) != (self.num_classes, self.bins):
            raise ValueError(
                f"a state of {state['classes']} classes and {state['bins']} bins, "
                f"here are {self.num_classes} and {self.bins}"
            )
        counts = real_array(state["counts"], "counts")
        if not (np.isfinite(counts).all() and (counts >= 0).all()):
            raise ValueError("a state with counts that are negative or not finite")
        with self._dataset.lock:
            self._dataset.set_counts(counts)
            self._solved = False

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies and pickles are made from the state."""
        return _made_again, (self.num_classes, self.delta, self._options, self.state_dict())

    def _settings(self, batch: _Batch | None = None) -> Settings:
        weights = None if batch is None else batch.weights_view
        return self._options.settings(self.num_classes, weights)

    def _solve(self, class_losses: npt.NDArray[np.float64] | None) -> float:
        with self._dataset.lock:
            loss = solve(self._dataset, self._settings(), class_losses)
            self._solved = True
        return loss


def solve(
    dataset: Dataset,
    settings: Settings,
    class_losses: npt.NDArray[np.float64] | None = None,
) -> float:
    """The loss of all counts; class_losses: room for that of each class."""
    loss = ctypes.c_double()
    outputs = {"loss": ctypes.byref(loss), "class_loss": class_losses}
    call_loss("dataset_solve", dataset=dataset, settings=settings, **outputs)
    return loss.value


def _made_again(
    classes: int, delta: float, options: LossOptions, state: dict[str, Any]
) -> DatasetJaccard:
    dataset = DatasetJaccard(
        classes,
        delta,
        classes=options.classes,
        class_weight=options.class_weight,
        ignore_index=options.ignore_index,
        from_logits=options.from_logits,
        measure=options.measure,
    )
    dataset.load_state_dict(state)
    return dataset
