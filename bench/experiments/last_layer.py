"""Optimisers of the last layer alone (experiment F), a convex problem with a certified minimum:

    J(w) = mean over the images of LovaszHinge(features w) + DECAY/2 |w|^2.

A prox direction is the supplement's modified backpropagation: the loss layer sends lambda (s -
prox(s)) back in place of the gradient with respect to the scores s. prox is exact, or Algorithm 2.
"""

from __future__ import annotations

import warnings
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch

import submod
from submod import optim

from . import scores
from .decoder import Decoder, forward_features
from .features import IGNORE, Split
from .storage import Lab, read
from .table import PASS_IMAGES, Run, minimum

IMAGES, PIXELS = 64, 1024  # drawn: training images, and pixels of each image
SHARE = 0.01  # an image takes part if the foreground fills so much of it
STRIDE = 4  # of the features
DECAY = 5e-4  # the paper's
CERTIFIED = 1e-6  # gap at which the bundle method stops

RULES: Any = {"gradient": optim.GD(), "momentum": optim.Momentum(0.9), "adam": optim.Adam()}

Vector = npt.NDArray[np.float64]
Features = npt.NDArray[np.float32]  # (images, pixels, channels); the last one is 1, for the bias
Labels = npt.NDArray[np.uint8]  # (images, pixels), 0 or 1


class Data(NamedTuple):
    features: Features
    labels: Labels
    val_features: Features
    val_labels: Labels
    start: Vector


@lru_cache(maxsize=1)
def draw(lab: Lab, problem: Run) -> Data:
    """Draws training images with foreground, pixels of them, and where optimisers start; of the
    validation images, all with foreground."""
    assert problem.pretraining
    net = lab.network(problem.pretraining.key)
    rng = np.random.default_rng([problem.seed, 6])
    train, val = lab.split("train"), lab.split("val")
    shown = [np.flatnonzero(split.share(problem.target) >= SHARE) for split in (train, val)]
    chosen = rng.permutation(shown[0])[:IMAGES]
    chosen = chosen[: len(chosen) // PASS_IMAGES * PASS_IMAGES]  # minibatches are full
    ours = [sample(net, train, k, problem, rng) for k in map(int, chosen)]
    others = [sample(net, val, k, problem, rng) for k in map(int, shown[1])]
    features, labels, val_features, val_labels = (
        np.stack(x) for part in (ours, others) for x in zip(*part)
    )
    channels = features.shape[2]
    start = rng.uniform(-1, 1, channels) / np.sqrt(channels - 1)  # as PyTorch starts a layer
    return Data(features, labels, val_features, val_labels, start)


@torch.no_grad()
def sample(
    net: Decoder, split: Split, image: int, problem: Run, rng: np.random.Generator
) -> tuple[Features, Labels]:
    """Features and labels of random labelled pixels."""
    found = forward_features(net, split, torch.tensor([image]), problem.arithmetic)
    middle = slice(STRIDE // 2, None, STRIDE)
    labels = scores.problem(split.labels[image], problem.target)
    truth = labels[middle, middle].flatten().numpy()
    known = np.flatnonzero(truth != IGNORE)
    here = rng.choice(known, min(PIXELS, len(known)), replace=len(known) < PIXELS)
    flat = found[0].flatten(1).T.numpy()[here]
    return np.hstack([flat, np.ones((len(here), 1), np.float32)]), truth[here]


def exact_direction(s: Features, labels: Labels, lam: float) -> Any:
    return submod.prox_lovasz_hinge(s, labels, lam)[1]


class Algorithm2:
    """Computes the prox by the supplement's Algorithm 2, which need not be exact, and collects the
    relative errors of its directions."""

    def __init__(self) -> None:
        self.errors: list[float] = []

    def __call__(self, s: Features, labels: Labels, lam: float) -> Any:
        """Works in margins m = 1 - y s, where s - prox(s) = y (prox(m) - m)."""
        y = 2.0 * labels - 1
        margins = 1 - y * s
        method = "greedy_path" if submod.__version__ == "0.2.1" else "algorithm_2"
        with warnings.catch_warnings():  # it has no certificate, even where it is exact
            warnings.simplefilter("ignore", submod.AccuracyWarning)
            pairs = zip(map(submod.Function.jaccard, labels), margins)
            moved = np.stack([f.prox(m, lam, method, hinge=True).u for f, m in pairs])
        found = lam * y * (moved - margins) / len(labels)
        exact = exact_direction(s, labels, lam)
        size = np.linalg.norm(exact)
        self.errors.append(float(np.linalg.norm(found - exact) / size) if size else 0.0)
        return found


class Layer:
    """The problem of some data. A step of size eta moves a score by about eta |x|^2; the prox with
    lambda = 1 / (reach eta pixels |x|^2) moves scores by about reach times as much on average."""

    def __init__(self, data: Data, direction: Any = None, reach: float = 0.0) -> None:
        self.data, self.sent = data, direction
        squares = np.square(data.features, dtype=np.float64)
        self.reach = reach * squares.sum() / len(data.features)
        self.problem = optim.Problem(
            data.features.shape[-1], self.subgradient, metric=self.val_iou,
            direction=self.direction if direction else None,
            batches=len(data.features) // PASS_IMAGES,
        )  # fmt: skip

    def batch(self, w: Vector, number: int | None) -> tuple[Features, Features, Labels]:
        """Features, scores and labels of a minibatch, or of all images."""
        here = (
            slice(None)
            if number is None
            else slice(PASS_IMAGES * number, PASS_IMAGES * (number + 1))
        )
        features = self.data.features[here]
        return features, features @ w.astype(np.float32), self.data.labels[here]

    def subgradient(self, w: Vector, number: int | None = None) -> tuple[Any, Vector]:
        features, s, labels = self.batch(w, number)
        value, by_scores = submod.lovasz_hinge(s, labels, return_grad=True)
        return value, chain(features, by_scores)

    def direction(self, w: Vector, per_step: float, number: int | None = None) -> Vector:
        features, s, labels = self.batch(w, number)
        return chain(features, self.sent(s, labels, per_step / self.reach))

    def val_iou(self, w: Vector) -> float:
        """In points, mean over the images."""
        chosen = self.data.val_features @ w.astype(np.float32) > 0
        truth = self.data.val_labels == 1
        counts = np.stack([(chosen & truth).sum(1), chosen.sum(1), truth.sum(1)], -1)
        return float(scores.iou(counts).mean())


def chain(features: Features, by_scores: Any) -> Vector:
    flat = features.reshape(-1, features.shape[-1])
    return (np.asarray(by_scores, np.float32).ravel() @ flat).astype(np.float64)


def optimise(lab: Lab, run: Run) -> tuple[dict[str, Any], dict[str, scores.Counts]]:
    """Returns val, which chooses: -log10 of J - J* at the end, or of the certified gap; and J and
    the validation Jaccard index after each pass."""
    problem = minimum(run.seed, run.start, run.arithmetic)
    data = draw(lab, problem)
    if run == problem:
        return certify(data, run.steps), {}
    known = read(lab.results).loc[problem.key]
    name, _, reach = run.loss.partition("@")
    rule = next((r for r in RULES if name.startswith(r)), "gradient")
    algorithm2 = Algorithm2()
    direction = {"prox": exact_direction, "algorithm2": algorithm2}.get(name.split("+")[-1])
    layer = Layer(data, direction, float(reach or 0)).problem
    iterations = run.steps * layer.batches
    found = optim.descend(
        layer, data.start, optim.Schedule.poly(run.rate, iterations), step=RULES[rule],
        direction="prox" if direction else "subgradient", order="shuffled", seed=run.seed,
        trace=True, max_iterations=iterations, weight_decay=DECAY, keep_best=False,
        trace_every=layer.batches,
    )  # fmt: skip
    left = max(found.trace[-1].f - float(known.bound), float(known.gap))
    error = float(np.median(algorithm2.errors)) if algorithm2.errors else ""
    return {**row(found, left, layer.batches), "bound": "", "gap": "", "error": error}, {}


def certify(data: Data, planes: int) -> dict[str, Any]:
    found = optim.bundle(
        Layer(data).problem, data.start, tolerance=CERTIFIED, max_iterations=planes,
        weight_decay=DECAY, trace=True,
    )  # fmt: skip
    certificate = {"bound": found.lower_bound, "gap": found.gap, "error": ""}
    return {**row(found, max(found.gap, CERTIFIED), 1), **certificate}


def row(found: optim.Result, left: float, per_pass: int) -> dict[str, Any]:
    lines = found.trace
    curve = " ".join(f"{x.iteration // per_pass}:{x.f:.7g}" for x in lines)
    iou = " ".join(f"{x.iteration // per_pass}:{x.metric:.3f}" for x in lines)
    return {"val": -np.log10(left), "val_iou": lines[-1].metric, "curve": curve, "iou_curve": iou}
