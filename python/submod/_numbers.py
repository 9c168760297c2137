"""Reads numbers and arrays that users pass in. ctypes would truncate numbers that do not fit, and
NumPy would read text as numbers and drop imaginary parts and masks; neither names the argument."""

from __future__ import annotations

import ctypes
import operator
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from ._errors import InvalidArgumentError

Array = npt.NDArray[Any]


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
        raise InvalidArgumentError(f"{name} = {number}; it must be in {limits}")
    return number


def real(value: Any, name: str) -> float:
    """Converts any real number; float() alone would accept text and drop imaginary parts."""
    if is_real(value):
        try:
            return float(value)
        except OverflowError:
            raise InvalidArgumentError(f"{name} is larger than any double") from None
        except (TypeError, ValueError):
            pass
    raise TypeError(f"{name} = {value!r}; a number is needed")


def is_real(value: Any) -> bool:
    """Returns whether value is a real number, or an array of real numbers. Refuses complex numbers,
    text, dates, records, masked arrays and objects that float() cannot convert. Accepts the number
    types of ml_dtypes, whose kind is "V", as for records."""
    if not isinstance(value, (np.ndarray, np.generic)):
        return hasattr(type(value), "__float__") or hasattr(type(value), "__index__")
    if isinstance(value, np.ma.MaskedArray):
        return False
    kind, scalar = value.dtype.kind, value.dtype.type
    if kind == "O":
        return all(getattr(x, "ndim", 0) == 0 and is_real(x) for x in value.flat)
    return kind in "fiub" or (kind == "V" and not issubclass(scalar, np.void))


def set_fields(settings: ctypes.Structure, values: dict[str, Any]) -> None:
    """None stands for the default, which is there already."""
    kinds = {field[0]: field[1] for field in settings._fields_}
    for name, value in values.items():
        if value is not None:
            kind = kinds[name]
            number = real(value, name) if kind is ctypes.c_double else whole(value, name, kind)
            setattr(settings, name, number)


# ---- arrays ----

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
    (type(None), "None"),
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


def as_array(value: Any, name: str = "this") -> Array:
    """Lists, arrays, and whatever speaks DLPack or NumPy's protocols."""
    if value is None or isinstance(value, Mapping):
        raise wrong_type(value, name, "an array")
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} is a masked array, whose mask would be lost; give an array without a mask, "
            "such as the result of filled() or compressed()"
        )
    if not hasattr(value, "__dlpack__") or isinstance(value, np.ndarray):
        return np.asarray(value)
    try:
        return np.from_dlpack(value)
    except (BufferError, RuntimeError) as error:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        words = str(error).rstrip(".")
        raise TypeError(
            f"a {kind} that NumPy cannot read: {words}. The losses in submod.torch take tensors "
            "that require a gradient, and bfloat16; elsewhere x.detach().cpu().float() will do"
        ) from error


def require_real(array: Array, name: str, needed: str = "real") -> None:
    """Raises TypeError unless the array holds real numbers, which may be objects such as integers
    beyond 64 bits, fractions and decimals."""
    if not is_real(array):
        raise _not_real(array, name, needed)


def _not_real(array: Array, name: str, needed: str = "real") -> TypeError:
    return TypeError(f"{name} of type {array.dtype}; {needed} numbers are needed")


def real_array(value: Any, name: str, kind: Any = np.float64) -> Array:
    """Converts real numbers of any type to a contiguous array of this kind."""
    array = as_array(value, name)
    require_real(array, name)
    try:
        with np.errstate(over="ignore"):
            return np.ascontiguousarray(array, dtype=kind).reshape(array.shape)
    except OverflowError:
        raise InvalidArgumentError(
            f"{name} holds a number that is larger than any double"
        ) from None
    except (TypeError, ValueError):  # from an object
        raise _not_real(array, name) from None
