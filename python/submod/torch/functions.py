"""Lovász extensions and proxes of any submod.Function, differentiable."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from .._door import flag, pick
from .._function import Function
from .._numbers import real, wrong_type
from .._prox import PROX_METHODS
from . import _autograd, _function_ops
from ._memory import require_tensors
from .functional import checked_lam


def _token(function: Any) -> int:
    if not isinstance(function, Function):
        raise wrong_type(function, "function", "a submod.Function")
    return function._token


def _on_cpu(name: str, tensor: Any) -> Tensor:
    """Where functions are evaluated."""
    require_tensors(**{name: tensor})
    if not tensor.is_floating_point():
        raise TypeError(f"{name} of type {tensor.dtype}; floating-point numbers are needed")
    moved: Tensor = tensor.cpu()
    return moved


def lovasz(function: Function, errors: Tensor) -> Tensor:
    """The Lovász extension of a set function at errors (.., n): a number for each row, n being
    function.n. Backward is the greedy subgradient; errors that are equal share what they add, where
    the function has a formula for that (Function.lovasz).

        f = submod.Function.cut(n, edges)
        lovasz(f, errors).mean().backward()

    float64 errors give float64, all others float32; it is computed in double precision, row by row,
    in CPU memory: tensors on other devices are copied there, and the result back. NaN or Inf raises
    an exception that says where. vmap takes rows one by one; there is no second derivative and no
    forward mode. In a graph of torch.compile the function stands for itself: keep it.
    """
    token, rows = _token(function), _on_cpu("errors", errors)
    return _autograd.apply(_function_ops.extension, rows, token, keep=function).to(errors.device)


def prox(
    function: Function,
    x: Tensor,
    lam: float | Tensor,
    *,
    method: str = "auto",
    hinge: bool = False,
    tolerance: float | None = None,
) -> Tensor:
    """argmin over u of f(u) + lam/2 |u - x|^2, f the Lovász extension of a submodular function, for
    each row of x (.., n), as Function.prox has it; method, hinge and tolerance are explained there.
    lam > 0: a number, or a tensor that can be expanded to the first dimensions of x.

    Backward is exact, by x and by lam. u is constant on blocks, and on each

        u = mean of x over the block - (what F gains by it) / (lam times its size),

    so that the Jacobian by x averages over the blocks: one pass over them. u is piecewise smooth,
    and has no derivative where a block is about to fall apart or two of them are about to meet: a
    set of measure 0, which x with equal entries may be in. The derivative returned there is the
    limit of those at points nearby with the same u, an element of the generalised Jacobian. After
    an iterative method the blocks are those of the approximate u, as result.blocks has them; a
    smaller tolerance makes them surer. With hinge it is 1 below the hinge, and 0 where the hinge
    holds an element at 0.

    float64 gives float64, all others float32. The rest as in lovasz; vmap takes all rows at once.
    """
    token, rows = _token(function), _on_cpu("x", x)
    pick("method", method, PROX_METHODS)
    if isinstance(lam, Tensor):
        lams = _on_cpu("lam", lam)
    else:
        lams = torch.tensor(checked_lam(lam), dtype=torch.float64)
    lams = _expanded(lams, rows.shape[:-1])
    limit = None if tolerance is None else real(tolerance, "tolerance")
    how = (token, method, flag(hinge, "hinge"), limit)
    return _prox(rows, lams, *how).to(x.device)


def _expanded(lam: Tensor, shape: torch.Size) -> Tensor:
    fits = all(have in (1, want) for have, want in zip(reversed(lam.shape), reversed(shape)))
    if lam.ndim > len(shape) or not fits:
        raise ValueError(f"lam of shape {tuple(lam.shape)}; it must expand to {tuple(shape)}")
    return lam.expand(shape)


def _prox(x: Tensor, lam: Tensor, *how: Any) -> Tensor:
    need = _autograd.needs_gradient(x) or _autograd.needs_gradient(lam)
    if torch.compiler.is_compiling():
        return _function_ops.prox(x, lam, *how, need)[0]  # type: ignore[no-any-return]
    _autograd.refuse_dual(x, lam)
    transformed = torch._C._are_functorch_transforms_active()  # which may need it outside
    need = torch.is_grad_enabled() if transformed else need
    return _function_ops.Prox.apply(x, lam, *how, need)[0]  # type: ignore[no-any-return]
