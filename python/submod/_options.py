"""What the losses can be told, in one place: names, defaults, checks, and the struct of loss.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, NamedTuple, Union

import numpy as np

from ._bindings import Classes as ClassChoice
from ._bindings import LossSettings, MetricSettings, PixelWeights
from ._callbacks import Trap, call_trapped
from ._door import ENGINES, checked, choices
from ._library import function
from ._measure_check import check_used
from ._measures import Measure, measure_struct
from ._numbers import real_array, whole

Classes = Union[str, Iterable[int]]

DELTA: float = function("loss_defaults")().delta
_CHOICES = choices(ClassChoice)


class Settings(LossSettings):
    """What the struct points to lives as long as it does. traps: of a measure in Python."""

    traps: tuple[Trap, ...] = ()


class LossOptions(NamedTuple):
    """All that a loss can be told; each function and module has those that it looks at. A tuple,
    which torch.compile can look into; loss_options() makes a checked one."""

    classes: Any = "present"  # or "all", or a list
    per_image: bool = False
    ignore_index: int | None = None
    class_weight: Any = None  # a number per class; of the hinge: background, foreground
    engine: str = "exact"
    delta: float = DELTA
    from_logits: bool = True
    smoothing: float = 0.0
    nonfinite: str = "raise"  # or "propagate": in PyTorch alone, see torch.functional
    measure: Measure = "jaccard"
    reduction: str = "mean"
    group: str = ""  # of ranks, by its name: in PyTorch alone, see torch._ranks
    ddp: bool = False

    def settings(
        self,
        weights: int,
        pixel_weights: PixelWeights | None = None,
        group_loss: np.ndarray[Any, np.dtype[np.float64]] | None = None,
    ) -> Settings:
        """For the library, one for each call. weights: how many numbers class_weight must have.
        group_loss: room for a number per group; it and what pixel_weights is a view of are the
        caller's to keep."""
        settings = Settings.from_buffer_copy(function("loss_defaults")())
        settings.from_logits = self.from_logits
        settings.engine = ENGINES[self.engine]
        settings.delta = self.delta
        settings.per_image = self.per_image
        settings.smoothing = self.smoothing
        listed = not isinstance(self.classes, str)
        settings.classes = ClassChoice.LIST if listed else _CHOICES[self.classes]
        set_classes(settings, self.classes if listed else None, self.ignore_index)
        if self.class_weight is not None:
            weight = _numbers(self.class_weight)
            if weight.shape != (weights,):
                raise ValueError(f"class_weight of shape {weight.shape}; ({weights},) is needed")
            settings.class_weight = (ctypes.c_double * max(weights, 1))(*weight)
        if self.measure != "jaccard":
            measure, settings.traps = measure_struct(self.measure)
            settings.measure = ctypes.pointer(measure)
        if pixel_weights is not None:
            settings.pixel_weights = ctypes.pointer(pixel_weights)
        if group_loss is not None:
            settings.group_loss = group_loss.ctypes.data
        return settings

    def groups(self, batch: int) -> int:
        """How many losses the mean is of."""
        return batch if self.per_image else 1


def loss_options(**given: Any) -> LossOptions:
    """Those that are given, checked; defaults for the others."""
    return LossOptions(**checked(**given))


def call_loss(name: str, /, *, settings: Settings, **arguments: Any) -> int:
    """submod_<name>(..), which may ask a measure in Python. What that raises is raised here."""
    status = call_trapped(settings.traps, name, settings=settings, **arguments)
    check_used(settings.traps)
    return status


def set_classes(
    settings: LossSettings | MetricSettings,
    class_list: Iterable[int] | None,
    ignore_index: int | None,
) -> None:
    """The fields that losses and metrics share."""
    if class_list is not None:
        listed = [whole(c, "a class", ctypes.c_int32) for c in class_list]
        settings.class_list = (ctypes.c_int32 * max(len(listed), 1))(*listed)
        settings.class_count = len(listed)
    if ignore_index is not None:
        settings.has_ignore = 1
        settings.ignore_index = whole(ignore_index, "ignore_index", ctypes.c_int64)


def _numbers(class_weight: Any) -> Any:
    try:
        return real_array(class_weight, "class_weight")
    except (TypeError, ValueError):
        raise TypeError(f"class_weight = {class_weight!r}; a number per class is needed") from None
