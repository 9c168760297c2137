"""Step rules and schedules of the optimisers: steps.h, which has the formulas and their rates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from . import _bindings
from ._bindings import ScheduleKind
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


_GD = GD()


@dataclass(frozen=True)
class Averaged:
    """inner, while the run reports the average of its points, with weights that grow as k^power."""

    inner: Step = _GD
    power: float = 0.0

    def create(self, n: int) -> Handle:
        """The rule in the library, for n variables."""
        inside = self.inner.create(n)
        power = real(self.power, "power")
        outside = Handle("step_averaged", inner=inside, power=power, free="step_free")
        inside.disown()  # the rule around it owns it
        return outside


# ---- schedules ----


class Schedule:
    """The step size eta_k of iteration k: made by the static methods; schedule(k) is eta_k."""

    def __init__(self, kind: int, eta: float, factor: float, power: float, period: int) -> None:
        self._struct = _bindings.Schedule()
        wanted = {"kind": kind, "eta": eta, "factor": factor, "power": power, "period": period}
        set_fields(self._struct, wanted)
        call("schedule_check", schedule=self._struct)

    def __call__(self, k: int) -> float:
        """NaN for Polyak's, which depends on where the run is."""
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
