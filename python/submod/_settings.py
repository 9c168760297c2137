"""Python's words for the settings of loss.h."""

from __future__ import annotations

import ctypes
from typing import Any, Iterable, Optional, Union

import numpy as np

from ._library import function
from ._numbers import integer, real, whole
from ._structs import LossSettings, MetricSettings

ENGINES = {"exact": 0, "histogram": 1}
PRESENT, ALL, LIST = 0, 1, 2
DELTA = 2.0**-13  # submod_loss_defaults()

Classes = Union[str, Iterable[int]]


def pick(name: str, value: str, choices: dict[str, int]) -> int:
    if value not in choices:
        raise ValueError(f"{name} = {value!r}; it is one of {', '.join(map(repr, choices))}")
    return choices[value]


def split_classes(classes: Classes) -> tuple[int, Optional[list[int]]]:
    """The choice and the list, of "present", "all" or a list of classes."""
    if isinstance(classes, str):
        return pick("classes", classes, {"present": PRESENT, "all": ALL}), None
    return LIST, [integer(c, "a class") for c in classes]


def set_classes(
    settings: Union[LossSettings, MetricSettings],
    class_list: Optional[Iterable[int]],
    ignore_index: Optional[int],
) -> None:
    if class_list is not None:
        listed = [whole(c, "a class", ctypes.c_int32) for c in class_list]
        settings.class_list = (ctypes.c_int32 * max(len(listed), 1))(*listed)
        settings.class_count = len(listed)
    if ignore_index is not None:
        settings.has_ignore = 1
        settings.ignore_label = whole(ignore_index, "ignore_index", ctypes.c_int64)


def loss_settings(
    num_classes: int,
    *,
    classes: int = PRESENT,
    class_list: Optional[Iterable[int]] = None,
    per_image: bool = False,
    ignore_index: Optional[int] = None,
    class_weight: Any = None,
    engine: str = "exact",
    delta: float = DELTA,
) -> LossSettings:
    """The arrays that it points to live as long as it does."""
    settings: LossSettings = function("loss_defaults")()
    settings.engine = pick("engine", engine, ENGINES)
    settings.delta = real(delta, "delta")
    settings.per_image = bool(per_image)
    settings.classes = classes
    set_classes(settings, class_list, ignore_index)
    if class_weight is not None:
        weight = np.asarray(class_weight, dtype=np.float64)
        if weight.shape != (num_classes,):
            raise ValueError(f"class_weight of shape {weight.shape} for {num_classes} classes")
        settings.class_weight = (ctypes.c_double * max(num_classes, 1))(*weight)
    return settings
