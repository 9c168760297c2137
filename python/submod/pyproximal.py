"""Lovász extensions as operators of PyProximal, for its solvers; needs PyProximal.

    from submod.pyproximal import LovaszExtension

    tv = LovaszExtension(submod.Function.cut(n, edges), sigma=0.1)
    x, z = pyproximal.optimization.primal.ADMM(pyproximal.L2(b=y), tv, x0=y, tau=1.0)

Every function of the library will do: each prox is exact or certified by a gap.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

try:
    from pyproximal.ProxOperator import ProxOperator
except ImportError as error:
    raise ImportError("submod.pyproximal needs PyProximal: pip install pyproximal") from error

from ._door import flag
from ._errors import InvalidArgumentError
from ._function import Function
from ._numbers import real, real_array

Vector = npt.NDArray[np.float64]


class LovaszExtension(ProxOperator):
    """x -> sigma f(x), f the Lovász extension of a submodular function; with hinge, of a monotone
    one, x -> sigma f(max(x, 0)). sigma > 0. options: those of Function.prox, such as method and
    tolerance.

    prox(x, tau) = argmin over u of sigma f(u) + |u - x|^2 / (2 tau). The conjugate is 0 on sigma
    times the base polytope and infinite elsewhere, so proxdual(x, tau) is the projection on it,
    whatever tau > 0 is; it is taken from the dual solution, where Moreau's identity would cancel.
    Arrays of any shape with n entries, which keep their shape."""

    def __init__(
        self, function: Function, sigma: float = 1.0, *, hinge: bool = False, **options: Any
    ) -> None:
        super().__init__(None, False)
        self.function = function
        self.sigma = _positive(sigma, "sigma")
        self.hinge = flag(hinge, "hinge")
        self.options = options

    def __call__(self, x: Any) -> float:
        point = self._vector(x)
        return self.sigma * self.function.lovasz(np.maximum(point, 0) if self.hinge else point)[0]

    def prox(self, x: Any, tau: float, **_: Any) -> Vector:
        lam = 1 / (_positive(tau, "tau") * self.sigma)
        found = self.function.prox(self._vector(x), lam, hinge=self.hinge, **self.options)
        return found.u.reshape(np.shape(x))

    def proxdual(self, x: Any, tau: float, **_: Any) -> Vector:
        _positive(tau, "tau")
        point = self._vector(x) / self.sigma
        found = self.function.prox(point, 1.0, hinge=self.hinge, **self.options)
        return self.sigma * found.s.reshape(np.shape(x))

    def _vector(self, x: Any) -> Vector:
        array = real_array(x, "x")
        if array.size != self.function.n:
            raise ValueError(f"x of shape {array.shape}; {self.function.n} numbers are needed")
        return array.reshape(-1)


def _positive(value: Any, name: str) -> float:
    number = real(value, name)
    if not 0 < number < np.inf:
        raise InvalidArgumentError(f"{name} = {number}; it must be > 0 and finite")
    return number
