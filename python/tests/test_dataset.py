"""DatasetJaccard: the loss of batches together."""

import copy
import pickle
import threading

import numpy as np
import pytest

import submod

RNG = np.random.default_rng(5)
DELTA = 2.0**-13


def batches(count=4):
    return [
        (RNG.normal(size=(2, 4, 9)).astype(np.float32), RNG.integers(4, size=(2, 9)))
        for _ in range(count)
    ]


def filled(data, **options):
    dataset = submod.DatasetJaccard(4, **options)
    for scores, labels in data:
        dataset.add(scores, labels)
    return dataset


def test_loss_and_gradient_of_all():
    data = batches()
    scores, labels = (np.concatenate(parts) for parts in zip(*data))
    exact, gradient = submod.lovasz_softmax(scores, labels, engine="histogram", return_grad=True)
    dataset = filled(data)
    assert dataset.delta <= DELTA and dataset.bins == 4096
    assert abs(dataset.loss() - submod.lovasz_softmax(scores, labels)) <= DELTA
    assert dataset.loss() == pytest.approx(exact, abs=1e-12)
    parts = np.concatenate([dataset.gradient(*batch) for batch in data])
    assert np.allclose(parts, gradient, rtol=1e-5, atol=1e-9)


def test_merge_reset_and_state():
    data = batches()
    whole = filled(data)
    half, other = filled(data[:2]), filled(data[2:])
    half.merge(other)
    assert np.array_equal(half.counts, whole.counts) and half.loss() == whole.loss()
    assert whole.counts.sum() == 4 * sum(labels.size for _, labels in data)
    copy = submod.DatasetJaccard(4)
    copy.load_state_dict(whole.state_dict())
    assert copy.loss() == whole.loss()
    copy.scale(0.5)
    assert copy.loss() == pytest.approx(whole.loss(), abs=1e-12)
    assert copy.counts.sum() == whole.counts.sum() / 2
    copy.reset()
    assert copy.loss() == 0 and copy.counts.sum() == 0


def test_options():
    data = batches(1)
    scores, labels = data[0]
    losses = filled(data, classes="all").class_losses()
    weight = [1.0, 0.5, 2.0, 0.0]
    weighted = filled(data, classes="all", class_weight=weight).loss()
    assert weighted == pytest.approx(np.average(losses, weights=weight))
    ignoring = filled(data, ignore_index=0)
    assert ignoring.counts.sum() == 4 * (labels != 0).sum()
    p = np.exp(scores) / np.exp(scores).sum(axis=1, keepdims=True)
    assert filled([(p, labels)], from_logits=False).loss() == pytest.approx(
        filled(data).loss(), abs=2 * DELTA
    )


def test_errors():
    with pytest.raises(submod.InvalidArgumentError):
        submod.DatasetJaccard(0)
    with pytest.raises(submod.InvalidArgumentError):
        submod.DatasetJaccard(3, delta=2.0)
    dataset = submod.DatasetJaccard(3)
    with pytest.raises(ValueError):
        dataset.add(np.zeros((1, 4, 5)), np.zeros((1, 5), int))
    with pytest.raises(ValueError):
        dataset.merge(submod.DatasetJaccard(4))
    with pytest.raises(ValueError):
        dataset.load_state_dict(submod.DatasetJaccard(4).state_dict())
    state = dataset.state_dict()
    state["counts"] = state["counts"] - 1
    with pytest.raises(ValueError):
        dataset.load_state_dict(state)
    with pytest.raises(ValueError):
        dataset.scale(-1)


def test_threads_take_turns():
    """Nobody sees counts that another thread is about to change."""
    part, dataset = submod.DatasetJaccard(4, 2.0**-18), submod.DatasetJaccard(4, 2.0**-18)
    part.add(*batches(1)[0])
    counted = part.counts > 0

    thread = threading.Thread(target=lambda: [dataset.merge(part) for _ in range(100)])
    thread.start()
    while thread.is_alive():
        assert np.unique(dataset.counts[counted] / part.counts[counted]).size == 1
    assert np.array_equal(dataset.counts, 100 * part.counts)


@pytest.mark.parametrize("way", [copy.copy, copy.deepcopy, lambda d: pickle.loads(pickle.dumps(d))])
def test_copies(way):
    data = batches()
    options = {"classes": [0, 2], "class_weight": [1.0, 2.0, 3.0, 4.0], "ignore_index": 1}
    dataset = filled(data, **options)
    copied = way(dataset)
    assert copied.loss() == dataset.loss() and copied.delta == dataset.delta
    copied.add(*data[0])
    assert copied.loss() != dataset.loss() == filled(data, **options).loss()
