"""The library's statuses as exceptions; their text is the library's own."""

from __future__ import annotations

from ._bindings import Status


class SubmodError(Exception):
    """What all exceptions of the library are."""


class InvalidArgumentError(SubmodError, ValueError):
    """An argument is missing, out of range, duplicated or contradictory."""


class NonFiniteError(SubmodError, ValueError):
    """An input holds NaN or Inf."""


class OutOfMemoryError(SubmodError, MemoryError):
    """Memory could not be had."""


class CallbackError(SubmodError, RuntimeError):
    """A function of the user's returned NaN or Inf. Exceptions it raises come through unchanged."""


class NumericError(SubmodError, RuntimeError):
    """Numerical breakdown: not positive definite, overflow."""


class UnsupportedError(SubmodError, NotImplementedError):
    """This function, size or build has no way to do it."""


class CommunicationError(SubmodError, RuntimeError):
    """Other processes could not be reached."""


class FileError(SubmodError, OSError):
    """A file cannot be read or written, or holds something else."""


class AccuracyWarning(RuntimeWarning):
    """A result is usable, but less than what was asked for; its gap says how much less."""


class SubmodularityWarning(UserWarning):
    """A custom function or measure is not submodular, or a custom measure is not increasing.
    Results that the library computes from it may be wrong. The message contains a
    counterexample."""


BY_STATUS: dict[int, type[SubmodError]] = {
    Status.EINVAL: InvalidArgumentError,
    Status.ENONFINITE: NonFiniteError,
    Status.ENOMEM: OutOfMemoryError,
    Status.ECALLBACK: CallbackError,
    Status.ENUMERIC: NumericError,
    Status.EUNSUPPORTED: UnsupportedError,
    Status.ECOMM: CommunicationError,
    Status.EFILE: FileError,
}
