"""Optimisers for piecewise-linear and other objectives J(x) = f(x) + weight_decay/2 |x|^2: optim.h.

    problem = submod.optim.nu_problem(0.1)
    result = submod.optim.descend(problem, [3.0, 1.0], 0.05, step=Momentum(0.9), f_star=0.0)

A problem says what f is: Problem(n, subgradient, ..) or max_affine(a, b). descend drives a step
rule by subgradients or by the prox direction: GD, Momentum, Nesterov, Adam, AdaGrad;
Averaged goes around any of these.
fista and bundle are methods of their own, bundle's minimum comes with a certified gap. So does that
of bcfw, block-coordinate Frank-Wolfe; primal_dual minimises
f(A x) + g(x) by proxes, and smoothed makes of a problem with a prox a smooth one.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Callable

from . import _bindings
from ._arrays import vector
from ._bindings import BatchOrder, Direction, Stop
from ._callbacks import Trap, call_trapped, put_callback
from ._door import choices, pick
from ._interruptible import call_interruptibly
from ._library import function, status_string, warn
from ._numbers import set_fields
from ._problem import (
    Composed,
    Problem,
    Vector,
    composed,
    max_affine,
    nu_problem,
    smoothed,
)
from ._prox import name_of, prox_max_affine
from ._steps import (
    GD,
    AdaGrad,
    Adam,
    Averaged,
    Momentum,
    Nesterov,
    Schedule,
    Step,
)

__all__ = [
    "GD",
    "AdaGrad",
    "Adam",
    "Averaged",
    "Momentum",
    "Nesterov",
    "Problem",
    "Result",
    "Schedule",
    "TraceLine",
    "bcfw",
    "bundle",
    "composed",
    "descend",
    "fista",
    "max_affine",
    "nu_problem",
    "primal_dual",
    "prox_max_affine",
    "smoothed",
]

DIRECTIONS, ORDERS, STOPS = choices(Direction), choices(BatchOrder), choices(Stop)
_GD = GD()


# ---- runs ----


@dataclass(frozen=True)
class TraceLine:
    """About the point x that an iteration starts from, or the answer of a rule that has one."""

    iteration: int
    x: Vector
    f: float
    gradient_norm: float
    step: float
    seconds: float
    metric: float


@dataclass(frozen=True)
class Result:
    """x is the last point, or the best one (keep_best). stop: why it ended. lower_bound and gap:
    of methods that certify, else -inf and inf. Residuals: of primal_dual, else nan."""

    x: Vector
    f: float
    stop: str
    status: str
    iterations: int
    gradient_norm: float
    lower_bound: float
    gap: float
    values: int
    gradients: int
    proxes: int
    seconds: float
    trace: list[TraceLine]
    primal_residual: float = math.nan
    dual_residual: float = math.nan


class _Run(Trap):
    """What all runs share: the settings, the trace, the call."""

    def __init__(
        self,
        problem: Problem,
        x: Any,
        settings: _bindings.RunSettings,
        trace: bool | Callable[[TraceLine], Any],
        limits: dict[str, Any],
    ) -> None:
        super().__init__()
        self.problem, self.settings = problem, settings
        self.x = vector(x, "x", problem.n).copy()
        self.lines: list[TraceLine] = []
        self._trace = trace
        set_fields(settings, limits)
        if trace:
            put_callback(settings, "trace", self._line)

    def _line(self, _: Any, raw: Any) -> int:
        """Not 0: stop. An exception stops the run too, and is raised when it has ended."""
        stop = [False]

        def record() -> None:
            stop[0] = self._record(raw.contents)

        return self.guard(record)() or int(stop[0])

    def _record(self, raw: _bindings.Trace) -> bool:
        """Whether to stop."""
        x = self.problem._point(raw.x)
        line = TraceLine(
            raw.iteration, x, raw.f, raw.gradient_norm, raw.step, raw.seconds, raw.metric
        )
        if self._trace is True:
            self.lines.append(line)
            return False
        return callable(self._trace) and bool(self._trace(line))

    def go(self, name: str, parts: dict[str, Any] | None = None, **arguments: Any) -> Result:
        """parts: what stands in the place of the problem. arguments: the settings, and what else
        this method has."""
        info = _bindings.OptimInfo()
        arguments |= parts or {"problem": self.problem._table}
        arguments |= {"x": self.x, "info": info}
        if self.problem._native and not callable(self._trace):
            status = call_interruptibly([self], name, **arguments)
        else:
            status = call_trapped((*self.problem._traps(), self), name, **arguments)
        warn(status, f"{name}, {info.iterations} iterations", stacklevel=4)
        return Result(
            self.x,
            info.f,
            name_of(info.stop, STOPS),
            status_string(status),
            info.iterations,
            info.gradient_norm,
            info.lower_bound,
            info.gap,
            info.values,
            info.gradients,
            info.proxes,
            info.seconds,
            self.lines,
            info.primal_residual,
            info.dual_residual,
        )


def descend(
    problem: Problem,
    x: Any,
    eta: float | Schedule,
    *,
    step: Step = _GD,
    direction: str = "subgradient",
    lam: float | None = None,
    order: str = "full",
    seed: int | None = None,
    trace: bool | Callable[[TraceLine], Any] = False,
    max_iterations: int | None = None,
    time_limit: float | None = None,
    f_star: float | None = None,
    tolerance: float | None = None,
    gradient_tolerance: float | None = None,
    weight_decay: float | None = None,
    keep_best: bool | None = None,
    trace_every: int | None = None,
) -> Result:
    """x <- step(x, direction), from x on, which is copied. eta: a number or a Schedule.

    direction: "subgradient", or "prox": lam (x - prox(x)), lam = 1/eta unless given.
    order: of the minibatches: "full" (none), "cyclic", "shuffled" or "random".
    Averaged takes gradients at one point and answers with another: trace and result are about the
    answer.
    trace: True: all lines are in the result; or a function of one line: true stops the run.
    Ctrl-C is then raised in the next callback, which with max_affine is this function.
    Stops after max_iterations (1000) or time_limit seconds, at J - f_star <= tolerance, or where
    the direction is no longer than gradient_tolerance.
    """
    settings: _bindings.DescentSettings = function("descent_defaults")()
    schedule = eta if isinstance(eta, Schedule) else Schedule.constant(eta)
    settings.schedule = schedule._struct
    settings.direction = pick("direction", direction, DIRECTIONS)
    settings.order = pick("order", order, ORDERS)
    set_fields(settings, {"lam": lam, "seed": seed})
    limits = {
        "max_iterations": max_iterations,
        "time_limit": time_limit,
        "f_star": f_star,
        "tolerance": tolerance,
        "gradient_tolerance": gradient_tolerance,
        "weight_decay": weight_decay,
        "keep_best": keep_best,
        "trace_every": trace_every,
    }
    run = _Run(problem, x, settings.run, trace, limits)
    return run.go("descend", step=step.create(problem.n), settings=settings)


def fista(
    problem: Problem,
    x: Any,
    *,
    lipschitz: float | None = None,
    restart: bool | None = None,
    trace: bool | Callable[[TraceLine], Any] = False,
    **limits: Any,
) -> Result:
    """Accelerated proximal gradient for a problem with a prox; limits as in descend."""
    settings: _bindings.FistaSettings = function("fista_defaults")()
    set_fields(settings, {"lipschitz": lipschitz, "restart": restart})
    return _Run(problem, x, settings.run, trace, _known(limits)).go("fista", settings=settings)


def bundle(
    problem: Problem,
    x: Any,
    *,
    radius: float | None = None,
    max_planes: int | None = None,
    lam: float | None = None,
    bmrm: bool | None = None,
    trace: bool | Callable[[TraceLine], Any] = False,
    **limits: Any,
) -> Result:
    """A minimum of a convex problem with a certified gap: f - gap is below J everywhere, or without
    weight_decay everywhere within radius of x, which is then required. limits as in descend."""
    settings: _bindings.BundleSettings = function("bundle_defaults")()
    wanted = {"radius": radius, "max_planes": max_planes, "lam": lam, "bmrm": bmrm}
    set_fields(settings, wanted)
    return _Run(problem, x, settings.run, trace, _known(limits)).go("bundle", settings=settings)


def bcfw(
    problem: Problem,
    x: Any,
    *,
    weight_decay: float,
    order: str = "shuffled",
    seed: int | None = None,
    average: bool | None = None,
    trace: bool | Callable[[TraceLine], Any] = False,
    **limits: Any,
) -> Result:
    """Block-coordinate Frank-Wolfe for a mean of convex minibatches: no step size, and a duality
    gap. An iteration is a pass over the minibatches; order as in descend.
    average: x is a weighted average of all points. limits as in descend."""
    settings: _bindings.BcfwSettings = function("bcfw_defaults")()
    settings.order = pick("order", order, ORDERS)
    set_fields(settings, {"seed": seed, "average": average})
    limits = _known(limits) | {"weight_decay": weight_decay}
    return _Run(problem, x, settings.run, trace, limits).go("bcfw", settings=settings)


def primal_dual(
    f: Problem,
    A: Any,
    x: Any,
    g: Problem | None = None,
    *,
    step: float | None = None,
    norm: float | None = None,
    radius: float | None = None,
    average: bool | None = None,
    trace: bool | Callable[[TraceLine], Any] = False,
    **limits: Any,
) -> Result:
    """min over x of f(A x) + g(x) by the method of Chambolle and Pock; f and g need a prox.

    step: of x (1 / norm); norm: not below that of the matrix A; average: x is the mean of all
    points; radius: where lower_bound holds if there is no weight_decay. trace and limits as in
    descend; gradient_tolerance is one of both residuals."""
    settings: _bindings.SplitSettings = function("split_defaults")()
    set_fields(settings, {"step": step, "norm": norm, "radius": radius, "average": average})
    whole = Composed(f, A, g)
    run = _Run(whole, x, settings.run, trace, _known(limits))
    return run.go("primal_dual", whole._parts, settings=settings)


def _known(limits: dict[str, Any]) -> dict[str, Any]:
    """A structure would take any name."""
    names = {name for name, *_ in _bindings.RunSettings._fields_} - {"trace", "trace_ctx"}
    for name in limits:
        if name not in names:
            raise TypeError(f"unknown argument {name!r}; there are {', '.join(sorted(names))}")
    return limits
