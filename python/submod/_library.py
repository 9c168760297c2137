"""libsubmod.so beside this file: its functions, and calls that turn statuses into exceptions."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_int, c_void_p
from pathlib import Path
from typing import Any, Callable, NamedTuple, NoReturn, TypeVar

import numpy as np

from . import _errors
from ._bindings import PROTOTYPES, Status
from ._numbers import whole

Self = TypeVar("Self")


def load(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"{path} cannot be loaded: {error}. `pip install .` in the source tree builds it; "
            "it needs the runtime of OpenMP (Debian: libgomp1)"
        ) from error
    # Companion libraries: inside the package's own library, beside other builds of libsubmod.
    beside = sorted(Path(path).parent.glob("libsubmod_select.so"))
    libraries = [library, *(ctypes.CDLL(str(companion)) for companion in beside)]
    for name, (result, arguments) in PROTOTYPES.items():
        homes = [home for home in libraries if hasattr(home, "submod_" + name)]
        function = getattr((homes or libraries)[0], "submod_" + name)
        setattr(library, "submod_" + name, function)
        function.restype, function.argtypes = result, list(arguments.values())
    return library


# $SUBMOD_LIBRARY names another build of the same version.
_library = load(os.environ.get("SUBMOD_LIBRARY") or str(Path(__file__).with_name("libsubmod.so")))


def function(name: str) -> Callable[..., Any]:
    """submod_<name>, which releases the interpreter lock while it runs."""
    found: Callable[..., Any] = getattr(_library, "submod_" + name)
    return found


def last_error() -> str:
    text: bytes = function("last_error")()
    return text.decode(errors="replace")


def status_string(status: int) -> str:
    text: bytes = function("status_string")(status)
    return text.decode()


def _in_order(name: str, given: dict[str, Any]) -> list[Any]:
    """The arguments of submod_<name>: C knows them by their places. Arrays are given by their
    addresses; pointers that are not given are NULL."""
    names = PROTOTYPES[name][1]
    if not given.keys() <= names.keys():
        unknown = sorted(given.keys() - names.keys())
        raise TypeError(f"submod_{name} has no {', '.join(unknown)}")
    values = map(given.get, names)
    return [value.ctypes.data if isinstance(value, np.ndarray) else value for value in values]


def call(name: str, /, **arguments: Any) -> int:
    """submod_<name>(..) with arguments by their names in the header, arrays as they are, and NULL
    for pointers that are not named. Its status if that is 0 or positive, else an exception."""
    status: int = function(name)(*_in_order(name, arguments))
    if status < 0:
        error = _errors.BY_STATUS.get(status, _errors.SubmodError)
        raise error(last_error() or status_string(status))
    return status


def warn(status: int, what: str, stacklevel: int = 3) -> None:
    """Says so when a result is less than what was asked for. stacklevel: as in warnings.warn, of
    whom the warning names; 3 is the caller of the caller."""
    if status > 0:
        text = f"{what}: {status_string(status)}"
        warnings.warn(text, _errors.AccuracyWarning, stacklevel=stacklevel)


class Uncopied:
    """A copy would share an object of the library that either could change, or free."""

    def __reduce_ex__(self, _: Any) -> NoReturn:
        raise TypeError(f"a {type(self).__name__} can be neither copied nor pickled")


class Immutable(Uncopied):
    """A copy is the object itself."""

    def __copy__(self: Self) -> Self:
        return self

    def __deepcopy__(self: Self, _: Any) -> Self:
        return self


class Handle(Uncopied):
    """An object of the library, freed with its last reference. Calls that change it take turns by
    its lock, as the interpreter's is released during calls."""

    def __init__(self, name: str, /, *, free: str, **arguments: Any) -> None:
        self.lock = threading.RLock()
        self._as_parameter_: c_void_p | None = None  # what ctypes passes for this object
        self._free = function(free)
        handle = c_void_p()
        kinds = PROTOTYPES[name][1].items()
        place = next(n for n, kind in kinds if kind is POINTER(c_void_p) and n not in arguments)
        call(name, **{place: ctypes.byref(handle)}, **arguments)
        self._as_parameter_ = handle

    def disown(self) -> None:
        """Something else in the library frees the object from now on."""
        self._as_parameter_ = None

    def __del__(self) -> None:
        if getattr(self, "_as_parameter_", None) is not None:
            self._free(self._as_parameter_)
            self._as_parameter_ = None


@contextmanager
def both_locked(a: Handle, b: Handle) -> Iterator[None]:
    """In the same order whoever asks, so that nobody waits for ever."""
    first, second = sorted((a, b), key=id)
    with first.lock, second.lock:
        yield


_kept = threading.local()


def workspace() -> Handle:
    """This thread's scratch memory, kept from call to call: the losses of a training loop find it
    ready, rather than as new pages that the kernel has to clear first."""
    work: Handle | None = getattr(_kept, "work", None)
    if work is None:
        work = _kept.work = Handle("work_create", free="work_free")
    return work


def set_num_threads(threads: int) -> None:
    """How many threads the library uses, in the whole process; 0: as many as OpenMP would."""
    call("set_num_threads", threads=whole(threads, "threads", c_int))


# OpenMP's threads are not there after a fork, and it would wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: set_num_threads(1))


def get_num_threads() -> int:
    """The number that the next parallel section of this thread would use; at least 1."""
    count: int = function("get_num_threads")()
    return count


class GpuAvailability(NamedTuple):
    """True in a condition when there is a device that can be used."""

    available: bool
    devices: int
    reason: str  # the library's explanation, empty when a device is available

    def __bool__(self) -> bool:
        return self.available


def gpu_available() -> GpuAvailability:
    """Whether CUDA tensors can be used, how many devices there are and, if none, why. The first
    call initialises the devices, which takes time."""
    devices = c_int()
    available = function("gpu_available")(ctypes.byref(devices)) == Status.OK
    return GpuAvailability(available, devices.value, "" if available else last_error())


def version() -> str:
    """The version of the library, such as "0.3.0"."""
    text: bytes = function("version")()
    return text.decode()


def isa() -> str:
    """The instruction set that the loops use: "baseline", "avx2" or "avx512". It is the largest
    that the machine has; the environment variable SUBMOD_ISA, set before Python starts, asks for
    less."""
    text: bytes = function("isa")()
    return text.decode()
