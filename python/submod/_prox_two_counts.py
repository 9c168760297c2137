"""Proximal operators of measures, of points with weights and by histograms: prox.h."""

from __future__ import annotations

import ctypes
from typing import Any

import numpy as np
import numpy.typing as npt

from ._arrays import flags, vector
from ._bindings import ProxInfo
from ._callbacks import call_trapped
from ._library import warn, workspace
from ._measure_check import check_used
from ._measures import Measure, as_measure, measure_struct
from ._numbers import real, real_array

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
    points = {"count": count, "value": point, "foreground": foreground, "multiplicity": weight}
    outputs = {"u": u, "s": s, "info": info, "work": workspace()}
    problem = {"measure": struct, "lam": real(lam, "lam")}
    call_trapped(traps, "prox_two_counts_points", **points, **problem, **outputs)
    check_used(traps)
    return u, s, info.gap


def prox_two_counts_histogram(
    x: Any, mask: Any, lam: float, delta: float, *, measure: Measure = "jaccard"
) -> tuple[npt.NDArray[np.float32], float, float]:
    """u = argmin over u of f(u) + lam/2 |u - x|^2 up to delta, from counts in bins, without a sort:
    u, how far any of its entries can be off, and the gap. x: float32; f and mask as in
    prox_two_counts_points."""
    point = real_array(x, "x", np.float32)
    if point.ndim != 1:
        raise ValueError(f"x of shape {point.shape}; a vector is needed")
    foreground = flags(mask, "mask", point.size)
    struct, traps = measure_struct(as_measure(measure))
    u, error, info = np.empty_like(point), ctypes.c_double(), ProxInfo()
    problem = {"n": point.size, "x": point, "foreground": foreground, "measure": struct}
    numbers = {"lam": real(lam, "lam"), "delta": real(delta, "delta")}
    outputs = {"u": u, "error": ctypes.byref(error), "info": info, "work": workspace()}
    status = call_trapped(traps, "prox_two_counts_histogram", **problem, **numbers, **outputs)
    check_used(traps)
    warn(status, f"prox_two_counts_histogram, error {error.value:.3g}")
    return u, error.value, info.gap
