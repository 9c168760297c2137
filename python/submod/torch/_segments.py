"""The two engines as tensor operations, on segments: the errors of one class in one group.

Errors are (groups, classes, pixels), float32 or float64, and >= 0, with their labels and, in
integers, what each pixel counts for: 0 where it has no part. For each segment an engine returns its
loss, and for each pixel what a unit of it weighs. Nothing here waits for the device: shapes depend
on shapes.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from .._measures import Measure
from ._gains import Totals, gain


class Segments(NamedTuple):
    error: Tensor
    foreground: Tensor  # bool
    units: Tensor  # int64
    total: Totals  # (groups, classes, 1)
    share: Tensor  # (groups, classes, 1): what a class counts for; 0: nothing of it is looked at

    def shared(self, gains: Tensor) -> Tensor:
        """What pixels weigh, in the type of the errors: the sign is left to others."""
        share = self.share.view(self.share.shape + (1,) * (gains.ndim - self.share.ndim))
        return torch.where(share > 0, share * gains, 0).to(self.error.dtype)


class Bins(NamedTuple):
    number: int
    scale: Tensor | int  # bins per unit of error, a power of two


def by_counting(
    x: Segments, measure: Measure, bins: Bins, counts: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """The histogram engine. counts: those of these and of pixels elsewhere, where there are any."""
    place = bin_of(x, bins)
    counts = count(x, place, bins.number) if counts is None else counts
    value, gains = weigh_bins(counts, x.total, measure, bins)
    return value, x.shared(gains).take(place)


def bin_of(x: Segments, bins: Bins) -> Tensor:
    """As submodi_bin_of; segments one after the other, in each the background first."""
    K = bins.number
    groups, classes, _ = x.error.shape
    # Clamped as integers: what NaN is converted to, is anything.
    place = (x.error * bins.scale).to(torch.int64).clamp_(0, K - 1)
    segment = torch.arange(groups * classes, device=place.device).view(groups, classes, 1)
    return place.add_(x.foreground, alpha=K).add_(segment, alpha=2 * K)


def count(x: Segments, place: Tensor, K: int) -> Tensor:
    """(groups, classes, 2, K): background, foreground; integers, so the order does not matter."""
    groups, classes, _ = place.shape
    counts = x.units.new_zeros(groups * classes * 2 * K)
    counts.scatter_add_(0, place.flatten(), x.units.expand_as(place).flatten())
    return counts.view(groups, classes, 2, K)


def weigh_bins(
    counts: Tensor, total: Totals, measure: Measure, bins: Bins, nothing: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    """From the largest errors down, in each bin the foreground first: the losses, and what each
    pixel of a bin adds, in the shape of the counts. Counts up to nothing weigh nothing."""
    zero = counts.new_zeros(counts.shape[:-1] + (1,))
    before = torch.cat([counts[..., 1:], zero], -1).flip(-1).cumsum(-1).flip(-1)
    b, a = before.unbind(-2)
    a, b = torch.stack([a + counts[..., 1, :], a], -2), b.unsqueeze(-2)
    background = torch.arange(2, device=counts.device).view(2, 1) == 0
    power = None if total.power is None else total.power.unsqueeze(-1)
    wide = Totals(total.P.unsqueeze(-1), total.N.unsqueeze(-1), total.unit, power)
    a, b, times = torch.minimum(a, wide.P), torch.minimum(b, wide.N), counts
    if nothing is not None and callable(measure):
        times = torch.where(counts > nothing, counts, 0)
    elif nothing is not None:
        some = (wide.P + (wide.N if measure == "hamming" else b)) > nothing
        wide = wide._replace(P=torch.where(some, wide.P, 0))
        a, b = torch.where(some, a, 0), torch.where(some, b, 0)
        times = torch.where(some | (background & (counts > nothing)), counts, 0)
    gains = gain(measure, wide, a, b, times, background)
    numbers = torch.arange(bins.number, device=counts.device, dtype=gains.dtype)
    middle = (numbers + 0.5) / bins.scale
    return (middle * (total.real(counts) * gains).sum(-2)).sum(-1), gains


# By type: integers of that size, and what moves the bits of numbers >= 0 to their middle.
_BITS = {torch.float32: (torch.int32, 1 << 30), torch.float64: (torch.int64, 1 << 62)}


def by_sorting(x: Segments, measure: Measure) -> tuple[Tensor, Tensor]:
    """The exact engine. Errors are sorted by their bits, foreground first among equals; a run of
    equal keys shares what it adds."""
    integer, offset = _BITS[x.error.dtype]
    keys = (x.error.contiguous().view(integer) - offset) * 2 + x.foreground
    keys, order = keys.sort(-1, descending=True)
    foreground, error = (keys & 1).bool(), ((keys >> 1) + offset).view(x.error.dtype)
    units = x.units.expand_as(order).gather(-1, order)
    before, after = _runs(keys, units)
    a = torch.where(foreground, units, 0).cumsum(-1)
    b = torch.where(foreground, 0, units).cumsum(-1)
    # Of the run's own label what came before it; of the other all so far, as the run has none.
    a, b = torch.where(foreground, before - b, a), torch.where(foreground, b, before - a)
    gains = gain(measure, x.total, a, b, after - before, ~foreground)
    value = (error * x.total.real(units) * gains).sum(-1)
    return value, torch.empty_like(error).scatter_(-1, order, x.shared(gains))


def _runs(keys: Tensor, units: Tensor) -> tuple[Tensor, Tensor]:
    """The counts before and after the run of equal keys that each is in. Counts never fall along
    the keys, so that the last start, and the next end, are a largest and a smallest number."""
    so_far = units.cumsum(-1)
    changes = keys[..., 1:] != keys[..., :-1]
    one = changes.new_ones(keys.shape[:-1] + (1,))
    starts, ends = torch.cat([one, changes], -1), torch.cat([changes, one], -1)
    before = torch.where(starts, so_far - units, 0).cummax(-1).values
    most = torch.iinfo(so_far.dtype).max
    after = torch.where(ends, so_far, most).flip(-1).cummin(-1).values.flip(-1)
    return before, after
