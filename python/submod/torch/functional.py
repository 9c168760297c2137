"""The losses as functions of tensors."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple, Optional, Union

import torch
from torch import Tensor

from .. import _tokens
from .._door import checked
from .._measures import Measure, Tversky
from .._one_hot import channel_of, class_numbers, no_class, not_one_hot
from .._options import DELTA, Classes, LossOptions, loss_options
from .._views import KINDS, canonical, canonical_weights, is_list
from . import _autograd, _ops, _ranks
from ._anywhere import LOSSES
from ._class_weight import mean_weights, reduced
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
        numbers = torch.as_tensor(weight, dtype=torch.float64)
    except (TypeError, ValueError, RuntimeError):
        raise TypeError(f"class_weight = {weight!r}; a number per class is needed") from None
    return numbers.detach().cpu()


def checked_lam(lam: Any) -> float:
    (number,) = checked(lam=lam).values()
    if not 0 < number < math.inf:
        raise ValueError(f"lam = {lam}; it must be finite and > 0")
    return float(number)


def lovasz_softmax(
    logits: Tensor,
    labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    engine: str = "exact",
    delta: float = DELTA,
    *,
    from_logits: bool = True,
    measure: Measure = "jaccard",
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
    normalize: str = "weights",
    group: Group = None,
    ddp: bool = False,
) -> Tensor:
    """Lovász-Softmax loss: logits (N, C, ..), labels (N, ..) or (N, 1, ..) with values in [0, C);
    or one-hot labels, (N, C, ..) or (N, .., C), unless they could be both.
    C = 1 is refused, as the softmax is always 1: lovasz_hinge and lovasz_sigmoid are for one score
    per pixel.

    classes: which ones the mean is over: "present", "all" or a list.
    per_image: a loss per image, averaged; else one loss of the whole batch.
    ignore_index: the label of pixels that have no part in anything.
    class_weight: one number per class, not all 0, for a weighted mean over the classes.
    engine: "exact" sorts; "histogram" counts in bins, is faster, and off by at most delta.
    from_logits: False when logits are a softmax's output already.
    measure: what wrong pixels cost: "jaccard", "hamming", submod.Tversky(alpha=, beta=), or a
        function F(a, b, P, N) of a wrong ones among P pixels of the foreground and b among N of the
        background, increasing and submodular, with F(0, 0) = 0. On CPU tensors it is called with
        NumPy arrays, on other devices with tensors: write what both can do.
    pixel_weights: a number >= 0 per pixel, what it counts for: the shape of labels, or what expands
        to that. There is no gradient by them.
    reduction: "mean" over the images, their "sum", or "none" for a loss each; with per_image=False
        the batch is one group: "none" gives one number in a tensor (1,), "sum" is "mean".

    normalize: what class_weight is divided by: the sum of the "weights" of the classes that the
        mean is over, or the number of these "classes", as kornia and mmseg have it.
    nonfinite: "raise" an exception when NaN or Inf is among the logits, or "propagate": loss and
        gradient are NaN, by which a GradScaler sees that it has to skip a step.
    group: of torch.distributed, as torch.distributed.group.WORLD: the loss is that of the images of
        all its ranks, as one process with all of them has it, and the gradient is by the logits of
        this rank. None: this process alone; so is WORLD before init_process_group.
    ddp: multiplies the gradient, not the loss, by the number of ranks, by which
        DistributedDataParallel divides it again when it takes the mean over the ranks.

    With a group all ranks make the same call, with the same settings and classes; images are each
    rank's own, in number and size, and there may be none. What is present, the weights of classes
    and the mean over images are those of all ranks; reduction="none" gives this rank's losses. With
    engine="histogram" loss and gradient have the bits that one process gets, for any split; the
    exact engine agrees up to rounding, and takes tensors of other devices by way of CPU memory.
    float64 is rounded to float32. When a rank refuses its data or arguments, all raise what it has
    to say, behind "rank 1: ", or have NaN, as above; CommunicationError: a rank has died. A second
    backward pass over the same graph, and each sample of a vmap, is such a call again.

    A logit of -Inf masks a class: its probability and gradient are 0. All classes of a pixel may
    not be masked. It costs a copy of the logits and a second try, where there is one. The library's
    CUDA kernels do not have that: there -Inf gives NaN.

    NaN or Inf among the logits, or a label that is no class, raises an exception that says where.
    On devices, where looking would wait for them, the loss is NaN instead, and so is its gradient;
    logits.cpu(), labels.cpu() give the error message. CUDA tensors are for the library's kernels if
    submod.gpu_available(), except with a measure that is a function. That, and tensors of all other
    devices (ROCm, MPS, XPU), is computed there by PyTorch's operations, with the same semantics.
    """
    return _loss(
        "lovasz_softmax",
        logits,
        labels,
        class_weight,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        engine=engine,
        delta=delta,
        from_logits=from_logits,
        measure=measure,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
        normalize=normalize,
        group=group,
        ddp=ddp,
    )


def lovasz_sigmoid(
    logits: Tensor,
    labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    engine: str = "exact",
    delta: float = DELTA,
    *,
    from_logits: bool = True,
    measure: Measure = "jaccard",
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
    normalize: str = "weights",
    group: Group = None,
    ddp: bool = False,
) -> Tensor:
    """Lovász-Sigmoid loss, a binary problem per class: logits and labels (N, C, ..), labels 0 or 1.
    For a single class logits are (N, 1, ..), and labels may be without that dimension. Both of
    three dimensions, which could mean (N, H, W) or (N, C, L), is refused: logits[:, None] or
    logits[..., None] says which, and labels likewise.
    The rest as in lovasz_softmax; from_logits: False when logits are a sigmoid's output."""
    return _loss(
        "lovasz_sigmoid",
        logits,
        labels,
        class_weight,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        engine=engine,
        delta=delta,
        from_logits=from_logits,
        measure=measure,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
        normalize=normalize,
        group=group,
        ddp=ddp,
    )


def lovasz_hinge(
    logits: Tensor,
    labels: Tensor,
    per_image: bool = True,
    ignore_index: int | None = None,
    engine: str = "exact",
    delta: float = DELTA,
    *,
    measure: Measure = "jaccard",
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
    group: Group = None,
    ddp: bool = False,
) -> Tensor:
    """Lovász hinge loss: logits (N, ..) or (N, 1, ..), labels (N, ..), 0 or 1; or both (pixels,).
    The rest as in lovasz_softmax."""
    return _loss(
        "lovasz_hinge",
        logits,
        labels,
        engine=engine,
        delta=delta,
        per_image=per_image,
        ignore_index=ignore_index,
        measure=measure,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
        group=group,
        ddp=ddp,
    )


def prox_lovasz_hinge(
    logits: Tensor,
    labels: Tensor,
    lam: float,
    per_image: bool = True,
    ignore_index: int | None = None,
    *,
    measure: Measure = "jaccard",
    reduction: str = "mean",
    nonfinite: str = "raise",
    group: Group = None,
    ddp: bool = False,
) -> Tensor:
    """The Lovász hinge loss whose backward pass sends lam (logits - prox(logits)) in place of the
    gradient, prox(x) = argmin over z of loss(z) + lam/2 |z - x|^2: the paper's modified
    backpropagation. Where the loss is linear around the logits that is the gradient itself; the
    smaller lam > 0, the further it looks. On CUDA, if submod.gpu_available(), the prox is that of
    margins moved to the middles of 2^16 bins between the smallest and the largest of an image;
    tensors of other devices, and all with another measure than Jaccard, are copied to CPU memory,
    and the result back. Pixels have no weights here. With a group and per_image=False the prox is
    that of margins moved to a grid of 2^16 steps up to the power of two above the largest of all
    ranks. The rest as in lovasz_hinge."""
    ranks = _ranks.named(group)
    try:
        lam = checked_lam(lam)
        call = _prepared(
            "lovasz_hinge",
            logits,
            labels,
            None,
            per_image=per_image,
            ignore_index=ignore_index,
            measure=measure,
            pixel_weights=None,
            reduction=reduction,
            nonfinite=nonfinite,
            group=ranks,
            ddp=ddp,
        )
    except Exception as error:
        _ranks.refuse(ranks, error)
        raise
    scores, labels, weights, _, *flat = call.inputs
    inputs = (scores, labels, weights, lam, *flat)
    return _autograd.apply(_ops.prox_lovasz_hinge, *inputs, keep=call.held)


# ---- what the Lovász losses are compared and mixed with ----


def cross_entropy(
    logits: Tensor,
    labels: Tensor,
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    *,
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
) -> Tensor:
    """Cross-entropy: logits (N, C, ..), labels (N, ..) or (N, 1, ..) with values in [0, C). The
    mean over the pixels, each weighted by the weight of its label, as PyTorch's has it, which is
    NaN where this is 0: without pixels. A label on a class that is masked by -Inf is refused, as
    the loss would be Inf. Baselines are computed in CPU memory: CUDA tensors are
    copied there, and the result back. The rest as in lovasz_softmax."""
    return _loss(
        "cross_entropy",
        logits,
        labels,
        class_weight,
        per_image=per_image,
        ignore_index=ignore_index,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
    )


def hinge(
    logits: Tensor,
    labels: Tensor,
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    *,
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
) -> Tensor:
    """Hinge loss: logits (N, ..) or (N, 1, ..), labels (N, ..), 0 or 1; or both (pixels,). The mean
    over the pixels of max(0, 1 - logit) at label 1 and max(0, 1 + logit) at label 0.
    class_weight: two numbers, of background and foreground. The rest as in cross_entropy."""
    return _loss(
        "hinge",
        logits,
        labels,
        class_weight,
        per_image=per_image,
        ignore_index=ignore_index,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
    )


def rahman_wang(
    logits: Tensor,
    labels: Tensor,
    per_image: bool = False,
    ignore_index: int | None = None,
    *,
    from_logits: bool = True,
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
) -> Tensor:
    """The loss of Rahman and Wang (2016), binary: 1 - I/U of the probabilities p, a sigmoid of the
    logits: I = sum of p y, U = sum of p + y, minus I. Shapes as in hinge; from_logits: False when
    logits are p already. The rest as in cross_entropy."""
    return _loss(
        "rahman_wang",
        logits,
        labels,
        from_logits=from_logits,
        per_image=per_image,
        ignore_index=ignore_index,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
    )


def soft_dice(
    logits: Tensor,
    labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    smoothing: float = 0.0,
    *,
    from_logits: bool = True,
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
    normalize: str = "weights",
) -> Tensor:
    """Soft Dice loss: the mean over the classes of 1 - (2 I + s) / (sum of p + sum of y + s), with
    p the probability of the class, y = 1 where it is the label, I = sum of p y and s = smoothing.
    Shapes and other arguments as in lovasz_softmax; computed where cross_entropy is."""
    return _loss(
        "soft_dice",
        logits,
        labels,
        class_weight,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        smoothing=smoothing,
        from_logits=from_logits,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
        normalize=normalize,
    )


def soft_jaccard(
    logits: Tensor,
    labels: Tensor,
    classes: Classes = "present",
    per_image: bool = False,
    ignore_index: int | None = None,
    class_weight: Weight = None,
    smoothing: float = 0.0,
    *,
    from_logits: bool = True,
    pixel_weights: Tensor | None = None,
    reduction: str = "mean",
    nonfinite: str = "raise",
    normalize: str = "weights",
) -> Tensor:
    """Soft Jaccard loss: the mean over the classes of 1 - (I + s) / (U + s), with U = sum of p +
    sum of y - I. The rest as in soft_dice."""
    return _loss(
        "soft_jaccard",
        logits,
        labels,
        class_weight,
        classes=classes,
        per_image=per_image,
        ignore_index=ignore_index,
        smoothing=smoothing,
        from_logits=from_logits,
        pixel_weights=pixel_weights,
        reduction=reduction,
        nonfinite=nonfinite,
        normalize=normalize,
    )


def flattened(options: LossOptions) -> tuple[tuple[Any, ...], Any]:
    """As operators take them, and what has to be kept meanwhile: a measure goes by its token."""
    measure = options.measure
    if isinstance(measure, (str, Tversky)):
        return _ops.flat(options), None
    if torch.compiler.is_compiling():
        return _ops.flat(options, _kept(measure, id(measure))), None
    held = _tokens.Held(measure)
    return _ops.flat(options, held.token), held


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


def _loss(
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
        call = _prepared(name, logits, labels, class_weight, group=ranks, **given)
    except Exception as error:
        _ranks.refuse(ranks, error)
        raise
    loss = _autograd.apply(_ops.loss, *call.inputs, keep=call.held)
    if call.counts_classes:
        scores, labels, weights, *_ = call.inputs
        factor = mean_weights(KINDS[name], scores, labels, weights, call.options)
        loss = reduced(loss * factor.to(loss.dtype), call.reduction, call.options)
    return loss if loss.device == logits.device else loss.to(logits.device)


class _Call(NamedTuple):
    """Of a loss: all that has been checked."""

    inputs: tuple[Any, ...]
    held: Any  # what tokens among them stand for
    options: LossOptions
    counts_classes: bool  # normalize="classes": the inputs ask for the losses of all groups
    reduction: str


def _prepared(
    name: str,
    logits: Tensor,
    labels: Tensor,
    class_weight: Weight,
    *,
    pixel_weights: Tensor | None,
    normalize: str = "weights",
    **given: Any,
) -> _Call:
    """given: the other fields of LossOptions."""
    require_pair(logits, labels)
    _autograd.refuse_dual(logits)
    options = loss_options(class_weight=weight_tensor(class_weight), **given)
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
    flat, held = flattened(options)
    return _Call((scores, labels, weights, name, *flat), held, options, counts_classes, reduction)
