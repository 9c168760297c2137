"""Decisions against all 2^p segmentations and all 2^p truths, and at size against bounds."""

import itertools

import numpy as np
import pytest

import submod

MEASURES = ["iou", "dice"]


def expected_of_all(q, measure, empty=1.0):
    """The expected score of every segmentation, by summing over every truth: flags (2^p, p) and
    their scores."""
    sets = np.array(list(itertools.product([0, 1], repeat=len(q)))).reshape(-1, len(q))
    probability = np.prod(np.where(sets == 1, q, 1 - q), axis=1)  # of each truth
    both = sets @ sets.T
    sizes = sets.sum(axis=1)
    total = sizes[:, None] + sizes[None]
    top, bottom = (both, total - both) if measure == "iou" else (2 * both, total)
    score = np.where(bottom > 0, top / np.maximum(bottom, 1), empty)
    return sets, probability @ score


def random_probabilities(rng, p):
    kind = rng.integers(6)
    if kind == 0:
        q = rng.random(p)
    elif kind == 1:
        q = rng.random(p) ** 6
    elif kind == 2:
        q = rng.integers(0, 5, p) / 4  # ties, 0 and 1
    elif kind == 3:
        q = np.where(rng.random(p) < 0.3, 0.9 + 0.1 * rng.random(p), 0.05 * rng.random(p))
    elif kind == 4:
        q = rng.beta(0.2, 0.4, p)
    else:
        q = np.full(p, rng.random())
    return q.astype(np.float32)


@pytest.mark.parametrize("measure", MEASURES)
def test_against_all_segmentations(measure):
    rng = np.random.default_rng(1)
    stopped_early = 0
    for _ in range(400):
        q = random_probabilities(rng, rng.integers(1, 9))
        empty = rng.choice([0.0, 0.5, 1.0])
        sets, scores = expected_of_all(q.astype(float), measure, empty)
        found = submod.decide(q, measure=measure, empty=empty)
        assert abs(scores.max() - found.lower) < 1e-13
        assert found.lower <= scores.max() + 1e-15 and scores.max() <= found.best + 1e-15
        mine = scores[np.flatnonzero((sets == found.segmentation).all(axis=1))[0]]
        assert abs(mine - scores.max()) < 1e-13
        for method in ("greedy", "threshold", "half"):
            other = submod.decide(q, measure=measure, empty=empty, method=method)
            at = np.flatnonzero((sets == other.segmentation).all(axis=1))[0]
            assert abs(scores[at] - other.lower) < 1e-13 and abs(scores[at] - other.upper) < 1e-13
            assert abs(other.best - scores.max()) < 1e-13
            stopped_early += method == "greedy" and scores[at] < scores.max() - 1e-9
    assert stopped_early > 0  # greedy is not always right, and the test would notice


@pytest.mark.parametrize("measure", MEASURES)
def test_any_segmentation(measure):
    rng = np.random.default_rng(2)
    q = random_probabilities(rng, 7)
    sets, scores = expected_of_all(q.astype(float), measure, 0.25)
    batch = np.tile(q, (len(sets), 1))
    lower, upper = submod.expected_score(batch, sets, measure=measure, empty=0.25)
    assert (lower <= scores + 1e-16).all() and (scores <= upper + 1e-16).all()
    assert (upper - lower).max() < 1e-12
    middle = getattr(submod, "expected_" + measure)(batch, sets, empty=0.25)
    np.testing.assert_allclose(middle, scores, atol=1e-14)


def poisson_binomial(q):
    weights = np.ones(1)
    for x in q:
        weights = np.convolve(weights, [1 - x, x])
    return weights


def expected_by_convolution(q, k, measure):
    """Of the first k pixels, from the distributions of the foreground inside and outside."""
    inside, outside = poisson_binomial(q[:k]), poisson_binomial(q[k:])
    i, b = np.arange(k + 1)[:, None], np.arange(len(q) - k + 1)[None]
    score = i / (k + b) if measure == "iou" else 2 * i / (k + i + b)
    return inside @ score @ outside


@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("p, scale", [(900, 0.05), (900, 1.0), (2500, 0.7), (3000, 0.2)])
def test_intervals_of_both_ways(measure, p, scale):
    """Short and long reach, next to the border between them too."""
    rng = np.random.default_rng(3)
    q = np.sort((scale * rng.random(p)).astype(np.float32))[::-1].copy()
    for k in [1, 2, 17, p // 10, p // 3, p - 1, p]:
        mask = np.arange(p) < k
        lower, upper = submod.expected_score(q, mask, measure=measure)
        exact = expected_by_convolution(q.astype(float), k, measure)
        slack = 1e-13 * exact  # of the convolution
        assert lower - slack <= exact <= upper + slack
        assert upper - lower < 1e-11 * exact


@pytest.mark.parametrize("measure", MEASURES)
def test_best_of_all_prefixes(measure):
    rng = np.random.default_rng(4)
    for p in (300, 700, 1500):
        q = np.sort(rng.beta(0.3, 0.9, p).astype(np.float32))[::-1].copy()
        found = submod.decide(q, measure=measure)
        flags = np.arange(p)[None] < np.arange(p + 1)[:, None]
        lower, upper = submod.expected_score(np.tile(q, (p + 1, 1)), flags, measure=measure)
        assert found.best <= upper.max() * (1 + 1e-14) and found.best >= lower.max()
        assert abs(found.lower - lower.max()) < 1e-13
        assert found.chosen == found.segmentation.sum()
        assert found.threshold == q[found.chosen - 1]


def blind_dice(q, empty=0.0):
    """RankSEG's rule with its blind approximation: one distribution for all k."""
    q = np.sort(q)[::-1]
    weights, k = poisson_binomial(q), np.arange(1, len(q) + 1)
    inverse = np.array([weights @ (2 / (x + 1 + np.arange(len(weights)))) for x in k])
    scores = np.cumsum(q) * inverse
    return 0 if empty >= scores.max() else k[np.argmax(scores)]


def test_rankseg_is_not_better():
    rng = np.random.default_rng(5)
    worse = 0
    for _ in range(30):
        q = np.sort(random_probabilities(rng, rng.integers(3, 60)))[::-1].copy()
        found = submod.decide(q, measure="dice", empty=0)
        blind = submod.expected_dice(q, np.arange(q.size) < blind_dice(q.astype(float)), empty=0)
        assert blind <= found.best + 1e-14
        worse += blind < found.lower - 1e-12
    assert worse < 10  # it is a good approximation


@pytest.mark.parametrize("measure", MEASURES)
def test_threshold_is_the_best_ratio(measure):
    rng = np.random.default_rng(6)
    for _ in range(100):
        q = random_probabilities(rng, 40)
        found = submod.decide(q, measure=measure, method="threshold")
        ordered = np.sort(q.astype(float))[::-1]
        k, inside = np.arange(1, 41), np.cumsum(ordered)
        total = inside[-1]
        if total == 0:
            assert found.chosen == 0
            continue
        ratios = inside / (k + total - inside) if measure == "iou" else 2 * inside / (k + total)
        assert ratios[found.chosen - 1] >= ratios.max() - 1e-14


@pytest.mark.parametrize("measure", MEASURES)
def test_at_size(measure):
    """A large image: a narrow certificate, and a gain over one half."""
    rng = np.random.default_rng(7)
    q = (1 / (1 + np.exp(4 - 3 * rng.normal(size=300_000)))).astype(np.float32)
    found = submod.decide(q, measure=measure)
    half = submod.decide(q, measure=measure, method="half")
    ratio = submod.decide(q, measure=measure, method="threshold")
    assert found.best - found.lower < 1e-12
    assert half.upper < found.lower - 1e-3
    assert found.lower - 1e-8 < ratio.upper <= found.best
    J = ratio.lower  # threshold of the ratio, and of the best one, nearly
    assert abs(ratio.threshold - (J / (1 + J) if measure == "iou" else J / 2)) < 1e-3


def test_batches_and_shapes():
    rng = np.random.default_rng(8)
    q = rng.random((3, 4, 5), dtype=np.float32) ** 3
    together = submod.decide(q)
    assert together.segmentation.shape == q.shape and together.segmentation.dtype == bool
    for b in range(3):
        alone = submod.decide(q[b].ravel())
        assert isinstance(alone.lower, float) and isinstance(alone.chosen, int)
        assert (alone.segmentation == together.segmentation[b].ravel()).all()
        assert alone.lower == together.lower[b] and alone.best == together.best[b]
    strided = submod.decide(q.transpose(0, 2, 1)[:, ::-1])
    assert (strided.lower == together.lower).all()
    half = submod.decide(q.astype(np.float16))
    assert (half.segmentation == submod.decide(q.astype(np.float16).astype(np.float32))[0]).all()
    overlap = submod.decide_classes(np.stack([q, 1 - q], axis=1), overlap=True)
    assert overlap.segmentation.shape == (3, 2, 4, 5) and overlap.lower.shape == (3, 2)
    assert (overlap.segmentation[:, 0] == together.segmentation).all()


def mean_scores_of_all(q, measure):
    """Expected mean score of every labelling: labels (C^p, p), scores."""
    C, p = q.shape
    labels = np.array(list(itertools.product(range(C), repeat=p)))
    scores = 0
    for c in range(C):
        _, one = expected_of_all(q[c], measure)
        number = (labels == c) @ (1 << np.arange(p)[::-1])
        scores = scores + one[number] / C
    return labels, scores


@pytest.mark.parametrize("measure", MEASURES)
def test_classes(measure):
    rng = np.random.default_rng(9)
    better, optimal = 0, 0
    for _ in range(120):
        C, p = int(rng.integers(2, 4)), int(rng.integers(1, 6))
        q = rng.dirichlet(np.full(C, 0.7), p).T.astype(np.float32)
        found = submod.decide_classes(q[None], measure=measure)
        labels, scores = mean_scores_of_all(q.astype(float), measure)
        mine = scores[np.flatnonzero((labels == found.segmentation[0]).all(axis=1))[0]]
        argmax = scores[np.flatnonzero((labels == q.argmax(axis=0)).all(axis=1))[0]]
        assert abs(mine - found.lower.mean()) < 1e-13
        assert mine >= argmax - 1e-13
        assert scores.max() <= found.best.mean() + 1e-13
        assert found.chosen.sum() == p
        better += mine > argmax + 1e-9
        optimal += mine > scores.max() - 1e-9
    assert better > 2 and optimal > 60


def resolved(q, masks, measure):
    """The rule for pixels that several classes want, or none, written down once more."""
    total, wanted = q.sum(axis=1), masks.sum(axis=0)
    sure = masks & (wanted == 1)
    k, m = sure.sum(axis=1), (q * sure).sum(axis=1)

    def ratio(k, m):
        top, bottom = (m, k + total - m) if measure == "iou" else (2 * m, k + total)
        return np.where(bottom > 0, top / np.where(bottom > 0, bottom, 1), 0)

    labels = np.empty(q.shape[1], int)
    for i in range(q.shape[1]):
        gains = ratio(k + 1, m + q[:, i]) - ratio(k, m)
        allowed = masks[:, i] if wanted[i] else np.ones(len(q), bool)
        labels[i] = np.argmax(np.where(allowed, gains, -np.inf))
    return labels


@pytest.mark.parametrize("measure", MEASURES)
def test_rule_for_conflicts(measure):
    rng = np.random.default_rng(11)
    by_rule = 0
    for _ in range(60):
        q = rng.dirichlet(np.full(4, 0.5), 30).T.astype(np.float32)
        alone = submod.decide_classes(q[None], measure=measure, overlap=True)
        found = submod.decide_classes(q[None], measure=measure).segmentation[0]
        labels = resolved(q.astype(float), alone.segmentation[0], measure)
        argmax = q.argmax(axis=0)
        assert (found == labels).all() or (found == argmax).all()
        by_rule += (found == labels).all() and (labels != argmax).any()
    assert by_rule > 20


def test_classes_at_size():
    rng = np.random.default_rng(10)
    logits = 2 * rng.normal(size=(2, 5, 64, 64)) + np.array([2, 0, 0, -1, -2])[:, None, None]
    q = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    found = submod.decide_classes(q)
    masks = found.segmentation[:, None] == np.arange(5)[:, None, None]
    q32 = q.astype(np.float32)
    for b in range(2):
        lower, upper = submod.expected_score(q32[b], masks[b])
        assert (lower == found.lower[b]).all() and (upper == found.upper[b]).all()
        argmax = q32[b].argmax(axis=0) == np.arange(5)[:, None, None]
        assert found.lower[b].mean() > submod.expected_score(q32[b], argmax)[1].mean() + 1e-3
        assert found.best[b].mean() - found.lower[b].mean() < 0.05


def test_refused():
    q = np.full((2, 3), 0.5, np.float32)
    for bad, error, words in [
        (np.nan, submod.NonFiniteError, r"probabilities\[1\]\[0\]\[2\] is nan"),
        (1.5, submod.InvalidArgumentError, r"\[1\]\[0\]\[2\] = 1.5 is not in \[0, 1\]"),
        (-0.1, submod.InvalidArgumentError, "is not in"),
    ]:
        wrong = q.copy()
        wrong[1, 2] = bad
        with pytest.raises(error, match=words):
            submod.decide(wrong)
    with pytest.raises(ValueError, match="measure = 'jaccard'"):
        submod.decide(q, measure="jaccard")
    with pytest.raises(ValueError, match="method = 'best'"):
        submod.decide(q, method="best")
    with pytest.raises(submod.InvalidArgumentError, match="empty = 2 must be from 0 to 1"):
        submod.decide(q, empty=2)
    with pytest.raises(ValueError, match="shape"):
        submod.expected_iou(q, q[0])
    with pytest.raises(ValueError, match="classes"):
        submod.decide_classes(q[0])


def test_nothing():
    empty = submod.decide(np.zeros((0,), np.float32))
    assert empty.segmentation.shape == (0,) and empty.best == 1 and empty.lower > 1 - 1e-12
    assert submod.decide(np.zeros((0, 5), np.float32)).lower.shape == (0,)
    assert submod.decide_classes(np.zeros((2, 3, 0), np.float32)).segmentation.shape == (2, 0)
    zeros = submod.decide(np.zeros(9, np.float32))
    assert zeros.chosen == 0 and zeros.lower > 1 - 1e-12 and zeros.best == 1
    sure = submod.decide(np.array([0, 1, 1, 0], np.float32), measure="dice")
    assert sure.segmentation.tolist() == [False, True, True, False] and sure.upper == 1
