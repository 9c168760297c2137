"""The operators behind lovasz and prox: any submod.Function, row by row, in CPU memory and double
precision.

A schema knows no functions: they go by their tokens. Backward needs the function no more, as all
that it takes is computed in forward.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from .. import _errors, _tokens
from .._function import Function
from . import _autograd

Row = npt.NDArray[np.float64]


def result_type(tensor: Tensor) -> torch.dtype:
    """Of what is computed from it: halves are not precise enough."""
    return torch.float64 if tensor.dtype == torch.float64 else torch.float32


def _rows(function: Function, name: str, tensor: Tensor) -> Row:
    """(rows, n) in double precision."""
    if tensor.ndim == 0 or tensor.shape[-1] != function.n:
        raise ValueError(
            f"{name} of shape {tuple(tensor.shape)} for {function!r}; the last dimension must be "
            f"{function.n}"
        )
    rows: Row = tensor.detach().to(torch.float64).reshape(-1, function.n).numpy()
    return rows


def _each(name: str, rows: Row) -> Iterator[tuple[int, Row]]:
    """The rows one by one; an error says in which of several it was."""
    for i, row in enumerate(rows):
        if not np.isfinite(row).all():
            k = int(np.flatnonzero(~np.isfinite(row))[0])
            place = f"[{i}][{k}]" if len(rows) > 1 else f"[{k}]"
            raise _errors.NonFiniteError(f"submod.torch: {name}{place} is {row[k]}")
        yield i, row


@torch.library.custom_op(
    "submod::extension",
    mutates_args=(),
    device_types="cpu",
    schema="(Tensor errors, SymInt function, bool need_gradient) -> (Tensor, Tensor)",
)
def extension(errors: Tensor, function: int, need_gradient: bool) -> tuple[Tensor, Tensor]:
    """Lovász extensions, and their greedy subgradients."""
    f = _tokens.of(function)
    rows = _rows(f, "errors", errors)
    values, gradients = np.empty(len(rows)), np.empty(rows.shape if need_gradient else 0)
    for i, row in _each("errors", rows):
        values[i], g = f.lovasz(row)
        if need_gradient:
            gradients[i] = g
    kind, shape = result_type(errors), errors.shape if need_gradient else (0,)
    found = torch.from_numpy(gradients).reshape(shape)
    return torch.from_numpy(values).reshape(errors.shape[:-1]).to(kind), found.to(kind)


@extension.register_fake
def _(errors: Tensor, function: int, need_gradient: bool) -> tuple[Tensor, Tensor]:
    kind = result_type(errors)
    shape = errors.shape if need_gradient else (0,)
    return errors.new_empty(errors.shape[:-1], dtype=kind), errors.new_empty(shape, dtype=kind)


_autograd.register(extension)

# How a prox is computed, besides its point and lam.
HOW = "SymInt function, str method, bool hinge, float? tolerance, bool need_gradient"


def _lams(lam: Tensor) -> list[float]:
    """Of the rows."""
    numbers: list[float] = lam.detach().to(torch.float64).reshape(-1).tolist()
    for i, number in enumerate(numbers):
        if not 0 < number < math.inf:
            place = f"[{i}]" if len(numbers) > 1 else ""
            raise ValueError(f"lam{place} = {number}; it must be finite and > 0")
    return numbers


@torch.library.custom_op(
    "submod::prox",
    mutates_args=(),
    device_types="cpu",
    schema=f"(Tensor x, Tensor lam, {HOW}) -> (Tensor, Tensor, Tensor)",
)
def prox(
    x: Tensor,
    lam: Tensor,
    function: int,
    method: str,
    hinge: bool,
    tolerance: float | None,
    need_gradient: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """The prox of each row with the lam of that row; for backward, its dual and its blocks."""
    f = _tokens.of(function)
    rows, lams = _rows(f, "x", x), _lams(lam)
    kept = rows.shape if need_gradient else 0
    u, s, block = np.empty(rows.shape), np.empty(kept), np.empty(kept, np.int64)
    for i, row in _each("x", rows):
        found = f.prox(row, lams[i], method, hinge=hinge, tolerance=tolerance)
        u[i] = found.u
        if need_gradient:
            s[i], block[i] = found.s, found.blocks.block
    shape = x.shape if need_gradient else (0,)
    result = torch.from_numpy(u).reshape(x.shape).to(result_type(x))
    return result, torch.from_numpy(s).reshape(shape), torch.from_numpy(block).reshape(shape)


@prox.register_fake
def _(x: Tensor, lam: Tensor, *how: Any) -> tuple[Tensor, Tensor, Tensor]:
    shape = x.shape if how[-1] else (0,)
    u = x.new_empty(x.shape, dtype=result_type(x))
    return u, x.new_empty(shape, dtype=torch.float64), x.new_empty(shape, dtype=torch.int64)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, ...]) -> None:
    # x as the way back to the leaves on which a second derivative is refused.
    ctx.save_for_backward(inputs[0], inputs[1], *output[1:])
    ctx.mark_non_differentiable(*output[1:])
    ctx.set_materialize_grads(False)


def _backward(ctx: Any, above: Tensor | None, *_: Any) -> tuple[Any, ...]:
    x, lam, s, block = ctx.saved_tensors
    if above is None:
        return (None,) * 7
    by_x, by_lam = vjp(above.to(torch.float64), lam.to(torch.float64), s, block)
    by_x = _autograd.first_order(by_x.to(x.dtype), above, x, lam)
    by_lam = _autograd.first_order(by_lam.to(lam.dtype), above, x, lam)
    return (by_x, by_lam, *(None,) * 5)


prox.register_autograd(_backward, setup_context=_setup_context)


def vjp(v: Tensor, lam: Tensor, s: Tensor, block: Tensor) -> tuple[Tensor, Tensor]:
    """submod_prox_vjp of all rows at once: v is averaged over each block, and stays as it is, or is
    0, where the hinge lets an element free or holds it."""
    place = block + 2  # FREE is -2, HELD is -1
    table = v.new_zeros(v.shape[:-1] + (v.shape[-1] + 2,))
    size = table.scatter_add(-1, place, torch.ones_like(v))
    mean = (table.scatter_add(-1, place, v) / size.clamp(min=1)).gather(-1, place)
    of_blocks = mean.masked_fill(block < 0, 0)
    by_x = torch.where(block == -2, v, of_blocks)
    return by_x, (of_blocks * s).sum(-1) / lam**2


class Prox(torch.autograd.Function):
    """The same for plain use and for torch.func, which looks for it here."""

    @staticmethod
    def forward(*inputs: Any) -> Any:
        return prox(*inputs)

    setup_context = staticmethod(_setup_context)
    backward = staticmethod(_backward)

    @staticmethod
    def vmap(info: Any, in_dims: Any, x: Tensor, lam: Tensor, *how: Any) -> Any:
        """One more dimension of rows."""
        x, lam = (
            t.expand(info.batch_size, *t.shape) if d is None else t.movedim(d, 0)
            for t, d in zip((x, lam), in_dims)
        )
        return Prox.apply(x, lam, *how), (0, 0, 0)
