"""What can be made of a trained network at test time: probabilities averaged over mirrored and
scaled images, probabilities with a temperature, and the decision with the best expected IoU."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import submod

from . import camvid
from .scoring import confusion, in_parts, scores_of

SCALES = (0.5, 0.75, 1.0)  # the paper's
TEMPERATURES = tuple(round(0.5 * 1.05**k, 3) for k in range(40))  # to 3.4
THINNED = 4  # every so many rows and columns of val tell the temperature
TOGETHER = 21  # images whose decision is one, as in the paper's comparison

Counts = npt.NDArray[np.int64]


def class_scores(network: nn.Module, images: Tensor, scale: float = 1.0) -> Tensor:
    """Of two classes too, where the network has a single score: 0 and that."""
    scores = scores_of(network, images, scale)
    return scores if scores.shape[1] > 1 else torch.cat([torch.zeros_like(scores), scores], 1)


def probabilities(network: nn.Module, images: Tensor, scale: float) -> Tensor:
    return class_scores(network, images, scale).softmax(1)


def mirrored(network: nn.Module, images: Tensor, scale: float) -> Tensor:
    return probabilities(network, images.flip(-1), scale).flip(-1)


def mean(parts: list[Tensor]) -> Tensor:
    return torch.stack(parts).mean(0)


def averages(network: nn.Module, images: Tensor) -> dict[str, Tensor]:
    """Means of probabilities, as in the paper."""
    straight = {scale: probabilities(network, images, scale) for scale in SCALES}
    turned = {scale: mirrored(network, images, scale) for scale in SCALES}
    return {
        "mirrored": mean([straight[1.0], turned[1.0]]),
        "scaled": mean(list(straight.values())),
        "both": mean([*straight.values(), *turned.values()]),
    }


def averaged(network: nn.Module, split: camvid.Split) -> dict[str, Counts]:
    """Confusion counts of every image, by what was averaged."""
    found: dict[str, list[Any]] = {}
    for images, labels in in_parts(split):
        for name, p in averages(network, images).items():
            found.setdefault(name, []).extend(counted(p.argmax(1).numpy(), labels, p.shape[1]))
    return {name: np.stack(counts) for name, counts in found.items()}


def temperature(network: nn.Module, split: camvid.Split) -> float:
    """By which scores are divided so that the split's labels are most likely."""
    thin = (..., slice(THINNED // 2, None, THINNED), slice(THINNED // 2, None, THINNED))
    lost = torch.zeros(len(TEMPERATURES), dtype=torch.float64)
    for images, labels in in_parts(split):
        scores, truth = class_scores(network, images)[thin], labels[thin].long()
        for k, one in enumerate(TEMPERATURES):
            lost[k] += F.cross_entropy(
                scores / one, truth, ignore_index=camvid.IGNORE, reduction="sum"
            )
    return TEMPERATURES[int(lost.argmin())]


def decided(network: nn.Module, split: camvid.Split, together: int, temperature: float) -> Counts:
    """Confusion counts of every image, where groups of so many images are decided as one: of two
    classes by the best expected IoU of class 1, of more by that of each class, conflicts solved.
    Every pixel takes part, void ones too: a decision does not know the truth."""
    images = len(split.names)
    order = np.random.default_rng(0).permutation(images)  # neighbours in the list look alike
    found: list[Any] = [None] * images
    for group in np.array_split(order, max(1, round(images / together))):
        p = torch.cat([class_scores(network, split.images[i : i + 1]) for i in group])
        p = (p / temperature).softmax(1).numpy()
        chosen = decide(np.concatenate(list(p), 1)).reshape(len(group), *p.shape[2:])
        for i, one in zip(group, counted(chosen, split.labels[group], p.shape[1])):
            found[i] = one
    return np.stack(found)


def decide(p: npt.NDArray[np.float32]) -> npt.NDArray[Any]:
    """A class for every pixel of (classes, ..)."""
    if len(p) == 2:
        return submod.decide(p[1:]).segmentation[0]
    return submod.decide_classes(p[None]).segmentation[0]


def counted(chosen: npt.NDArray[Any], labels: Tensor, classes: int) -> list[Any]:
    pairs = zip(chosen.astype(np.uint8), labels.numpy())
    return [confusion(one, truth, classes) for one, truth in pairs]
