"""The losses on CUDA tensors: gpu.h with PyTorch's memory and stream.

Nothing here waits for the device: kernels are queued on the current stream, and what they find is
read where it is, by kernels of PyTorch's. Data that are refused (a label that is no class, NaN or
Inf) give a loss that is NaN and a gradient that holds anything; backward makes that NaN, too.
"""

from __future__ import annotations

import ctypes
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from .._errors import UnsupportedError
from .._library import call
from .._structs import GpuPlace, GpuResult
from ._memory import loss_call, loss_type

KINDS = {"softmax": 0, "sigmoid": 1, "hinge": 2}  # submod_gpu_loss
ALIGNMENT = 256  # of the workspace


@contextmanager
def place_of(tensor: Tensor) -> Iterator[tuple[int, int]]:
    """Device and stream, as numbers, the device being the current one: all that CUDA is asked."""
    with torch.cuda.device(tensor.device):
        stream = torch.cuda.current_stream()
        yield stream.device_index, stream.cuda_stream


def lovasz(scores: Tensor, labels: Tensor, kind: str, probabilities: bool, *rest: Any) -> Any:
    """submod_gpu_lovasz_<kind>; arguments and results as those of the CPU's operator."""
    c = loss_call(scores, labels, kind, probabilities, *rest)
    settings = ctypes.byref(c.settings)
    size = ctypes.c_size_t()
    problem = (KINDS[kind], ctypes.byref(c.scores), int(probabilities), settings)
    call("gpu_loss_workspace", *problem, ctypes.byref(size))
    # Freed when this returns, for whatever the stream does after these kernels.
    work = torch.empty(size.value + ALIGNMENT, dtype=torch.uint8, device=scores.device)
    aligned = -(-work.data_ptr() // ALIGNMENT) * ALIGNMENT
    result = torch.empty(ctypes.sizeof(GpuResult), dtype=torch.uint8, device=scores.device)
    try:
        with place_of(scores) as (device, stream):
            place = GpuPlace(device, stream, aligned, size.value)
            end = (result.data_ptr(), c.target, settings, ctypes.byref(place))
            call("gpu_lovasz_" + kind, *c.batch, *end)
    except UnsupportedError as error:
        raise UnsupportedError(
            f"{error}. The GPU path is built by `pip install .` where there is nvcc, and "
            "submod.gpu_available() tells whether it can be used; without it, move scores and "
            "labels by .cpu()"
        ) from None
    loss = result.view(torch.float64)[GpuResult.loss.offset // 8]
    return loss.to(loss_type(scores), copy=True), c.gradient
