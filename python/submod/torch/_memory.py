"""Tensors in CPU memory as the library's views."""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor

from .._errors import UnsupportedError
from .._structs import Labels, Scores
from .._views import LABEL_TYPES, SCORE_TYPES, Memory, labels_view, scores_view


def memory(tensor: Tensor) -> Memory:
    name = str(tensor.dtype)[len("torch.") :]
    return Memory(tensor.data_ptr(), tuple(tensor.shape), tuple(tensor.stride()), name)


def require_cpu(name: str, tensor: Tensor) -> None:
    if tensor.device.type != "cpu":
        raise UnsupportedError(
            f"submod.torch: {name} are on {tensor.device}, and this build works in CPU memory; "
            f"move them by {name}.cpu()"
        )


def view_scores(tensor: Tensor) -> tuple[Scores, Tensor]:
    """float32, float16 and bfloat16 as they are; float64 is rounded to float32. A copy only if the
    pixels are not evenly spaced. The view, and the tensor that it is a view of."""
    require_cpu("scores", tensor)
    if str(tensor.dtype)[len("torch.") :] not in SCORE_TYPES:
        if not tensor.is_floating_point():
            raise TypeError(f"scores of type {tensor.dtype}; floating-point numbers are needed")
        tensor = tensor.float()
    view = scores_view(memory(tensor))
    if view is None:
        tensor = tensor.contiguous()
        view = scores_view(memory(tensor))
    assert view is not None
    return view, tensor


def view_labels(tensor: Tensor, own_classes: bool = False) -> tuple[Labels, Tensor]:
    """uint8, bool, int32 and int64 as they are; other types become int64, if that changes none."""
    require_cpu("labels", tensor)
    if str(tensor.dtype)[len("torch.") :] not in LABEL_TYPES:
        whole = tensor.long()
        if not torch.equal(whole.to(tensor.dtype), tensor):
            raise ValueError(f"labels of type {tensor.dtype} that are not whole numbers")
        tensor = whole
    view = labels_view(memory(tensor), own_classes)
    if view is None:
        tensor = tensor.contiguous()
        view = labels_view(memory(tensor), own_classes)
    assert view is not None
    return view, tensor


def weight_list(weight: Optional[Tensor]) -> Any:
    return None if weight is None else weight.numpy()
