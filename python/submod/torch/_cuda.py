"""The losses on CUDA tensors: gpu.h with PyTorch's memory and stream.

Nothing here waits for the device: kernels are queued on the current stream, and what they find is
read where it is, by kernels of PyTorch's. Data that are refused (a label that is no class, NaN or
Inf) give a loss that is NaN and a gradient that holds anything; backward makes that NaN, too.
"""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor

from .._bindings import GpuLoss, GpuPlace, GpuResult
from .._library import call, gpu_available
from .._measures import Tversky
from .._options import LossOptions
from .._views import KINDS
from ._memory import loss_call, loss_type

# The losses that there are for CUDA.
LOSSES = {f"lovasz_{member.name.lower()}": member for member in GpuLoss}
ALIGNMENT = 256  # of the workspace


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


def lovasz(
    name: str,
    scores: Tensor,
    labels: Tensor,
    weights: Tensor | None,
    options: LossOptions,
    need_gradient: bool,
) -> tuple[Tensor, Tensor]:
    """submod_gpu_<name>; results as those of the CPU's operator."""
    c = loss_call(KINDS[name], scores, labels, weights, options, need_gradient)
    size = ctypes.c_size_t()
    plan = {"loss": LOSSES[name], "scores": c.arguments["scores"], "bytes": ctypes.byref(size)}
    call("gpu_loss_workspace", settings=c.arguments["settings"], **plan)
    # Freed when this returns, for whatever the stream does after these kernels.
    work = torch.empty(size.value + ALIGNMENT, dtype=torch.uint8, device=scores.device)
    aligned = -(-work.data_ptr() // ALIGNMENT) * ALIGNMENT
    result = torch.empty(ctypes.sizeof(GpuResult), dtype=torch.uint8, device=scores.device)
    target = ctypes.cast(result.data_ptr(), ctypes.POINTER(GpuResult))  # in the device's memory
    with place_of(scores) as (device, stream):
        place = GpuPlace(device, stream, aligned, size.value)
        call("gpu_" + name, **c.arguments, result=target, place=place)
    loss = result.view(torch.float64)[GpuResult.loss.offset // 8]
    return loss.to(loss_type(scores), copy=True), c.gradient
