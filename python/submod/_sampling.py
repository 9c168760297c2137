"""Decides when custom functions and measures are checked at samples, and issues the warning.

prox and minimize are right for submodular functions only, and the losses for submodular measures
only. A counterexample is cheap to find if there are many, so each function is checked once, at its
first use, by a bounded number of evaluations (Function.custom, check_measure_once). An exception
ends the check silently. Function objects record their check themselves (Sampled); measures, which
are plain callables that users may create again for each call, are recorded here (claim).
"""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from functools import partial
from multiprocessing import current_process
from numbers import Number
from types import CellType, FunctionType, MethodType
from typing import Any, Callable

import numpy as np

from ._errors import SubmodularityWarning

# Violations up to this fraction of the largest value count as rounding, even in float32.
TOLERANCE = 1e-6
_MOST = 16  # checks of callables that share their code
_PLAIN = (Number, np.bool_, str, bytes, type(None))

_lock = threading.Lock()
# The values held by each checked callable, by the code or class that the callables share.
_checked: weakref.WeakKeyDictionary[Any, set[Any]] = weakref.WeakKeyDictionary()


def claim(f: Callable[..., Any]) -> bool:
    """Returns True once for each callable. Two callables are the same if they run the same code and
    hold the same values, such as a lambda that a loop creates again. Returns True for at most _MOST
    functions of one code, or objects of one class, so that a callable that differs at each call is
    not always checked."""
    code, *held = _parts(f)
    with _lock:
        seen = _checked.setdefault(code, set())
        new = tuple(held) not in seen and len(seen) < _MOST
        if new:
            seen.add(tuple(held))
        return new


def _parts(f: Any) -> list[Any]:
    """Returns the code or class of f, then the values that f holds."""
    if isinstance(f, MethodType):
        return [*_parts(f.__func__), _held(f.__self__)]
    if isinstance(f, partial):
        return [*_parts(f.func), *map(_held, (*f.args, *f.keywords.values()))]
    if isinstance(f, FunctionType):
        defaults = (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
        return [f.__code__, *map(_held, (*(f.__closure__ or ()), *defaults))]
    return [type(f), _held(f)]


def _held(value: Any) -> Any:
    """Represents plain values by themselves and other objects by their identity. Objects without
    weak references, such as lists, cannot be distinguished after they are freed, so those of one
    type count as equal."""
    if isinstance(value, CellType):
        try:
            value = value.cell_contents
        except ValueError:  # an empty cell
            return None
    if isinstance(value, _PLAIN):
        return value
    if isinstance(value, tuple):
        return tuple(map(_held, value))
    try:
        return _Identity(value)
    except TypeError:
        return type(value)


class _Identity:
    """Equals another one of the same object while the object is alive, then nothing: id() alone is
    reused."""

    def __init__(self, value: Any) -> None:
        self.number, self.value = id(value), weakref.ref(value)

    def __hash__(self) -> int:
        return self.number

    def __eq__(self, other: Any) -> bool:
        return isinstance(other, _Identity) and self.value() is other.value() is not None


def silent_process() -> bool:
    """Returns whether another process warns instead of this one: the parent process for daemons,
    such as DataLoader or Pool workers, and rank 0 for other ranks."""
    if current_process().daemon:
        return True
    dist: Any = sys.modules.get("torch.distributed")
    return bool(dist and dist.is_available() and dist.is_initialized() and dist.get_rank() > 0)


def warn_of(text: str) -> None:
    """Warns at the user's line that called the package, directly or through PyTorch."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, SubmodularityWarning, stacklevel=level + 1)


_INSIDE = (__name__.split(".")[0], "torch")


class Sampled:
    """Records whether a set function has been checked at samples. Functions that are submodular if
    and only if it is share the record."""

    def __init__(self) -> None:
        self.claimed = False
        self.submodular = False  # no counterexample was found

    def claim(self) -> bool:
        """Returns True on the first call only."""
        with _lock:
            first, self.claimed = not self.claimed, True
        return first
