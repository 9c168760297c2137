"""The Lovász losses as tensor operations, for tensors on devices that the library has no kernels
for: CUDA where it was built without, ROCm, MPS, XPU, and whatever else PyTorch knows.

Same bins, same weights, same special cases as the library's engines. Counts are integers, and the
same from the same probabilities. Softmax and sigmoid are the device's own: their last bits differ,
so that now and then an error falls into the bin beside. Losses and gradients agree up to rounding:
some 1e-7, and on MPS, which has no float64, some 1e-6.

Batches may be spread over ranks, which add up their counts. These are integers, so that the
order of the ranks does not matter, and all decide the same: what is present, which bins, what a
unit of weight is. What only the host knows they agree on first (_ranks).

Nothing waits for the device. Data that would be refused make the loss NaN, as on CUDA. Memory: 12
bytes per score, the gradient among them, and of a chunk some 40 per score for the histogram engine,
some 150 for the exact one; a chunk is CHUNK scores, or a class of a group if that is more.
"""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .._options import LossOptions, call_loss
from .._views import KINDS
from ._batches import (
    Batch,
    Others,
    batch_of,
    errors_of,
    flat_shape,
    largest_of,
    left_out,
    totals_of,
)
from ._gains import Totals, check_of_tensors, real_type
from ._memory import key_of, loss_call, loss_type, new_gradient
from ._ranks import Ranks, of
from ._segments import Bins, Segments, bin_of, by_counting, by_sorting, count, weigh_bins

FORCED = False  # for tests: on the CPU, too
LOSSES = ("lovasz_softmax", "lovasz_sigmoid", "lovasz_hinge")


def number_type(name: str, scores: Tensor, engine: str, measure: Any) -> torch.dtype:
    """Of errors and gradients of a loss: float64 for scores of that type where they are sorted,
    except by a measure that is a function ("custom" to operators), which is the library's to call,
    with arrays."""
    sorts = name in LOSSES and engine == "exact"
    built_in = measure != "custom" and not callable(measure)
    double = sorts and built_in and scores.dtype == torch.float64
    return torch.float64 if double else torch.float32


# ---- classes ----


def shares(kind: str, present: Tensor, options: LossOptions) -> Tensor:
    """What each class of a group counts for: (.., classes), in a mean over the classes."""
    kind_of_number = real_type(present)
    taken = torch.ones_like(present)
    weight = present.new_ones(present.shape[-1:], dtype=kind_of_number)
    if kind != "binary":
        if options.classes == "present":
            taken = present
        elif not isinstance(options.classes, str):
            listed = [c in options.classes for c in range(present.shape[-1])]
            taken = _moved(torch.tensor(listed), present).expand_as(present)
        if options.class_weight is not None:
            weight = _moved(options.class_weight, present).to(kind_of_number)
    weight = torch.where(taken, weight, 0)
    weight = weight / weight.amax(-1, keepdim=True)  # so that no sum overflows
    return torch.nan_to_num(weight / weight.sum(-1, keepdim=True), nan=0.0)  # 0 / 0: none is taken


def _moved(tensor: Tensor, like: Tensor) -> Tensor:
    """Without waiting."""
    if real_type(like) == torch.float32 and tensor.dtype == torch.float64:
        tensor = tensor.float()
    return tensor.to(like.device, non_blocking=True)


# ---- the losses ----


def lovasz(
    name: str,
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    options: LossOptions,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """submod_<name>; results as those of the CPU's operator."""
    ranks, images = of(options.group), scores.shape[0]
    _, sizes = ranks.together(
        lambda: refuse_settings(name, scores, options),
        lambda: key_of(name, scores, weights, options),
        (images, images * math.prod(scores.shape[2:])),
    )
    every_image, every_pixel = (sum(column) for column in zip(*sizes))
    number = number_type(name, scores, options.engine, options.measure)
    gradient = new_gradient(scores, need_gradient, number)
    if every_pixel * scores.shape[1] == 0:
        losses = scores.new_zeros(options.groups(images), dtype=real_type(scores))
        return reduced(losses, scores, options), gradient.zero_()
    others = Others(ranks, every_pixel)
    batch = batch_of(KINDS[name], scores, labels, weights, options, number, others)
    scale = 1 / options.groups(every_image) if options.reduction == "mean" else 1
    scale = scale * ranks.size if options.ddp else scale
    solving = (batch, options, ranks, scale, gradient if need_gradient else None)
    if callable(options.measure):  # which may raise on one rank
        losses, _ = ranks.together(lambda: _solve(*solving))
        check_of_tensors(options.measure, every_pixel // options.groups(every_image))
    else:
        losses = _solve(*solving)
    if need_gradient:
        _through(scores, batch, options, gradient)
    if options.per_image and ranks.size > 1:
        every_loss = ranks.gather_rows(losses, [count for count, _ in sizes])
        bad = every_loss.isnan().any()
        losses = losses.masked_fill(bad, math.nan) if options.reduction == "none" else every_loss
    return reduced(losses, scores, options), gradient


def _solve(
    batch: Batch, options: LossOptions, ranks: Ranks, scale: float, gradient: Tensor | None
) -> Tensor:
    """The losses of the groups, and scale times the derivatives by v."""
    bins = _bins(batch, options.delta, ranks) if options.engine == "histogram" else None
    total, bad, counts = totals_of(batch), batch.bad, None
    if ranks.size > 1 and not options.per_image:
        assert bins is not None  # require_counts
        total, bad, counts = _added_up(batch, total, bins, ranks)
    share = shares(batch.kind, total.P[..., 0] > 0, options).unsqueeze(-1)
    values = torch.zeros_like(share)
    for part in batch.chunks():
        x = batch.segments(part, total, share * scale)
        if bins is None:
            value, weight = by_sorting(x, options.measure)
        else:
            known = counts if counts is None else counts[part]
            value, weight = by_counting(x, options.measure, bins, known)
        values[part] = value.unsqueeze(-1)
        if gradient is not None:
            _put(batch, part, x, weight, gradient)
    losses = torch.where(share > 0, share * values, 0).sum((1, 2))
    return losses.masked_fill(bad, math.nan)


def _added_up(
    batch: Batch, total: Totals, bins: Bins, ranks: Ranks
) -> tuple[Totals, Tensor, Tensor]:
    """Totals, whether anything is bad, and the counts, (1, classes, 2, bins), of all ranks: one
    message of integers."""
    K, none = bins.number, torch.zeros_like(total.P)
    counts = none.new_zeros((*none.shape[:2], 2, K))
    for part in batch.chunks():
        x = batch.segments(part, total, none)
        counts[part] = count(x, bin_of(x, bins), K)
    parts = [counts, total.P, total.N, batch.bad.view(1).to(counts.dtype)]
    message = ranks.sum(torch.cat([each.flatten() for each in parts]))
    split = torch.split(message, [each.numel() for each in parts])
    counts, P, N, bad = (each.view(part.shape) for each, part in zip(split, parts))
    return total._replace(P=P, N=N), bad[0] > 0, counts


def refuse_settings(name: str, scores: Tensor, options: LossOptions) -> None:
    """In the words of the library, which gets a batch of no images."""
    kind, classes = KINDS[name], scores.shape[1]
    nothing = torch.empty((0, classes, 1), dtype=scores.dtype)
    labels = torch.empty((0, classes, 1) if kind == "multilabel" else (0, 1), dtype=torch.uint8)
    call_loss(name, **loss_call(kind, nothing, labels, None, options, False).arguments)


def _bins(batch: Batch, delta: float, ranks: Ranks) -> Bins:
    """As many as delta needs. For the hinge they cover a power of two above all margins."""
    K = number_of_bins(delta)
    if batch.kind != "binary":
        return Bins(K, K)
    margin = errors_of(batch.kind, batch.v, batch.codes == 1)
    counted = margin.masked_fill(left_out(batch.codes, batch.weights), 0)
    bits = ranks.largest(largest_of(counted)).view(torch.int32)
    log2_range = (bits >> 23) - 126
    power = (2 * K).bit_length() - 1 - torch.where(bits > 0, log2_range, 0)
    return Bins(2 * K, ((power + 127) << 23).to(torch.int32).view(torch.float32))


def number_of_bins(delta: float) -> int:
    """The smallest power of two, at least 2, that guarantees delta."""
    return int(max(2, 2 ** math.ceil(math.log2(0.5 / delta))))


def _put(
    batch: Batch, part: tuple[slice, slice], x: Segments, weight: Tensor, gradient: Tensor
) -> None:
    """The derivatives by v."""
    signed = torch.where(x.foreground, -weight, weight).masked_fill_(x.units == 0, 0)
    to = batch.view(gradient.view(flat_shape(gradient)), *part)
    to.copy_(signed.view(to.shape))


def _through(scores: Tensor, batch: Batch, options: LossOptions, gradient: Tensor) -> None:
    """From derivatives by v to those by the scores, in place."""
    g = gradient.view(flat_shape(gradient))
    if batch.weights is not None:
        g.mul_(batch.weights.relative)
    if options.from_logits and batch.kind == "multiclass":
        g.sub_((batch.v * g).sum(1, keepdim=True)).mul_(batch.v)
    elif options.from_logits and batch.kind == "multilabel":
        # 1 - v would be 0 from a score of 17 on.
        other = scores.reshape(g.shape).to(g.dtype).neg().sigmoid_()
        g.mul_(batch.v).mul_(other)


def reduced(losses: Tensor, scores: Tensor, options: LossOptions) -> Tensor:
    """Of the losses of the groups; no group: 0."""
    if options.reduction == "none":
        return losses.to(loss_type(scores))
    found = losses.sum()
    if options.reduction == "mean":
        found = found / max(losses.numel(), 1)
    return found.to(loss_type(scores))


# ---- datasets ----

_SMALLEST = 1e-20  # counts may decay; what is below has gone


def _of_dataset(
    scores: Tensor, labels: Tensor, weights: Tensor | None, options: LossOptions
) -> tuple[Batch, Totals, Tensor]:
    """As one group, of whose segments only the errors matter: no totals, no shares."""
    batch = batch_of("multiclass", scores, labels, weights, options._replace(per_image=False))
    none = batch.v.new_zeros(1, batch.v.shape[1], 1, dtype=torch.int64)
    if batch.weights is None:
        return batch, Totals(none, none), none
    return batch, Totals(none, none, batch.weights.unit, batch.weights.power), none


def dataset_counts(
    scores: Tensor, labels: Tensor, weights: Tensor | None, bins: int, options: LossOptions
) -> Tensor:
    """submod_dataset_add to nothing: (classes, 2, bins). All NaN if the batch is to be refused."""
    refuse_settings("lovasz_softmax", scores, options)
    counts = scores.new_zeros((scores.shape[1], 2, bins), dtype=real_type(scores))
    if scores.numel() == 0:
        return counts
    batch, total, share = _of_dataset(scores, labels, weights, options)
    for part in batch.chunks():
        x = batch.segments(part, total, share)
        counts[part[1]] = total.given(count(x, bin_of(x, Bins(bins, bins)), bins)[0])
    return counts.masked_fill_(batch.bad, math.nan)


def dataset_loss(
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    counts: Tensor,
    scale: Tensor,
    options: LossOptions,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """submod_dataset_solve and submod_dataset_gradient."""
    K = counts.shape[-1]
    value, table = dataset_solve(counts, options)
    if callable(options.measure):
        check_of_tensors(options.measure, scores.numel() // max(scores.shape[1], 1))
    gradient = new_gradient(scores, need_gradient)
    loss = value.to(loss_type(scores))
    if not need_gradient or scores.numel() == 0:
        return loss, gradient.zero_()
    batch, total, share = _of_dataset(scores, labels, weights, options)
    for part in batch.chunks():
        x = batch.segments(part, total, share)
        _put(batch, part, x, table[part[1]].take(bin_of(x, Bins(K, K))), gradient)
    _through(scores, batch, options, gradient)
    if total.power is not None:
        scale = scale * total.power.view(())  # there is one group
    return loss.masked_fill(batch.bad, math.nan), gradient.mul_(scale)


def dataset_solve(counts: Tensor, options: LossOptions) -> tuple[Tensor, Tensor]:
    """The loss of all counts, and what a pixel of each bin weighs: (classes, 2, bins), float32."""
    K = counts.shape[-1]
    counts = counts.to(real_type(counts))[None]
    N, P = counts.sum(-1, keepdim=True).unbind(-2)
    everything = P + N
    P = torch.where((1e-9 * everything < P) & (P > _SMALLEST), P, 0)
    share = shares("multiclass", P[..., 0] > 0, options).unsqueeze(-1)
    nothing = (1e-15 * everything).clamp(min=_SMALLEST).unsqueeze(-1)
    total = Totals(P, N)
    values, gains = weigh_bins(counts, total, options.measure, Bins(K, K), nothing)
    taken = share[..., 0]
    loss = torch.where(taken > 0, taken * values, 0).sum()
    wide = share.unsqueeze(-1)
    return loss, torch.where(wide > 0, wide * gains, 0).to(torch.float32)[0]
