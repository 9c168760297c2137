"""The losses as functions of tensors."""

from __future__ import annotations

import math
from typing import Any

from torch import Tensor

from .._door import checked
from .._measures import Measure
from .._options import DELTA, Classes
from . import _autograd, _ops
from ._calls import Group, Weight, call_loss, prepared


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
    engine: "exact" sorts; "counting" counts, and sorts only where counting is off by more than
        2^-24 of the loss; "histogram" counts in bins, and is off by at most delta. Devices sort for
        "counting", too.
    from_logits: False when logits are a softmax's output already.
    measure: what wrong pixels cost: "jaccard", "hamming", submod.Tversky(alpha=, beta=), or a
        function F(a, b, P, N) of a wrong ones among P pixels of the foreground and b among N of the
        background, increasing and submodular, with F(0, 0) = 0. On CPU tensors it is called with
        NumPy arrays, on other devices with tensors: write what both can do. It is checked once, as
        in submod.lovasz_softmax; on other devices the check uses tensors in CPU memory.
    pixel_weights: a number >= 0 per pixel, what it counts for: the shape of labels, or what expands
        to that. There is no gradient by them.
    reduction: "mean" over the images, their "sum", or "none" for a loss each; with per_image=False
        the batch is one group: "none" gives one number in a tensor (1,), "sum" is "mean".

    normalize: what class_weight is divided by: the sum of the "weights" of the classes that the
        mean is over, or the number of these "classes", as kornia and mmseg have it.
    nonfinite: "raise" an exception when NaN or Inf is among the logits, or "propagate": loss and
        gradient are NaN, by which a GradScaler sees that it has to skip a step. -Inf is accepted in
        a softmax, where it masks a class; infinite logits of the right sign are accepted in a
        hinge.
    group: of torch.distributed, as torch.distributed.group.WORLD: the loss is that of the images of
        all its ranks, as one process with all of them has it, and the gradient is by the logits of
        this rank. It needs engine="histogram". None: this process alone; so is WORLD before
        init_process_group.
    ddp: multiplies the gradient, not the loss, by the number of ranks, by which
        DistributedDataParallel divides it again when it takes the mean over the ranks.

    With a group all ranks make the same call, with the same settings and classes; images are each
    rank's own, in number and size, and there may be none. What is present, the weights of classes
    and the mean over images are those of all ranks; reduction="none" gives this rank's losses. Loss
    and gradient have the bits that one process gets, for any split. float64 is rounded to float32.
    When a rank refuses its data or arguments, all raise, or have NaN, as above: its own exception
    says why, those of the others name the rank. CommunicationError: a rank has died. A second
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
    return call_loss(
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
    return call_loss(
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
    return call_loss(
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
) -> Tensor:
    """The Lovász hinge loss whose backward pass sends lam (logits - prox(logits)) in place of the
    gradient, prox(x) = argmin over z of loss(z) + lam/2 |z - x|^2: the paper's modified
    backpropagation. Where the loss is linear around the logits that is the gradient itself; the
    smaller lam > 0, the further it looks. On CUDA, if submod.gpu_available(), the prox is that of
    margins moved to the middles of 2^16 bins between the smallest and the largest of an image;
    tensors of other devices, and all with a measure that is a function, are copied to CPU memory,
    and the result back. Pixels have no weights here, and there is no group. The rest as in
    lovasz_hinge."""
    lam = checked_lam(lam)
    call = prepared(
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
    )
    scores, labels, weights, _, *flat = call.inputs
    inputs = (scores, labels, weights, lam, *flat)
    return _autograd.apply(_ops.prox_lovasz_hinge, *inputs, keep=call.held)


# ---- what the Lovász losses are compared and mixed with ----


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
    logits: I = sum of p y, U = sum of p + y, minus I. from_logits: False when logits are p already.
    Computed in CPU memory: tensors of other devices are copied there, and the result back. Shapes
    and the rest as in lovasz_hinge."""
    return call_loss(
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
    Shapes and other arguments as in lovasz_softmax; computed where rahman_wang is."""
    return call_loss(
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
    return call_loss(
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
