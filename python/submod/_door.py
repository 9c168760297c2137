"""Arguments are checked where they come in, with messages that say what to do.

torch.compile has to be able to look into all this: plain Python, no ctypes.
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import IntEnum
from typing import Any, Callable

import numpy as np

from ._bindings import Engine, Overlap
from ._measures import as_measure
from ._numbers import integer, real


def choices(kind: type[IntEnum]) -> dict[str, int]:
    """What users may choose from, by the names that the headers have for it."""
    return {member.name.lower(): int(member) for member in kind}


ENGINES = choices(Engine)
OVERLAPS = choices(Overlap)
REDUCTIONS = ("mean", "none", "sum")
NONFINITE = ("raise", "propagate")
NORMALIZE = ("weights", "classes")
_CLASSES_ARE = "it must be 'present', 'all' or a list of classes, as [0, 3]"


def pick(name: str, value: Any, choices: dict[str, int]) -> int:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} = {value!r}; it must be one of {', '.join(map(repr, choices))}")
    return choices[value]


def flag(value: Any, name: str) -> bool:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} = {value!r}; True or False is needed")


def _engine(value: Any, name: str) -> str:
    pick(name, value, ENGINES)
    return str(value)


def _overlap(value: Any, name: str) -> str:
    pick(name, value, OVERLAPS)
    return str(value)


def _reduction(value: Any, name: str) -> str:
    pick(name, value, dict.fromkeys(REDUCTIONS, 0))
    return str(value)


def _nonfinite(value: Any, name: str) -> str:
    pick(name, value, dict.fromkeys(NONFINITE, 0))
    return str(value)


def _normalize(value: Any, name: str) -> str:
    pick(name, value, dict.fromkeys(NORMALIZE, 0))
    return str(value)


def _classes(value: Any, name: str) -> Any:
    """A name, or a list that can be read again and again."""
    if isinstance(value, str):
        if value in ("present", "all"):
            return value
        raise ValueError(f"{name} = {value!r}; {_CLASSES_ARE}")
    if not hasattr(value, "__iter__"):
        raise TypeError(f"{name} = {value!r}; {_CLASSES_ARE}")
    return [integer(c, "a class") for c in value]


def _weight(value: Any, name: str) -> Any:
    """An array, a tensor or a list, whose numbers are looked at later."""
    if isinstance(value, (str, Mapping)):
        raise TypeError(f"{name} = {value!r}; a number per class is needed")
    return value


def _group(value: Any, name: str) -> str:
    """By its name: torch._ranks has checked it."""
    return str(value)


def _number_or_none(value: Any, name: str) -> Any:
    return None if value is None else integer(value, name)


# What each setting is, in all functions and modules that have it.
_KINDS: dict[str, Callable[[Any, str], Any]] = {
    "class_weight": _weight,
    "classes": _classes,
    "ddp": flag,
    "decay": real,
    "delta": real,
    "engine": _engine,
    "from_logits": flag,
    "group": _group,
    "ignore_index": _number_or_none,
    "lam": real,
    "measure": as_measure,
    "nonfinite": _nonfinite,
    "normalize": _normalize,
    "num_classes": integer,
    "overlap": _overlap,
    "per_image": flag,
    "reduction": _reduction,
    "return_grad": flag,
    "smoothing": real,
    "stochastic": flag,
}


def checked(**settings: Any) -> dict[str, Any]:
    """The settings, each as the type that it has to be, or a TypeError or ValueError."""
    return {name: _KINDS[name](value, name) for name, value in settings.items()}
