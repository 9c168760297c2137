"""A batch as tensors, with its pixels in one dimension, for the losses as tensor operations."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any, NamedTuple

import torch
from torch import Tensor

from .._options import LossOptions
from ._gains import Totals, real_type
from ._memory import as_int64
from ._ranks import Ranks
from ._segments import Segments

CHUNK = 1 << 20
IGNORED = -1
_SLACK = 1e-3  # how far rounding may carry a probability out of [0, 1]


class Batch(NamedTuple):
    """A batch with its pixels in one dimension."""

    kind: str  # as in KINDS
    v: Tensor  # what errors are made of: (batch, classes, pixels), of number_type
    codes: Tensor  # labels: (batch, 1 or classes, pixels), IGNORED where they have no part
    weights: _Weights | None  # of pixels; None: all 1
    bad: Tensor  # whether anything has to be refused
    groups: int

    def chunks(self) -> Iterator[tuple[slice, slice]]:
        """Groups, and classes of them."""
        batch, classes, pixels = self.v.shape
        of_group = batch // max(self.groups, 1) * pixels
        fit = max(CHUNK // max(of_group, 1), 1)  # segments
        for g in _steps(self.groups, max(fit // classes, 1)):
            for c in _steps(classes, fit):
                yield g, c

    def view(self, tensor: Tensor, groups: slice, classes: slice) -> Tensor:
        """Of a chunk: (groups, classes, images of a group, pixels)."""
        images = tensor.shape[0] // max(self.groups, 1)
        chosen = tensor[groups.start * images : groups.stop * images]
        chosen = chosen if tensor.shape[1] == 1 else chosen[:, classes]
        number = groups.stop - groups.start
        return chosen.view(number, images, *chosen.shape[1:]).transpose(1, 2)

    def segments(self, part: tuple[slice, slice], total: Totals, share: Tensor) -> Segments:
        v, codes = self.view(self.v, *part).flatten(2), self.view(self.codes, *part).flatten(2)
        own: Any = 1
        if self.kind == "multiclass":
            numbers = range(self.v.shape[1])[part[1]]
            own = torch.arange(numbers.start, numbers.stop, device=v.device).view(-1, 1)
        foreground = codes == own
        units = (codes != IGNORED).to(torch.int64)
        if self.weights is not None:
            units = units * self.view(self.weights.units, *part).flatten(2)
        error = errors_of(self.kind, v, foreground)
        if self.kind == "binary":  # where right pixels have no part
            units = torch.where(error > 0, units, 0)
        power = None if total.power is None else total.power[part[0]]
        of_part = total._replace(P=total.P[part], N=total.N[part], power=power)
        return Segments(error, foreground, units, of_part, share[part])


def _steps(number: int, step: int) -> Iterator[slice]:
    for first in range(0, number, step):
        yield slice(first, min(first + step, number))


def flat_shape(scores: Tensor) -> tuple[int, int, int]:
    """The shape with the pixels in one dimension; of no images, too."""
    return scores.shape[0], scores.shape[1], math.prod(scores.shape[2:])


def errors_of(kind: str, v: Tensor, foreground: Tensor) -> Tensor:
    return torch.where(foreground, 1 - v, 1 + v if kind == "binary" else v).clamp_(min=0)


def batch_of(
    kind: str,
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    options: LossOptions,
    number: torch.dtype = torch.float32,
    others: Others | None = None,
) -> Batch:
    flat = scores.reshape(flat_shape(scores)).to(number)
    lowest = flat.amin() if flat.numel() else flat.new_zeros(())
    highest = largest_of(flat)
    bad = ~(lowest.isfinite() & highest.isfinite())
    if kind == "binary":  # infinite errors are checked below
        v, bad = flat, torch.zeros_like(bad)
    elif options.from_logits and kind == "multiclass":
        v = flat.softmax(1)
        bad = v.isnan().any()  # NaN, Inf, or nothing but -Inf: of a masked class 0
    elif options.from_logits:
        v = flat.sigmoid()
    else:
        v = flat.clamp(0, 1)
        bad = bad | (lowest < -_SLACK) | (highest > 1 + _SLACK)
    codes, bad_label = _codes(kind, flat.shape, labels, options.ignore_index)
    bad = bad | bad_label
    held = None
    if weights is not None:
        held, bad_weight = _weights(weights, codes, options.per_image, others)
        bad = bad | bad_weight
    if kind == "binary":
        v = v.masked_fill(v.isinf() & left_out(codes, held), 0)  # nothing depends on them
        bad = bad | errors_of(kind, v, codes == 1).isfinite().logical_not().any()
    return Batch(kind, v, codes, held, bad, options.groups(v.shape[0]))


def _codes(
    kind: str, shape: torch.Size, labels: Tensor, ignore_index: int | None
) -> tuple[Tensor, Tensor]:
    """And whether any label is bad."""
    batch, classes, pixels = shape
    own = kind == "multilabel"
    numbers = as_int64(labels.reshape(batch, classes if own else 1, pixels))
    limit = classes if kind == "multiclass" else 2
    bad = (numbers < 0) | (numbers >= limit)
    ignored = bad
    if ignore_index is not None:
        chosen = numbers == ignore_index
        bad, ignored = bad & ~chosen, bad | chosen
    codes = numbers.masked_fill(ignored, IGNORED)
    return codes.to(torch.int32 if kind == "multiclass" else torch.int8), bad.any()


class _Weights(NamedTuple):
    """Weights are rounded to whole multiples of a power of two, so that sums do not depend on their
    order. Sums and derivatives count the rounded weights."""

    units: Tensor  # (batch, 1, pixels), int64
    relative: Tensor  # the same as float32: with the power below divided out, at most 2
    unit: float
    power: Tensor  # of two, (groups, 1, 1): at least the largest weight that counts, or 2^127


def left_out(codes: Tensor, weights: _Weights | None) -> Tensor:
    """Returns which pixels are left out: ignored ones and those of weight 0."""
    ignored = codes == IGNORED
    return ignored if weights is None else ignored | (weights.units == 0)


class Others(NamedTuple):
    """Those whose batches are part of the same."""

    ranks: Ranks
    pixels: int  # of all of them


def largest_of(numbers: Tensor) -> Tensor:
    """0 of none."""
    return numbers.amax() if numbers.numel() else numbers.new_zeros(())


def _weights(
    given: Tensor, codes: Tensor, per_image: bool, others: Others | None
) -> tuple[_Weights, Tensor]:
    """Returns the rounded weights, and whether any weight is bad. The multiples are so small that
    the sums of a group are at most 2^52. For weights above 2^127, where the power ends, they are at
    most 2^53, which doubles still hold exactly."""
    images, _, pixels = codes.shape
    given = given.reshape(images, 1, pixels).to(torch.float32)
    bad = ~((given >= 0) & given.isfinite())
    counting = (codes != IGNORED).any(1, keepdim=True) & ~bad
    weights = torch.where(counting, given, 0)
    if per_image:
        largest = weights.amax(2, keepdim=True) if pixels else weights.new_zeros(images, 1, 1)
    else:
        others = others or Others(Ranks(), images * pixels)
        largest, pixels = others.ranks.largest(largest_of(weights)).view(1, 1, 1), others.pixels
    bits = largest.view(torch.int32)
    above = (bits >> 23) - 127 + ((bits & 0x7FFFFF) != 0)  # log2 of the largest, rounded up
    above = above.clamp(-126, 127)
    steps = 2.0 ** (52 - max(pixels - 1, 0).bit_length())  # per power
    half = above >> 1  # 2^-127 is no normal number: in two steps
    scaled = weights * _power_of_two(-half) * _power_of_two(half - above)
    units = (scaled.to(real_type(given)) * steps).round()
    relative = (units / steps).to(torch.float32)
    return _Weights(units.to(torch.int64), relative, 1 / steps, _power_of_two(above)), bad.any()


def _power_of_two(exponent: Tensor) -> Tensor:
    """By its bits, so that it is exact everywhere."""
    return ((exponent.to(torch.int32) + 127) << 23).view(torch.float32)


def totals_of(batch: Batch) -> Totals:
    """(groups, classes, 1)"""
    groups, classes = batch.groups, batch.v.shape[1]
    P = batch.codes.new_zeros(groups, classes, 1, dtype=torch.int64)
    N = torch.zeros_like(P)
    everything = slice(0, groups), slice(0, classes)
    for part in [everything] if batch.kind == "multiclass" else batch.chunks():
        codes = batch.view(batch.codes, *part).flatten(2)
        units = (codes != IGNORED).to(torch.int64)
        if batch.weights is not None:
            units = units * batch.view(batch.weights.units, *part).flatten(2)
        if batch.kind == "multiclass":  # one label for all classes
            P[..., 0].scatter_add_(1, codes[:, 0].to(torch.int64).clamp(min=0), units[:, 0])
        else:
            P[part] = torch.where(codes == 1, units, 0).sum(-1, keepdim=True)
        N[part] = units.sum(-1, keepdim=True) - P[part]
    if batch.weights is None:
        return Totals(P, N)
    return Totals(P, N, batch.weights.unit, batch.weights.power)
