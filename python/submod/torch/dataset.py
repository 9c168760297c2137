"""The Lovász-Softmax loss of the whole dataset, seen batch by batch, over all ranks."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor

from .._door import checked
from .._measures import Measure
from .._options import DELTA, Classes, loss_options
from .._views import canonical
from . import _autograd, _dataset_ops, _ranks
from ._calls import Weight, flattened, weight_tensor, weights_for
from ._gains import real_type
from ._memory import require_pair
from .functional import lovasz_softmax
from .modules import refuse_now, shown


class DatasetLovasz(_ranks.Grouped):
    """Keeps histograms of the errors of all batches so far, and returns the loss of all of them
    together, differentiable by the current batch's logits.

    num_classes, ignore_index, classes, class_weight, measure: as in lovasz_softmax, and
        pixel_weights, which come with the batch: dataset(logits, labels, pixel_weights).
    delta: the loss is within delta of the exact one.
    decay: what was counted before is multiplied by it at each step: 1 keeps all, 0.99 forgets in
        some hundred steps, as errors of an older model should be.
    stochastic: True: the gradient is multiplied by (pixels counted) / (pixels of this batch), and
        estimates, as those of other losses do, the gradient by all the data behind the counts; it
        does not shrink as the counts grow. False: the plain derivative by these logits.
    process_group: batches are added up over its ranks by one all-reduce of num_classes * 2 * bins
        numbers; None: the default group, if torch.distributed is initialised. A rank outside of it
        counts its own batches alone. Counts are whole numbers, so they are the same bits for any
        number of ranks. DistributedDataParallel takes the mean of the gradients over the ranks, for
        which stochastic=True is made. When a rank refuses its batch (NaN, a label that is no
        class), all raise, and none has counted anything.

    In evaluation mode a batch is counted for its own loss only: that of all batches so far and this
    one, which is then forgotten, without decay and without other ranks. To evaluate on a dataset,
    take a module of its own in training mode, under torch.no_grad(), and read value().

    The counts are float64 whatever .half() or .to(dtype) make of other modules. Errors are counted
    where the logits are, and added up where the module is: best on the same device, by .to(device).
    On devices nothing waits, and a batch that has to be refused makes the loss NaN and is not
    counted. torch.compile takes all of it into one graph.
    """

    num_classes: int
    delta: float
    decay: float
    classes: Any
    ignore_index: int | None
    class_weight: Tensor | None
    stochastic: bool
    from_logits: bool
    counts: Tensor

    def __init__(
        self,
        num_classes: int,
        delta: float = DELTA,
        decay: float = 1.0,
        classes: Classes = "present",
        ignore_index: int | None = None,
        class_weight: Weight = None,
        stochastic: bool = True,
        process_group: Any = None,
        from_logits: bool = True,
        measure: Measure = "jaccard",
    ) -> None:
        super().__init__()
        settings = checked(
            num_classes=num_classes,
            delta=delta,
            decay=decay,
            classes=classes,
            ignore_index=ignore_index,
            class_weight=weight_tensor(class_weight),
            stochastic=stochastic,
            from_logits=from_logits,
            measure=measure,
        )
        for name, value in settings.items():
            setattr(self, name, value)
        if self.num_classes < 1:
            raise ValueError(f"num_classes = {num_classes}; it must be at least 1")
        if not 2.0**-21 <= self.delta <= 1:
            raise ValueError(f"delta = {delta}; it must be in [2^-21, 1]")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay = {decay}; it must be in [0, 1]")
        # The smallest power of two, at least 2, that guarantees delta.
        self.bins = max(2, 2 ** math.ceil(math.log2(0.5 / self.delta)))
        self.process_group = process_group
        counts = torch.zeros(self.num_classes, 2, self.bins, dtype=torch.float64)
        self.register_buffer("counts", counts)
        refuse_now(lovasz_softmax, "multiclass", self.num_classes, **self._loss_settings())

    def _loss_settings(self) -> dict[str, Any]:
        names = ("classes", "ignore_index", "class_weight", "from_logits", "measure")
        return {name: getattr(self, name) for name in names}

    def extra_repr(self) -> str:
        names = ("num_classes", "bins", "delta", "decay", "stochastic")
        return shown({**{name: getattr(self, name) for name in names}, **self._loss_settings()})

    def reset(self) -> None:
        """Forgets all batches."""
        self._keep(torch.zeros_like(self.counts))  # a new one: backward may need the old

    def _keep(self, counts: Tensor) -> None:
        """No tensor of torch.inference_mode(), which load_state_dict could not write to later."""
        if not torch.compiler.is_compiling():
            with torch.inference_mode(False):
                counts = counts.clone() if counts.is_inference() else counts
        self.counts = counts

    def value(self) -> float:
        """The loss of all batches counted so far, 0 when there are none."""
        return _dataset_ops.solved(self.counts.cpu(), loss_options(**self._loss_settings()))[1]

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Counts go to other devices, but not to other types; on MPS, which has no float64, they
        stay in CPU memory."""
        counts = self.counts
        self.counts = counts.to(torch.float32)
        super()._apply(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        device = self.counts.device
        self.counts = counts.to("cpu" if device.type == "mps" else device)
        return self

    def forward(
        self, logits: Tensor, labels: Tensor, pixel_weights: Tensor | None = None
    ) -> Tensor:
        group, ranks = _ranks.default(self.process_group) if self.training else ("", 1)
        chosen = loss_options(**self._loss_settings(), group=group)
        options, held = flattened(chosen)
        try:
            inputs = self._canonical(logits, labels, pixel_weights)
        except Exception as error:
            _ranks.refuse(group, error)
            raise
        scores, *rest = inputs
        batch = _dataset_ops.dataset_counts(scores.detach(), *rest, self.bins, *options).to(
            self.counts
        )
        counts = self.counts * self.decay if self.training else self.counts
        counts = counts + batch
        scale = self._scale(counts, batch, ranks)
        known = counts.to(device=scores.device, dtype=real_type(scores))
        solving = (*inputs, known, scale.to(known), *options)
        loss = _autograd.apply(_dataset_ops.dataset_loss, *solving, keep=held)
        if self.training:  # a batch that a device has refused is NaN
            self._keep(torch.where(batch[0, 0, 0].isnan(), self.counts, counts))
        return loss

    def _scale(self, counts: Tensor, batch: Tensor, ranks: int) -> Tensor:
        """Of the gradient. Every class counts every pixel once."""
        pixels = batch[0].sum()
        if not self.stochastic:
            return torch.ones_like(pixels)
        return torch.where(pixels > 0, ranks * counts[0].sum() / pixels, 1)

    def _canonical(
        self, logits: Tensor, labels: Tensor, pixel_weights: Tensor | None
    ) -> tuple[Tensor, Tensor, Tensor | None]:
        require_pair(logits, labels)
        _autograd.refuse_dual(logits)
        scores, labels = canonical("multiclass", logits, labels, False)
        if scores.shape[1] != self.num_classes:
            raise ValueError(f"logits of {scores.shape[1]} classes, not {self.num_classes}")
        return scores, labels, weights_for(pixel_weights, "multiclass", logits, scores, False)
