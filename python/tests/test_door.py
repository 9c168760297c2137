"""What is refused where it comes in, and whether the words say what to do: NumPy's face."""

import numpy as np
import pytest

import submod

SCORES = np.zeros((2, 3, 4, 5), np.float32)
LABELS = np.ones((2, 4, 5), np.int64)
ONE_HOT = np.stack([c == LABELS for c in range(3)], 1).astype(np.int64)

SETTINGS = [
    ({"per_image": "binary"}, "per_image = 'binary'; True or False is needed"),
    ({"per_image": 2}, "per_image = 2; True or False"),
    ({"ignore_index": "255"}, "ignore_index = '255'; a whole number is needed"),
    ({"ignore_index": 25.5}, "ignore_index = 25.5; a whole number"),
    ({"engine": "sort"}, "engine = 'sort'; it must be one of 'exact', 'histogram'"),
    ({"engine": ["exact"]}, "engine = .* it must be one of"),
    ({"delta": "small"}, "delta = 'small'; a number is needed"),
]
OF_CLASSES = [
    ({"classes": "binary"}, "classes = 'binary'; it must be 'present', 'all' or a list of classes"),
    ({"classes": 3}, "classes = 3; it must be 'present', 'all' or a list"),
    ({"classes": ["road"]}, "a class = 'road'; a whole number is needed"),
    ({"classes": []}, "class_list is empty; name at least one class"),
    ({"class_weight": "balanced"}, "class_weight = 'balanced'; a number per class is needed"),
    ({"class_weight": ["a", "b", "c"]}, r"class_weight = \['a', .* a number per class is needed"),
    ({"class_weight": [0, 0, 0]}, "class_weight is 0 for every class"),
    ({"class_weight": [1, 0, 0], "classes": [1, 2]}, "0 for every class of class_list"),
    ({"from_logits": "yes"}, "from_logits = 'yes'; True or False"),
    ({"return_grad": "yes"}, "return_grad = 'yes'; True or False"),
]


@pytest.mark.parametrize("options, words", SETTINGS + OF_CLASSES)
def test_settings(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        submod.lovasz_softmax(SCORES, LABELS, **options)
    with pytest.raises((TypeError, ValueError), match=words):
        submod.lovasz_sigmoid(SCORES, ONE_HOT, **options)


@pytest.mark.parametrize("options, words", SETTINGS)
def test_settings_of_the_hinge(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        submod.lovasz_hinge(SCORES[:, 0], LABELS, **options)


@pytest.mark.parametrize("options, words", [*SETTINGS[:4], ({"lam": "1"}, "lam = '1'; a number")])
def test_settings_of_the_prox(options, words):
    with pytest.raises((TypeError, ValueError), match=words):
        submod.prox_lovasz_hinge(SCORES[:, 0], LABELS, **{"lam": 1.0, **options})


@pytest.mark.parametrize("options, words", OF_CLASSES[:8])
def test_settings_of_the_dataset(options, words):
    """When it is made, not at the first batch."""
    with pytest.raises((TypeError, ValueError), match=words):
        submod.DatasetJaccard(3, **options)


def test_flags_of_numpy_and_c():
    for value in (True, 1, np.True_):
        assert submod.lovasz_softmax(SCORES, LABELS, per_image=value) > 0


def test_no_arrays():
    with pytest.raises(TypeError, match=r"scores: an array is .*'out', 'aux'.*scores\['out'\]"):
        submod.lovasz_softmax({"out": SCORES, "aux": SCORES}, LABELS)
    with pytest.raises(TypeError, match="labels: an array is needed, this is a dict"):
        submod.lovasz_softmax(SCORES, {})
    with pytest.raises(TypeError, match="scores: an array is needed, this is None"):
        submod.lovasz_softmax(None, LABELS)
    with pytest.raises(TypeError, match="labels of type object; whole numbers are needed"):
        submod.lovasz_softmax(SCORES, [None])
    with pytest.raises(TypeError, match="scores of type <U3; real numbers are needed"):
        submod.lovasz_hinge("abc", LABELS)
    assert submod.lovasz_softmax(SCORES.tolist(), LABELS.tolist()) > 0


def test_numbers_beyond_their_types():
    with pytest.raises(submod.InvalidArgumentError, match="lam is larger than any double"):
        submod.prox_lovasz_hinge(SCORES[:, 0], LABELS, lam=10**400)
    with pytest.raises(TypeError, match="labels of type uint64; not all are whole numbers of 64"):
        submod.lovasz_softmax(SCORES, np.full(LABELS.shape, 2**64 - 1, np.uint64))


def test_no_label_maps():
    with pytest.raises(TypeError, match="prediction: an array is needed, this is None"):
        submod.MeanIoU(3).add(None, LABELS)
    with pytest.raises(TypeError, match="truth of type float64; not all are whole"):
        submod.MeanIoU(3).add(LABELS, LABELS + 0.5)


def test_one_hot_labels():
    expected = submod.lovasz_softmax(SCORES, ONE_HOT.argmax(1))
    for given in (ONE_HOT, ONE_HOT.astype(float), np.moveaxis(ONE_HOT, 1, -1).astype(bool)):
        assert submod.lovasz_softmax(SCORES, given) == expected > 0
    pixels, rows = SCORES.transpose(0, 2, 3, 1).reshape(-1, 3), np.moveaxis(ONE_HOT, 1, -1)
    assert submod.lovasz_softmax(pixels, rows.reshape(-1, 3)) == pytest.approx(expected)
    for wrong in (ONE_HOT * 0, ONE_HOT * 2, ONE_HOT + 1):
        with pytest.raises(ValueError, match="a single 1 and else zeros"):
            submod.lovasz_softmax(SCORES, wrong)
    cube = np.zeros((2, 3, 3), int)
    with pytest.raises(ValueError, match=r"one-hot labels, labels.argmax\(1\)"):
        submod.lovasz_softmax(cube, cube)  # which dimension is it?
    with pytest.raises(ValueError, match=r"\(2, 4, 5\) are needed.*argmax\(1\)"):
        submod.DatasetJaccard(3).add(SCORES, ONE_HOT)
    assert submod.lovasz_softmax(SCORES, ONE_HOT.argmax(1)) > 0


@pytest.mark.parametrize("engine", ["exact", "histogram"])
def test_one_class(engine):
    """The softmax of it is 1: a loss of 0 would say nothing."""
    logits, labels = SCORES[:, :1], 0 * LABELS
    for images in (2, 0):
        with pytest.raises(submod.InvalidArgumentError, match="hinge or the sigmoid"):
            submod.lovasz_softmax(logits[:images], labels[:images], engine=engine)
    half = submod.lovasz_softmax(logits + 0.5, labels, engine=engine, from_logits=False)
    assert half == pytest.approx(0.5, abs=1e-3)
    assert submod.lovasz_sigmoid(logits, 1 - labels, engine=engine) == pytest.approx(0.5, abs=1e-3)
    with pytest.raises(submod.InvalidArgumentError, match="hinge or the sigmoid"):
        submod.DatasetJaccard(1)
    assert submod.DatasetJaccard(1, from_logits=False).loss() == 0
