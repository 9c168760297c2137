"""libsubmod.so beside this file: its functions, and calls that turn statuses into exceptions."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from ctypes import POINTER, c_char_p, c_double, c_int, c_int32, c_size_t, c_uint64, c_void_p
from pathlib import Path
from typing import Any, Callable, NamedTuple, NoReturn, TypeVar

from . import _errors
from ._numbers import whole
from ._structs import (
    AdamSettings,
    BundleSettings,
    CertificateReport,
    CheckReport,
    CheckSettings,
    DescentSettings,
    FistaSettings,
    FunctionOps,
    GpuPlace,
    Gradient,
    Labels,
    LossInfo,
    LossSettings,
    LovaszSettings,
    MetricSettings,
    MiouValues,
    OptimInfo,
    Problem,
    ProxInfo,
    ProxSettings,
    Schedule,
    Scores,
    SfmInfo,
    SfmSettings,
)

Self = TypeVar("Self")

_STATUS = c_int
_HANDLE = POINTER(c_void_p)  # where a constructor puts its handle
_DOUBLE = POINTER(c_double)
_LOSS_END = [_DOUBLE, POINTER(Gradient), POINTER(LossInfo), POINTER(LossSettings), c_void_p]
_BATCH = [POINTER(Scores), c_int, POINTER(Labels)]
_GPU_END = [c_void_p, POINTER(Gradient), POINTER(LossSettings), POINTER(GpuPlace)]

# Name without submod_, what it returns, what it takes. Arrays and handles are c_void_p.
_PROTOTYPES: dict[str, tuple[Any, list[Any]]] = {
    "version_string": (c_char_p, []),
    "isa": (c_char_p, []),
    "status_string": (c_char_p, [c_int]),
    "last_error": (c_char_p, []),
    "set_num_threads": (_STATUS, [c_int]),
    "get_num_threads": (c_int, []),
    "set_cancel_flag": (c_void_p, [c_void_p]),
    "work_create": (_STATUS, [_HANDLE]),
    "work_free": (None, [c_void_p]),
    # function.h
    "fn_custom": (_STATUS, [c_size_t, POINTER(FunctionOps), c_void_p, _HANDLE]),
    "fn_free": (None, [c_void_p]),
    "fn_size": (c_size_t, [c_void_p]),
    "fn_name": (c_char_p, [c_void_p]),
    "fn_jaccard": (_STATUS, [c_size_t, c_void_p, _HANDLE]),
    "fn_hamming": (_STATUS, [c_size_t, _HANDLE]),
    "fn_modular": (_STATUS, [c_size_t, c_void_p, _HANDLE]),
    "fn_cardinality": (_STATUS, [c_size_t, c_void_p, _HANDLE]),
    "fn_sqrt": (_STATUS, [c_size_t, _HANDLE]),
    "fn_log1p": (_STATUS, [c_size_t, _HANDLE]),
    "fn_truncation": (_STATUS, [c_size_t, c_size_t, _HANDLE]),
    "fn_coverage": (_STATUS, [c_size_t, c_void_p, c_void_p, c_size_t, c_void_p, _HANDLE]),
    "fn_cut": (_STATUS, [c_size_t, c_size_t, c_void_p, c_void_p, c_void_p, c_int, _HANDLE]),
    "fn_facility": (_STATUS, [c_size_t, c_size_t, c_void_p, _HANDLE]),
    "fn_logdet": (_STATUS, [c_size_t, c_void_p, _HANDLE]),
    "fn_iwata": (_STATUS, [c_size_t, _HANDLE]),
    "fn_sum": (_STATUS, [c_void_p, c_void_p, c_size_t, _HANDLE]),
    "fn_scale": (_STATUS, [c_void_p, c_double, _HANDLE]),
    "fn_add_modular": (_STATUS, [c_void_p, c_void_p, _HANDLE]),
    "fn_restrict": (_STATUS, [c_void_p, c_void_p, c_size_t, _HANDLE]),
    "fn_contract": (_STATUS, [c_void_p, c_void_p, c_size_t, _HANDLE]),
    "fn_eval": (_STATUS, [c_void_p, c_void_p, c_size_t, _DOUBLE]),
    "fn_chain": (_STATUS, [c_void_p, c_void_p, c_size_t, c_void_p, c_void_p]),
    "check_defaults": (CheckSettings, []),
    "fn_check": (_STATUS, [c_void_p, POINTER(CheckReport), POINTER(CheckSettings)]),
    "check_report_clear": (None, [POINTER(CheckReport)]),
    "check_report_text": (c_size_t, [POINTER(CheckReport), c_char_p, c_size_t]),
    # lovasz.h
    "lovasz": (
        _STATUS,
        [c_void_p, c_void_p, _DOUBLE, c_void_p, c_void_p, POINTER(LovaszSettings), c_void_p],
    ),
    # loss.h
    "loss_defaults": (LossSettings, []),
    "lovasz_softmax": (_STATUS, _BATCH + _LOSS_END),
    "lovasz_sigmoid": (_STATUS, _BATCH + _LOSS_END),
    "lovasz_hinge": (_STATUS, [POINTER(Scores), POINTER(Labels), *_LOSS_END]),
    # gpu.h
    "gpu_available": (_STATUS, [POINTER(c_int)]),
    "gpu_loss_workspace": (
        _STATUS,
        [c_int, POINTER(Scores), c_int, POINTER(LossSettings), POINTER(c_size_t)],
    ),
    "gpu_lovasz_softmax": (_STATUS, _BATCH + _GPU_END),
    "gpu_lovasz_sigmoid": (_STATUS, _BATCH + _GPU_END),
    "gpu_lovasz_hinge": (_STATUS, [POINTER(Scores), POINTER(Labels), *_GPU_END]),
    # histogram.h
    "histogram_create": (_STATUS, [c_size_t, c_double, _HANDLE]),
    "histogram_free": (None, [c_void_p]),
    "histogram_reset": (_STATUS, [c_void_p]),
    "histogram_add": (_STATUS, [c_void_p, *_BATCH, POINTER(LossSettings), c_void_p]),
    "histogram_scale": (_STATUS, [c_void_p, c_double]),
    "histogram_merge": (_STATUS, [c_void_p, c_void_p]),
    "histogram_counts": (c_void_p, [c_void_p, POINTER(c_size_t), POINTER(c_size_t)]),
    "histogram_delta": (c_double, [c_void_p]),
    "histogram_solve": (_STATUS, [c_void_p, POINTER(LossSettings), _DOUBLE, c_void_p]),
    "histogram_gradient": (
        _STATUS,
        [c_void_p, *_BATCH, POINTER(Gradient), POINTER(LossSettings), c_void_p],
    ),
    # prox.h, sfm.h, certificate.h
    "prox_defaults": (ProxSettings, []),
    "prox": (
        _STATUS,
        [
            c_void_p,
            c_void_p,
            c_double,
            c_void_p,
            c_void_p,
            POINTER(ProxSettings),
            POINTER(ProxInfo),
            c_void_p,
        ],
    ),
    "prox_max_affine": (
        _STATUS,
        [
            c_size_t,
            c_size_t,
            c_void_p,
            c_void_p,
            c_void_p,
            c_double,
            c_void_p,
            c_void_p,
            POINTER(ProxInfo),
            c_void_p,
        ],
    ),
    "prox_lovasz_hinge": (
        _STATUS,
        [
            POINTER(Scores),
            POINTER(Labels),
            c_double,
            POINTER(Gradient),
            POINTER(Gradient),
            POINTER(ProxInfo),
            POINTER(LossSettings),
            c_void_p,
        ],
    ),
    "sfm_defaults": (SfmSettings, []),
    "sfm": (
        _STATUS,
        [c_void_p, c_void_p, c_void_p, c_void_p, POINTER(SfmSettings), POINTER(SfmInfo), c_void_p],
    ),
    "combination_create": (_STATUS, [_HANDLE]),
    "combination_free": (None, [c_void_p]),
    "combination_count": (c_size_t, [c_void_p]),
    "combination_size": (c_size_t, [c_void_p]),
    "combination_order": (c_void_p, [c_void_p, c_size_t]),
    "combination_weight": (c_double, [c_void_p, c_size_t]),
    "combination_set": (_STATUS, [c_void_p, c_size_t, c_size_t, c_void_p, c_void_p]),
    "certificate_check": (
        _STATUS,
        [c_void_p, c_void_p, c_double, c_void_p, c_void_p, c_void_p, POINTER(CertificateReport)],
    ),
    # optim.h
    "problem_clear": (None, [POINTER(Problem)]),
    "problem_max_affine": (_STATUS, [c_size_t, c_size_t, c_void_p, c_void_p, POINTER(Problem)]),
    "step_gd": (_STATUS, [c_size_t, _HANDLE]),
    "step_momentum": (_STATUS, [c_size_t, c_double, _HANDLE]),
    "step_nesterov": (_STATUS, [c_size_t, c_double, _HANDLE]),
    "step_adam": (_STATUS, [c_size_t, POINTER(AdamSettings), _HANDLE]),
    "step_free": (None, [c_void_p]),
    "schedule_check": (_STATUS, [POINTER(Schedule)]),
    "schedule_eta": (c_double, [POINTER(Schedule), c_size_t]),
    "descent_defaults": (DescentSettings, []),
    "descend": (
        _STATUS,
        [
            POINTER(Problem),
            c_void_p,
            c_void_p,
            POINTER(DescentSettings),
            POINTER(OptimInfo),
            c_void_p,
        ],
    ),
    "fista_defaults": (FistaSettings, []),
    "fista": (
        _STATUS,
        [POINTER(Problem), c_void_p, POINTER(FistaSettings), POINTER(OptimInfo), c_void_p],
    ),
    "bundle_defaults": (BundleSettings, []),
    "bundle": (
        _STATUS,
        [POINTER(Problem), c_void_p, POINTER(BundleSettings), POINTER(OptimInfo), c_void_p],
    ),
    # metric.h
    "metric_defaults": (MetricSettings, []),
    "confusion_counts": (c_void_p, [c_void_p]),
    "miou_create": (_STATUS, [c_size_t, _HANDLE, POINTER(MetricSettings)]),
    "miou_free": (None, [c_void_p]),
    "miou_add": (_STATUS, [c_void_p, POINTER(Labels), POINTER(Labels)]),
    "miou_merge": (_STATUS, [c_void_p, c_void_p]),
    "miou_reset": (None, [c_void_p]),
    "miou_get": (_STATUS, [c_void_p, POINTER(MiouValues)]),
    "miou_confusion": (c_void_p, [c_void_p]),
    "equibatch_create": (
        _STATUS,
        [c_size_t, c_void_p, c_void_p, c_size_t, c_uint64, _HANDLE],
    ),
    "equibatch_free": (None, [c_void_p]),
    "equibatch_next": (_STATUS, [c_void_p, POINTER(c_int32), POINTER(c_int32)]),
    "equibatch_window": (c_size_t, [c_void_p]),
}


def load(path: str) -> ctypes.CDLL:
    try:
        library = ctypes.CDLL(path)
    except OSError as error:
        raise ImportError(
            f"{path} cannot be loaded: {error}. `pip install .` in the source tree builds it; "
            "it needs OpenBLAS and LAPACKE (Debian: libopenblas0 liblapacke)"
        ) from error
    for name, (result, arguments) in _PROTOTYPES.items():
        function = getattr(library, "submod_" + name)
        function.restype, function.argtypes = result, arguments
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


def call(name: str, *arguments: Any) -> int:
    """submod_<name>(..): its status if that is 0 or positive, else an exception."""
    status: int = function(name)(*arguments)
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

    def __init__(self, name: str, *arguments: Any, free: str) -> None:
        self.lock = threading.RLock()
        self._as_parameter_: c_void_p | None = None  # what ctypes passes for this object
        self._free = function(free)
        handle = c_void_p()
        call(name, *arguments_before(arguments, ctypes.byref(handle)))
        self._as_parameter_ = handle

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


def arguments_before(arguments: tuple[Any, ...], out: Any) -> tuple[Any, ...]:
    """Outputs come after inputs and before settings: OUT marks the place, the default is last."""
    if any(argument is OUT for argument in arguments):
        return tuple(out if argument is OUT else argument for argument in arguments)
    return (*arguments, out)


OUT = object()


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
    call("set_num_threads", whole(threads, "threads", c_int))


# OpenMP's threads are not there after a fork, and it would wait for them for ever.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=lambda: set_num_threads(1))


def get_num_threads() -> int:
    count: int = function("get_num_threads")()
    return count


class GpuAvailability(NamedTuple):
    """True in a condition when there is a device that can be used."""

    available: bool
    devices: int
    reason: str  # the library's words, empty when a device is available

    def __bool__(self) -> bool:
        return self.available


def gpu_available() -> GpuAvailability:
    """Whether CUDA tensors can be used, how many devices there are and, if none, why. The first
    call initialises the devices, which takes time."""
    devices = c_int()
    available = function("gpu_available")(ctypes.byref(devices)) == _errors.OK
    return GpuAvailability(available, devices.value, "" if available else last_error())


def version() -> str:
    text: bytes = function("version_string")()
    return text.decode()


def isa() -> str:
    """The instruction set that the loops use: "baseline", "avx2" or "avx512". It is the largest
    that the machine has; the environment variable SUBMOD_ISA, set before Python starts, asks for
    less."""
    text: bytes = function("isa")()
    return text.decode()
