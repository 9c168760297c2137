"""Measures: what wrong pixels cost, by their counts. measure.h.

torch.compile has to be able to look into as_measure: plain Python, no ctypes.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Callable, Union

from ._bindings import Measure as Struct
from ._callbacks import MeasureCallbacks, Trap
from ._errors import InvalidArgumentError
from ._library import function
from ._numbers import real

_LARGEST = 1e12  # as measure.h has it
NAMES = ("jaccard", "hamming")


@dataclass(frozen=True)
class Tversky:
    """The Tversky loss, 1 - TP / (TP + beta FN + alpha FP): of P pixels in the foreground a are
    missed, and b of the background are taken for it: (beta a + alpha b) / (P + (beta - 1) a +
    alpha b). alpha >= 0, beta >= 1: for less than 1, as in Dice, it is not submodular.
    Tversky(1, 1) is "jaccard".

        submod.lovasz_softmax(scores, labels, measure=submod.Tversky(alpha=0.5, beta=2))
    """

    alpha: float
    beta: float

    def __post_init__(self) -> None:
        alpha, beta = real(self.alpha, "alpha"), real(self.beta, "beta")
        if not (alpha == 0 or 1 / _LARGEST <= alpha <= _LARGEST):
            raise InvalidArgumentError(
                f"alpha = {alpha:g}; it must be 0 or from {1 / _LARGEST:g} to {_LARGEST:g}"
            )
        if not 1 <= beta <= _LARGEST:
            raise InvalidArgumentError(
                f"beta = {beta:g}; it must be from 1 to {_LARGEST:g}: for less than 1, as in Dice, "
                "the Tversky loss is not submodular"
            )
        object.__setattr__(self, "alpha", alpha)
        object.__setattr__(self, "beta", beta)


class CustomMeasure:
    """A function F(a, b, P, N) as a measure. With check=False, the losses do not evaluate it at
    sampled counts after its first use, and so never issue a SubmodularityWarning.

        submod.lovasz_softmax(scores, labels, measure=submod.CustomMeasure(f, check=False))
    """

    def __init__(self, f: Callable[[Any, Any, float, float], Any], *, check: bool = True) -> None:
        if not callable(f):
            raise TypeError(f"f = {f!r}; a function F(a, b, P, N) is needed")
        if not isinstance(check, bool):
            raise TypeError(f"check = {check!r}; True or False is needed")
        self.f, self.check = f, check

    def __call__(self, a: Any, b: Any, P: float, N: float) -> Any:
        return self.f(a, b, P, N)

    def __repr__(self) -> str:
        return f"CustomMeasure({self.f!r}, check={self.check})"


Measure = Union[str, Tversky, Callable[[Any, Any, float, float], Any]]
_NEEDED = (
    "'jaccard', 'hamming', submod.Tversky(alpha=, beta=) or a function F(a, b, P, N) is needed"
)


def as_measure(value: Any, name: str = "measure") -> Measure:
    """What was given, if it is a measure."""
    if isinstance(value, str):
        if value in NAMES:
            return value
        raise ValueError(f"{name} = {value!r}; {_NEEDED}")
    if isinstance(value, Tversky) or (callable(value) and not isinstance(value, type)):
        return value
    raise TypeError(f"{name} = {value!r}; {_NEEDED}")


def measure_struct(measure: Measure, zero_is_zero: bool = True) -> tuple[Struct, tuple[Trap, ...]]:
    """For the library, and what traps the exceptions of a Python function, which the struct keeps
    alive. The traps are for the caller of the library: call_trapped. zero_is_zero: a function whose
    F(0, 0) is not 0 is refused when it is asked."""
    struct: Struct
    if isinstance(measure, str):
        struct = function(measure)()
    elif isinstance(measure, Tversky):
        struct = function("tversky")(measure.alpha, measure.beta)
    else:
        callbacks = MeasureCallbacks(measure, zero_is_zero)
        return callbacks.struct, (callbacks,)
    return struct, ()
