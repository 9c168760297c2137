"""Operators have flat arguments: flat() takes LossOptions apart, options_of() puts them together
again, and OPTIONS is what their schemas say of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Callable

import torch
from torch import Tensor

from .. import _tokens
from .._measures import Measure, Tversky
from .._options import LossOptions
from ._memory import loss_type

if TYPE_CHECKING:
    from torch._library.custom_ops import CustomOpDef

    _Decorator = Callable[[Callable[..., Any]], CustomOpDef]

# The fields of LossOptions in their order, but for the classes: a name, or "list" and the list; and
# for the measure: its name, its parameters, and the token of one that is a function.
OPTIONS = (
    "str classes, SymInt[]? class_list, bool per_image, SymInt? ignore_index, "
    "Tensor? class_weight, str engine, float delta, bool from_logits, float smoothing, "
    "str nonfinite, str measure, float alpha, float beta, SymInt token, str reduction, "
    "str group, bool ddp"
)


def flat(options: LossOptions, token: int = 0) -> tuple[Any, ...]:
    """As OPTIONS has them. token: of the measure."""
    classes, *rest, measure, reduction, group, ddp = options
    chosen = (classes, None) if isinstance(classes, str) else ("list", classes)
    return (*chosen, *rest, *_flat_measure(measure, token), reduction, group, ddp)


def _flat_measure(measure: Measure, token: int) -> tuple[str, float, float, int]:
    if isinstance(measure, str):
        return measure, 0.0, 0.0, 0
    if isinstance(measure, Tversky):
        return "tversky", measure.alpha, measure.beta, 0
    return "custom", 0.0, 0.0, token


def options_of(classes: str, class_list: Any, *rest: Any) -> LossOptions:
    *others, name, alpha, beta, token, reduction, group, ddp = rest
    measure: Measure = name
    if name == "tversky":
        measure = Tversky(alpha, beta)
    elif name == "custom":
        measure = _tokens.of(token)
    chosen = classes if class_list is None else list(class_list)
    return LossOptions._make((chosen, *others, measure, reduction, group, ddp))


def operator(name: str, arguments: str, results: str = "(Tensor, Tensor)") -> _Decorator:
    """torch.ops.submod.<name> of a function that takes scores, labels and weights of pixels."""
    first = "Tensor scores, Tensor labels, Tensor? pixel_weights"
    return torch.library.custom_op(
        f"submod::{name}",
        mutates_args=(),
        device_types="cpu",
        schema=f"({first}, {arguments}) -> {results}",
    )


def loss_tensor(scores: Tensor, loss: float) -> Tensor:
    return torch.tensor(loss, dtype=loss_type(scores))


def taken(options_and_need: tuple[Any, ...]) -> tuple[LossOptions, bool]:
    *options, need_gradient = options_and_need
    return options_of(*options), need_gradient
