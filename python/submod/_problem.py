"""What the optimisers minimise: optim.h, problems."""

from __future__ import annotations

import ctypes
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from . import _bindings
from ._arrays import matrix, vector
from ._bindings import FULL_BATCH
from ._callbacks import Trap, put_callback, put_number
from ._library import Immutable, call, function
from ._numbers import real, whole

Vector = npt.NDArray[np.float64]


class Problem(Trap, Immutable):
    """f by its callbacks, for arrays x of n numbers:

    subgradient(x) -> (value, g)     required
    value(x) -> value                optional, where it is cheaper
    prox(x, lam) -> u                argmin of h(u) + lam/2 |u - x|^2, optional
    smooth(x) -> (value, g)          the smooth part of f = smooth + h, optional
    direction(x, lam) -> d           what takes the place of the prox direction, optional
    metric(x) -> number              for the trace, optional

    batches > 1: f is the mean of so many; subgradient, prox, smooth and direction get the number of
    one as an additional last argument, or None for f itself.
    """

    def __init__(
        self,
        n: int,
        subgradient: Callable[..., Any],
        *,
        value: Callable[..., Any] | None = None,
        prox: Callable[..., Any] | None = None,
        smooth: Callable[..., Any] | None = None,
        direction: Callable[..., Any] | None = None,
        metric: Callable[..., Any] | None = None,
        batches: int = 1,
    ) -> None:
        super().__init__()
        self.n, self.batches = whole(n, "n"), whole(batches, "batches")
        self._table = _bindings.Problem(dimension=self.n, batches=self.batches)
        for name, given, wrap in (
            ("subgradient", subgradient, self._slope),
            ("value", value, self._number),
            ("prox", prox, self._move),
            ("smooth", smooth, self._slope),
            ("direction", direction, self._move),
            ("metric", metric, self._number),
        ):
            if given is not None:
                put_callback(self._table, name, self.guard(wrap(given)))

    _native = False  # whether no callback is Python's

    def _traps(self) -> tuple[Trap, ...]:
        """Where exceptions of callbacks are kept."""
        return (self,)

    def _point(self, address: Any) -> Vector:
        """A copy, which may be kept and changed."""
        return np.frombuffer(bytearray(ctypes.string_at(address, 8 * self.n)))

    def _batch(self, batch: int) -> tuple[int | None, ...]:
        if self.batches <= 1:
            return ()
        return (None if batch == FULL_BATCH else batch,)

    def _put(self, found: Any, address: int) -> None:
        found = vector(found, "the result of a callback", self.n)
        ctypes.memmove(address, found.ctypes.data, found.nbytes)

    def _slope(self, given: Callable[..., Any]) -> Callable[..., None]:
        def callback(_: Any, batch: int, x: int, value: int, g: int) -> None:
            found, slope = given(self._point(x), *self._batch(batch))
            put_number(value, real(found, "the value of a callback"))
            self._put(slope, g)

        return callback

    def _number(self, given: Callable[..., Any]) -> Callable[..., None]:
        def callback(_: Any, x: int, value: int) -> None:
            put_number(value, real(given(self._point(x)), "the value of a callback"))

        return callback

    def _move(self, given: Callable[..., Any]) -> Callable[..., None]:
        def callback(_: Any, batch: int, x: int, lam: float, out: int) -> None:
            self._put(given(self._point(x), lam, *self._batch(batch)), out)

        return callback


class _Made(Problem):
    """Made by the library, of other problems or none."""

    _inner: tuple[Problem, ...] = ()

    @property
    def _native(self) -> bool:  # type: ignore[override]
        return all(inner._native for inner in self._inner)

    def _traps(self) -> tuple[Trap, ...]:
        return (self, *(trap for inner in self._inner for trap in inner._traps()))

    def __del__(self) -> None:
        if hasattr(self, "_table"):
            function("problem_clear")(ctypes.byref(self._table))


class MaxAffine(_Made):
    """The library's own, without Python in it."""

    def __init__(self, a: Any, b: Any) -> None:
        Trap.__init__(self)
        rows = matrix(a, "a")
        m, self.n = rows.shape
        self.batches = 1
        offset = np.zeros(m) if b is None else vector(b, "b", m)
        self._table = _bindings.Problem()
        call("problem_max_affine", m=m, n=self.n, a=rows, b=offset, problem=self._table)


class Smoothed(_Made):
    """A problem's Moreau envelope."""

    def __init__(self, problem: Problem, lam: float) -> None:
        Trap.__init__(self)
        self.n, self.batches, self._inner = problem.n, problem.batches, (problem,)
        self._table = _bindings.Problem()
        call("problem_smoothed", problem=problem._table, lam=lam, out=self._table)


class Composed(_Made):
    """f(A x) + g(x)."""

    def __init__(self, f: Problem, A: Any, g: Problem | None) -> None:
        Trap.__init__(self)
        self._matrix = matrix(A, "A")
        rows, self.n = self._matrix.shape
        self.batches, self._inner = f.batches, (f,) if g is None else (f, g)
        pointer = self._matrix.ctypes.data_as(ctypes.POINTER(ctypes.c_double))
        self._map = _bindings.Map(rows=rows, columns=self.n, matrix=pointer)
        self._parts = {"f": f._table, "map": self._map, "g": g._table if g else None}
        self._table = _bindings.Problem()
        call("problem_composed", **self._parts, out=self._table)


def max_affine(a: Any, b: Any = None) -> Problem:
    """f(x) = max over j of <a_j, x> + b_j, with a prox; a: one row per j."""
    return MaxAffine(a, b)


def nu_problem(nu: float) -> Problem:
    """The paper's example of bad conditioning: f(x) = max(0, nu x_1, x_2)."""
    return max_affine([[0.0, 0.0], [nu, 0.0], [0.0, 1.0]])


def smoothed(problem: Problem, lam: float) -> Problem:
    """The problem with its Moreau envelope, min over u of f(u) + lam/2 |u - x|^2, in place of f: at
    most L^2 / (2 lam) below an f with Lipschitz constant L, with a gradient that is lam-Lipschitz.
    For fista(.., lipschitz=lam). The problem needs a prox."""
    return Smoothed(problem, lam)


def composed(f: Problem, A: Any, g: Problem | None = None) -> Problem:
    """f(A x) + g(x), A a matrix, for the methods that need subgradients alone."""
    return Composed(f, A, g)
