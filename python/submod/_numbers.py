"""Numbers that users hand over. ctypes would cut off what does not fit, and names no argument."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

import numpy as np

from ._errors import InvalidArgumentError


def integer(value: Any, name: str) -> int:
    """Of any size. torch.compile can look into this, as it cannot into ctypes."""
    try:
        return operator.index(value)
    except TypeError:
        raise TypeError(f"{name} = {value!r}; a whole number is needed") from None


def whole(value: Any, name: str, kind: Any = ctypes.c_size_t) -> int:
    """An integer that fits into this type of C's."""
    number = integer(bool(value) if isinstance(value, np.bool_) else value, name)
    if kind(number).value != number:
        bits, signed = 8 * ctypes.sizeof(kind), kind(-1).value < 0
        limits = f"-2^{bits - 1} to 2^{bits - 1} - 1" if signed else f"0 to 2^{bits} - 1"
        raise InvalidArgumentError(f"{name} = {number}; it has to be in {limits}")
    return number


def real(value: Any, name: str) -> float:
    if not isinstance(value, (str, bytes)):
        try:
            return float(value)
        except OverflowError:
            raise InvalidArgumentError(f"{name} is larger than any double") from None
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} = {value!r}; a number is needed")


def set_fields(settings: ctypes.Structure, values: dict[str, Any]) -> None:
    """None stands for the default, which is there already."""
    kinds = {field[0]: field[1] for field in settings._fields_}
    for name, value in values.items():
        if value is not None:
            kind = kinds[name]
            number = real(value, name) if kind is ctypes.c_double else whole(value, name, kind)
            setattr(settings, name, number)
