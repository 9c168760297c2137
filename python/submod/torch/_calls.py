"""What all losses share: arguments are checked and brought into the form that operators take, and
what one rank refuses is told to the others."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import numpy as np
import torch
from torch import Tensor

from .. import _tokens
from .._door import checked
from .._measures import Tversky
from .._numbers import real_array
from .._one_hot import channel_of, class_numbers, no_class, not_one_hot
from .._options import LossOptions, loss_options
from .._views import KINDS, canonical, canonical_weights, is_list
from . import _autograd, _ops, _ranks
from ._anywhere import LOSSES
from ._class_weight import mean_weights, reduced
from ._flat import flat
from ._memory import require_pair

if TYPE_CHECKING:
    from torch.distributed import ProcessGroup

Weight = Union[Tensor, "list[float]", None]
Group = Optional["ProcessGroup"]


def weight_tensor(weight: Weight) -> Tensor | None:
    """In CPU memory, where the library reads it."""
    if weight is None:
        return None
    try:
        if isinstance(weight, np.ndarray):
            weight = torch.from_numpy(real_array(weight, "class_weight"))
        if isinstance(weight, Tensor) and weight.is_complex():
            raise TypeError
        numbers = torch.as_tensor(weight, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"class_weight = {weight!r}; a number per class is needed") from None
    return numbers.detach().cpu()


def flattened(options: LossOptions) -> tuple[tuple[Any, ...], Any]:
    """As operators take them, and what has to be kept meanwhile: a measure goes by its token."""
    measure = options.measure
    if isinstance(measure, (str, Tversky)):
        return flat(options), None
    if torch.compiler.is_compiling():
        return flat(options, _kept(measure, id(measure))), None
    held = _tokens.Held(measure)
    return flat(options, held.token), held


# To compilers a number; that id(measure) is looked at makes them look again for another measure.
_kept = torch.compiler.assume_constant_result(_tokens.keep)  # type: ignore[no-untyped-call]


def weights_for(
    weights: Any, kind: str, logits: Tensor, scores: Tensor, per_image: bool
) -> Tensor | None:
    """Of pixels: (batch, pixels..), on the device of the canonical scores."""
    if weights is None:
        return None
    require_pair(logits, logits, pixel_weights=weights)
    if weights.requires_grad and torch.is_grad_enabled():
        raise ValueError(
            "pixel_weights require a gradient, and there is none by them; give "
            "pixel_weights.detach()"
        )
    if weights.is_complex():
        raise TypeError(f"pixel_weights of type {weights.dtype}; real numbers are needed")
    listed = is_list(kind, logits, per_image)
    shaped: Tensor = canonical_weights(weights.to(scores.device), tuple(scores.shape), listed)
    return shaped


def _numbers(logits: Tensor, labels: Tensor, ignore_index: int | None) -> Tensor:
    """Class numbers of one-hot labels; all other labels as they are. On devices what is not one-hot
    becomes a label that is refused."""
    channel = channel_of(logits, labels)
    if channel is None:
        return labels
    numbers, valid = class_numbers(labels, channel, no_class(ignore_index))
    looks = labels.device.type == "cpu" and not torch.compiler.is_compiling()
    if looks and not torch._C._are_functorch_transforms_active() and not bool(valid.all()):
        raise not_one_hot()
    return numbers  # type: ignore[no-any-return]


def require_counts(engine: str, group: str) -> None:
    """Ranks add up counts; ranks of errors do not add up."""
    if group and engine != "histogram":
        raise ValueError(
            f'engine = {engine!r} has no group: ranks add up counts; give engine="histogram"'
        )


def call_loss(
    name: str,
    logits: Tensor,
    labels: Tensor,
    class_weight: Weight = None,
    *,
    group: Group = None,
    **given: Any,
) -> Tensor:
    """given: the other arguments. What this rank refuses, all ranks raise."""
    ranks = _ranks.named(group)
    try:
        call = prepared(name, logits, labels, class_weight, group=ranks, **given)
    except Exception as error:
        _ranks.refuse(ranks, error)
        raise
    loss = _autograd.apply(_ops.loss, *call.inputs, keep=call.held)
    if call.counts_classes:
        scores, labels, weights, *_ = call.inputs
        factor = mean_weights(KINDS[name], scores, labels, weights, call.options)
        loss = reduced(loss * factor.to(loss.dtype), call.reduction, call.options)
    return loss if loss.device == logits.device else loss.to(logits.device)


class Call(NamedTuple):
    """Of a loss: all that has been checked."""

    inputs: tuple[Any, ...]
    held: Any  # what tokens among them stand for
    options: LossOptions
    counts_classes: bool  # normalize="classes": the inputs ask for the losses of all groups
    reduction: str


def prepared(
    name: str,
    logits: Tensor,
    labels: Tensor,
    class_weight: Weight,
    *,
    pixel_weights: Tensor | None,
    normalize: str = "weights",
    **given: Any,
) -> Call:
    """given: the other fields of LossOptions."""
    require_pair(logits, labels)
    _autograd.refuse_dual(logits)
    options = loss_options(class_weight=weight_tensor(class_weight), **given)
    require_counts(options.engine, options.group)
    scores, kind, reduction = logits, KINDS[name], options.reduction
    counts_classes = checked(normalize=normalize)["normalize"] == "classes"
    counts_classes = counts_classes and options.class_weight is not None
    if counts_classes:
        options = options._replace(reduction="none")
    if kind == "multiclass":
        labels = _numbers(logits, labels, options.ignore_index)
    if name not in LOSSES:  # there is none but for the CPU
        scores, labels = logits.cpu(), labels.cpu()
    scores, labels = canonical(kind, scores, labels, options.per_image)
    weights = weights_for(pixel_weights, kind, logits, scores, options.per_image)
    given_flat, held = flattened(options)
    return Call(
        (scores, labels, weights, name, *given_flat), held, options, counts_classes, reduction
    )
