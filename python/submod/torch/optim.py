"""Optimisers that torch.optim does not have.

    optimizer = submod.torch.optim.AdamWScheduleFree(network.parameters(), lr=0.0025)

SGDScheduleFree and AdamWScheduleFree (Defazio et al. 2024) need no learning-rate schedule:
gradients are taken at one point, and an average answers. eval() puts the answer into the
parameters, train() what is trained. Their names and arguments are those of the authors' package.
StochasticPolyak (Loizou et al. 2021) takes its step sizes from the values of the loss.

The same rules are in submod.optim, for NumPy; steps.h says which theorems they follow.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, Callable, Optional

import torch
from torch import Tensor

from .._errors import InvalidArgumentError

__all__ = ["AdamWScheduleFree", "SGDScheduleFree", "ScheduleFree", "StochasticPolyak"]

Closure = Optional[Callable[[], Any]]


def _require(good: bool, name: str, value: Any, what: str) -> None:
    if not good:
        raise InvalidArgumentError(f"{name} = {value}; it must be {what}")


def _not_negative(**values: float) -> None:
    for name, value in values.items():
        _require(0 <= value < math.inf, name, value, "finite and >= 0")


def _gradient(p: Tensor) -> Tensor | None:
    if p.grad is not None and p.grad.is_sparse:
        raise RuntimeError("submod.torch.optim: a sparse gradient; dense ones are needed")
    return p.grad


def _norm(gradients: list[Tensor]) -> Tensor:
    """Of all together, where the first one is; halves are added up as float32."""
    each = [
        torch.linalg.vector_norm(g, dtype=torch.promote_types(g.dtype, torch.float32))
        for g in gradients
    ]
    norm: Tensor = torch.linalg.vector_norm(torch.stack([one.to(each[0].device) for one in each]))
    return norm


class ScheduleFree(torch.optim.Optimizer):
    """What both have in common: z moves along the gradient at y, x is the average of all z, and
    y = (1 - beta) z + beta x. In training mode the parameters hold y, in evaluation mode x."""

    def __init__(
        self,
        params: Iterable[Any],
        beta: float,
        lr: float,
        weight_decay: float,
        warmup_steps: int,
        r: float,
        weight_lr_power: float,
        **more: Any,
    ) -> None:
        _require(0 <= beta <= 1, "momentum", beta, "in [0, 1]")
        _not_negative(lr=lr, weight_decay=weight_decay, warmup_steps=warmup_steps, r=r)
        _not_negative(weight_lr_power=weight_lr_power)
        settings = {
            "lr": lr,
            "weight_decay": weight_decay,
            "warmup_steps": warmup_steps,
            "r": r,
            "weight_lr_power": weight_lr_power,
            "train_mode": True,
            "k": 0,  # steps so far
            "lr_max": 0.0,
            "weights": 0.0,  # their sum, as a multiple of the last
        }
        super().__init__(params, {**settings, **more})

    def _beta(self, group: dict[str, Any]) -> float:
        raise NotImplementedError

    def _direction(self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        raise NotImplementedError

    @torch.no_grad()
    def _switch(self, train: bool) -> None:
        for group in self.param_groups:
            if group["train_mode"] != train:
                group["train_mode"] = train
                for p in group["params"]:
                    self._place(p, group)

    def _place(self, p: Tensor, group: dict[str, Any]) -> None:
        """Always from x and z, so that switching to and fro changes no bit of the training."""
        if "z" in (state := self.state[p]):
            beta = self._beta(group) if group["train_mode"] else 1.0
            p.copy_((1 - beta) * state["z"] + beta * state["x"])

    def train(self, mode: bool = True) -> None:
        """The parameters are what is trained: before the first of further steps."""
        self._switch(mode)

    def eval(self) -> None:
        """The parameters are the answer: before evaluating and before saving the network."""
        self._switch(False)

    @staticmethod
    def _share(group: dict[str, Any], lr: float) -> float:
        """Of z in the average: its weight is t^r (largest lr so far)^weight_lr_power."""
        t, before = group["k"], group["lr_max"]
        largest = group["lr_max"] = max(before, lr)
        if largest == 0:
            return 0.0
        older = ((t - 1) / t) ** group["r"] * (before / largest) ** group["weight_lr_power"]
        group["weights"] = group["weights"] * older + 1
        return float(1 / group["weights"])

    @torch.no_grad()
    def step(self, closure: Closure = None) -> Any:
        """closure: evaluates the network anew and returns the loss; optional."""
        loss = None
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        for group in self.param_groups:
            if not group["train_mode"]:
                raise RuntimeError("submod.torch.optim: call train() before step(), after eval()")
            group["k"] += 1
            lr = group["lr"] * min(1.0, group["k"] / max(group["warmup_steps"], 1))
            share = self._share(group, lr)
            for p in group["params"]:
                if (gradient := _gradient(p)) is not None:
                    self._move(p, gradient, group, lr, share)
        return loss

    def _move(
        self, p: Tensor, gradient: Tensor, group: dict[str, Any], lr: float, share: float
    ) -> None:
        state = self.state[p]
        if "z" not in state:
            for name in ("z", "x"):
                state[name] = torch.clone(p, memory_format=torch.preserve_format)
        direction = self._direction(gradient, state, group) + group["weight_decay"] * p
        state["z"].sub_(direction, alpha=lr)
        state["x"].lerp_(state["z"], share)
        self._place(p, group)


class SGDScheduleFree(ScheduleFree):
    """Schedule-free SGD. momentum: in [0, 1], how near to the average gradients are taken; 0 is SGD
    that answers with its average. r: weights k^r in the average. warmup_steps: lr grows linearly
    for so long, and points count as lr^weight_lr_power meanwhile."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1.0,
        momentum: float = 0.9,
        weight_decay: float = 0.0,
        warmup_steps: int = 0,
        r: float = 0.0,
        weight_lr_power: float = 2.0,
    ) -> None:
        super().__init__(
            params,
            momentum,
            lr,
            weight_decay,
            warmup_steps,
            r,
            weight_lr_power,
            momentum=momentum,
        )

    def _beta(self, group: dict[str, Any]) -> float:
        return float(group["momentum"])

    def _direction(self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        return gradient


class AdamWScheduleFree(ScheduleFree):
    """Schedule-free AdamW: SGDScheduleFree with gradients divided by the root of their mean square.
    betas: (momentum of SGDScheduleFree, beta2 of Adam)."""

    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 0.0025,
        betas: tuple[float, float] = (0.9, 0.999),
        eps: float = 1e-8,
        weight_decay: float = 0.0,
        warmup_steps: int = 0,
        r: float = 0.0,
        weight_lr_power: float = 2.0,
    ) -> None:
        _require(0 <= betas[1] < 1, "betas[1]", betas[1], "in [0, 1)")
        _require(0 < eps < math.inf, "eps", eps, "finite and > 0")
        super().__init__(
            params,
            betas[0],
            lr,
            weight_decay,
            warmup_steps,
            r,
            weight_lr_power,
            betas=betas,
            eps=eps,
        )

    def _beta(self, group: dict[str, Any]) -> float:
        return float(group["betas"][0])

    def _direction(self, gradient: Tensor, state: dict[str, Any], group: dict[str, Any]) -> Tensor:
        beta2 = group["betas"][1]
        if "exp_avg_sq" not in state:
            state["exp_avg_sq"] = torch.zeros_like(gradient, memory_format=torch.preserve_format)
            state["steps"] = 0  # of this parameter: it may have joined late
        state["steps"] += 1
        squares = state["exp_avg_sq"].mul_(beta2).addcmul_(gradient, gradient, value=1 - beta2)
        root: Tensor = (squares / (1 - beta2 ** state["steps"])).sqrt_()
        return gradient / root.add_(group["eps"])


class StochasticPolyak(torch.optim.Optimizer):
    """SGD with the bounded stochastic Polyak step size, min((loss - lower_bound) / (c |g|^2), lr),
    g the gradient by all parameters. lower_bound: of the loss of every minibatch. c > 1/2.

        loss = criterion(network(images), labels)
        loss.backward()
        optimizer.step(loss=loss)
    """

    def __init__(
        self, params: Iterable[Any], lr: float = 1.0, c: float = 1.0, lower_bound: float = 0.0
    ) -> None:
        _not_negative(lr=lr)
        _require(0.5 < c < math.inf, "c", c, "finite and > 1/2")
        _require(math.isfinite(lower_bound), "lower_bound", lower_bound, "finite")
        super().__init__(params, {"lr": lr, "c": c, "lower_bound": lower_bound})

    @torch.no_grad()
    def step(self, closure: Closure = None, *, loss: Tensor | None = None) -> Any:
        """With the loss that gradients are of, or a closure that evaluates it anew, and its
        gradients. The step size is put into each group, as "step_size"."""
        if (closure is None) == (loss is None):
            raise TypeError("StochasticPolyak.step: either a closure or loss= is needed")
        if closure is not None:
            with torch.enable_grad():
                loss = closure()
        members = [p for group in self.param_groups for p in group["params"]]
        gradients = [g for g in map(_gradient, members) if g is not None]
        if not gradients:
            return loss
        norm = _norm(gradients)
        for group in self.param_groups:
            ahead = torch.as_tensor(loss, device=norm.device) - group["lower_bound"]
            size = torch.where(norm > 0, ahead.clamp(min=0) / group["c"] / norm / norm, 0.0)
            group["step_size"] = size = size.clamp(max=group["lr"])
            for p in group["params"]:
                if p.grad is not None:
                    p.sub_(size.to(p.device) * p.grad)
        return loss
