"""Proximal operators, minimisation and their certificates: prox.h, sfm.h, certificate.h."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from ._arrays import as_array, int32, vector
from ._bindings import (
    CertificateReport,
    ProxInfo,
    ProxMethod,
    ProxSettings,
    SfmInfo,
    SfmMethod,
    SfmSettings,
)
from ._door import choices, pick
from ._interruptible import call_interruptibly
from ._library import Handle, call, function, status_string, warn
from ._numbers import real, set_fields

Vector = npt.NDArray[np.float64]
Members = npt.NDArray[np.int32]
FunctionCall = Callable[..., int]  # Function._call_long

PROX_METHODS = choices(ProxMethod)
SFM_METHODS = choices(SfmMethod)


@dataclass(frozen=True)
class Certificate:
    """A base as a convex combination of greedy vectors: orders (count, n) and weights (count,)."""

    orders: Members
    weights: Vector


@dataclass(frozen=True)
class CertificateCheck:
    """What Function.verify computed from the function's values alone."""

    base_error: float  # how far s is from the certified base
    primal: float
    dual: float
    gap: float
    minimum_bound: float  # no set has F(A) below it


@dataclass(frozen=True)
class ProxResult:
    """u = argmin f(u) + lam/2 |u - x|^2 and the dual base s; |u - u*|^2 <= 2 gap / lam."""

    u: Vector
    s: Vector
    gap: float
    primal: float
    dual: float
    method: str  # the one that was used
    iterations: int
    oracle_calls: int
    seconds: float
    status: str
    certificate: Certificate | None


@dataclass(frozen=True)
class MinimizeResult:
    """A set that minimises F, value = F(set), and the base s that proves it up to gap: no set of a
    submodular F has a value below dual = F(empty) + sum of min(s, 0).

    set is the smallest and largest the largest minimiser where extremes_proved, else as good as
    was found. exact: proved optimal. Method "exhaustive" proves it for any function, the others for
    submodular ones only; see check in Function.custom."""

    set: Members
    largest: Members
    value: float
    gap: float
    dual: float
    s: Vector
    exact: bool
    extremes_proved: bool
    method: str
    iterations: int
    oracle_calls: int
    seconds: float
    status: str


class Combination(Handle):
    """A submod_combination."""

    def __init__(self, start: Certificate | None = None) -> None:
        super().__init__("combination_create", free="combination_free")
        if start is not None:
            orders = int32(start.orders, "orders")
            weights = vector(start.weights, "weights")
            if orders.ndim != 2 or orders.shape[0] != weights.size:
                raise ValueError(f"orders of shape {orders.shape} for {weights.size} weights")
            count, n = orders.shape
            arrays = {"orders": orders, "weights": weights}
            call("combination_set", combination=self, n=n, count=count, **arrays)

    def certificate(self) -> Certificate | None:
        count = function("combination_count")(self)
        n = function("combination_size")(self)
        if count == 0:
            return None
        orders, weights = np.empty((count, n), np.int32), np.empty(count)
        for k in range(count):
            address = function("combination_order")(self, k)
            ctypes.memmove(orders[k].ctypes.data, address, orders[k].nbytes)
            weights[k] = function("combination_weight")(self, k)
        return Certificate(orders, weights)


def name_of(value: int, choices: dict[str, int]) -> str:
    return next((name for name, number in choices.items() if number == value), str(value))


def prox(
    function_call: FunctionCall,
    n: int,
    x: Any,
    lam: float,
    method: str,
    hinge: bool,
    start: Certificate | None,
    **limits: Any,
) -> ProxResult:
    """limits: fields of submod_prox_settings; None stands for the default."""
    settings: ProxSettings = function("prox_defaults")()
    settings.method = pick("method", method, PROX_METHODS)
    settings.hinge = hinge
    set_fields(settings, limits)
    combination = Combination(start)
    settings.combination = combination._as_parameter_
    point, u, s = vector(x, "x", n), np.empty(n), np.empty(n)
    info = ProxInfo()
    arguments = {"x": point, "lam": real(lam, "lam"), "settings": settings}
    status = function_call("prox", u=u, s=s, info=info, **arguments)
    warn(status, f"prox, gap {info.gap:.3g}", stacklevel=4)
    return ProxResult(
        u,
        s,
        info.gap,
        info.primal,
        info.dual,
        name_of(info.method, PROX_METHODS),
        info.iterations,
        info.oracle_calls,
        info.seconds,
        status_string(status),
        combination.certificate(),
    )


def minimize(function_call: FunctionCall, n: int, method: str, **limits: Any) -> MinimizeResult:
    """limits: fields of submod_sfm_settings; None stands for the default."""
    settings: SfmSettings = function("sfm_defaults")()
    settings.method = pick("method", method, SFM_METHODS)
    set_fields(settings, limits)
    smallest, largest, s = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n)
    info = SfmInfo()
    outputs = {"smallest": smallest, "largest": largest, "s": s, "info": info}
    status = function_call("sfm", settings=settings, **outputs)
    warn(status, f"minimize, gap {info.gap:.3g}", stacklevel=4)
    sets = [np.flatnonzero(flags).astype(np.int32) for flags in (smallest, largest)]
    return MinimizeResult(
        sets[0],
        sets[1],
        info.value,
        info.gap,
        info.dual,
        s,
        bool(info.exact),
        bool(info.extremes_proved),
        name_of(info.method, SFM_METHODS),
        info.iterations,
        info.oracle_calls,
        info.seconds,
        status_string(status),
    )


def verify(
    function_call: FunctionCall,
    n: int,
    x: Any,
    lam: float,
    u: Any,
    s: Any,
    certificate: Certificate | None,
) -> CertificateCheck:
    if certificate is None:
        raise ValueError("certificate is None: the method that was used has no certificate")
    combination, report = Combination(certificate), CertificateReport()
    point, primal, dual = vector(x, "x", n), vector(u, "u", n), vector(s, "s", n)
    claimed = {"u": primal, "s": dual, "combination": combination}
    objective = {"x": point, "lam": real(lam, "lam")}
    function_call("certificate_check", **objective, **claimed, report=report)
    return CertificateCheck(
        report.base_error, report.primal, report.dual, report.gap, report.minimum_bound
    )


def prox_max_affine(a: Any, b: Any, x: Any, lam: float) -> tuple[Vector, float]:
    """u = argmin over u of max_j (<a_j, u> + b_j) + lam/2 |u - x|^2, and its gap. b may be None."""
    matrix = np.ascontiguousarray(as_array(a), dtype=np.float64)
    if matrix.ndim != 2:
        raise ValueError(f"a of shape {matrix.shape}; a matrix is needed")
    m, n = matrix.shape
    offset = np.zeros(m) if b is None else vector(b, "b", m)
    point, u, info = vector(x, "x", n), np.empty(n), ProxInfo()
    planes = {"m": m, "n": n, "a": matrix, "b": offset}
    objective = {"x": point, "lam": real(lam, "lam")}
    status = call_interruptibly((), "prox_max_affine", **planes, **objective, u=u, info=info)
    warn(status, f"prox_max_affine, gap {info.gap:.3g}")
    return u, info.gap
