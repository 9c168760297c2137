"""The losses on CUDA tensors: gpu.h with PyTorch's memory and stream.

Nothing here waits for the device: kernels are queued on the current stream, and what they find is
read where it is, by kernels of PyTorch's. Data that are refused (a label that is no class, NaN or
Inf) give a loss that is NaN and a gradient that holds anything; backward makes that NaN, too.
"""

from __future__ import annotations

import ctypes
import functools
import math
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from .._bindings import GpuLoss, GpuPlace, GpuResult
from .._library import call, gpu_available
from .._measures import Tversky
from .._options import LossOptions
from .._views import KINDS, gradient_view
from ._memory import loss_call, loss_type, memory

# The losses that there are for CUDA.
LOSSES = {f"lovasz_{member.name.lower()}": member for member in GpuLoss}
ALIGNMENT = 256  # of the workspace
PROX_BINS = 1 << 16  # between the smallest and the largest margin


@contextmanager
def place_of(tensor: Tensor) -> Iterator[tuple[int, int]]:
    """Device and stream, as numbers, the device being the current one: all that CUDA is asked."""
    with torch.cuda.device(tensor.device):
        stream = torch.cuda.current_stream()
        yield stream.device_index, stream.cuda_stream


@functools.cache
def is_there() -> bool:
    """Whether the library was built for CUDA and finds a device: ROCm's are CUDA's to PyTorch."""
    return bool(gpu_available())


def can_do(options: LossOptions) -> bool:
    """Kernels know the measures that are built in."""
    return is_there() and isinstance(options.measure, (str, Tversky))


class _Run:
    """Workspace and result of one call. Both are freed when this is, for whatever the stream does
    after the kernels."""

    def __init__(self, scores: Tensor, plan: str, /, **planned: Any) -> None:
        size = ctypes.c_size_t()
        call(plan, bytes=ctypes.byref(size), **planned)
        self.scores, self.bytes = scores, size.value
        self.work = torch.empty(self.bytes + ALIGNMENT, dtype=torch.uint8, device=scores.device)
        size_of_result = ctypes.sizeof(GpuResult)
        self.result = torch.empty(size_of_result, dtype=torch.uint8, device=scores.device)

    def __call__(self, name: str, /, **arguments: Any) -> Tensor:
        """The loss, a double in the memory of the device."""
        target = ctypes.cast(self.result.data_ptr(), ctypes.POINTER(GpuResult))
        aligned = -(-self.work.data_ptr() // ALIGNMENT) * ALIGNMENT
        with place_of(self.scores) as (device, stream):
            place = GpuPlace(device, stream, aligned, self.bytes)
            call(name, **arguments, result=target, place=place)
        return self.result.view(torch.float64)[GpuResult.loss.offset // 8]


def lovasz(
    name: str,
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    options: LossOptions,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """submod_gpu_<name>; results as those of the CPU's operator."""
    groups = options.groups(scores.shape[0])
    scale = 1.0 if options.reduction == "mean" else max(groups, 1)
    batch = (KINDS[name], scores, labels, weights, options)
    c = loss_call(*batch, need_gradient, scale)
    settings = c.arguments["settings"]
    losses = None
    if options.reduction == "none":
        losses = torch.zeros(groups, dtype=torch.float64, device=scores.device)
        settings.group_loss = losses.data_ptr()
    planned = {"scores": c.arguments["scores"], "settings": settings}
    run = _Run(scores, "gpu_loss_workspace", loss=LOSSES[name], **planned)
    loss = run("gpu_" + name, **c.arguments)
    if losses is None:
        return (loss * scale).to(loss_type(scores)), c.gradient
    # Refused data leave the losses of groups as they were.
    return losses.masked_fill_(loss.isnan(), math.nan).to(loss_type(scores)), c.gradient


def prox_gradient(
    scores: Tensor, labels: Tensor, lam: float, options: LossOptions, gradient: Tensor, scale: float
) -> None:
    """submod_gpu_prox_lovasz_hinge, into the gradient. Refused data leave it as it is: the loss is
    NaN then."""
    c = loss_call("binary", scores, labels, None, options, False)
    run = _Run(scores, "gpu_prox_workspace", x=c.arguments["scores"], bins=PROX_BINS)
    given = {**c.arguments, "gradient": gradient_view(memory(gradient), scale)}
    run("gpu_prox_lovasz_hinge", **given, lam=lam, bins=PROX_BINS)


def dataset_counts(
    scores: Tensor, labels: Tensor, weights: Tensor | None, bins: int, options: LossOptions
) -> Tensor:
    """submod_gpu_dataset_counts; NaN, which it leaves there, if the batch is refused."""
    c = loss_call("multiclass", scores, labels, weights, options, False)
    del c.arguments["gradient"]
    shape = (scores.shape[1], 2, bins)
    counts = torch.full(shape, math.nan, dtype=torch.float64, device=scores.device)
    run = _dataset_run(scores, c.arguments, bins)
    run("gpu_dataset_counts", **c.arguments, bins=bins, counts=counts.data_ptr())
    return counts


def dataset_loss(
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    counts: Tensor,
    scale: Tensor,
    options: LossOptions,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """submod_gpu_dataset_loss."""
    c = loss_call("multiclass", scores, labels, weights, options, need_gradient)
    bins, counts = counts.shape[-1], counts.contiguous()
    run = _dataset_run(scores, c.arguments, bins)
    loss = run("gpu_dataset_loss", **c.arguments, bins=bins, counts=counts.data_ptr())
    return loss.to(loss_type(scores), copy=True), c.gradient.mul_(scale)


def _dataset_run(scores: Tensor, arguments: dict[str, Any], bins: int) -> _Run:
    planned = {"scores": arguments["scores"], "settings": arguments["settings"]}
    return _Run(scores, "gpu_dataset_workspace", **planned, bins=bins)
