"""Arguments are checked where they come in, in words that say what to do.

torch.compile has to be able to look into all this: plain Python, no ctypes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Callable

import numpy as np

from ._numbers import integer, real

ENGINES = {"exact": 0, "histogram": 1}


def pick(name: str, value: Any, choices: dict[str, int]) -> int:
    if not isinstance(value, str) or value not in choices:
        raise ValueError(f"{name} = {value!r}; it is one of {', '.join(map(repr, choices))}")
    return choices[value]


def flag(value: Any, name: str) -> bool:
    if isinstance(value, (bool, np.bool_)) or (isinstance(value, int) and value in (0, 1)):
        return bool(value)
    raise TypeError(f"{name} = {value!r}; True or False is needed")


def _engine(value: Any, name: str) -> str:
    pick(name, value, ENGINES)
    return str(value)


def _number_or_none(value: Any, name: str) -> Any:
    return None if value is None else integer(value, name)


# What each setting is, in all functions and modules that have it.
_KINDS: dict[str, Callable[[Any, str], Any]] = {
    "decay": real,
    "delta": real,
    "engine": _engine,
    "from_logits": flag,
    "ignore_index": _number_or_none,
    "lam": real,
    "num_classes": integer,
    "per_image": flag,
    "probabilities": flag,
    "return_grad": flag,
    "stochastic": flag,
}


def checked(**settings: Any) -> list[Any]:
    """The settings, each as the type that it has to be, or a TypeError or ValueError."""
    return [_KINDS[name](value, name) for name, value in settings.items()]


# What else people have in their hands, and how to get from there to what is needed.
_ADVICE: list[tuple[Any, str]] = [
    (Mapping, "a dict with the keys {keys}; give what is behind one of them, {name}[{first}]"),
    (
        np.ndarray,
        "a NumPy array; torch.from_numpy({name}) makes a tensor of it, and the functions "
        "of submod itself take arrays",
    ),
    (
        (list, tuple),
        "a {type}; give one of its items, or make one of them all by torch.stack or torch.tensor",
    ),
    (str, "a string"),
]


def wrong_type(value: Any, name: str, needed: str) -> TypeError:
    """The exception for an array or tensor that is none."""
    words = next((words for kind, words in _ADVICE if isinstance(value, kind)), "a {type}")
    keys = [repr(key) for key in value] if isinstance(value, Mapping) else []
    found = words.format(
        name=name,
        type=type(value).__qualname__,
        keys=", ".join(keys[:5]) or "(none)",
        first=next(iter(keys), "key"),
    )
    return TypeError(f"{name}: {needed} is needed, this is {found}")
