"""Greedy maximisation: maximize.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from ._arrays import elements
from ._bindings import MaximizeInfo, MaximizeMethod, MaximizeSettings
from ._door import choices, pick
from ._library import function, status_string, warn
from ._numbers import set_fields, whole

METHODS = choices(MaximizeMethod)


@dataclass(frozen=True)
class MaximizeResult:
    """A set of at most k elements, in the order in which they were added, with their gains.

    bound: no such set has a larger value, if F is monotone and submodular; ratio: the share of
    bound - F(empty) that the set reaches. guarantee: the share of the best set that the method
    promises in advance, in expectation if it is stochastic. monotone and submodular are False when
    a gain showed it; then the guarantee is 0 and the bound may be inf, as it is when nothing is
    proved. evaluations: gains asked for to choose the set; the bound took bound_evaluations more.
    """

    set: npt.NDArray[np.int32]
    gains: npt.NDArray[np.float64]
    value: float
    bound: float
    ratio: float
    guarantee: float
    monotone: bool
    submodular: bool
    method: str
    evaluations: int
    bound_evaluations: int
    seconds: float
    status: str


def maximize(
    function_call: Callable[..., int],
    n: int,
    k: int,
    method: str,
    candidates: Iterable[int] | None,
    **limits: Any,
) -> MaximizeResult:
    """limits: fields of submod_maximize_settings; None stands for the default."""
    settings: MaximizeSettings = function("maximize_defaults")()
    settings.method = pick("method", method, METHODS)
    set_fields(settings, limits)
    # An empty list still has an address, which says that it is one.
    asked = None if candidates is None else elements(candidates, "candidates", n)
    count = n if asked is None else asked.size
    most = min(whole(k, "k"), count)
    chosen, gains = np.empty(most, np.int32), np.empty(most)
    size, info = ctypes.c_size_t(), MaximizeInfo()
    among = {"candidates": asked, "ncandidates": count}
    outputs = {"set": chosen, "gains": gains, "size": ctypes.byref(size), "info": info}
    status = function_call("maximize", k=most, **among, **outputs, settings=settings)
    warn(status, f"maximize, {size.value} elements", stacklevel=4)
    return MaximizeResult(
        chosen[: size.value].copy(),
        gains[: size.value].copy(),
        info.value,
        info.bound,
        info.ratio,
        info.guarantee,
        bool(info.monotone),
        bool(info.submodular),
        MaximizeMethod(info.method).name.lower(),
        info.evaluations,
        info.bound_evaluations,
        info.seconds,
        status_string(status),
    )
