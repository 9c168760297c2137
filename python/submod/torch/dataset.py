"""The Lovász-Softmax loss of the whole dataset, seen batch by batch, over all ranks."""

from __future__ import annotations

import math
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .._door import checked
from .._options import DELTA, Classes, loss_options
from .._views import canonical
from . import _autograd, _ops
from ._memory import require_pair
from .functional import Weight, lovasz_softmax, weight_tensor
from .modules import refuse_now, shown


class DatasetLovasz(nn.Module):
    """Keeps histograms of the errors of all batches so far, and returns the loss of all of them
    together, differentiable by the current batch's logits.

    num_classes, ignore_index, classes, class_weight: as in lovasz_softmax.
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
        class), it raises that, all others a RuntimeError, and none has counted anything.

    In evaluation mode a batch is counted for its own loss only: that of all batches so far and this
    one, which is then forgotten, without decay and without other ranks. To evaluate on a dataset,
    take a module of its own in training mode, under torch.no_grad(), and read value().

    The counts are float64 whatever .half() or .to(dtype) make of other modules. Errors are counted
    in CPU memory: logits on other devices are copied there, and their gradient back. torch.compile
    has to break the graph here, since numbers are read from the counts: not with fullgraph=True.
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
        )
        for name, value in settings.items():
            setattr(self, name, value)
        if self.num_classes < 1:
            raise ValueError(f"num_classes = {num_classes} is not >= 1")
        if not 2.0**-21 <= self.delta <= 1:
            raise ValueError(f"delta = {delta} is not in [2^-21, 1]")
        if not 0 <= self.decay <= 1:
            raise ValueError(f"decay = {decay} is not in [0, 1]")
        # The smallest power of two, at least 2, that guarantees delta.
        self.bins = max(2, 2 ** math.ceil(math.log2(0.5 / self.delta)))
        self.process_group = process_group
        counts = torch.zeros(self.num_classes, 2, self.bins, dtype=torch.float64)
        self.register_buffer("counts", counts)
        refuse_now(lovasz_softmax, "multiclass", self.num_classes, **self._loss_settings())

    def _loss_settings(self) -> dict[str, Any]:
        names = ("classes", "ignore_index", "class_weight", "from_logits")
        return {name: getattr(self, name) for name in names}

    def extra_repr(self) -> str:
        names = ("num_classes", "bins", "delta", "decay", "stochastic")
        return shown({**{name: getattr(self, name) for name in names}, **self._loss_settings()})

    def reset(self) -> None:
        """Forgets all batches."""
        self._keep(torch.zeros_like(self.counts))  # a new one: backward may need the old

    def _keep(self, counts: Tensor) -> None:
        """No tensor of torch.inference_mode(), which load_state_dict could not write to later."""
        with torch.inference_mode(False):
            counts = counts.clone() if counts.is_inference() else counts
            self.counts = counts.to(self.counts.device)

    def value(self) -> float:
        """The loss of all batches counted so far, 0 when there are none."""
        return _ops.solved(self.counts.cpu(), loss_options(**self._loss_settings()))[1]

    def _apply(self, fn: Any, *args: Any, **kwargs: Any) -> Any:
        """Counts go to other devices, but not to other types."""
        counts = self.counts
        super()._apply(fn, *args, **kwargs)  # type: ignore[no-untyped-call]
        if self.counts.dtype != torch.float64:
            self.counts = counts.to(self.counts.device)
        return self

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        try:
            options = _ops.flat(loss_options(**self._loss_settings()))
            scores, labels = self._canonical(logits, labels)
            batch = _ops.dataset_counts(scores.detach(), labels, self.bins, *options)
        except Exception:
            if self.training:
                self._over_ranks(None)
            raise
        counts, ranks = self.counts.cpu(), 1
        if self.training:
            batch, ranks = self._over_ranks(batch)
            counts = counts * self.decay
        counts = counts + batch
        # Every class counts every pixel once.
        pixels = batch[0].sum().item()
        estimates = self.stochastic and pixels > 0
        scale = ranks * counts[0].sum().item() / pixels if estimates else 1.0
        loss = _autograd.apply(_ops.dataset_loss, scores, labels, counts, scale, *options)
        if self.training:
            self._keep(counts)
        return loss.to(logits.device)

    def _canonical(self, logits: Tensor, labels: Tensor) -> tuple[Tensor, Tensor]:
        require_pair(logits, labels)
        scores, labels = canonical("multiclass", logits.cpu(), labels.cpu(), False)
        if scores.shape[1] != self.num_classes:
            raise ValueError(f"logits of {scores.shape[1]} classes, not {self.num_classes}")
        return scores, labels

    def _over_ranks(self, batch: Tensor | None) -> tuple[Any, int]:
        """The sum over the ranks, and how many they are. None: this rank has refused its batch,
        which the others, who wait for it, have to hear of."""
        if not (dist.is_available() and dist.is_initialized()):
            return batch, 1
        ranks = dist.get_world_size(self.process_group)
        if ranks < 1:  # this one is not of the group
            return batch, 1
        counts = torch.zeros_like(self.counts, device="cpu") if batch is None else batch
        message = torch.cat([counts.flatten(), counts.new_tensor([float(batch is None)])])
        if dist.get_backend(self.process_group) == "nccl":
            message = message.cuda()
        dist.all_reduce(message, group=self.process_group)
        message = message.cpu()
        if batch is not None and message[-1] > 0:
            raise RuntimeError(
                f"submod.torch: {int(message[-1])} of {ranks} ranks have refused their batches, "
                "and say why; nothing was counted"
            )
        return message[:-1].view_as(counts), ranks
