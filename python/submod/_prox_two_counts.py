"""Proximal operators of measures, of points with weights and by histograms: prox.h."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import flags, vector
from ._bindings import Points, ProxInfo
from ._callbacks import call_trapped
from ._function import Function
from ._library import workspace
from ._measure_check import check_used
from ._measures import Measure, as_measure, measure_struct
from ._numbers import real

Vector = npt.NDArray[np.float64]


def prox_two_counts_points(
    x: Any, mask: Any, weights: Any, lam: float, *, measure: Measure = "jaccard"
) -> tuple[Vector, Vector, float]:
    """u = argmin over u of f(u) + lam/2 sum of weights (u - x)^2, s = lam (x - u), and the gap.
    f: the Lovász extension of the measure (as in lovasz_softmax), whose counts are sums of weights.
    A point whose weight is a whole number is as many equal pixels. weights > 0; mask: which
    points are foreground."""
    point = vector(x, "x")
    count = point.size
    foreground, weight = flags(mask, "mask", count), vector(weights, "weights", count)
    struct, traps = measure_struct(as_measure(measure))
    u, s, info = np.empty(count), np.empty(count), ProxInfo()
    arrays = [
        array.ctypes.data_as(ctypes.POINTER(kind))
        for array, kind in (
            (point, ctypes.c_double),
            (foreground, ctypes.c_uint8),
            (weight, ctypes.c_double),
        )
    ]
    outputs = {"u": u, "s": s, "info": info, "work": workspace()}
    problem = {"points": Points(count, *arrays), "measure": struct, "lam": real(lam, "lam")}
    call_trapped(traps, "prox_points", **problem, **outputs)
    check_used(traps)
    return u, s, info.gap


def prox_two_counts_histogram(
    x: Any, mask: Any, lam: float, delta: float, *, measure: Measure = "jaccard"
) -> tuple[Vector, float, float]:
    """u = argmin over u of f(u) + lam/2 |u - x|^2 up to delta, from counts in bins, without a sort:
    u, how far any of its entries can be off, and the gap. f and mask as in prox_two_counts_points;
    the same as Function.two_counts(mask, measure).prox(x, lam, accuracy=delta)."""
    point = vector(x, "x")
    if not delta > 0:
        raise ValueError(f"delta = {delta}; it must be > 0")
    function = Function.two_counts(flags(mask, "mask", point.size), measure)
    found = function.prox(point, lam, accuracy=real(delta, "delta"))
    return found.u, found.error, found.gap
