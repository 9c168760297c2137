"""How our operators are differentiated.

They return (loss, gradient by the scores): the library computes both in one call, and backward has
only to multiply the gradient by what comes from above. A loss may be several numbers: those of the
images, or of whatever the first dimensions of the scores number; each has its part of the gradient.

The operators themselves do that as PyTorch expects of an operator: the gradient is saved, never
changed, and the product is a new tensor. That serves torch.compile, torch.func and whoever calls
torch.ops.submod. Plain training needs the gradient for one backward pass only: there apply() keeps
it where nobody sees it, multiplies it in place and hands it out without a copy. A second pass over
the same graph (retain_graph=True) computes it again.
"""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor
from torch.autograd import forward_ad


def apply(operator: Any, scores: Tensor, *rest: Any, keep: Any = None) -> Tensor:
    """The loss, operator(scores, *rest, need_gradient)[0], with its derivative by the scores. keep:
    what tokens among the rest stand for."""
    if torch.compiler.is_compiling():
        loss, _ = operator(scores, *rest, needs_gradient(scores))
        return loss  # type: ignore[no-any-return]
    refuse_dual(scores)
    if torch._C._are_functorch_transforms_active():
        # Whether a gradient is needed, an outer transform may know.
        loss, _ = _Transformed.apply(operator, scores, *rest, torch.is_grad_enabled())
    else:
        loss = _HandOut.apply(operator, keep, scores, *rest, needs_gradient(scores))
    return loss  # type: ignore[no-any-return]


def refuse_dual(*inputs: Tensor) -> None:
    if torch.compiler.is_compiling():
        return
    for x in inputs:
        if forward_ad.unpack_dual(x).tangent is not None:  # type: ignore[no-untyped-call]
            raise RuntimeError("submod.torch: forward-mode differentiation: there is backward only")


def needs_gradient(scores: Tensor) -> bool:
    return scores.requires_grad and torch.is_grad_enabled()


def register(operator: Any) -> None:
    """The derivative of operator(scores, ..) -> (loss, gradient by the scores)."""
    operator.register_autograd(_backward, setup_context=_setup_context)


def _setup_context(ctx: Any, inputs: tuple[Any, ...], output: tuple[Tensor, Tensor]) -> None:
    scores = next(x for x in inputs if isinstance(x, Tensor))
    # The scores for their type and, when a second derivative is asked for, as the way back to the
    # leaves on which it is refused: without them it would be a silent 0. The price is that they may
    # not be changed in place before backward, where the operator itself is called.
    ctx.save_for_backward(scores, output[1], output[0].isnan())
    ctx.which = [x is scores for x in inputs]
    ctx.mark_non_differentiable(output[1])
    ctx.set_materialize_grads(False)  # no zeros as large as the gradient for the second output


def _backward(ctx: Any, above: Tensor | None, _: Any) -> tuple[Any, ...]:
    scores, gradient, refused = ctx.saved_tensors
    result = None
    if above is not None:
        result = _product(gradient, _factor(above, refused), scores).to(scores.dtype)
    return tuple(result if which else None for which in ctx.which)


class _Transformed(torch.autograd.Function):
    """The same for torch.func, which looks for it here; vmap takes one after the other."""

    @staticmethod
    def forward(operator: Any, *inputs: Any) -> Any:
        return operator(*inputs)

    setup_context = staticmethod(_setup_context)
    backward = staticmethod(_backward)

    @staticmethod
    def vmap(info: Any, in_dims: Any, operator: Any, *inputs: Any) -> Any:
        def one(i: int) -> list[Any]:
            pairs = zip(inputs, in_dims[1:])
            return [x.select(d, i) if isinstance(d, int) else x for x, d in pairs]

        found = [_Transformed.apply(operator, *one(i)) for i in range(info.batch_size)]
        return tuple(map(torch.stack, zip(*found))), (0, 0)


class _HandOut(torch.autograd.Function):
    """The loss alone, whose gradient is handed out once."""

    @staticmethod
    def forward(ctx: Any, operator: Any, keep: Any, scores: Tensor, *rest: Any) -> Tensor:
        loss, ctx.gradient = operator(scores, *rest)
        ctx.refused = loss.isnan()
        ctx.operator, ctx.keep, ctx.type = operator, keep, scores.dtype
        # For a second pass. The first does not look at them: by then they may have been changed
        # in place, by a relu or by a loader that uses its memory again.
        inputs = (scores, *rest)
        ctx.save_for_backward(*(x if isinstance(x, Tensor) else None for x in inputs))
        ctx.rest = [None if isinstance(x, Tensor) else x for x in inputs]
        return loss  # type: ignore[no-any-return]

    @staticmethod
    def backward(ctx: Any, above: Tensor) -> tuple[Any, ...]:
        gradient = _again(ctx) if ctx.gradient is None else ctx.gradient
        above = _factor(above, ctx.refused)
        if torch.is_grad_enabled():
            result = _product(gradient, above, _saved(ctx)[0])
        elif not _is_plain(above):
            result = gradient * _spread(above, gradient)
        else:
            ctx.gradient = None
            # Reading a number costs nothing in CPU memory; on a device one would have to wait.
            one = above.device.type == "cpu" and above.ndim == 0 and above.item() == 1
            result = gradient if one else gradient.mul_(_spread(above, gradient))
        return (None, None, result.to(ctx.type), *(None for _ in ctx.rest[1:]))


def _factor(above: Tensor, refused: Tensor) -> Tensor:
    """NaN when a device has refused its data: the gradient then holds anything."""
    return above.masked_fill(refused, float("nan"))


def _is_plain(tensor: Tensor) -> bool:
    """Numbers in memory, rather than something that is traced or mapped over."""
    try:
        return type(tensor) is Tensor and tensor.data_ptr() != 0
    except RuntimeError:
        return False


def _saved(ctx: Any) -> Any:
    try:
        return ctx.saved_tensors
    except RuntimeError as error:
        if "inplace" not in str(error):
            raise
        raise RuntimeError(
            "submod.torch: backward once more, or with create_graph, needs logits and labels as "
            "they were, and they have been changed in place since; give the loss a clone of them"
        ) from error


def _again(ctx: Any) -> Tensor:
    inputs = [x if t is None else t for t, x in zip(_saved(ctx), ctx.rest)]
    with torch.no_grad():
        return ctx.operator(*inputs)[1]  # type: ignore[no-any-return]


def _spread(above: Tensor, gradient: Tensor) -> Tensor:
    """A factor for each part of the gradient, whose first dimensions are those of above."""
    return above.reshape(above.shape + (1,) * (gradient.ndim - above.ndim))


def _product(gradient: Tensor, above: Tensor, scores: Tensor) -> Tensor:
    return first_order(gradient * _spread(above, gradient), above, scores)


def first_order(result: Tensor, *inputs: Tensor) -> Tensor:
    """A result of backward that depends on the inputs, and may not be differentiated by them."""
    if torch.is_grad_enabled():  # create_graph=True
        return _FirstOrder.apply(result, *inputs)  # type: ignore[no-any-return]
    return result


class _FirstOrder(torch.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(result: Tensor, *inputs: Tensor) -> Tensor:
        return result.clone()

    @staticmethod
    def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
        pass

    @staticmethod
    def backward(ctx: Any, *_: Any) -> Any:
        raise RuntimeError(
            "submod.torch: double backward: these functions are piecewise linear in the errors, or "
            "in the point of a prox, and have no second derivative; compute their part of the "
            "gradient without create_graph"
        )
