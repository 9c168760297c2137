"""bench/experiments/layer: the objective, its directions and its minimum against slow or other
computations, and the pixels that are drawn."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
from experiments.layer import data as layer_data
from experiments.layer import methods as layer_methods
from experiments.layer import problem as layer_problem
from experiments.layer import results as layer_results
from experiments.layer.data import TOGETHER, Data
from experiments.layer.methods import ALGORITHM_2, PROX, Method
from experiments.layer.problem import DECAY, GreedyPath, Layer, exact_prox
from experiments.street import camvid

import submod

IMAGES, PIXELS, FEATURES = 2 * TOGETHER, 30, 4


def made(seed):
    rng = np.random.default_rng(seed)
    labels = (rng.random((IMAGES, PIXELS)) < rng.uniform(0.05, 0.6, (IMAGES, 1))).astype(np.uint8)
    features = rng.normal(size=(IMAGES, PIXELS, FEATURES)).astype(np.float32)
    features[..., 0] += labels
    features[..., -1] = 1
    return Data(features, labels, features[:3], labels[:3], rng.normal(size=FEATURES))


def slow_hinge(scores, labels):
    """Of one image, by the sets of its largest margins."""
    margins = [1 - (1 if y else -1) * float(s) for s, y in zip(scores, labels)]
    order = sorted(range(len(margins)), key=lambda i: -margins[i])
    foreground = sum(map(int, labels))
    loss = before = missed = wrong = 0.0
    for i in order:
        missed, wrong = missed + bool(labels[i]), wrong + (not labels[i])
        now = (missed + wrong) / (foreground + wrong)
        loss, before = loss + max(margins[i], 0.0) * (now - before), now
    return loss


@pytest.mark.parametrize("seed", range(3))
def test_value_is_the_mean_hinge(seed):
    data = made(seed)
    layer = Layer(data)
    for number in (None, 0, 1):
        value, _ = layer.subgradient(data.start, number)
        here = (
            range(IMAGES) if number is None else range(number * TOGETHER, (number + 1) * TOGETHER)
        )
        slow = [slow_hinge(data.features[i] @ data.start, data.labels[i]) for i in here]
        assert value == pytest.approx(np.mean(slow), rel=1e-5)


@pytest.mark.parametrize("seed", range(3))
def test_subgradient_lies_below(seed):
    data = made(seed)
    layer = Layer(data)
    rng = np.random.default_rng(seed)
    value, g = layer.subgradient(data.start, None)
    for _ in range(20):
        other = data.start + rng.normal(size=FEATURES) * rng.choice([1e-2, 1.0, 10.0])
        assert layer.subgradient(other, None)[0] >= value + g @ (other - data.start) - 1e-4


@pytest.mark.parametrize("look", (0.05, 1.0))
@pytest.mark.parametrize("seed", range(3))
def test_directions_are_those_of_another_prox(seed, look):
    """Wolfe's algorithm knows nothing of Jaccard."""
    data = made(seed)
    per_step = 2.0
    found = Layer(data, exact_prox, look).direction(data.start, per_step, 1)
    images = slice(TOGETHER, 2 * TOGETHER)
    mean_square = np.square(data.features, dtype=float).sum(-1).mean()
    lam = per_step / (look * PIXELS * mean_square)
    wanted = np.zeros(FEATURES)
    for x, labels in zip(data.features[images].astype(float), data.labels[images]):
        y = 2.0 * labels - 1
        margins = 1 - y * (x @ data.start)
        u = submod.Function.jaccard(labels).prox(margins, lam, "min_norm", hinge=True).u
        wanted += (lam * y * (u - margins)) @ x / TOGETHER
    np.testing.assert_allclose(found, wanted, atol=2e-4)


def test_short_looks_give_the_subgradient():
    data = made(0)
    _, g = Layer(data).subgradient(data.start, 0)
    for sent in (exact_prox, GreedyPath()):
        direction = Layer(data, sent, 1e-4).direction(data.start, 1.0, 0)
        np.testing.assert_allclose(direction, g, rtol=0.02, atol=0.02)


def test_greedy_path_tells_how_far_it_is_off():
    """Against Wolfe's algorithm. Steps that are short, but not too short, are missed."""
    rng = np.random.default_rng(0)
    path, wanted = GreedyPath(), []
    for _ in range(20):
        scores = rng.normal(size=(1, 60)).astype(np.float32)
        labels = (rng.random((1, 60)) < 0.3).astype(np.uint8)
        lam = 10 ** rng.uniform(-3, 1)
        y = 2.0 * labels[0] - 1
        margins = 1 - y * scores[0]
        u = submod.Function.jaccard(labels[0]).prox(margins, lam, "min_norm", hinge=True).u
        exact = lam * y * (u - margins)
        ours = path(scores, labels, lam)[0]
        wanted.append(np.linalg.norm(ours - exact) / np.linalg.norm(exact))
    np.testing.assert_allclose(path.errors, wanted, atol=1e-4)
    assert min(wanted) < 1e-4
    assert max(wanted) > 0.01


@pytest.mark.parametrize("seed", range(3))
def test_nothing_is_below_the_minimum(seed):
    data = made(seed)
    found = layer_methods.minimum(data)
    assert abs(found["gap"]) <= layer_methods.CERTIFIED
    layer = Layer(data)
    rng = np.random.default_rng(seed)
    for size in (0.0, 0.1, 1.0, 3.0):
        w = size * rng.normal(size=FEATURES)
        value = layer.subgradient(w, None)[0] + DECAY / 2 * w @ w
        assert value >= found["bound"] - 1e-6  # scores are floats
    assert found["J"][-1] - found["bound"] <= 2 * layer_methods.CERTIFIED


@pytest.mark.parametrize("direction", ("subgradient", PROX, ALGORITHM_2))
def test_runs_descend_and_repeat(direction):
    data = made(1)
    method = Method("gradient", direction)
    first, second = (layer_methods.run(method, data, 5, 0.1, 0.1, 7) for _ in range(2))
    assert first["passes"].tolist() == [0, 1, 2, 3, 4, 5]
    assert first["J"][-1] < first["J"][0]
    assert all(np.array_equal(first[key], second[key]) for key in first)


def curves(left, iou, networks):
    """That end so."""
    ends = (np.array([[1.0, x] for x in left]), np.array([[0.0, x] for x in iou]))
    return layer_results.Curves(*ends, networks)


def test_networks_count_and_not_their_draws():
    networks = [0, 0, 1, 1, 2, 2]
    ours = curves(np.exp([1.0, 3, 3, 5, 5, 7]), [0.1, 0.3, 0.3, 0.5, 0.5, 0.7], networks)
    theirs = curves(np.ones(6), np.zeros(6), networks)
    half = 4.302652729911275 * 2 / 3**0.5  # Student's t of the means 2, 4 and 6
    found = layer_results.ratio(ours, theirs)
    assert np.log(found) == pytest.approx([4, 4 - half, 4 + half], abs=0.1)
    points = layer_results.iou_difference(ours, theirs)
    assert points == pytest.approx([40, 40 - 10 * half, 40 + 10 * half], abs=1)


def test_images_are_drawn_by_their_share_of_cars():
    labels = torch.zeros(4, 10, 20, dtype=torch.uint8)
    labels[1, 0, 0] = 1  # 1 of 200
    labels[2, 0, :2] = 1  # 2 of 200
    labels[3] = camvid.IGNORE
    labels[3, 0, :3] = torch.tensor([1, 0, 0])
    assert layer_data.with_cars(camvid.Split([], torch.empty(0), labels)).tolist() == [2, 3]


def test_pixels_keep_their_labels():
    """The image shows its labels, and the network hands the image on."""
    rng = np.random.default_rng(0)
    blocks = torch.from_numpy(rng.integers(0, 2, (1, 6, 8)).astype(np.uint8))
    labels = blocks.repeat_interleave(4, 1).repeat_interleave(4, 2)
    image = (labels * 200)[:, None].expand(-1, 3, -1, -1).contiguous()
    labels[0, :4] = camvid.IGNORE
    split = camvid.Split(["x"], image, labels)
    network = torch.nn.AvgPool2d(1)
    features, truth = layer_data.sampled(network, split, 0, 60, rng)
    assert features.shape == (60, 4)
    assert (features[:, -1] == 1).all()
    assert set(truth.tolist()) == {0, 1}
    assert np.corrcoef(features[:, 0], truth)[0, 1] > 0.8  # antialiasing blurs the blocks' edges


def test_iou_of_val():
    data = made(2)
    layer = Layer(data)
    w = np.array([1.0, 0.0, 0.0, -0.5])
    slow = []
    for x, labels in zip(data.val_features, data.val_labels):
        chosen = {i for i in range(PIXELS) if x[i, 0] > np.float32(0.5)}
        truth = {i for i in range(PIXELS) if labels[i]}
        slow.append(len(chosen & truth) / len(chosen | truth))
    assert layer.val_iou(w) == pytest.approx(np.mean(slow))
    assert layer_problem.scores_of(data.val_features, w).dtype == np.float32
