"""Operators over the ranks of a group, opaque to torch.compile, for what follows a loss: by then
all ranks have agreed that they can go on, and nothing is refused any more."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from ._ranks import of


@torch.library.custom_op(
    "submod::sum_over_ranks", mutates_args=(), schema="(Tensor numbers, str group) -> Tensor"
)
def sum_over_ranks(numbers: Tensor, group: str) -> Tensor:
    ranks = of(group)
    return numbers.clone() if ranks.size == 1 else ranks.sum(numbers)


@sum_over_ranks.register_fake
def _(numbers: Tensor, group: str) -> Tensor:
    return torch.empty_like(numbers)


@torch.library.custom_op(
    "submod::reduced_over_ranks",
    mutates_args=(),
    schema="(Tensor losses, bool mean, str group) -> (Tensor, Tensor)",
)
def reduced_over_ranks(losses: Tensor, mean: bool, group: str) -> tuple[Tensor, Tensor]:
    """The sum of the losses of all ranks, or their mean; and its derivative by one of them. Added
    up in the order of the ranks, as one process would."""
    ranks = of(group)
    rows = ranks.gather(torch.tensor([losses.shape[0]])).flatten().tolist()
    every = ranks.gather_rows(losses, rows)
    slope = 1 / max(every.shape[0], 1) if mean else 1.0
    total = every.sum()
    found = total / max(every.shape[0], 1) if mean else total.clone()
    return found, losses.new_tensor(slope)


@reduced_over_ranks.register_fake
def _(losses: Tensor, mean: bool, group: str) -> tuple[Tensor, Tensor]:
    return losses.new_empty(()), losses.new_empty(())


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    ctx.save_for_backward(output[1])
    ctx.number = inputs[0].shape[0]
    ctx.mark_non_differentiable(output[1])


def _backward(ctx: Any, above: Tensor, _: Any) -> tuple[Any, ...]:
    (slope,) = ctx.saved_tensors
    return (above * slope).expand(ctx.number), None, None


reduced_over_ranks.register_autograd(_backward, setup_context=_setup_context)
