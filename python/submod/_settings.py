"""Python's words for the settings of loss.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from typing import Any, Union

import numpy as np

from ._door import ENGINES, flag, pick
from ._library import function
from ._numbers import integer, real, whole
from ._structs import LossSettings, MetricSettings

PRESENT, ALL, LIST = 0, 1, 2
DELTA = 2.0**-13  # submod_loss_defaults()

Classes = Union[str, Iterable[int]]

_CHOICES = {"present": PRESENT, "all": ALL}
_CLASSES_ARE = "it is 'present', 'all' or a list of classes, as [0, 3]"


def split_classes(classes: Classes) -> tuple[int, list[int] | None]:
    """The choice and the list, of "present", "all" or a list of classes."""
    if isinstance(classes, str):
        if classes not in _CHOICES:
            raise ValueError(f"classes = {classes!r}; {_CLASSES_ARE}")
        return _CHOICES[classes], None
    if not hasattr(classes, "__iter__"):
        raise TypeError(f"classes = {classes!r}; {_CLASSES_ARE}")
    return LIST, [integer(c, "a class") for c in classes]


def set_classes(
    settings: LossSettings | MetricSettings,
    class_list: Iterable[int] | None,
    ignore_index: int | None,
) -> None:
    if class_list is not None:
        listed = [whole(c, "a class", ctypes.c_int32) for c in class_list]
        settings.class_list = (ctypes.c_int32 * max(len(listed), 1))(*listed)
        settings.class_count = len(listed)
    if ignore_index is not None:
        settings.has_ignore = 1
        settings.ignore_label = whole(ignore_index, "ignore_index", ctypes.c_int64)


def _weights(class_weight: Any) -> Any:
    try:
        return np.asarray(class_weight, dtype=np.float64)
    except (TypeError, ValueError):
        raise TypeError(f"class_weight = {class_weight!r}; a number per class is needed") from None


def loss_settings(
    num_classes: int,
    *,
    classes: int = PRESENT,
    class_list: Iterable[int] | None = None,
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Any = None,
    engine: str = "exact",
    delta: float = DELTA,
) -> LossSettings:
    """The arrays that it points to live as long as it does."""
    settings: LossSettings = function("loss_defaults")()
    settings.engine = pick("engine", engine, ENGINES)
    settings.delta = real(delta, "delta")
    settings.per_image = flag(per_image, "per_image")
    settings.classes = classes
    set_classes(settings, class_list, ignore_index)
    if class_weight is not None:
        weight = _weights(class_weight)
        if weight.shape != (num_classes,):
            raise ValueError(f"class_weight of shape {weight.shape} for {num_classes} classes")
        settings.class_weight = (ctypes.c_double * max(num_classes, 1))(*weight)
    return settings
