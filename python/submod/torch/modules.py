"""The losses as modules; arguments as those of the functions, but that pixel_weights, which change
from batch to batch, come with the logits and labels: loss(logits, labels, pixel_weights)."""

from __future__ import annotations

import inspect
import reprlib
from typing import Any, Callable, ClassVar

import torch
from torch import Tensor

from .._door import checked
from .._measures import Measure
from .._options import DELTA, Classes
from .._views import KINDS
from . import functional
from ._calls import Group, Weight, require_counts, weight_tensor
from ._ranks import Grouped, named


def shown(settings: dict[str, Any]) -> str:
    """For extra_repr: all of them, of long lists the beginning."""
    return ", ".join(f"{name}={_brief(value)}" for name, value in settings.items())


def _brief(value: Any) -> str:
    value = value.tolist() if isinstance(value, Tensor) else value
    if hasattr(value, "group_name"):
        return f"<group {value.group_name!r}>"
    if inspect.isroutine(value):
        return value.__qualname__
    return reprlib.repr(value) if isinstance(value, list) else repr(value)


def refuse_now(loss: Callable[..., Tensor], kind: str, number: int, /, **settings: Any) -> None:
    """Settings are refused when a module is made, by what would refuse them in training: a loss of
    no images, of so many classes. kind: as in KINDS."""
    logits = torch.zeros((0, number, 1, 1), device="cpu")
    shape = logits.shape if kind in ("multilabel", "soft") else (0, 1, 1)
    loss(logits, torch.zeros(shape, dtype=torch.uint8, device="cpu"), **settings)


class _Loss(Grouped):
    """One of the functions, with its settings as attributes. class_weight stays in CPU memory, from
    where the library reads it, and in its own type, wherever the module goes."""

    _function: ClassVar[Callable[..., Tensor]]
    _names: ClassVar[tuple[str, ...]]  # of the settings
    _kind: ClassVar[str] = "binary"  # of the labels, where KINDS does not say it
    class_weight: Tensor | None
    group: Group

    def __init_subclass__(cls) -> None:
        if hasattr(cls, "_function"):
            names = tuple(inspect.signature(cls._function).parameters)[2:]
            cls._names = tuple(name for name in names if name != "pixel_weights")

    def _keep(self, **settings: Any) -> None:
        """In __init__: what is refused at all is refused here."""
        group = settings.pop("group", None)
        name_of_group = named(group)  # or it is refused
        if "class_weight" in settings:
            settings["class_weight"] = weight_tensor(settings["class_weight"])
        for name, value in checked(**settings).items():
            setattr(self, name, value)
        function = type(self)._function
        kind = KINDS.get(function.__name__, self._kind)
        if "group" in self._names:
            self.group = group
            require_counts(settings["engine"], name_of_group)
        alone = {name: value for name, value in self._settings().items() if name != "group"}
        refuse_now(function, kind, self._some_classes(kind), **alone)

    def _some_classes(self, kind: str) -> int:
        """As many as may be: those that class_weight has, or as many as are listed."""
        if kind == "binary":
            return 1
        if self.class_weight is not None:
            return self.class_weight.numel()
        classes = getattr(self, "classes", "present")
        listed: list[int] = [] if isinstance(classes, str) else classes
        return max([0 if kind == "multilabel" else 1, *listed]) + 1

    def _settings(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self._names}

    def extra_repr(self) -> str:
        return shown(self._settings())

    def forward(
        self, logits: Tensor, labels: Tensor, pixel_weights: Tensor | None = None
    ) -> Tensor:
        weights = {} if pixel_weights is None else {"pixel_weights": pixel_weights}
        return type(self)._function(logits, labels, **self._settings(), **weights)


class _LovaszLoss(_Loss):
    """What softmax and sigmoid share."""

    def __init__(
        self,
        classes: Classes = "present",
        per_image: bool = False,
        ignore_index: int | None = None,
        class_weight: Weight = None,
        engine: str = "exact",
        delta: float = DELTA,
        from_logits: bool = True,
        measure: Measure = "jaccard",
        reduction: str = "mean",
        nonfinite: str = "raise",
        normalize: str = "weights",
        group: Group = None,
        ddp: bool = False,
    ) -> None:
        super().__init__()
        self._keep(
            classes=classes,
            per_image=per_image,
            ignore_index=ignore_index,
            class_weight=class_weight,
            engine=engine,
            delta=delta,
            from_logits=from_logits,
            measure=measure,
            reduction=reduction,
            nonfinite=nonfinite,
            normalize=normalize,
            group=group,
            ddp=ddp,
        )


class LovaszSoftmax(_LovaszLoss):
    """See submod.torch.lovasz_softmax."""

    _function = staticmethod(functional.lovasz_softmax)


class LovaszSigmoid(_LovaszLoss):
    """See submod.torch.lovasz_sigmoid."""

    _function = staticmethod(functional.lovasz_sigmoid)


class LovaszHinge(_Loss):
    """See submod.torch.lovasz_hinge."""

    _function = staticmethod(functional.lovasz_hinge)

    def __init__(
        self,
        per_image: bool = True,
        ignore_index: int | None = None,
        engine: str = "exact",
        delta: float = DELTA,
        measure: Measure = "jaccard",
        reduction: str = "mean",
        nonfinite: str = "raise",
        group: Group = None,
        ddp: bool = False,
    ) -> None:
        super().__init__()
        self._keep(
            per_image=per_image,
            ignore_index=ignore_index,
            engine=engine,
            delta=delta,
            measure=measure,
            reduction=reduction,
            nonfinite=nonfinite,
            group=group,
            ddp=ddp,
        )


class ProxLovaszHinge(_Loss):
    """See submod.torch.prox_lovasz_hinge."""

    _function = staticmethod(functional.prox_lovasz_hinge)

    def __init__(
        self,
        lam: float,
        per_image: bool = True,
        ignore_index: int | None = None,
        measure: Measure = "jaccard",
        reduction: str = "mean",
        nonfinite: str = "raise",
    ) -> None:
        super().__init__()
        self._keep(
            lam=lam,
            per_image=per_image,
            ignore_index=ignore_index,
            measure=measure,
            reduction=reduction,
            nonfinite=nonfinite,
        )

    def forward(  # type: ignore[override]
        self, logits: Tensor, labels: Tensor
    ) -> Tensor:
        """The prox in the norm of the pixels has no weights."""
        return super().forward(logits, labels)


# ---- what the Lovász losses are compared and mixed with ----


class RahmanWang(_Loss):
    """See submod.torch.rahman_wang."""

    _function = staticmethod(functional.rahman_wang)

    def __init__(
        self,
        per_image: bool = False,
        ignore_index: int | None = None,
        from_logits: bool = True,
        reduction: str = "mean",
        nonfinite: str = "raise",
    ) -> None:
        super().__init__()
        self._keep(
            per_image=per_image,
            ignore_index=ignore_index,
            from_logits=from_logits,
            reduction=reduction,
            nonfinite=nonfinite,
        )


class _OverlapLoss(_Loss):
    """What soft Dice and soft Jaccard share."""

    def __init__(
        self,
        classes: Classes = "present",
        per_image: bool = False,
        ignore_index: int | None = None,
        class_weight: Weight = None,
        smoothing: float = 0.0,
        from_logits: bool = True,
        reduction: str = "mean",
        nonfinite: str = "raise",
        normalize: str = "weights",
    ) -> None:
        super().__init__()
        self._keep(
            classes=classes,
            per_image=per_image,
            ignore_index=ignore_index,
            class_weight=class_weight,
            smoothing=smoothing,
            from_logits=from_logits,
            reduction=reduction,
            nonfinite=nonfinite,
            normalize=normalize,
        )


class SoftDice(_OverlapLoss):
    """See submod.torch.soft_dice."""

    _function = staticmethod(functional.soft_dice)


class SoftJaccard(_OverlapLoss):
    """See submod.torch.soft_jaccard."""

    _function = staticmethod(functional.soft_jaccard)
