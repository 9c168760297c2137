"""Proximal operators, minimisation and their certificates: prox.h."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from ._arrays import edge_ends, int32, matrix, vector
from ._bindings import (
    CertificateReport,
    Combination,
    ProxDerivatives,
    ProxInfo,
    ProxMethod,
    ProxPoint,
    ProxSettings,
    SfmInfo,
    SfmMethod,
    SfmSettings,
)
from ._callbacks import call_trapped, put_callback
from ._door import choices, flag, pick
from ._errors import NonFiniteError
from ._interruptible import call_interruptibly, poll
from ._library import Immutable, call, function, status_string, warn
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
class Blocks:
    """Where u is constant, and the function holds it together: prox.h, derivatives.

    block[i] is the number of the block of element i, from the highest value down; BLOCK_HELD = -1
    for an element that the hinge holds at 0, BLOCK_FREE = -2 for one below the hinge."""

    block: Members
    values: Vector  # of each block, from x and F: more exact than an approximate u
    error: float  # the largest difference between u and values

    def __len__(self) -> int:
        return self.values.size


@dataclass(frozen=True)
class ProxVjp:
    """The derivatives of <v, u> by what u, a prox, depends on."""

    by_x: Vector
    by_lam: float
    by_modular: Vector  # by w in F + w
    by_weights: Vector | None  # of the edges that were asked for
    by_functions: list[float]  # by t in F + t G, for each G that was asked for


@dataclass(frozen=True)
class ProxProblem(Immutable):
    """What a result is the answer to. Functions cannot be pickled: results that were have none."""

    call: FunctionCall | None
    x: Vector
    lam: float
    hinge: bool

    def __reduce_ex__(self, _: Any) -> Any:
        return ProxProblem, (None, self.x, self.lam, self.hinge)


@dataclass(frozen=True)
class ProxResult:
    """u = argmin f(u) + lam/2 |u - x|^2 and the dual base s; |u - u*|^2 <= 2 gap / lam."""

    u: Vector
    s: Vector
    gap: float
    primal: float
    dual: float
    error: float  # with accuracy: how far any entry of u can be off
    method: str  # the one that was used
    iterations: int
    oracle_calls: int
    seconds: float
    status: str
    certificate: Certificate | None
    _problem: ProxProblem = field(repr=False, compare=False)

    @cached_property
    def blocks(self) -> Blocks:
        """The blocks of constant u: what the derivative is made of."""
        return find_blocks(self._problem, self.u)

    def vjp(
        self, v: Any, *, edges: Any = None, directed: bool = False, functions: Iterable[Any] = ()
    ) -> ProxVjp:
        """The derivatives of <v, u> by x, lam, and w in F + w; by the weights of edges, given as in
        Function.cut, if the cut is F or a term of it with coefficient 1; and by t in F + t G for
        each G of functions, such as the terms of a sum. Where u has none: docs/mathematics.md."""
        return vjp(self, v, edges, directed, functions)


@dataclass(frozen=True)
class ProxPath:
    """The prox at one x for many lams: row k of u and s belongs to lams[k]. path[k] is a
    ProxResult."""

    lams: Vector
    u: Vector
    s: Vector
    gap: Vector
    iterations: npt.NDArray[np.int64]
    status: str  # the worst
    _results: list[ProxResult] = field(repr=False, compare=False)

    def __len__(self) -> int:
        return len(self._results)

    def __getitem__(self, k: int) -> ProxResult:
        return self._results[k]


@dataclass(frozen=True)
class LevelSets:
    """Row k of smallest and largest: flags of the smallest and largest minimiser of
    F(A) - lam sum over A of (x - alphas[k]). After an iterative method they enclose all
    minimisers."""

    smallest: npt.NDArray[np.bool_]
    largest: npt.NDArray[np.bool_]
    gap: float
    method: str
    status: str


@dataclass(frozen=True)
class MinimizeResult:
    """A set that minimises F, value = F(set), and the base s that proves it up to gap: no set of a
    submodular F has a value below dual = F(empty) + sum of min(s, 0).

    set is the smallest and largest the largest minimiser where extremes_proved, else as good as
    was found. exact: proved optimal. Method "exhaustive" proves it for any function, the others for
    submodular ones only; see check in Function.custom. An exact result causes no AccuracyWarning; a
    status other than "ok" then applies to s, dual and gap only."""

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


class _Orders:
    """A submod_combination: a start in arrays, or a result of the library, which frees it."""

    def __init__(self, start: Certificate | None = None) -> None:
        self.struct = Combination()
        self._arrays: tuple[Any, ...] = ()
        if start is not None:
            orders = np.ascontiguousarray(int32(start.orders, "orders"))
            weights = np.ascontiguousarray(vector(start.weights, "weights"))
            if orders.ndim != 2 or orders.shape[0] != weights.size:
                raise ValueError(f"orders of shape {orders.shape} for {weights.size} weights")
            if weights.size and np.isfinite(weights).all() and weights.sum() > 0:
                weights = weights / weights.sum()
            count, n = orders.shape
            self._arrays = (orders, weights)
            self.struct = Combination(n, count, orders.ctypes.data, weights.ctypes.data)

    def certificate(self) -> Certificate | None:
        n, count = self.struct.n, self.struct.count
        if count == 0:
            return None
        orders, weights = np.empty((count, n), np.int32), np.empty(count)
        ctypes.memmove(orders.ctypes.data, self.struct.orders, orders.nbytes)
        ctypes.memmove(weights.ctypes.data, self.struct.weights, weights.nbytes)
        return Certificate(orders, weights)

    def __del__(self) -> None:
        if not getattr(self, "_arrays", True):
            function("combination_free")(ctypes.byref(self.struct))


def name_of(value: int, choices: dict[str, int]) -> str:
    return next((name for name, number in choices.items() if number == value), str(value))


def _settings(method: str, hinge: bool, limits: dict[str, Any]) -> ProxSettings:
    """limits: fields of submod_prox_settings; None stands for the default."""
    settings: ProxSettings = function("prox_defaults")()
    settings.method = pick("method", method, PROX_METHODS)
    settings.hinge = flag(hinge, "hinge")
    set_fields(settings, limits)
    return settings


def _result(
    problem: ProxProblem,
    u: Vector,
    s: Vector,
    info: ProxInfo,
    status: int,
    certificate: Certificate | None,
) -> ProxResult:
    return ProxResult(
        u,
        s,
        info.gap,
        info.primal,
        info.dual,
        info.error,
        name_of(info.method, PROX_METHODS),
        info.iterations,
        info.oracle_calls,
        info.seconds,
        status_string(status),
        certificate,
        problem,
    )


class _Progress:
    """Puts progress into the settings for the call inside the with block. The callback cannot
    return an error, so an exception in progress cancels the call by polling, and
    is raised again when the call has ended."""

    def __init__(
        self, settings: ProxSettings, progress: Callable[[int, float], None] | None
    ) -> None:
        self._progress = progress
        self._raised: BaseException | None = None
        self._cancel = ctypes.create_string_buffer(b"1")
        self._thread = 0
        if progress is not None:
            put_callback(settings, "progress", self._call)

    def _call(self, _: Any, iterations: int, gap: float) -> None:
        assert self._progress is not None
        try:
            if self._raised is None:
                self._progress(iterations, gap)
        except BaseException as error:
            self._raised, self._thread = error, threading.get_ident()
            poll(self._cancel)

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: Any) -> None:
        if self._raised is None:
            return
        if self._thread == threading.get_ident():  # else the thread of the call has ended
            poll(None)
        raise self._raised


def _solve(
    problem: ProxProblem, settings: ProxSettings, start: Certificate | None
) -> tuple[ProxResult, int]:
    assert problem.call is not None
    given, found, n = _Orders(start), _Orders(), problem.x.size
    settings.start = ctypes.pointer(given.struct)
    settings.combination = ctypes.addressof(found.struct)
    u, s, info = np.empty(n), np.empty(n), ProxInfo()
    arguments = {"x": problem.x, "lam": problem.lam, "settings": settings}
    status = problem.call("prox", u=u, s=s, info=info, **arguments)
    return _result(problem, u, s, info, status, found.certificate()), status


def prox(
    function_call: FunctionCall,
    n: int,
    x: Any,
    lam: float,
    method: str,
    hinge: bool,
    start: Certificate | None,
    progress: Callable[[int, float], None] | None = None,
    **limits: Any,
) -> ProxResult:
    settings = _settings(method, hinge, limits)
    problem = ProxProblem(function_call, vector(x, "x", n).copy(), real(lam, "lam"), bool(hinge))
    with _Progress(settings, progress):
        result, status = _solve(problem, settings, start)
    warn(status, f"prox, gap {result.gap:.3g}", stacklevel=4)
    return result


# A base for one lam helps with the next if they are this close. Measured on log-det functions of
# 120 and 200 elements, iterations saved: 2.2 times fewer at a ratio of 1.005, 1.4 at 1.1, 1.0 to
# 1.4 at 1.2, nothing or less than nothing at 2.
NEAR = 1.25


def prox_path(
    function_call: FunctionCall, n: int, x: Any, lams: Any, method: str, hinge: bool, **limits: Any
) -> ProxPath:
    settings = _settings(method, hinge, limits)
    point, lam = vector(x, "x", n).copy(), vector(lams, "lams").copy()
    results: list[ProxResult] = []
    worst = 0
    for k in range(lam.size):
        near = k > 0 and lam[k - 1] <= NEAR * lam[k] and lam[k] <= NEAR * lam[k - 1]
        start = results[-1].certificate if near else None
        problem = ProxProblem(function_call, point, float(lam[k]), bool(hinge))
        result, status = _solve(problem, settings, start)
        results.append(result)
        worst = max(worst, status)
    u = np.array([result.u for result in results]).reshape(lam.size, n)
    s = np.array([result.s for result in results]).reshape(lam.size, n)
    gap = np.array([result.gap for result in results], np.float64)
    warn(worst, f"prox_path, gap {gap.max(initial=0):.3g}", stacklevel=4)
    iterations = np.array([result.iterations for result in results], np.int64)
    return ProxPath(lam, u, s, gap, iterations, status_string(worst), results)


def level_sets(result: ProxResult, alphas: Any) -> LevelSets:
    """Thresholds u at alphas, allowing for its error: rounding, and the gap if iterative."""
    alpha = vector(alphas, "alphas")[:, None]
    if not np.isfinite(alpha).all():
        raise NonFiniteError("alphas must be finite")
    lam, x = result._problem.lam, result._problem.x
    size = np.abs(x).max(initial=0) + np.abs(result.s).max(initial=0) / lam
    error = 8 * np.finfo(float).eps * size
    iterative = result.method in ("sum", "min_norm")
    if iterative or result.method.startswith("algorithm_2") or result.status != "ok":
        error += np.sqrt(2 * max(result.gap, 0) / lam)
    smallest, largest = result.u > alpha + error, result.u >= alpha - error
    return LevelSets(smallest, largest, result.gap, result.method, result.status)


def find_blocks(problem: ProxProblem, u: Vector) -> Blocks:
    if problem.call is None:
        raise ValueError("a result that was pickled has lost its function; ask for blocks before")
    settings: ProxSettings = function("prox_defaults")()
    settings.hinge = problem.hinge
    block, values, count = np.empty(u.size, np.int32), np.empty(u.size), ctypes.c_size_t()
    info = ProxInfo()
    given = {"x": problem.x, "lam": problem.lam, "u": u, "settings": settings}
    found = {"block": block, "value": values, "count": ctypes.byref(count), "info": info}
    status = problem.call("prox_blocks", **given, **found)
    warn(status, f"blocks, error {info.error:.3g}", stacklevel=5)
    return Blocks(block, values[: count.value].copy(), info.error)


def _numbers(array: Any) -> Any:
    kind = ctypes.c_int32 if array.dtype == np.int32 else ctypes.c_double
    return array.ctypes.data_as(ctypes.POINTER(kind))


def vjp(
    result: ProxResult, v: Any, edges: Any, directed: bool, functions: Iterable[Any]
) -> ProxVjp:
    n, lam = result.u.size, result._problem.lam
    block, direction = result.blocks.block, vector(v, "v", n)
    by_x, by_modular, by_lam = np.empty(n), np.empty(n), ctypes.c_double()
    point = ProxPoint(n, lam, _numbers(block), _numbers(result.u), _numbers(result.s))
    wanted = ProxDerivatives(by_x.ctypes.data, ctypes.addressof(by_lam), by_modular.ctypes.data)
    by_weights = None
    if edges is not None:
        tail, head = edge_ends(edges)
        by_weights = np.empty(tail.size)
        wanted.by_edge, wanted.edges = by_weights.ctypes.data, tail.size
        wanted.tail, wanted.head = _numbers(tail), _numbers(head)
        wanted.directed = flag(directed, "directed")
    call("prox_vjp", point=point, v=direction, derivatives=wanted)
    by_functions = [_by_function(g, n, point, direction) for g in functions]
    return ProxVjp(by_x, by_lam.value, by_modular, by_weights, by_functions)


def _by_function(g: Any, n: int, point: ProxPoint, direction: Vector) -> float:
    if getattr(g, "n", None) != n:
        raise ValueError(f"functions holds {g!r}; a Function of {n} elements is needed")
    by = ctypes.c_double()
    wanted = ProxDerivatives(by_function=ctypes.addressof(by), function=g._term(1.0).fn)
    call_trapped(g._callbacks, "prox_vjp", point=point, v=direction, derivatives=wanted)
    return by.value


def minimize(function_call: FunctionCall, n: int, method: str, **limits: Any) -> MinimizeResult:
    """limits: fields of submod_sfm_settings; None stands for the default."""
    settings: SfmSettings = function("sfm_defaults")()
    settings.method = pick("method", method, SFM_METHODS)
    set_fields(settings, limits)
    smallest, largest, s = np.empty(n, np.uint8), np.empty(n, np.uint8), np.empty(n)
    info = SfmInfo()
    outputs = {"smallest": smallest, "largest": largest, "s": s, "info": info}
    status = function_call("sfm", settings=settings, **outputs)
    if not info.exact:
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
    given, report = _Orders(certificate), CertificateReport()
    point, primal, dual = vector(x, "x", n), vector(u, "u", n), vector(s, "s", n)
    claimed = {"u": primal, "s": dual, "combination": given.struct}
    objective = {"x": point, "lam": real(lam, "lam")}
    function_call("certificate_check", **objective, **claimed, report=report)
    return CertificateCheck(
        report.base_error, report.primal, report.dual, report.gap, report.minimum_bound
    )


def prox_max_affine(a: Any, b: Any, x: Any, lam: float) -> tuple[Vector, float]:
    """u = argmin over u of max_j (<a_j, u> + b_j) + lam/2 |u - x|^2, and its gap. b may be None."""
    rows = matrix(a, "a")
    m, n = rows.shape
    offset = np.zeros(m) if b is None else vector(b, "b", m)
    point, u, info = vector(x, "x", n), np.empty(n), ProxInfo()
    planes = {"m": m, "n": n, "a": rows, "b": offset}
    objective = {"x": point, "lam": real(lam, "lam")}
    status = call_interruptibly((), "prox_max_affine", **planes, **objective, u=u, info=info)
    warn(status, f"prox_max_affine, gap {info.gap:.3g}")
    return u, info.gap
