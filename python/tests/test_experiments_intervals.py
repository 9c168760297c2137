"""bench/experiments/intervals.py: indices of resamples against resampling in loops, and intervals
against differences that are known."""

from __future__ import annotations

import numpy as np
import pytest
from experiments import intervals
from experiments.intervals import Interval

pytest.importorskip("scipy")
CLASSES = 3


def counts(rng, images):
    """Confusions, some without a class in truth and prediction."""
    found = rng.integers(0, 50, (images, CLASSES, CLASSES))
    absent = rng.random(images) < 0.3
    found[absent, 2] = 0
    found[absent, :, 2] = 0
    return found


def iou(confusion, c):
    both = confusion[c][c]
    either = sum(confusion[c]) + sum(row[c] for row in confusion) - both
    return both / either if either else 1.0


def miou(confusion):
    return sum(iou(confusion, c) for c in range(CLASSES)) / CLASSES


def slow_worst_tenth(images):
    values = sorted(miou(one) for one in images)
    kept = values[: max(1, len(values) // 10)]
    return sum(kept) / len(kept)


SLOW = {
    "dataset_miou": lambda images: miou(sum(images)),
    "dataset_iou": lambda images: iou(sum(images), 1),
    "image_miou": lambda images: sum(miou(one) for one in images) / len(images),
    "image_iou": lambda images: sum(iou(one, 1) for one in images) / len(images),
    "worst_tenth": slow_worst_tenth,
}


@pytest.mark.parametrize("name", SLOW)
def test_an_index_of_resamples_is_that_of_the_images_drawn(name):
    rng = np.random.default_rng(3)
    index = getattr(intervals, name)
    for images in (1, 7, 40):
        found = counts(rng, images)
        assert index(found) == pytest.approx(SLOW[name](list(found)), abs=1e-12)
        picked = rng.integers(images, size=(20, images))
        weights = np.stack([np.bincount(one, minlength=images) for one in picked]).astype(float)
        expected = [SLOW[name]([found[i] for i in one]) for one in picked]
        assert index.resampled(found, weights) == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("images, neighbours", [(1, 1), (5, 10), (12, 5), (30, 1)])
def test_resamples_have_as_many_images_in_runs_of_neighbours(images, neighbours):
    weights = intervals.drawn(images, neighbours)
    assert (weights.sum(1) == images).all()
    assert weights.mean(0) == pytest.approx(np.ones(images), abs=0.2)
    if neighbours >= images:
        assert (weights == 1).all()


def test_equal_networks_do_not_differ():
    one = [counts(np.random.default_rng(k), 20) for k in range(3)]
    assert intervals.paired(intervals.dataset_miou, one, one) == Interval(0.0, 0.0, 0.0)
    assert intervals.paired_seeds([0.5, 0.7], [0.5, 0.7]).verdict == "not shown"


def test_verdicts():
    assert Interval(1.0, 0.1, 2.0).verdict == "better"
    assert Interval(1.0, -0.1, 2.0).verdict == "not shown"
    assert Interval(-1.0, -2.0, -0.1).verdict == "worse"


def test_seeds_alone_give_students_interval():
    found = intervals.paired_seeds([1.0, 2.0, 3.0], [0.0, 0.0, 0.0])
    half = 4.302652729911275 / 3**0.5  # t with 2 degrees of freedom, times the standard error
    assert found.value == 2.0
    assert (found.low, found.high) == pytest.approx((2 - half, 2 + half), abs=0.02 * half)


def test_groups_count_and_not_their_members():
    """Heads of a fold that all say the same are no more than one."""
    groups, of_group = [0, 1, 2, 0, 1, 2], np.array([1.0, 2.0, 6.0])
    differences = np.tile(of_group[groups], (2, 1))  # two seeds that agree
    found = intervals.paired_groups(differences, groups)
    half = 4.302652729911275 * of_group.std(ddof=1) / 3**0.5
    assert found.value == 3.0
    assert (found.low, found.high) == pytest.approx((3 - half, 3 + half), abs=0.02 * half)
    once = intervals.paired_groups(differences[:, :3], groups[:3])
    assert once == pytest.approx(found)


def in_folds(rng, fold_noise, seed_noise, head_noise):
    """Whether intervals hold the true difference, 0.3: by folds, and by heads."""
    folds = np.repeat(np.arange(5), 3)
    seeds = rng.normal(size=(3, 1)) * seed_noise
    differences = 0.3 + (rng.normal(size=5) * fold_noise)[folds] + seeds
    differences = differences + rng.normal(size=15) * head_noise
    found = [intervals.paired_groups(differences, groups) for groups in (folds, np.arange(15))]
    return [one.low <= 0.3 <= one.high for one in found]


@pytest.mark.parametrize("noise", [(1.0, 0.0, 0.5), (1.0, 0.5, 0.5), (0.0, 0.3, 1.0)])
def test_intervals_over_folds_hold_the_true_difference(noise, monkeypatch):
    monkeypatch.setattr(intervals, "RESAMPLES", 200)
    rng = np.random.default_rng(13)
    share = np.mean([in_folds(rng, *noise)[0] for _ in range(300)])
    assert 0.9 <= share <= 0.995


def test_folds_are_needed(monkeypatch):
    """Heads that share their networks, taken for independent, claim too much."""
    monkeypatch.setattr(intervals, "RESAMPLES", 200)
    rng = np.random.default_rng(14)
    share = np.mean([in_folds(rng, 1.0, 0.0, 0.3)[1] for _ in range(300)])
    assert share < 0.85


def alike(rng, images, length):
    """Noise of variance 1 that neighbours share."""
    return np.repeat(rng.normal(size=-(-images // length)), length)[:images]


def held(rng, seed_noise, image_noise, alike_for, neighbours):
    """Whether the interval holds the true difference, 0.3."""
    images, seeds = 240, 3  # about as many as CamVid tests with
    common = alike(rng, images, alike_for) * image_noise
    theirs = [rng.normal(size=images) for _ in range(seeds)]
    ours = [
        own + 0.3 + common + rng.normal() * seed_noise + rng.normal(size=images) * 0.1
        for own in theirs
    ]
    found = intervals.paired(intervals.mean, ours, theirs, neighbours)
    return found.low <= 0.3 <= found.high


@pytest.mark.parametrize(
    "seed_noise, image_noise, alike_for, neighbours",
    [(0.0, 1.0, 1, 1), (0.3, 0.0, 1, 1), (0.1, 1.0, 1, 1), (0.05, 1.0, 4, 10)],
)
def test_intervals_hold_the_true_difference(seed_noise, image_noise, alike_for, neighbours):
    """In 95 % of cases; 300 trials tell that from 89 %, and chance is fixed."""
    rng = np.random.default_rng(11)
    share = np.mean([held(rng, seed_noise, image_noise, alike_for, neighbours) for _ in range(300)])
    assert 0.9 <= share <= 0.995


def test_runs_of_neighbours_are_needed():
    """Frames that are alike, taken for independent, claim too much."""
    rng = np.random.default_rng(12)
    share = np.mean([held(rng, 0.0, 1.0, 8, 1) for _ in range(300)])
    assert share < 0.8
