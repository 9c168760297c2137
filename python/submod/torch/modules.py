"""The Lovász losses as modules; arguments as those of the functions."""

from __future__ import annotations

from typing import Optional

from torch import Tensor, nn

from .._settings import DELTA, Classes
from . import functional
from .functional import Weight, weight_tensor


class _ClassLoss(nn.Module):
    """What softmax and sigmoid share. class_weight stays in CPU memory, from where the library reads
    it, and in its own type, wherever the module goes."""

    def __init__(
        self,
        classes: Classes = "present",
        per_image: bool = False,
        ignore_index: Optional[int] = None,
        class_weight: Weight = None,
        engine: str = "exact",
        delta: float = DELTA,
        from_logits: bool = True,
    ) -> None:
        super().__init__()
        self.classes = classes if isinstance(classes, str) else [int(c) for c in classes]
        self.per_image = per_image
        self.ignore_index = ignore_index
        self.class_weight = weight_tensor(class_weight)
        self.engine = engine
        self.delta = delta
        self.from_logits = from_logits

    def extra_repr(self) -> str:
        return (
            f"classes={self.classes!r}, per_image={self.per_image}, "
            f"ignore_index={self.ignore_index}, engine={self.engine!r}"
        )


class LovaszSoftmax(_ClassLoss):
    """See submod.torch.lovasz_softmax."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.lovasz_softmax(
            logits, labels, self.classes, self.per_image, self.ignore_index, self.class_weight,
            self.engine, self.delta, from_logits=self.from_logits,
        )  # fmt: skip


class LovaszSigmoid(_ClassLoss):
    """See submod.torch.lovasz_sigmoid."""

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.lovasz_sigmoid(
            logits, labels, self.classes, self.per_image, self.ignore_index, self.class_weight,
            self.engine, self.delta, from_logits=self.from_logits,
        )  # fmt: skip


class LovaszHinge(nn.Module):
    """See submod.torch.lovasz_hinge."""

    def __init__(
        self,
        per_image: bool = True,
        ignore_index: Optional[int] = None,
        engine: str = "exact",
        delta: float = DELTA,
    ) -> None:
        super().__init__()
        self.per_image = per_image
        self.ignore_index = ignore_index
        self.engine = engine
        self.delta = delta

    def extra_repr(self) -> str:
        return f"per_image={self.per_image}, ignore_index={self.ignore_index}"

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.lovasz_hinge(
            logits, labels, self.per_image, self.ignore_index, self.engine, self.delta
        )


class ProxLovaszHinge(nn.Module):
    """See submod.torch.prox_lovasz_hinge."""

    def __init__(
        self, lam: float, per_image: bool = True, ignore_index: Optional[int] = None
    ) -> None:
        super().__init__()
        self.lam = lam
        self.per_image = per_image
        self.ignore_index = ignore_index

    def extra_repr(self) -> str:
        return f"lam={self.lam}, per_image={self.per_image}, ignore_index={self.ignore_index}"

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.prox_lovasz_hinge(
            logits, labels, self.lam, self.per_image, self.ignore_index
        )
