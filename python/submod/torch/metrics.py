"""The metric objects of submod.metrics for tensors of any device, as modules with update, compute
and reset.

    metric = submod.torch.MeanIoU(19, ignore_index=255)
    for logits, labels in loader:
        metric.update(logits, labels)
    print(metric.compute(), metric.iou)

Several processes: metric.sync() is a metric with the counts of all of them, on each.

    print(metric.sync().compute())

metric(..) updates, and returns the value of that batch alone. A metric that is part of a model is
saved with it: its counts are in state_dict(). Copies and pickles have them too. Counting is done in
CPU memory: tensors of other devices are copied there, predictions without their scores.
"""

from __future__ import annotations

import copy
import inspect
import math
from typing import Any, ClassVar, TypeVar

import numpy as np
import torch
from torch import Tensor, nn

from .. import metrics as _streams
from .._confusion import Stream
from .._errors import NonFiniteError
from .._files import Path
from ._gains import real_type
from ._memory import require_tensors
from ._ranks import default, of

__all__ = [
    "BoundaryIoU",
    "Confusion",
    "FineGrainedIoU",
    "InstanceIoU",
    "LabelMetric",
    "MeanIoU",
    "Metric",
]

Self = TypeVar("Self", bound="Metric")


class Metric(nn.Module):
    """What the metrics share. One of your own: a subclass whose _kind is a stream of counts, as
    those of submod.metrics are; arguments are the stream's."""

    _kind: ClassVar[type[Stream]]

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__()
        self._made_of = arguments, options
        self.stream = self._new_stream()
        self._like = torch.empty(0)  # where results go: the device of what was given last
        self._of_all_ranks = False  # it came from sync()

    def _new_stream(self) -> Any:
        arguments, options = self._made_of
        return type(self)._kind(*arguments, **options)

    def _arrays(self, tensors: tuple[Tensor, ...]) -> list[Any]:
        """In CPU memory, of types that NumPy has."""
        self._refuse_of_all()
        require_tensors(**{f"argument {i + 1}": x for i, x in enumerate(tensors)})
        if tensors:
            self._like = tensors[0].detach().new_empty(0)
        plain = (x.float() if x.dtype == torch.bfloat16 else x for x in tensors)
        return [x.detach().cpu() for x in plain]

    def update(self, *tensors: Tensor) -> None:
        """Counts a batch: tensors as the stream's update takes arrays."""
        self.stream.update(*self._arrays(tensors))

    def compute(self) -> Any:
        """The values of all batches so far: tensors on the device of the last of them."""
        return self._values(self.stream)

    def _values(self, stream: Any) -> Any:
        return self._tensors(stream.compute())

    def forward(self, *tensors: Tensor) -> Any:
        """Counts a batch, and returns its own values."""
        batch = self._new_stream()
        batch.update(*self._arrays(tensors))
        self.stream.merge(batch)
        return self._values(batch)

    def merge(self: Self, other: Self) -> None:
        """What other has counted is counted here too."""
        self._refuse_of_all()
        self.stream.merge(other.stream)

    def sync(self: Self, group: Any = None) -> Self:
        """A metric like this one, with the counts of all ranks added up, the same on each of them.
        This one keeps its own counts: whoever goes on with update() and calls sync() again counts
        nothing twice. What sync() gave is for reading, and so is its state_dict() where that is
        loaded: another sync() gives it as it is, and update() is refused until reset().

        group: of torch.distributed; None: all processes, or this one, if there are no others. All
        ranks call it, with metrics of the same options; those that differ are an error on all."""
        ranks = of(default(group)[0])
        ranks.together(lambda: None, self._sync_in_words)
        if self._of_all_ranks:
            return self
        words = self.get_extra_state()["words"].numpy()
        everything = copy.deepcopy(self)
        everything.reset()
        for data in ranks.gather_bytes(words.tobytes()):
            part = self._new_stream()
            counts = np.frombuffer(data, np.uint64).reshape(-1, *words.shape[1:])
            part.load_state_dict({**self.stream.state_dict(), "words": counts})
            everything.stream.merge(part)
        everything._of_all_ranks = True
        return everything

    def _sync_in_words(self) -> str:
        """The same however options were given: by place or by name, as lists or as arrays."""
        arguments, options = self._made_of
        bound = inspect.signature(type(self)._kind).bind(*arguments, **options)
        bound.apply_defaults()
        given = {name: np.asarray(value).tolist() for name, value in bound.arguments.items()}
        shown = ", ".join(f"{name}={value!r}" for name, value in given.items())
        what = "what sync() gave" if self._of_all_ranks else "its own counts"
        return f"sync() of {type(self).__name__}({shown}) with {what}"

    def _refuse_of_all(self) -> None:
        if self._of_all_ranks:
            raise RuntimeError(
                f"{type(self).__name__}: this has the counts of all ranks, from sync(), and what "
                "one rank adds would be lost to the others; update the metric that sync() was "
                "called on"
            )

    def save(self, path: Path) -> None:
        """Writes the counts to a file, as the streams of submod.metrics do: whole or not at all."""
        self.stream.save(path)

    @classmethod
    def load(cls: type[Self], path: Path, **options: Any) -> Self:
        """One with the counts of a file that save() has written, of this module or of the stream
        of submod.metrics. What counts depend on is in the file, other options are as for a new
        one."""
        made_of, words = cls._kind._read(path, options)
        loaded = cls(**made_of)
        loaded.stream._take(words, path)
        return loaded

    def reset(self) -> None:
        """Back to no counts."""
        self.stream.reset()
        self._of_all_ranks = False

    def extra_repr(self) -> str:
        arguments, options = self._made_of
        return ", ".join([*map(repr, arguments), *(f"{k}={v!r}" for k, v in options.items())])

    def _tensors(self, values: Any) -> Any:
        """Whatever compute() gives, with tensors for its numbers; what counts stays whole."""
        if isinstance(values, tuple):
            return type(values)(*map(self._tensors, values))
        found = torch.as_tensor(np.asarray(values))
        if found.is_floating_point():
            found = found.to(real_type(self._like))
        return found.to(self._like.device)

    # ---- the counts, in state_dict(), copies and pickles ----

    def get_extra_state(self) -> dict[str, Any]:
        """The counts, for the module's state, and whether they are those of all ranks."""
        state: dict[str, Any] = self.stream.state_dict()
        words = torch.from_numpy(state["words"].view(np.int64).copy())
        return {**state, "words": words, "of_all_ranks": self._of_all_ranks}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """The counts that the module's state has."""
        words = state["words"].cpu().contiguous().numpy().view(np.uint64)
        self.stream.load_state_dict({**state, "words": words})
        self._of_all_ranks = state.get("of_all_ranks", False)  # older states do not say

    def __getstate__(self) -> dict[str, Any]:
        kept = {name: value for name, value in self.__dict__.items() if name != "stream"}
        return {**kept, "counts": self.get_extra_state()}

    def __setstate__(self, state: dict[str, Any]) -> None:
        counts = state.pop("counts")
        super().__setstate__(state)  # type: ignore[no-untyped-call]
        self.stream = self._new_stream()
        self.set_extra_state(counts)


class LabelMetric(Metric):
    """Of label maps, which scores of the classes may stand for."""

    def _arrays(self, tensors: tuple[Tensor, ...]) -> list[Any]:
        return super()._arrays(_predicted(tensors, self.stream.classes))


class Confusion(LabelMetric):
    """See submod.metrics.Confusion: IoU, Dice and accuracy, of each class and as means.
    update(prediction, truth): label maps (N, ..), or scores (N, C, ..) of the classes, real numbers
    of which the largest is predicted, for truth (N, ..). A NaN score raises an exception
    that names its position."""

    _kind = _streams.Confusion


class MeanIoU(Confusion):
    """Mean IoU of all pixels together: compute() gives one number; iou, dice and accuracy are those
    of each class, NaN for classes that are left out, and values() all that the counts give.

    Options as in submod.MeanIoU. absent: "one" counts a class that is nowhere as 1; torchmetrics's
    multiclass Jaccard index leaves it out: "skip". Without any pixel the mean is NaN. The means
    over images: FineGrainedIoU. update as in Confusion.
    """

    def _values(self, stream: Any) -> Any:
        found = stream.compute()
        return self._tensors(found.mean.iou if found.pixels else math.nan)

    def values(self) -> _streams.ConfusionValues:
        """As Confusion.compute() has them."""
        found: _streams.ConfusionValues = super()._values(self.stream)
        return found

    @property
    def iou(self) -> Tensor:
        """(classes,)"""
        found: Tensor = self.values().classes.iou
        return found

    @property
    def dice(self) -> Tensor:
        """(classes,)"""
        found: Tensor = self.values().classes.dice
        return found

    @property
    def accuracy(self) -> Tensor:
        """(classes,): which part of the pixels of the class was predicted as it."""
        found: Tensor = self.values().classes.accuracy
        return found


class InstanceIoU(Metric):
    """See submod.metrics.InstanceIoU. update(prediction, truth, ids), of one shape (N, ..)."""

    _kind = _streams.InstanceIoU


class BoundaryIoU(LabelMetric):
    """See submod.metrics.BoundaryIoU. update as in Confusion, of images (N, H, W)."""

    _kind = _streams.BoundaryIoU


class FineGrainedIoU(LabelMetric):
    """See submod.metrics.FineGrainedIoU. update as in Confusion."""

    _kind = _streams.FineGrainedIoU


def _predicted(tensors: tuple[Tensor, ...], classes: int) -> tuple[Tensor, ...]:
    """Label maps, where scores of the classes were given: taken on their device."""
    if len(tensors) != 2 or not all(isinstance(x, Tensor) for x in tensors):
        return tensors
    scores, truth = tensors
    if scores.ndim != truth.ndim + 1 or not scores.is_floating_point():
        return tensors
    if scores.shape[1] != classes:
        raise ValueError(
            f"scores of shape {tuple(scores.shape)} for {classes} classes; (N, {classes}, ..) is "
            "needed"
        )
    largest, predicted = scores.max(1)  # NaN counts as the largest
    if bool(largest.isnan().any()):
        place = "".join(f"[{i}]" for i in scores.isnan().nonzero()[0].tolist())
        raise NonFiniteError(f"submod.torch: scores{place} is nan")
    return predicted, truth
