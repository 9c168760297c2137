"""Decisions at test time (experiment E): Nowozin's and the exact expected-IoU decision for batches
of images, on raw and on calibrated probabilities, and multi-scale prediction."""

from __future__ import annotations

from itertools import islice
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from scipy.optimize import minimize_scalar
from torch import Tensor
from torch.nn import functional as F
from tqdm import tqdm

import submod

from . import scores
from .decoder import Decoder, forward
from .features import CLASSES, IGNORE, SCALES, Split
from .storage import Lab
from .table import Run

BATCHES, TOGETHER = 20, 21  # the paper decides for 21 images at once
METHODS = {"nowozin": "threshold", "exact": "rank"}  # name here, and in submod
TEMPERATURES = (0.2, 5.0)  # searched
THINNED = 4  # every so many rows and columns of the validation images fit the temperature
ATTEMPTS = 10000  # to draw a batch that shows every class


def batches(truth: npt.NDArray[Any]) -> npt.NDArray[np.int64]:
    """Image numbers (BATCHES, TOGETHER), without repetition in a batch, drawn at random until every
    class is in it. truth: label counts (images, classes). All networks get the same batches."""
    rng = np.random.default_rng(0)
    drawn = (rng.permutation(len(truth))[:TOGETHER] for _ in range(ATTEMPTS))
    found = list(islice((x for x in drawn if (truth[x].sum(0) > 0).all()), BATCHES))
    if len(found) < BATCHES:
        raise SystemExit(f"hardly any {TOGETHER} test images show every class")
    return np.stack(found)


def temperature(net: Decoder, split: Split, arithmetic: str) -> dict[str, float]:
    """Divides scores so that the split's labels become most likely."""
    thin = slice(THINNED // 2, None, THINNED)
    size, parts = split.labels.shape[1:], []
    for k in range(len(split.names)):
        s = forward(net, split, torch.tensor([k]), arithmetic, size)[..., thin, thin]
        parts.append(s[0].flatten(1).T[split.labels[k, thin, thin].flatten() != IGNORE])
    labels = split.labels[:, thin, thin].flatten()
    labels, s = labels[labels != IGNORE].long(), torch.cat(parts)

    def loss(log_t: float) -> float:
        return F.cross_entropy(s / np.exp(log_t), labels).item()

    fitted = minimize_scalar(loss, bounds=np.log(TEMPERATURES), method="bounded")
    return {
        "temperature": round(float(np.exp(fitted.x)), 4),
        "val_loss_raw": loss(0),
        "val_loss_calibrated": float(fitted.fun),
    }


def decisions(s: Tensor, t: float) -> dict[str, Tensor]:
    """Label maps (images, height, width) of one batch, by each decision. s: scores."""
    found = {"argmax": s.argmax(1)}
    for probabilities, divisor in {"raw": 1.0, "calibrated": t}.items():
        p = (s / divisor).softmax(1).movedim(1, 0)  # classes first: the batch is one image
        for name, method in METHODS.items():
            chosen = submod.decide_classes(p.flatten(1, 2)[None].numpy(), method=method)
            found[f"{name}_{probabilities}"] = torch.from_numpy(chosen.segmentation).view(
                p.shape[1:]
            )
    return found


def multiscale(net: Decoder, lab: Lab, arithmetic: str) -> scores.Counts:
    """Counts on test of the mean probability over all sizes."""
    splits = [lab.split("test"), *(lab.split(f"test@{scale:g}") for scale in SCALES)]
    labels, found = splits[0].labels, []
    for k in range(len(labels)):
        chosen = torch.tensor([k])
        each = [forward(net, x, chosen, arithmetic, labels.shape[1:]) for x in splits]
        p = torch.cat(each).softmax(1).sum(0, keepdim=True)
        found.append(scores.count(p.argmax(1), labels[chosen], len(CLASSES)))
    return np.concatenate(found)


@torch.no_grad()
def decide_all(lab: Lab, run: Run) -> tuple[dict[str, Any], dict[str, scores.Counts]]:
    """Returns the fitted temperature, and counts by decision: for the multi-scale prediction image
    by image, for the others over the images of batches(), batch after batch."""
    assert run.pretraining
    net = lab.network(run.pretraining.key)
    fitted = temperature(net, lab.split("val"), run.arithmetic)
    test = lab.split("test")
    truth = scores.count(test.labels, test.labels, len(CLASSES))[..., 2]
    found: dict[str, list[scores.Counts]] = {}
    for chosen in tqdm(batches(truth), run.key, mininterval=10):
        each = [
            forward(net, test, torch.tensor([k]), run.arithmetic, test.labels.shape[1:])
            for k in chosen
        ]
        for name, labels in decisions(torch.cat(each), fitted["temperature"]).items():
            counts = scores.count(labels, test.labels[chosen], len(CLASSES))
            found.setdefault(name, []).append(counts)
    joined = {f"{run.key}/{name}": np.concatenate(of) for name, of in found.items()}
    joined[f"{run.key}/multiscale"] = multiscale(net, lab, run.arithmetic)
    return dict(fitted), joined
