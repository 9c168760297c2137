"""Cross-entropy, hinge, Rahman-Wang, soft Dice, soft Jaccard of NumPy arrays, by their formulas."""

import numpy as np
import pytest

import submod

RNG = np.random.default_rng(17)
IGNORED = 255


def softmax(scores):
    p = np.exp(scores - scores.max(1, keepdims=True))
    return p / p.sum(1, keepdims=True)


def multiclass_case(shape=(3, 4, 5, 6)):
    """Scores in 1/64ths, so that finite differences move them exactly; class 3 is in no label."""
    scores = np.round(64 * RNG.normal(size=shape)) / 64
    labels = RNG.integers(0, 3, size=shape[:1] + shape[2:])
    labels.flat[::7] = IGNORED
    return scores.astype(np.float32), labels


def binary_case(shape=(3, 5, 6)):
    scores = np.round(64 * RNG.normal(size=shape)) / 64
    labels = RNG.integers(0, 2, size=shape)
    labels.flat[::7] = IGNORED
    return scores.astype(np.float32), labels


def mean_over_groups(loss, scores, labels, per_image):
    """loss(scores, labels) of pixels that count, (classes, pixels) and (pixels,)."""
    batch, classes = scores.shape[:2]
    scores, labels = scores.reshape(batch, classes, -1), labels.reshape(batch, -1)
    if not per_image:
        scores, labels = np.moveaxis(scores, 1, 0).reshape(1, classes, -1), labels.reshape(1, -1)
    kept = [y != IGNORED for y in labels]
    return np.mean([loss(s[:, k], y[k]) for s, y, k in zip(scores, labels, kept)])


def cross_entropy(scores, labels, class_weight=None):
    weight = np.ones(len(scores)) if class_weight is None else np.asarray(class_weight)
    p = softmax(scores[None].astype(float))[0]
    return np.average(-np.log(p[labels, np.arange(labels.size)]), weights=weight[labels])


def hinge(scores, labels, class_weight=(1, 1)):
    margins = np.maximum(0, 1 - (2 * labels - 1) * scores[0].astype(float))
    return np.average(margins, weights=np.asarray(class_weight)[labels])


def rahman_wang(scores, labels, from_logits=True):
    p = scores[0].astype(float)
    p = 1 / (1 + np.exp(-p)) if from_logits else p
    both = (p * labels).sum()
    return 1 - both / (p.sum() + labels.sum() - both)


def overlap(dice, scores, labels, classes="present", class_weight=None, smoothing=0.0, **input):
    p = softmax(scores[None].astype(float))[0] if input.get("from_logits", True) else scores
    number = len(scores)
    if classes == "present":
        classes = [c for c in range(number) if (labels == c).any()]
    chosen = range(number) if classes == "all" else classes
    weight = np.ones(number) if class_weight is None else np.asarray(class_weight)
    losses = []
    for c in chosen:
        y = labels == c
        both, total = (p[c] * y).sum(), p[c].sum() + y.sum()
        ratio = (
            (2 * both + smoothing) / (total + smoothing)
            if dice
            else (both + smoothing) / (total - both + smoothing)
        )
        losses.append(1 - ratio)
    return np.average(losses, weights=weight[list(chosen)])


def soft_dice(*arguments, **options):
    return overlap(True, *arguments, **options)


def soft_jaccard(*arguments, **options):
    return overlap(False, *arguments, **options)


OVERLAP = [
    {},
    {"classes": "all"},
    {"classes": [2, 0], "class_weight": [1, 5, 0.5, 2]},
    {"smoothing": 1.0, "classes": "all"},
]
CASES = [
    *(("cross_entropy", cross_entropy, o) for o in ({}, {"class_weight": [1, 0.5, 3, 7]})),
    *(("hinge", hinge, o) for o in ({}, {"class_weight": [0.25, 2]})),
    ("rahman_wang", rahman_wang, {}),
    *(("soft_dice", soft_dice, o) for o in OVERLAP),
    *(("soft_jaccard", soft_jaccard, o) for o in OVERLAP),
]
BINARY = ("hinge", "rahman_wang")


def case_of(name):
    """Scores as the function takes them, and with a dimension for the classes."""
    scores, labels = binary_case() if name in BINARY else multiclass_case()
    return scores, scores[:, None] if name in BINARY else scores, labels


@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("name, formula, options", CASES)
def test_formula(name, formula, options, per_image):
    scores, with_classes, labels = case_of(name)
    expected = mean_over_groups(
        lambda s, y: formula(s, y, **options), with_classes, labels, per_image
    )
    given = {"per_image": per_image, "ignore_index": IGNORED, **options}
    loss = getattr(submod, name)(scores, labels, **given)
    assert loss == pytest.approx(expected, rel=1e-5)
    again, gradient = getattr(submod, name)(scores, labels, return_grad=True, **given)
    assert again == loss and gradient.shape == scores.shape and gradient.dtype == np.float32
    by_class = gradient.reshape(with_classes.shape)
    assert not np.moveaxis(by_class, 1, -1)[labels == IGNORED].any()


@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("name, formula, options", CASES)
def test_gradient_by_differences(name, formula, options, per_image):
    scores, _, labels = case_of(name)
    given = {"per_image": per_image, "ignore_index": IGNORED, **options}
    loss = getattr(submod, name)
    _, gradient = loss(scores, labels, return_grad=True, **given)
    step = np.float32(1 / 128)  # less than from a score to a kink of the hinge
    for at in RNG.choice(scores.size, 30, replace=False):
        moved = []
        for sign in (1, -1):
            other = scores.copy()
            other.flat[at] += sign * step
            moved.append(loss(other, labels, **given))
        slope = (moved[0] - moved[1]) / (2 * step)
        if name == "hinge" and abs(scores.flat[at]) == 1:
            continue  # at a kink
        assert gradient.flat[at] == pytest.approx(slope, abs=2e-6, rel=2e-3)


@pytest.mark.parametrize("name", ["soft_dice", "soft_jaccard", "rahman_wang"])
def test_from_probabilities(name):
    scores, _, labels = case_of(name)
    p = softmax(scores) if name not in BINARY else 1 / (1 + np.exp(-scores))
    loss = getattr(submod, name)
    expected = loss(scores, labels, ignore_index=IGNORED)
    found, gradient = loss(p, labels, ignore_index=IGNORED, from_logits=False, return_grad=True)
    assert found == pytest.approx(expected, rel=1e-5)
    assert np.abs(gradient).max() > 0


def test_list_of_pixels():
    scores, labels = multiclass_case((40, 4))
    labels %= 3
    loss, gradient = submod.cross_entropy(scores, labels, return_grad=True)
    assert loss == pytest.approx(cross_entropy(scores.T, labels), rel=1e-6)
    onehot = np.eye(4)[labels]
    np.testing.assert_allclose(gradient, (softmax(scores) - onehot) / 40, atol=1e-7)
    scores, labels = binary_case((40,))
    assert submod.hinge(scores, labels % 2) == pytest.approx(
        hinge(scores[None], labels % 2), rel=1e-6
    )


def test_refused():
    scores, labels = multiclass_case()
    kept = {"ignore_index": IGNORED}
    for name in ("cross_entropy", "soft_dice"):
        loss = getattr(submod, name)
        with pytest.raises(ValueError, match=r"class_weight of shape \(2,\); \(4,\) is needed"):
            loss(scores, labels, class_weight=[1, 2], **kept)
        with pytest.raises(submod.InvalidArgumentError, match="= 255 is not"):
            loss(scores, labels)
    with pytest.raises(TypeError, match="smoothing = 'much'; a number is needed"):
        submod.soft_dice(scores, labels, smoothing="much", **kept)
    with pytest.raises(submod.InvalidArgumentError, match="smoothing"):
        submod.soft_jaccard(scores, labels, smoothing=-1, **kept)
    with pytest.raises(ValueError, match=r"class_weight of shape \(1,\); \(2,\) is needed"):
        submod.hinge(scores[:, 0], labels, class_weight=[1], **kept)
    with pytest.raises(TypeError, match="classes"):
        submod.cross_entropy(scores, labels, classes="all")
