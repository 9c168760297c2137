"""What a network gets right on a split: everything the tables need, image by image, so that
differences can be paired and resampled later."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

import submod

from . import camvid, losses

AT_ONCE = 4  # images
BINS = 15  # of confidence, for the calibration error
Predict = Callable[[Tensor], Tensor]


@torch.no_grad()
def scores_of(network: nn.Module, images: Tensor, scale: float = 1.0) -> Tensor:
    """At the size of the images. scale: of what the network sees, against what it was trained
    for."""
    seen = camvid.resized(images.float(), camvid.part_of(images.shape, camvid.SEEN * scale))
    scores = network(camvid.normalised(seen))
    return F.interpolate(scores, images.shape[-2:], mode="bilinear", align_corners=False)


def multiclass(network: nn.Module, split: camvid.Split, everything: bool) -> dict[str, Any]:
    """Confusion counts of every image (n, truth, prediction); with everything, boundary IoU and
    the calibration error too."""
    return predicted(lambda images: scores_of(network, images).softmax(1), split, everything)


def predicted(predict: Predict, split: camvid.Split, everything: bool) -> dict[str, Any]:
    """Of probabilities (images, classes, height, width)."""
    classes, counts = len(camvid.CLASSES), []
    boundary = submod.metrics.BoundaryIoU(classes, ignore_index=camvid.IGNORE)
    reliability = np.zeros((3, BINS))
    for images, labels in in_parts(split):
        p = predict(images).numpy()
        chosen, truth = p.argmax(1).astype(np.uint8), labels.numpy()
        counts += [confusion(one, own, classes) for one, own in zip(chosen, truth)]
        if everything:
            boundary.update(chosen, truth)
            reliability += by_confidence(p, truth)
    found: dict[str, Any] = {"confusion": np.stack(counts)}
    if everything:
        found["boundary"] = boundary.compute().iou
        pixels, right, confidence = reliability
        found["calibration"] = np.abs(right - confidence).sum() / pixels.sum()
    return found


def by_confidence(p: Any, truth: Any) -> Any:
    """(3, BINS): pixels, correct predictions and the sum of confidences in each bin of confidence,
    the probability of the predicted class."""
    counted = truth != camvid.IGNORE
    confidence = p.max(1)[counted].astype(np.float64)
    right = (p.argmax(1) == truth)[counted]
    bins = np.minimum((confidence * BINS).astype(np.int64), BINS - 1)
    return np.stack([np.bincount(bins, weights, BINS) for weights in (None, right, confidence)])


def binary(network: nn.Module, split: camvid.Split, everything: bool) -> dict[str, Any]:
    """Confusion counts of every image (n, 2, 2); with everything, every loss of every image (n,
    losses) too, in the order of losses.BINARY."""
    counts, values = [], []
    measures = [make() for make in losses.BINARY.values()]
    for images, labels in in_parts(split):
        for score, truth in zip(scores_of(network, images), labels.long()):
            chosen = (score[0] > 0).to(torch.uint8)
            counts.append(confusion(chosen.numpy(), truth.to(torch.uint8).numpy(), 2))
            if everything:
                values.append([float(measure(score[None], truth[None])) for measure in measures])
    found = {"confusion": np.stack(counts)}
    if everything:
        found["losses"] = np.array(values)
    return found


def in_parts(split: camvid.Split) -> Any:
    for first in range(0, len(split.names), AT_ONCE):
        here = slice(first, first + AT_ONCE)
        yield split.images[here], split.labels[here]


def confusion(chosen: Any, truth: Any, classes: int) -> Any:
    of_image = submod.metrics.Confusion(classes, ignore_index=camvid.IGNORE)
    of_image.update(chosen[None], truth[None])
    return of_image.confusion
