"""The one way in which all our operators are differentiated.

They return (loss, gradient): the library computes both in one call. Backward hands the gradient
out, multiplied by what comes from above. It is handed out once, without a copy; a second backward
pass over the same graph (retain_graph=True) computes it again.
"""

from __future__ import annotations

from typing import Any, Optional

import torch
from torch import Tensor


class _FirstOrder(torch.autograd.Function):
    """gradient * above, which may not be differentiated."""

    @staticmethod
    def forward(ctx: Any, gradient: Tensor, above: Tensor, scores: Tensor) -> Tensor:
        return gradient * above

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(
            "submod.torch: double backward: these losses are piecewise linear in the errors and "
            "have no second derivative; compute their part of the gradient without create_graph"
        )


def register(operator: Any) -> None:
    """operator(scores, ..) -> (loss, gradient by the scores in float32)."""

    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
        tensors = [x if isinstance(x, Tensor) else None for x in inputs]
        ctx.save_for_backward(*tensors)
        ctx.rest = [None if isinstance(x, Tensor) else x for x in inputs]
        ctx.gradient = output[1]
        ctx.mark_non_differentiable(output[1])
        ctx.set_materialize_grads(False)  # no zeros as large as the gradient for the second output

    def backward(ctx: Any, above: Optional[Tensor], _: Any) -> tuple[Any, ...]:
        if above is None:
            return (None,) * len(ctx.rest)
        inputs = [x if t is None else t for t, x in zip(ctx.saved_tensors, ctx.rest)]
        gradient, ctx.gradient = ctx.gradient, None
        if gradient is None:
            with torch.no_grad():
                gradient = operator(*inputs)[1]
        result = _scaled(gradient, above, inputs[0])
        return (result.to(inputs[0].dtype), *(None for _ in inputs[1:]))

    operator.register_autograd(backward, setup_context=setup_context)


def _scaled(gradient: Tensor, above: Tensor, scores: Tensor) -> Tensor:
    if torch.is_grad_enabled():  # create_graph=True
        return _FirstOrder.apply(gradient, above, scores)  # type: ignore[no-any-return]
    if type(above) is not Tensor:  # being traced
        return gradient * above
    factor = above.item()
    return gradient if factor == 1 else gradient.mul_(factor)
