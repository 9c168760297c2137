"""The prox of a set function for callbacks, where it is called thousands of times."""

from __future__ import annotations

import numpy as np

from ... import Function
from .linear import Array


def short_prox(function: Function, x: Array, lam: float) -> tuple[Array, Array]:
    """u and s of Function.prox, by a plain call: that one starts a thread, which hears Ctrl-C while
    it computes. Here the run around the callback hears it."""
    point, (u, s) = np.ascontiguousarray(x, dtype=float), np.empty((2, function.n))
    function._call("prox", x=point, lam=float(lam), u=u, s=s)
    return u, s
