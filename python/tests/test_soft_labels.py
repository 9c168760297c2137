"""The metric losses of soft labels, of NumPy arrays: formulas, soft Jaccard, refusals."""

import numpy as np
import pytest

import submod

RNG = np.random.default_rng(29)
NAMES = ["jaccard_metric_loss", "dice_metric_loss"]


def softmax(scores):
    p = np.exp(scores - scores.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def case(shape=(3, 4, 5, 6)):
    """Scores in 1/64ths, so that finite differences move them exactly; class 3 has no label."""
    scores = (np.round(64 * RNG.normal(size=shape)) / 64).astype(np.float32)
    labels = softmax(2 * RNG.normal(size=shape)).astype(np.float32)
    labels[:, 3] = 0
    return scores, labels


def formula(name, p, y, w=1.0, classes="present", class_weight=None, smoothing=0.0, overlap="min"):
    """Of a group, (classes, pixels), with the norms of the paper."""
    plus, minus, times = (w * (p + y)).sum(1), (w * abs(p - y)).sum(1), (w * p * y).sum(1)
    common = times if overlap == "product" else (plus - minus) / 2
    twice = 2 if name == "dice_metric_loss" else 1
    losses = 1 - (twice * common + smoothing) / (twice * common + minus + smoothing)
    chosen = {"all": range(len(p)), "present": np.flatnonzero((w * y).sum(1))}.get(str(classes))
    chosen = list(classes if chosen is None else chosen)
    weight = np.ones(len(p)) if class_weight is None else np.asarray(class_weight)
    return np.average(losses[chosen], weights=weight[chosen])


def by_formula(name, scores, labels, weights=None, per_image=False, **options):
    p, y = softmax(scores.astype(float)), labels.astype(float)
    w = np.ones(p.shape) if weights is None else np.broadcast_to(weights[:, None], p.shape)
    arrays = [np.moveaxis(a.reshape(*a.shape[:2], -1), 1, 0) for a in (p, y, w)]
    if per_image:
        groups = [[a[:, i] for a in arrays] for i in range(len(p))]
    else:
        groups = [[a.reshape(len(a), -1) for a in arrays]]
    return [formula(name, *group, **options) for group in groups]


OPTIONS = [
    {},
    {"classes": "all", "overlap": "product"},
    {"classes": [2, 0], "class_weight": [1, 5, 0.5, 2]},
    {"smoothing": 1.0, "classes": "all"},
    {"smoothing": 0.5, "overlap": "product"},
]


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("name", NAMES)
def test_formulas(name, options, per_image, weighted):
    loss = getattr(submod, name)
    scores, labels = case()
    weights = RNG.integers(0, 3, size=(3, 5, 6)).astype(float) if weighted else None
    given = {**options, "per_image": per_image, "pixel_weights": weights}

    def expected(x):
        return by_formula(name, x, labels, weights, per_image, **options)

    found, gradient = loss(scores, labels, return_grad=True, **given)
    assert found == pytest.approx(np.mean(expected(scores)), abs=1e-6)
    each = loss(scores, labels, reduction="none", **given)
    np.testing.assert_allclose(each, expected(scores), atol=1e-6)
    for at in [(0, 0, 0, 0), (1, 2, 3, 4), (2, 3, 4, 5), (2, 1, 0, 3)]:
        above, below = scores.copy(), scores.copy()
        above[at] += 1 / 1024
        below[at] -= 1 / 1024
        slope = (np.mean(expected(above)) - np.mean(expected(below))) * 512
        assert gradient[at] == pytest.approx(slope, abs=1e-5)


@pytest.mark.parametrize("overlap", ["min", "product"])
@pytest.mark.parametrize("name", ["jaccard", "dice"])
def test_hard_labels_give_the_soft_losses(name, overlap):
    scores, _ = case()
    labels = RNG.integers(0, 4, size=(3, 5, 6))
    hard = np.moveaxis(np.eye(4, dtype=np.uint8)[labels], -1, 1)
    soft, ours = getattr(submod, f"soft_{name}"), getattr(submod, f"{name}_metric_loss")
    for options in ({}, {"per_image": True, "smoothing": 1.0, "classes": "all"}):
        expected, slope = soft(scores, labels, return_grad=True, **options)
        found, gradient = ours(scores, hard, overlap=overlap, return_grad=True, **options)
        assert found == pytest.approx(expected, rel=1e-12)
        np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_smallest_at_the_labels(name):
    """What soft Jaccard is not: of one pixel with label 1/2 it falls until the end."""
    loss, y = getattr(submod, name), [[[0.5]]]
    values = [loss([[[p]]], y, from_logits=False) for p in np.linspace(0, 1, 9)]
    assert values[4] == 0 and np.argmin(values) == 4
    assert values[0] == 1 and sorted(values[4:]) == values[4:]


def test_shapes_and_types():
    scores, labels = case((1, 4, 30, 1))
    expected = submod.jaccard_metric_loss(scores, labels)
    listed = submod.jaccard_metric_loss(scores[0, :, :, 0].T, labels[0, :, :, 0].T)
    assert listed == expected
    assert submod.jaccard_metric_loss(scores[..., 0], labels[..., 0]) == expected
    assert submod.jaccard_metric_loss(scores, labels.astype(float)) == expected
    halves = labels.astype(np.float16)
    assert submod.jaccard_metric_loss(scores, halves) == submod.jaccard_metric_loss(
        scores, halves.astype(np.float32)
    )
    p = softmax(scores)
    assert submod.jaccard_metric_loss(p, labels, from_logits=False) == pytest.approx(expected)


def test_refusals():
    scores, labels = case()
    for name in NAMES:
        loss = getattr(submod, name)
        with pytest.raises(ValueError, match=r"soft_labels\[0\]\[0\]\[0\] = .* is no probability"):
            loss(scores, labels + 2)
        with pytest.raises(ValueError, match=r"soft_labels\[0\]\[0\]\[0\] is nan"):
            loss(scores, labels + np.nan)
        with pytest.raises(ValueError, match=r"labels of shape \(3, 5, 6\) for scores of shape"):
            loss(scores, labels[:, 0])
        with pytest.raises(ValueError, match="overlap = 'max'; it must be one of 'min', 'product'"):
            loss(scores, labels, overlap="max")
        with pytest.raises(ValueError, match="softmax of one class"):
            loss(scores[:, :1], labels[:, :1])
        with pytest.raises(TypeError, match="soft_labels of type complex64"):
            loss(scores, labels + 1j)
        with pytest.raises(TypeError, match="ignore_index"):
            loss(scores, labels, ignore_index=255)
