"""A convex surrogate for losses that are not submodular, such as Dice: surrogate.h."""

from __future__ import annotations

import ctypes
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ._arrays import flags
from ._bindings import Measure as Struct
from ._bindings import SurrogateInfo
from ._callbacks import Trap, call_trapped
from ._door import flag
from ._library import function, workspace
from ._measures import as_measure, measure_struct
from ._numbers import as_array, real, real_array, whole


class Surrogate(NamedTuple):
    value: float
    gradient: npt.NDArray[np.float64]  # a subgradient by the errors, of their shape
    submodular: float  # the two parts of the value
    supermodular: float


class MeasureParts(NamedTuple):
    """Tables (P + 1, N + 1): entry [a, b] for a wrong foreground and b wrong background pixels."""

    submodular: npt.NDArray[np.float64]
    supermodular: npt.NDArray[np.float64]


def _struct(measure: Any) -> tuple[Struct, tuple[Trap, ...]]:
    """Also for measures that the losses refuse: "dice", and a pair (alpha, beta) for Tversky."""
    if isinstance(measure, str) and measure == "dice":
        measure = (0.5, 0.5)
    if isinstance(measure, tuple) and len(measure) == 2:
        alpha, beta = real(measure[0], "alpha"), real(measure[1], "beta")
        struct: Struct = function("measure_tversky")(alpha, beta)
        return struct, ()
    return measure_struct(as_measure(measure))


def general_surrogate(
    errors: Any, labels: Any, *, measure: Any = "dice", hinge: bool = False
) -> Surrogate:
    """The convex surrogate of Yu and Blaschko (2016) at errors of any shape, all of one image:
    1 where a pixel is wrong, 0 where it is right, such as |label - probability|. labels: nonzero
    for the foreground. It equals the loss where all errors are 0 or 1, and is convex.

    measure: "dice"; a pair (alpha, beta) for the Tversky loss, beta > 0; or what the Lovász losses
    take: "jaccard", "hamming", submod.Tversky, a function F(a, b, P, N), submodular or not.
    hinge: for margins 1 -+ score rather than errors: the submodular part is cut off at 0.
    """
    m, given = real_array(errors, "errors"), as_array(labels, "labels")
    if given.shape != m.shape:
        raise ValueError(f"labels of shape {given.shape} for errors of shape {m.shape}")
    foreground = flags(given, "labels")
    struct, traps = _struct(measure)
    settings = function("surrogate_defaults")()
    settings.hinge = flag(hinge, "hinge")
    value, info, gradient = ctypes.c_double(), SurrogateInfo(), np.empty(m.shape)
    call_trapped(
        traps,
        "general_surrogate",
        measure=struct,
        labels=foreground,
        errors=m,
        n=m.size,
        value=ctypes.byref(value),
        gradient=gradient,
        settings=settings,
        info=info,
        work=workspace(),
    )
    return Surrogate(value.value, gradient, info.submodular, info.supermodular)


def measure_parts(measure: Any, P: int, N: int) -> MeasureParts:
    """A measure as the sum of a submodular and a supermodular one, for P foreground and N
    background pixels. measure: as in general_surrogate."""
    struct, traps = _struct(measure)
    shape = (whole(P, "P") + 1, whole(N, "N") + 1)
    if shape[0] * shape[1] > 1 << 26:
        shape = (1, 1)  # the library says what is wrong with it
    parts = MeasureParts(np.empty(shape), np.empty(shape))
    call_trapped(
        traps,
        "general_parts",
        measure=struct,
        P=P,
        N=N,
        submodular=parts.submodular,
        supermodular=parts.supermodular,
        work=workspace(),
    )
    return parts
