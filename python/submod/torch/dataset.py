"""The Lovász-Softmax loss of the whole dataset, seen batch by batch, over all ranks."""

from __future__ import annotations

import math
from typing import Any, Optional

import torch
import torch.distributed as dist
from torch import Tensor, nn

from .._settings import DELTA, Classes, split_classes
from .._views import canonical
from . import _autograd, _ops
from ._memory import require_cpu
from .functional import Weight, weight_tensor


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
        numbers; None: the default group, if torch.distributed is initialised. Counts are whole
        numbers, so they are the same bits for any number of ranks. DistributedDataParallel takes
        the mean of the gradients over the ranks, for which stochastic=True is made.
    In evaluation mode nothing is counted or reduced.
    """

    counts: Tensor
    class_weight: Optional[Tensor]

    def __init__(
        self,
        num_classes: int,
        delta: float = DELTA,
        decay: float = 1.0,
        classes: Classes = "present",
        ignore_index: Optional[int] = None,
        class_weight: Weight = None,
        stochastic: bool = True,
        process_group: Any = None,
        from_logits: bool = True,
    ) -> None:
        super().__init__()
        if not 2.0**-21 <= delta <= 1:
            raise ValueError(f"delta = {delta} is not in [2^-21, 1]")
        if not 0 <= decay <= 1:
            raise ValueError(f"decay = {decay} is not in [0, 1]")
        # The smallest power of two, at least 2, that guarantees delta.
        self.bins = max(2, 2 ** math.ceil(math.log2(0.5 / delta)))
        self.num_classes = num_classes
        self.decay = decay
        self.classes = classes if isinstance(classes, str) else [int(c) for c in classes]
        self.ignore_index = ignore_index
        self.stochastic = stochastic
        self.process_group = process_group
        self.from_logits = from_logits
        self.register_buffer("counts", torch.zeros(num_classes, 2, self.bins, dtype=torch.float64))
        self.register_buffer("class_weight", weight_tensor(class_weight), persistent=False)

    def extra_repr(self) -> str:
        return f"num_classes={self.num_classes}, bins={self.bins}, decay={self.decay}"

    def reset(self) -> None:
        """Forgets all batches."""
        self.counts = torch.zeros_like(self.counts)  # a new one: backward may need the old

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        require_cpu("scores", logits)
        require_cpu("labels", labels)
        scores, labels = canonical("softmax", logits, labels, False)
        if scores.shape[1] != self.num_classes:
            raise ValueError(f"logits of {scores.shape[1]} classes, not {self.num_classes}")
        if self.counts.dtype != torch.float64:
            raise RuntimeError(f"the counts are float64; what made them {self.counts.dtype}?")
        scale = self._count(scores, labels) if self.training else 1.0
        chosen, class_list = split_classes(self.classes)
        return _autograd.apply(
            _ops.histogram_loss, scores, labels, self.counts, not self.from_logits, chosen, class_list,
            self.ignore_index, self.class_weight, scale,
        )  # fmt: skip

    @torch.no_grad()
    def _count(self, scores: Tensor, labels: Tensor) -> float:
        """Adds the batches of all ranks; returns what the gradient is to be multiplied by."""
        probabilities = not self.from_logits
        batch = _ops.histogram_counts(
            scores.detach(), labels, probabilities, self.ignore_index, self.bins
        )
        ranks = 1
        if dist.is_available() and dist.is_initialized():
            ranks = dist.get_world_size(self.process_group)
            dist.all_reduce(batch, group=self.process_group)
        # Out of place: backward of an earlier batch may still need the counts of then.
        self.counts = self.counts * self.decay + batch
        if not self.stochastic:
            return 1.0
        # Every class counts every pixel once.
        new, total = batch[0].sum().item(), self.counts[0].sum().item()
        return ranks * total / new if new > 0 else 1.0
