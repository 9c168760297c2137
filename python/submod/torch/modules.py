"""The Lovász losses as modules; arguments as those of the functions."""

from __future__ import annotations

from typing import Any, Callable, Optional

import torch
from torch import Tensor, nn

from .._settings import DELTA, Classes
from . import functional
from .functional import Weight, require_lam, weight_tensor


def require_settings(loss: Callable[..., Tensor], num_classes: int, **settings: Any) -> None:
    """Refused when a module is made, by what would refuse them in training: a loss of no images."""
    labels = torch.zeros((0, 1), dtype=torch.uint8, device="cpu")
    loss(torch.zeros((0, num_classes, 1), device="cpu"), labels, **settings)


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
        # How many classes there are, only class_weight tells; else as many as are listed.
        listed = [] if isinstance(self.classes, str) else self.classes
        number = max([0, *listed]) + 1 if self.class_weight is None else self.class_weight.numel()
        require_settings(
            functional.lovasz_softmax, number, classes=self.classes, ignore_index=ignore_index,
            class_weight=self.class_weight, engine=engine, delta=delta,
        )  # fmt: skip

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
        require_settings(
            functional.lovasz_hinge, 1, ignore_index=ignore_index, engine=engine, delta=delta
        )

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
        require_lam(lam)
        require_settings(functional.lovasz_hinge, 1, ignore_index=ignore_index)

    def extra_repr(self) -> str:
        return f"lam={self.lam}, per_image={self.per_image}, ignore_index={self.ignore_index}"

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return functional.prox_lovasz_hinge(
            logits, labels, self.lam, self.per_image, self.ignore_index
        )
