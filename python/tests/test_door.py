"""What is refused where it comes in, and whether the words say what to do: NumPy's face."""

import warnings
from decimal import Decimal
from fractions import Fraction

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
    ({"engine": "sort"}, "engine = 'sort'; it must be one of 'exact', 'histogram', 'counting'"),
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
    with pytest.raises(TypeError, match="labels of type uint64; not all are whole numbers that"):
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


# ---- values that are not real numbers ----

N = 4
REAL = np.linspace(0.1, 1.0, N)
SQUARE = np.eye(N)
F = submod.Function
NOT_REAL = {
    "complex numbers": lambda x: x + 0j,
    "strings": lambda x: x.astype(str),
    "dates": lambda x: x.astype("datetime64[s]"),
    "spans of time": lambda x: x.astype("timedelta64[s]"),
    "records": lambda x: x.astype([("a", float)]),
    "a masked array": lambda x: np.ma.masked_array(x, x > 0),
    "objects": lambda x: np.full(x.shape, None),
}
# For each function that takes an array: a call with it, and a valid array.
REAL_TAKERS = {
    "lovasz": (F.sqrt(N).lovasz, REAL),
    "prox": (lambda x: F.sqrt(N).prox(x, 1.0), REAL),
    "prox_path": (lambda x: F.sqrt(N).prox_path(REAL, x), REAL),
    "level_sets": (lambda x: F.sqrt(N).level_sets(REAL, 1.0, x), REAL),
    "f + w": (lambda x: F.sqrt(N) + x, REAL),
    "f - w": (lambda x: F.sqrt(N) - x, REAL),
    "modular": (F.modular, REAL),
    "cardinality": (F.cardinality, REAL - REAL[0]),
    "concave": (F.concave, REAL),
    "concave points": (lambda x: F.concave(REAL, (x - x[0], REAL - REAL[0])), REAL),
    "groups": (lambda x: F.groups(N, [[0], [1], [2], [3]], weights=x), REAL),
    "hypergraph": (lambda x: F.hypergraph(N, [[0, 1]] * N, x), REAL),
    "cut": (lambda x: F.cut(N, [(0, 1)] * N, x), REAL),
    "coverage": (lambda x: F.coverage([[0], [1, 2]], x), REAL),
    "facility": (F.facility, SQUARE),
    "logdet": (F.logdet, SQUARE),
    "two_counts": (lambda x: F.two_counts([0, 1, 1, 0], weights=x), REAL),
    "mask": (F.jaccard, np.array([1, 0, 1, 0])),
    "elements": (F.sqrt(N), np.arange(N)),
    "chain": (F.sqrt(N).chain, np.arange(N)),
    "restrict": (F.sqrt(N).restrict, np.arange(N)),
    "contract": (F.sqrt(N + 1).contract, np.arange(N)),
    "embed": (lambda x: F.sqrt(N).embed(9, x), np.arange(N)),
    "candidates": (lambda x: F.sqrt(N).maximize(2, candidates=x), np.arange(N)),
    "edges": (lambda x: F.cut(N, x), np.array([[0, 1], [1, 2]])),
    "max_affine": (submod.optim.max_affine, SQUARE),
    "composed": (lambda x: submod.optim.composed(submod.optim.max_affine(SQUARE), x), SQUARE),
    "prox_max_affine": (lambda x: submod.prox_max_affine(x, None, REAL, 1.0), SQUARE),
    "points": (lambda x: submod.prox_two_counts_points(x, [0, 1, 1, 0], REAL, 1.0), REAL),
    "histogram": (lambda x: submod.prox_two_counts_histogram(x, [0, 1, 1, 0], 1.0, 0.1), REAL),
    "segmentation": (lambda x: submod.expected_iou(REAL, x), np.array([0, 1, 1, 0])),
    "average_size": (lambda x: submod.metrics.InstanceIoU(N, average_size=x), REAL),
    "scores": (lambda x: submod.lovasz_hinge(x, [0, 1, 1, 0]), REAL),
    "labels": (lambda x: submod.lovasz_hinge(REAL, x), np.array([0, 1, 1, 0])),
    "pixel_weights": (lambda x: submod.lovasz_hinge(REAL, [0, 1, 1, 0], pixel_weights=x), REAL),
    "class_weight": (
        lambda x: submod.lovasz_softmax(np.zeros((1, N, 2)), [[0, 1]], class_weight=x),
        REAL,
    ),
}


@pytest.mark.parametrize("taker", REAL_TAKERS)
def test_arrays_of_real_numbers(taker):
    """Only real numbers are read as numbers, and no imaginary part or mask is dropped."""
    take, good = REAL_TAKERS[taker]
    take(good)
    take(good.astype(object))
    for what, spoil in NOT_REAL.items():
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(TypeError) as caught:
                take(spoil(good))
        assert str(caught.value), what


def test_callbacks_of_real_numbers():
    for wrong in (1 + 1j, np.complex128(1 + 1j), "1", None, np.datetime64(1, "s"), np.ma.masked):
        with pytest.raises(TypeError, match="the value of f = "):
            F.custom(3, lambda S, wrong=wrong: wrong)([1])
        with pytest.raises(TypeError, match="the value of g = "):
            F.concave([1, 2], lambda t, wrong=wrong: wrong)([1])
        with pytest.raises(TypeError, match="the value of the measure = "):
            submod.lovasz_hinge(REAL, [0, 1, 1, 0], measure=lambda a, b, P, N, wrong=wrong: wrong)
        with pytest.raises(TypeError, match="the value of a callback = "):
            problem = submod.optim.Problem(1, lambda x, wrong=wrong: (wrong, x))
            submod.optim.descend(problem, [1.0], 0.1, max_iterations=1)
    with pytest.raises(TypeError, match="the result of gains of type complex128"):
        F.custom(3, len, lambda A, order: np.ones(order.size) + 1j).chain([0, 1])
    with pytest.raises(TypeError, match="the value of the measure"):
        submod.lovasz_hinge(REAL, [0, 1, 1, 0], measure=lambda a, b, P, N: (a + b) * 1j)


def test_numbers_that_are_not_real():
    f = F.sqrt(2)
    for wrong in (
        1j,
        np.complex64(1 + 1j),
        np.array(1j),
        "1",
        b"1",
        bytearray(b"1"),
        np.array("1"),
    ):
        with pytest.raises(TypeError):
            f.prox([1, 2], wrong)
        with pytest.raises(TypeError):
            f * wrong
        with pytest.raises(TypeError):
            f / wrong
    with pytest.raises(TypeError):
        f + 0j
    for wrong in (np.datetime64(1, "s"), np.timedelta64(1, "s"), np.ma.masked):
        with pytest.raises(TypeError, match="lam = "):
            f.prox([1, 2], wrong)


def test_numbers_of_other_types_are_taken():
    expected = F.modular([0.5, 2.0**70])([0, 1])
    for given in ([Fraction(1, 2), 2**70], [Decimal("0.5"), 2**70], [np.float32(0.5), 2.0**70]):
        assert F.modular(given)([0, 1]) == expected
    with pytest.raises(submod.InvalidArgumentError, match="w holds a number that is larger than"):
        F.modular([1, 10**400])


class Half:
    """Not registered with numbers.Real, as numbers of other packages are not."""

    def __float__(self):
        return 0.5


def extension_scalar():
    """A scalar of kind "V" that is a number."""
    return pytest.importorskip("ml_dtypes").bfloat16(0.5)


HALVES = {
    "float": lambda: 0.5,
    "fraction": lambda: Fraction(1, 2),
    "object": Half,
    "0-d": lambda: np.array(0.5),
    "0-d of objects": lambda: np.array(Fraction(1, 2), object),
    "0-d of a bool": lambda: np.array(np.True_, object),
    "bool": lambda: np.True_,
    "extension": extension_scalar,
}


@pytest.mark.parametrize("half", HALVES)
def test_numbers_and_arrays_are_read_alike(half):
    number = HALVES[half]()
    array = np.empty(2, object)
    array[0], array[1] = number, 2
    expected = float(number)
    assert F.custom(3, lambda S: number)([1]) == F.modular(array)([0]) == expected
    assert submod.Tversky(number, 2).alpha == expected
    gains = F.custom(2, len, lambda A, order: array[: order.size]).chain([0, 1])
    assert gains.tolist() == [expected, 2]


@pytest.mark.parametrize(
    "wrong",
    [1j, "1", b"1", None, np.complex64(1), np.str_("1"), np.datetime64(1, "s"), np.void(b"1234")]
    + [[1], np.ones(2), Decimal("sNaN")],
    ids=repr,
)
def test_what_neither_numbers_nor_arrays_may_be(wrong):
    array = np.empty(1, object)
    array[0] = wrong
    with pytest.raises(TypeError, match="the value of f = "):
        F.custom(3, lambda S: wrong)([1])
    with pytest.raises(TypeError, match="w of type object; real numbers are needed"):
        F.modular(array)
    if not isinstance(wrong, (list, np.ndarray)):
        array = np.empty((), object)
        array[()] = wrong
        with pytest.raises(TypeError, match="the value of f = "):
            F.custom(3, lambda S: array)([1])


@pytest.mark.parametrize("ignore_index", [None, -1, 0])
def test_labels_that_would_wrap_around(ignore_index):
    """No value of an unsigned type becomes another label."""
    options = {"ignore_index": ignore_index}
    takers = {
        "loss": lambda labels: submod.lovasz_softmax(SCORES, labels, **options),
        "baseline": lambda labels: submod.cross_entropy(SCORES, labels, **options),
        "hinge": lambda labels: submod.lovasz_hinge(SCORES[:, 0], labels, **options),
        "dataset": lambda labels: submod.DatasetJaccard(3, **options).add(SCORES, labels),
        "truth": lambda labels: submod.MeanIoU(3, **options).add(LABELS, labels),
        "prediction": lambda labels: submod.MeanIoU(3, **options).add(labels, LABELS),
        "confusion": lambda labels: submod.metrics.Confusion(3, **options).update(LABELS, labels),
    }
    for kind in (np.uint8, np.uint16, np.uint32, np.uint64):
        values = [np.iinfo(kind).max] + ([2**63, 2**64 - 2] if kind is np.uint64 else [])
        for value in values:
            labels = np.ones(LABELS.shape, kind)
            labels[0, 0, 0] = value
            for name, take in takers.items():
                with pytest.raises((TypeError, ValueError)) as caught:
                    take(labels)
                beyond = value >= 2**63
                assert isinstance(caught.value, TypeError) == beyond, (name, kind, value)
                assert "not all are whole numbers that fit" in str(caught.value) or not beyond
