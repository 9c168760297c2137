"""The library's statuses as exceptions; their text is the library's own."""

from __future__ import annotations

OK, TIMELIMIT, MAXITER, INACCURATE = 0, 1, 2, 3
ECALLBACK = -4


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


class AccuracyWarning(RuntimeWarning):
    """A result is usable, but less than what was asked for; its gap says how much less."""


BY_STATUS: dict[int, type[SubmodError]] = {
    -1: InvalidArgumentError,
    -2: NonFiniteError,
    -3: OutOfMemoryError,
    ECALLBACK: CallbackError,
    -5: NumericError,
    -6: UnsupportedError,
}
