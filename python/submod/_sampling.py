"""Decides when custom functions and measures are checked at samples, and issues the warning.

prox and minimize are right for submodular functions only, and the losses for submodular measures
only. A counterexample is cheap to find if there are many, so each object is checked once, at its
first use, by a bounded number of evaluations (Function.custom, check_measure_once).
"""

from __future__ import annotations

import sys
import threading
import warnings
import weakref
from functools import partial
from multiprocessing import current_process
from types import FunctionType, MethodType
from typing import Any, Callable

from ._errors import SubmodularityWarning

# Violations up to this fraction of the largest value count as rounding, even in float32.
TOLERANCE = 1e-6
_MOST = 16  # checks of functions that share their code, such as closures made for each call
_PLAIN = (int, float, complex, bool, str, bytes, type(None))

_lock = threading.Lock()
_claimed: dict[int, tuple[Any, set[Any]]] = {}  # by the owner's id


def claim(f: Callable[..., Any]) -> bool:
    """Returns True once for each callable. Bound methods and partials of one owner, and functions
    made by running one def or lambda again, are distinguished by the values that they hold."""
    owner, held = _identity(f)
    with _lock:
        if id(owner) not in _claimed:
            _claimed[id(owner)] = (_reference(owner), set())
        seen = _claimed[id(owner)][1]
        if held in seen or len(seen) >= _MOST:
            return False
        seen.add(held)
        return True


def _identity(f: Any) -> tuple[Any, tuple[Any, ...]]:
    """Returns an owner that lives as long as other callables can be mistaken for f, and the values
    that distinguish them."""
    if isinstance(f, MethodType):
        return f.__self__, (id(f.__func__),)
    if isinstance(f, partial):
        owner, held = _identity(f.func)
        return owner, (*held, *map(_held, f.args), *map(_held, f.keywords.values()))
    if isinstance(f, FunctionType):
        defaults = (*(f.__defaults__ or ()), *(f.__kwdefaults__ or {}).values())
        return f.__code__, tuple(map(_held, (*(f.__closure__ or ()), *defaults)))
    return f, ()


def _held(value: Any) -> Any:
    if type(value).__name__ == "cell":
        try:
            value = value.cell_contents
        except ValueError:  # an empty cell
            return None
    return value if isinstance(value, _PLAIN) else id(value)


def _reference(owner: Any) -> Any:
    """Removes the entry when the owner is deleted; keeps an owner without weak references alive."""
    number = id(owner)
    try:
        return weakref.ref(owner, lambda _: _claimed.pop(number, None))
    except TypeError:
        return owner


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
