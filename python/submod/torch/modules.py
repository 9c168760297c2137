"""The Lovász losses as modules; arguments as those of the functions."""

from __future__ import annotations

import reprlib
from typing import Any, Callable, ClassVar

import torch
from torch import Tensor, nn

from .._door import checked
from .._settings import DELTA, Classes, split_classes
from . import functional
from .functional import Weight, weight_tensor


def shown(settings: dict[str, Any]) -> str:
    """For extra_repr: all of them, of long lists the beginning."""
    return ", ".join(f"{name}={_brief(value)}" for name, value in settings.items())


def _brief(value: Any) -> str:
    value = value.tolist() if isinstance(value, Tensor) else value
    return reprlib.repr(value) if isinstance(value, list) else repr(value)


def listed_classes(classes: Classes) -> Any:
    """A name, or a list that can be read again and again."""
    chosen = split_classes(classes)[1]
    return classes if chosen is None else chosen


def refuse_now(
    loss: Callable[..., Tensor], num_classes: int, own_labels: bool = False, **settings: Any
) -> None:
    """Settings are refused when a module is made, by what would refuse them in training: a loss of
    no images. own_labels: each class has its own."""
    logits = torch.zeros((0, num_classes, 1, 1), device="cpu")
    shape = logits.shape if own_labels else (0, 1, 1)
    loss(logits, torch.zeros(shape, dtype=torch.uint8, device="cpu"), **settings)


class _Loss(nn.Module):
    """One of the functions, with its settings as attributes."""

    _function: ClassVar[Callable[..., Tensor]]
    _names: ClassVar[tuple[str, ...]]  # of the settings

    def _keep(self, **settings: Any) -> None:
        for name, value in zip(settings, checked(**settings)):
            setattr(self, name, value)

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def extra_repr(self) -> str:
        return shown(self._settings())

    def forward(self, logits: Tensor, labels: Tensor) -> Tensor:
        return type(self)._function(logits, labels, **self._settings())


class _ClassLoss(_Loss):
    """What softmax and sigmoid share. class_weight stays in CPU memory, from where the library
    reads it, and in its own type, wherever the module goes."""

    _names = (
        "classes",
        "per_image",
        "ignore_index",
        "class_weight",
        "engine",
        "delta",
        "from_logits",
    )
    _own_labels: ClassVar[bool]  # each class has its own

    def __init__(
        self,
        classes: Classes = "present",
        per_image: bool = False,
        ignore_index: int | None = None,
        class_weight: Weight = None,
        engine: str = "exact",
        delta: float = DELTA,
        from_logits: bool = True,
    ) -> None:
        super().__init__()
        self.classes = listed_classes(classes)
        self.class_weight = weight_tensor(class_weight)
        self._keep(
            per_image=per_image,
            ignore_index=ignore_index,
            engine=engine,
            delta=delta,
            from_logits=from_logits,
        )
        # How many classes there are, only class_weight tells; else as many as are listed.
        listed = [] if isinstance(self.classes, str) else self.classes
        number = max([0 if self._own_labels else 1, *listed]) + 1
        if self.class_weight is not None:
            number = self.class_weight.numel()
        refuse_now(type(self)._function, number, self._own_labels, **self._settings())


class LovaszSoftmax(_ClassLoss):
    """See submod.torch.lovasz_softmax."""

    _function = staticmethod(functional.lovasz_softmax)
    _own_labels = False


class LovaszSigmoid(_ClassLoss):
    """See submod.torch.lovasz_sigmoid."""

    _function = staticmethod(functional.lovasz_sigmoid)
    _own_labels = True


class LovaszHinge(_Loss):
    """See submod.torch.lovasz_hinge."""

    _function = staticmethod(functional.lovasz_hinge)
    _names = ("per_image", "ignore_index", "engine", "delta")

    def __init__(
        self,
        per_image: bool = True,
        ignore_index: int | None = None,
        engine: str = "exact",
        delta: float = DELTA,
    ) -> None:
        super().__init__()
        self._keep(per_image=per_image, ignore_index=ignore_index, engine=engine, delta=delta)
        refuse_now(functional.lovasz_hinge, 1, **self._settings())


class ProxLovaszHinge(_Loss):
    """See submod.torch.prox_lovasz_hinge."""

    _function = staticmethod(functional.prox_lovasz_hinge)
    _names = ("lam", "per_image", "ignore_index")

    def __init__(self, lam: float, per_image: bool = True, ignore_index: int | None = None) -> None:
        super().__init__()
        self._keep(lam=lam, per_image=per_image, ignore_index=ignore_index)
        refuse_now(functional.prox_lovasz_hinge, 1, **self._settings())
