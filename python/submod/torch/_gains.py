"""What pixels add to a measure, as tensor expressions: the closed forms of
src/submod/measures/gain.h, and differences of the values of any other measure.

P, N: pixels of the foreground and of the background; a, b: wrong ones that come before; t: so many
more of one label, and what each of them adds on average is returned, 0 where there are none. All
are integers, in units of a power of two where pixels have weights: what is added and subtracted
stays exact, and only then becomes real.
"""

from __future__ import annotations

import math
from typing import Any, Callable, NamedTuple

import torch
from torch import Tensor

from .._measure_check import check_measure_once
from .._measures import Measure, Tversky

# What F(0, 0) may be off by.
_ROUNDING = {torch.float64: 1e-12, torch.float32: 1e-6}


def real_type(tensor: Tensor) -> torch.dtype:
    """float64 where the device has it. Without it losses are off by some 1e-6."""
    return torch.float32 if tensor.device.type == "mps" else torch.float64


class Totals(NamedTuple):
    """Of a segment, broadcast over its pixels or bins."""

    P: Tensor
    N: Tensor
    unit: float = 1.0  # what 1 stands for, where only ratios matter: at most 1 for a pixel
    power: Tensor | None = None  # (groups, 1, 1): the size of 1 for a custom measure; None means 1

    def real(self, count: Tensor) -> Tensor:
        number = count.to(real_type(count))
        return number if self.unit == 1 else number * self.unit

    def given(self, count: Tensor) -> Tensor:
        number = self.real(count)
        return number if self.power is None else number * self.power


def gain(
    measure: Measure, total: Totals, a: Tensor, b: Tensor, t: Tensor, background: Tensor
) -> Tensor:
    """background: which label the t have."""
    if measure == "jaccard":
        found = _jaccard(total, a, b, t, background)
    elif measure == "hamming":
        found = 1 / total.real(total.P + total.N)
    elif isinstance(measure, Tversky):
        found = _tversky(measure, total, a, b, t, background)
    else:
        assert callable(measure)
        found = _differences(measure, total, a, b, t, background)
    return torch.where(t > 0, found, 0)


def _jaccard(total: Totals, a: Tensor, b: Tensor, t: Tensor, background: Tensor) -> Tensor:
    """Without foreground the first t pixels share the 1."""
    union = total.P + b
    U, some = total.real(union), union > 0
    of_background = torch.where(some, total.real(total.P - a) / (U * total.real(union + t)), 0)
    of_background = torch.where(some, of_background, 1 / total.real(t))
    return torch.where(background, of_background, 1 / U)


def _tversky(
    measure: Tversky, total: Totals, a: Tensor, b: Tensor, t: Tensor, background: Tensor
) -> Tensor:
    alpha, beta = measure.alpha, measure.beta
    P, times = total.real(total.P), total.real(t)
    D = P + (beta - 1) * total.real(a) + alpha * total.real(b)
    of_background = alpha * total.real(total.P - a) / (D * (D + alpha * times))
    of_background = torch.where(D > 0, of_background, 1 / times if alpha > 0 else 0)
    of_foreground = (beta * P + alpha * total.real(b)) / (D * (D + (beta - 1) * times))
    return torch.where(background, of_background, of_foreground)


def check_of_tensors(F: Callable[..., Any], pixels: int) -> None:
    """Checks a measure after its first use, with tensors in CPU memory. Assumes as many foreground
    as background pixels, because reading the actual numbers would wait for the device."""

    def evaluate(a: Any, b: Any, P: float, N: float) -> Any:
        a, b = torch.from_numpy(a), torch.from_numpy(b)
        return F(a, b, torch.full_like(a, P), torch.full_like(b, N))

    check_measure_once(F, pixels // 2, pixels // 2, evaluate)


def _differences(
    F: Callable[..., Any], total: Totals, a: Tensor, b: Tensor, t: Tensor, background: Tensor
) -> Tensor:
    P, N = total.given(total.P), total.given(total.N)

    def value(a: Tensor, b: Tensor) -> Tensor:
        a, b = total.given(a), total.given(b)
        a, b = a + torch.zeros_like(b), b + torch.zeros_like(a)  # of one shape
        found = torch.as_tensor(F(a, b, P, N), dtype=a.dtype, device=a.device)
        # 0 / 0 is 0; another number than 0 is refused, as on the CPU.
        nothing = torch.where(found.abs() > _ROUNDING[a.dtype], math.nan, 0)
        return torch.where((a == 0) & (b == 0), nothing, found)

    after = value(torch.where(background, a, a + t), torch.where(background, b + t, b))
    return (after - value(a, b)) / total.real(t)
