"""When functions and measures of the user's are checked at samples, and how the user hears of it.

prox and minimize are right for submodular functions only, and so are the losses for measures. A
counterexample is cheap to find where there are many, so each object is checked once, at its first
use, by a bounded number of evaluations (Function.custom, check_measure_once).
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

# Violations up to this part of the largest value are rounding, also of what computes in float32.
TOLERANCE = 1e-6
_MOST = 16  # checks of functions that share their code: closures made anew for each call
_PLAIN = (int, float, complex, bool, str, bytes, type(None))

_lock = threading.Lock()
_claimed: dict[int, tuple[Any, set[Any]]] = {}  # by the id of the owner


def claim(f: Callable[..., Any]) -> bool:
    """Returns True once for each callable. Bound methods and partials of one owner, and functions
    made by running one def or lambda again, are told apart by what they hold."""
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
    """An object that lives as long as others can be taken for f, and what tells them apart."""
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
        except ValueError:  # empty
            return None
    return value if isinstance(value, _PLAIN) else id(value)


def _reference(owner: Any) -> Any:
    """Ends the entry with the owner; keeps an owner that cannot be observed."""
    number = id(owner)
    try:
        return weakref.ref(owner, lambda _: _claimed.pop(number, None))
    except TypeError:
        return owner


def silent_process() -> bool:
    """Whether others warn in place of this process: for daemons, such as the workers of a
    DataLoader or a Pool, the process that started them; for other ranks, rank 0."""
    if current_process().daemon:
        return True
    dist: Any = sys.modules.get("torch.distributed")
    return bool(dist and dist.is_available() and dist.is_initialized() and dist.get_rank() > 0)


def warn_of(text: str) -> None:
    """Names the line of the user's that called the package, directly or by way of PyTorch."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back and frame.f_globals.get("__name__", "").split(".")[0] in _INSIDE:
        level, frame = level + 1, frame.f_back
    warnings.warn(text, SubmodularityWarning, stacklevel=level + 1)


_INSIDE = (__name__.split(".")[0], "torch")


class Sampled:
    """Whether a set function has been checked at samples, shared by the functions that are
    submodular if and only if it is."""

    def __init__(self) -> None:
        self.claimed = False
        self.submodular = False  # no counterexample was found

    def claim(self) -> bool:
        """Returns True once."""
        with _lock:
            first, self.claimed = not self.claimed, True
        return first
