"""Mean IoU against sets of pixels, and the equibatch sampler."""

import copy
import pickle
import threading

import numpy as np
import pytest

import submod

RNG = np.random.default_rng(3)


def slow_miou(prediction, truth, classes, ignore=None):
    """0/0 = 1."""
    values = []
    kept = np.ones(truth.shape, bool) if ignore is None else truth != ignore
    for c in range(classes):
        p, t = (prediction == c) & kept, (truth == c) & kept
        values.append((p & t).sum() / (p | t).sum() if (p | t).any() else 1.0)
    return np.mean(values)


@pytest.mark.parametrize("ignore", [None, 255])
@pytest.mark.parametrize("kind", [np.uint8, np.int32, np.int64])
def test_miou(kind, ignore):
    prediction = RNG.integers(6, size=(5, 4, 7)).astype(kind)
    truth = RNG.integers(6, size=(5, 4, 7)).astype(kind)
    if ignore is not None:
        truth[RNG.random(truth.shape) < 0.3] = ignore
    whole = submod.miou(prediction, truth, 6, ignore_index=ignore)
    assert whole == pytest.approx(slow_miou(prediction, truth, 6, ignore))
    each = submod.miou(prediction, truth, 6, per_image=True, ignore_index=ignore)
    images = [slow_miou(p, t, 6, ignore) for p, t in zip(prediction, truth)]
    assert each == pytest.approx(np.mean(images))


def test_stream():
    truth, prediction = RNG.integers(3, size=(2, 6, 5))
    stream, other = submod.MeanIoU(3), submod.MeanIoU(3)
    stream.add(prediction[:2], truth[:2])
    other.add(prediction[2:], truth[2:])
    stream.merge(other)
    values = stream.compute()
    assert values.dataset == pytest.approx(slow_miou(prediction, truth, 3))
    assert (values.images, values.batches) == (6, 2)
    expected = np.zeros((3, 3), int)
    np.add.at(expected, (truth, prediction), 1)
    assert np.array_equal(stream.confusion, expected)
    stream.reset()
    assert stream.confusion.sum() == 0


def test_options_and_errors():
    prediction, truth = np.array([[0, 0, 1]]), np.array([[0, 1, 1]])
    assert submod.miou(prediction, truth, 3) == pytest.approx((0.5 + 0.5 + 1) / 3)
    assert submod.miou(prediction, truth, 3, absent="zero") == pytest.approx(1 / 3)
    assert submod.miou(prediction, truth, 3, absent="skip") == pytest.approx(0.5)
    assert submod.miou(prediction, truth, 3, class_list=[2]) == 1
    assert submod.miou(prediction, truth, 3, leave_out=2) == pytest.approx(0.5)
    with pytest.raises(ValueError, match="truth"):
        submod.miou(prediction, truth + 5, 3)
    with pytest.raises(ValueError, match="shape"):
        submod.miou(prediction, truth[:, :2], 3)
    with pytest.raises(ValueError, match="absent"):
        submod.miou(prediction, truth, 3, absent="two")


def test_equibatch():
    contains = [[0], [0, 1], [2, 0], [], [0, 3]]
    sampler = submod.Equibatch(contains, 5, seed=4)
    assert sampler.window == 4
    draws = [sampler.draw() for _ in range(40)]
    assert all(c in contains[i] for i, c in draws)
    for k in range(len(draws) - 3):
        assert {c for _, c in draws[k : k + 4]} == {0, 1, 2, 3}
    again = submod.Equibatch(contains, 5, seed=4)
    assert [next(again) for _ in range(40)] == [i for i, _ in draws]
    with pytest.raises(submod.InvalidArgumentError):
        submod.Equibatch([[7]], 5)


def in_threads(work, count=3):
    threads = [threading.Thread(target=work) for _ in range(count)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_threads_take_turns():
    labels = RNG.integers(3, size=(2, 200, 200))
    stream, other = submod.MeanIoU(3), submod.MeanIoU(3)
    in_threads(lambda: [stream.add(labels, labels) for _ in range(40)])
    assert stream.confusion.sum() == 120 * labels.size and stream.compute().batches == 120
    in_threads(lambda: [(stream.merge(other), other.merge(stream)) for _ in range(9)])


def test_no_copies():
    for thing in (submod.MeanIoU(3), submod.Equibatch([[0]], 1)):
        for way in (copy.copy, copy.deepcopy, pickle.dumps):
            with pytest.raises(TypeError, match="neither copied nor pickled"):
                way(thing)


@pytest.mark.parametrize("absent", ["one", "zero", "skip", "truth"])
def test_mean_of_no_image(absent):
    """All of it is NaN, whatever a class without pixels counts for."""
    stream, none = submod.MeanIoU(3, absent=absent), np.zeros((0, 4, 4), int)
    stream.add(none, none)
    for _ in range(2):
        values = stream.compute()
        assert np.isnan(values[:3]).all() and values[3:] == (0, 0)
        stream.add([[0, 1]], [[0, 1]])
        assert np.isfinite(stream.compute()[:3]).all()
        stream.reset()
    for per_image in (False, True):
        assert np.isnan(submod.miou(none, none, 3, per_image=per_image, absent=absent))
