"""Losses, the loop and mean IoU."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Callable

import torch
import torch.nn.functional as F
from torch import Tensor, nn

import submod
import submod.torch

from . import UserError
from .data import IGNORE, Example, Segmentation, resize
from .recipes import Recipe, rate_at
from .show import Progress

Loss = Callable[[Tensor, Tensor], Tensor]


def need_devices(device: str, loss_device: str) -> None:
    """Tries both, so that a long training does not end where the loss first meets its device."""

    def lovasz() -> Tensor:
        scores = torch.zeros(1, 2, 1, device=loss_device)
        return submod.torch.lovasz_softmax(scores, scores[:, 0].long())

    for option, name, attempt in (
        ("--device", device, lambda: torch.zeros(1, device=device)),
        ("--loss-device", loss_device, lovasz),
    ):
        try:
            attempt().item()
        except (AssertionError, RuntimeError, submod.SubmodError) as error:
            words = str(error).split("\n")[0]
            raise UserError(f"{option} {name} cannot be used here: {words}") from None


def make_loss(name: str, classes: int, loss_device: str) -> Loss:
    """ce, lovasz, their sum ce+lovasz, or dataset: ce + the Lovász-Softmax of the recent batches
    together. Lovász-Softmax is that of the batch over its classes present (paper, Sec. 3.1)."""

    def ce(scores: Tensor, labels: Tensor) -> Tensor:
        # A batch may be void altogether, where the mean would be 0/0.
        total = F.cross_entropy(scores, labels, ignore_index=IGNORE, reduction="sum")
        return total / (labels != IGNORE).sum().clamp(min=1)

    def there(function: Loss) -> Loss:
        return lambda scores, labels: function(scores.to(loss_device), labels.to(loss_device)).to(
            scores.device
        )

    if name == "ce":
        return ce
    if name == "dataset":
        # Half of what counts is from the last 35 batches: the network has changed since older ones.
        surrogate = submod.torch.DatasetLovasz(classes, decay=0.98, ignore_index=IGNORE)
        dataset = there(surrogate.to(loss_device))
        return lambda scores, labels: ce(scores, labels) + dataset(scores, labels)
    lovasz = there(submod.torch.LovaszSoftmax(ignore_index=IGNORE))
    if name == "lovasz":
        return lovasz
    return lambda scores, labels: ce(scores, labels) + lovasz(scores, labels)


def make_optimizer(recipe: Recipe, network: nn.Module, rate: float) -> torch.optim.Optimizer:
    if recipe.optimizer == "sgd":
        return torch.optim.SGD(
            network.parameters(), lr=rate, momentum=0.9, weight_decay=recipe.weight_decay
        )
    return torch.optim.Adam(network.parameters(), lr=rate, weight_decay=recipe.weight_decay)


@dataclass
class Score:
    """Of the validation images. Mean IoU with 0/0 = 1, as in the paper."""

    image: float
    dataset: float
    per_class: list[float]


@torch.no_grad()
def evaluate(network: nn.Module, data: Segmentation, recipe: Recipe, device: str) -> Score:
    """One image after the other, at the resolution of its labels."""
    measure = submod.MeanIoU(len(data.classes), ignore_index=IGNORE, leave_out=data.leave_out)
    network.eval()
    for read in data.val:
        predicted, labels = predict(network, read(), recipe, device)
        measure.add(predicted[None].numpy(), labels[None].numpy())
    network.train()
    counts = torch.from_numpy(measure.confusion).double()
    both = counts.diagonal()
    per_class = (both / (counts.sum(0) + counts.sum(1) - both)).tolist()
    values = measure.compute()
    return Score(values.image, values.dataset, per_class)


@torch.no_grad()
def predict(network: nn.Module, example: Example, recipe: Recipe, device: str) -> Example:
    """(predicted labels, labels) of one image; the network is in evaluation mode."""
    image, labels = example
    if recipe.size:
        image, _ = resize(image, labels, recipe.size)
    scores = network(image[None].to(device))
    if scores.shape[2:] != labels.shape:
        scores = F.interpolate(scores, labels.shape, mode="bilinear", align_corners=False)
    return scores[0].argmax(0).cpu(), labels


@dataclass
class Part:
    """A number of steps with one loss, and what came out of it."""

    name: str
    loss: Loss
    steps: int
    rate: float
    curve: list[dict[str, float]] = field(default_factory=list)


def run(
    part: Part,
    network: nn.Module,
    data: Segmentation,
    batches: Iterator[Example],
    recipe: Recipe,
    device: str,
    snapshot: Callable[[int], None],
) -> Score:
    """Trains, evaluates each evaluate_every steps and at the end; the last score is returned."""
    optimizer = make_optimizer(recipe, network, part.rate)
    network.train()
    progress = Progress(part.name, part.steps)
    mean_loss = float("nan")
    for step, (images, labels) in enumerate(batches):
        rate = rate_at(recipe, part.rate, step, part.steps)
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.zero_grad()
        loss = part.loss(network(images.to(device)), labels.to(device))
        loss.backward()
        optimizer.step()
        value = loss.item()
        mean_loss = value if step == 0 else 0.95 * mean_loss + 0.05 * value
        progress.show(step + 1, f"loss {mean_loss:.4f}  rate {rate:.1e}")
        last = step + 1 == part.steps
        if not last and recipe.evaluate_every and (step + 1) % recipe.evaluate_every == 0:
            record(part, step + 1, mean_loss, evaluate(network, data, recipe, device))
        if last or (recipe.snapshot_every and (step + 1) % recipe.snapshot_every == 0):
            snapshot(step + 1)
    progress.done()
    score = evaluate(network, data, recipe, device)
    record(part, part.steps, mean_loss, score)
    return score


def record(part: Part, step: int, loss: float, score: Score) -> None:
    part.curve.append(
        {"step": step, "loss": loss, "image_miou": score.image, "dataset_miou": score.dataset}
    )
