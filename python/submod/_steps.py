"""Step rules and schedules of the optimisers: steps.h, which has the formulas and their rates."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Protocol

from . import _bindings
from ._bindings import ScheduleKind
from ._errors import InvalidArgumentError
from ._library import Handle, call, function
from ._numbers import real, set_fields, whole


class Step(Protocol):
    """What descend drives: any of the classes below."""

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""


# ---- step rules ----


@dataclass(frozen=True)
class GD:
    """x <- x - eta g"""

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return Handle("step_gd", n=n, free="step_free")


@dataclass(frozen=True)
class Momentum:
    """v <- alpha v + g, x <- x - eta v"""

    alpha: float = 0.9

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return Handle("step_momentum", n=n, alpha=real(self.alpha, "alpha"), free="step_free")


@dataclass(frozen=True)
class Nesterov:
    """v <- alpha v + g, x <- x - eta (g + alpha v)"""

    alpha: float = 0.9

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return Handle("step_nesterov", n=n, alpha=real(self.alpha, "alpha"), free="step_free")


@dataclass(frozen=True)
class Adam:
    """decay > 0: AdamW."""

    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8
    decay: float = 0.0

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        settings: _bindings.AdamSettings = function("adam_defaults")()
        set_fields(settings, vars(self))
        return Handle("step_adam", n=n, settings=settings, free="step_free")


@dataclass(frozen=True)
class AdaGrad:
    """x <- x - eta g / (sqrt(sum of g^2) + epsilon), for each coordinate."""

    epsilon: float = 1e-10

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        epsilon = real(self.epsilon, "epsilon")
        return Handle("step_adagrad", n=n, epsilon=epsilon, free="step_free")


@dataclass(frozen=True)
class AdaGradNorm:
    """x <- x - eta g / b, b^2 = b0^2 + sum of |g|^2"""

    b0: float = 0.0

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return Handle("step_adagrad_norm", n=n, b0=real(self.b0, "b0"), free="step_free")


@dataclass(frozen=True)
class DualAveraging:
    """x <- start - eta / sqrt(k) (sum of g)"""

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return Handle("step_dual_averaging", n=n, free="step_free")


def _schedule_free(name: str, n: int, given: dict[str, Any]) -> Handle:
    settings: _bindings.ScheduleFreeSettings = function("schedule_free_defaults")()
    set_fields(settings, given)
    return Handle(name, n=n, settings=settings, free="step_free")


@dataclass(frozen=True)
class ScheduleFreeSGD:
    """z <- z - eta (g + decay y), x the average of all z with weights t^power; gradients are taken
    at y = (1 - beta) z + beta x. The run reports x."""

    beta: float = 0.9
    power: float = 0.0
    decay: float = 0.0

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return _schedule_free("step_schedule_free_sgd", n, vars(self))


@dataclass(frozen=True)
class ScheduleFreeAdam:
    """ScheduleFreeSGD with gradients scaled as Adam scales them."""

    beta: float = 0.9
    power: float = 0.0
    decay: float = 0.0
    beta2: float = 0.999
    epsilon: float = 1e-8

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return _schedule_free("step_schedule_free_adam", n, vars(self))


def _around(name: str, inner: Step, n: int, **arguments: Any) -> Handle:
    """The library's rule around a rule owns it."""
    inside = inner.create(n)
    outside = Handle(name, inner=inside, **arguments, free="step_free")
    inside.disown()
    return outside


_GD = GD()


@dataclass(frozen=True)
class Averaged:
    """inner, while the run reports the average of its points, with weights that grow as k^power."""

    inner: Step = _GD
    power: float = 0.0

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return _around("step_averaged", self.inner, n, power=real(self.power, "power"))


_AVERAGED = Averaged()


@dataclass(frozen=True)
class Restarted:
    """inner, started anew from what it reports after every period steps. With the default for inner
    and Schedule.step of the same period: the restarted subgradient method."""

    period: int
    inner: Step = _AVERAGED

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        return _around("step_restarted", self.inner, n, period=whole(self.period, "period"))


# ---- schedules ----


class Schedule:
    """The step size eta_k of iteration k: made by the static methods; schedule(k) is eta_k."""

    def __init__(self, kind: int, eta: float, factor: float, power: float, period: int) -> None:
        self._struct = _bindings.Schedule()
        wanted = {"kind": kind, "eta": eta, "factor": factor, "power": power, "period": period}
        set_fields(self._struct, wanted)
        call("schedule_check", schedule=self._struct)

    def __call__(self, k: int) -> float:
        """NaN for both of Polyak's, which depend on where the run is."""
        eta: float = function("schedule_eta")(self._struct, whole(k, "k"))
        return eta

    @staticmethod
    def constant(eta: float) -> Schedule:
        return Schedule(ScheduleKind.CONSTANT, eta, 1, 1, 1)

    @staticmethod
    def step(eta: float, factor: float, period: int) -> Schedule:
        """eta factor^floor(k / period)"""
        return Schedule(ScheduleKind.STEP, eta, factor, 1, period)

    @staticmethod
    def exponential(eta: float, factor: float, period: int = 1) -> Schedule:
        """eta factor^(k / period)"""
        return Schedule(ScheduleKind.EXPONENTIAL, eta, factor, 1, period)

    @staticmethod
    def poly(eta: float, period: int, power: float = 0.9) -> Schedule:
        """eta (1 - k / period)^power"""
        return Schedule(ScheduleKind.POLY, eta, 1, power, period)

    @staticmethod
    def inverse_sqrt(eta: float, period: int = 1) -> Schedule:
        """eta / sqrt(1 + k / period)"""
        return Schedule(ScheduleKind.INVERSE_SQRT, eta, 1, 1, period)

    @staticmethod
    def inverse(eta: float, period: int = 1) -> Schedule:
        """eta / (1 + k / period)"""
        return Schedule(ScheduleKind.INVERSE, eta, 1, 1, period)

    @staticmethod
    def polyak(eta: float = 1.0) -> Schedule:
        """eta (J(x) - f_star) / |g|^2"""
        return Schedule(ScheduleKind.POLYAK, eta, 1, 1, 1)

    @staticmethod
    def stochastic_polyak(eta: float, c: float = 1.0) -> Schedule:
        """min((J_k(x) - lower_bound) / (c |g|^2), eta), J_k the minibatch; c > 1/2."""
        if not 0.5 < (c := real(c, "c")) < math.inf:
            raise InvalidArgumentError(f"c = {c}; it must be finite and > 1/2")
        return Schedule(ScheduleKind.STOCHASTIC_POLYAK, eta, 1 / c, 1, 1)
