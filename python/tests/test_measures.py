"""The losses with other measures than Jaccard, against reference.py."""

import copy
import os
import pickle
import signal
import threading

import numpy as np
import pytest
import reference

import submod
from submod import Tversky

RNG = np.random.default_rng(17)


def root(a, b, P, N):
    """A concave function of an increasing submodular one is another."""
    return np.sqrt((a + b) / (P + b))


def root_of_numbers(a, b, P, N):
    if a + b > 0:  # of arrays: a ValueError
        return ((a + b) / (P + b)) ** 0.5
    return 0


MEASURES = {
    "jaccard": ("jaccard", None),
    "jaccard by counts": ("jaccard", reference.jaccard_by_counts),
    "hamming": ("hamming", reference.hamming_by_counts),
    "tversky": (Tversky(alpha=0.3, beta=1.7), reference.tversky_by_counts(0.3, 1.7)),
    "tversky, misses alone": (Tversky(0, 1), reference.tversky_by_counts(0, 1)),
    "tversky as jaccard": (Tversky(1, 1), reference.jaccard_by_counts),
    "arrays": (root, root_of_numbers),
    "numbers": (root_of_numbers, root_of_numbers),
}
OPTIONS = [
    {},
    {"classes": "all"},
    {"per_image": True, "ignore_index": 255},
    {"per_image": True, "classes": [1, 0]},
    {"ignore_index": -1, "class_weight": [0.5, 2.0, 1.0, 0.1, 3.0]},
]


def case(shape, ignore=None):
    scores = RNG.normal(size=shape).astype(np.float32)
    labels = RNG.integers(shape[1], size=shape[:1] + shape[2:])
    if ignore is not None:
        labels[RNG.random(labels.shape) < 0.3] = ignore
    return scores, labels


def both_engines(loss, exact, *arguments, **options):
    assert loss(*arguments, **options) == pytest.approx(exact, abs=2e-6)
    histogram = loss(*arguments, engine="histogram", delta=1e-3, **options)
    assert abs(histogram - exact) <= 1e-3 + 2e-6


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("options", OPTIONS)
def test_softmax(name, options):
    measure, by_counts = MEASURES[name]
    for shape in [(1, 5, 1), (3, 5, 7, 6), (2, 5, 90)]:
        scores, labels = case(shape, options.get("ignore_index"))
        p = reference.softmax(scores.astype(float))
        exact = reference.class_loss(p, labels, measure=by_counts, **options)
        both_engines(submod.lovasz_softmax, exact, scores, labels, measure=measure, **options)
        both_engines(
            submod.lovasz_softmax, exact, p, labels, measure=measure, from_logits=False, **options
        )


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("options", OPTIONS)
def test_sigmoid(name, options):
    measure, by_counts = MEASURES[name]
    scores = RNG.normal(size=(2, 5, 6, 7)).astype(np.float32)
    labels = RNG.integers(2, size=scores.shape)
    if "ignore_index" in options:
        labels[RNG.random(labels.shape) < 0.3] = options["ignore_index"]
    p = reference.sigmoid(scores.astype(float))
    exact = reference.class_loss(p, labels, measure=by_counts, **options)
    both_engines(submod.lovasz_sigmoid, exact, scores, labels, measure=measure, **options)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("per_image", [True, False])
def test_hinge(name, per_image):
    measure, by_counts = MEASURES[name]
    scores = RNG.normal(size=(3, 40)).astype(np.float32)
    labels = RNG.integers(2, size=scores.shape)
    labels[1] = 0  # an image without foreground
    exact = reference.hinge_loss(scores, labels, per_image, measure=by_counts)
    found = submod.lovasz_hinge(scores, labels, per_image=per_image, measure=measure)
    assert found == pytest.approx(exact, abs=2e-6)
    settings = {"engine": "histogram", "delta": 1e-3, "measure": measure}
    histogram = submod.lovasz_hinge(scores, labels, per_image=per_image, **settings)
    assert abs(histogram - exact) <= 8e-3  # delta times the power of two above the largest margin


def quotient(loss, scores, direction, h=1e-7):
    return (loss(scores + h * direction) - loss(scores - h * direction)) / (2 * h)


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_gradient(name, weighted):
    """By finite differences, of the reference in double precision, along random directions."""
    measure, by_counts = MEASURES[name]
    scores, labels = RNG.normal(size=(2, 3, 5, 5)), RNG.integers(3, size=(2, 5, 5))
    weights = RNG.integers(5, size=labels.shape) / 2 if weighted else None
    given = {"pixel_weights": weights, "per_image": True}

    def exact(scores):
        p = reference.softmax(scores)
        return reference.class_loss(p, labels, measure=by_counts, **given)

    loss, gradient = submod.lovasz_softmax(
        scores, labels, return_grad=True, measure=measure, **given
    )
    assert gradient.shape == scores.shape and gradient.dtype == np.float32
    assert loss == pytest.approx(exact(scores), abs=2e-6)
    for _ in range(10):
        direction = RNG.normal(size=scores.shape)
        found = (gradient * direction).sum()
        assert found == pytest.approx(quotient(exact, scores, direction), abs=3e-5)


def test_hamming_is_the_mean_error():
    """Of the probabilities, over pixels and classes; of the margins, for the hinge."""
    scores, labels = case((2, 4, 9, 11))
    p = reference.softmax(scores.astype(float))
    errors = np.abs(p - (labels[:, None] == np.arange(4)[None, :, None, None]))
    loss = submod.lovasz_softmax(scores, labels, classes="all", measure="hamming")
    assert loss == pytest.approx(errors.mean(), abs=1e-6)
    flags = RNG.integers(2, size=(3, 50))
    margins = RNG.normal(size=flags.shape).astype(np.float32)
    mean = np.maximum(0, 1 - np.where(flags == 1, 1, -1) * margins).mean()
    assert submod.lovasz_hinge(margins, flags, measure="hamming") == pytest.approx(mean, abs=1e-6)
    assert submod.lovasz_hinge(margins, flags, measure="hamming") == pytest.approx(
        submod.hinge(margins, flags), abs=1e-6
    )


def test_a_callable_is_what_it_computes():
    """The built-in measures once more, written in Python: the same up to rounding."""
    scores, labels = case((2, 4, 30, 20))
    written = {
        "jaccard": lambda a, b, P, N: (a + b) / (P + b),
        "hamming": lambda a, b, P, N: (a + b) / (P + N),
        Tversky(0.5, 2): lambda a, b, P, N: (2 * a + 0.5 * b) / (P + a + 0.5 * b),
    }
    for measure, function in written.items():
        for engine in ("exact", "histogram"):
            options = {"engine": engine, "return_grad": True, "per_image": True}
            loss, gradient = submod.lovasz_softmax(scores, labels, measure=measure, **options)
            same, also = submod.lovasz_softmax(scores, labels, measure=function, **options)
            assert same == pytest.approx(loss, abs=1e-9)
            assert np.allclose(also, gradient, atol=1e-7)


def test_arrays_where_it_can_numbers_where_it_must():
    scores, labels = case((1, 3, 50))
    kinds = set()

    def takes_all(a, b, P, N):
        kinds.add((type(a), type(b), type(P), type(N)))
        a += 0  # the arrays are its own
        return (a + b) / (P + N)

    def takes_numbers(a, b, P, N):
        if not isinstance(a, float):
            raise TypeError("numbers, please")
        return takes_all(a, b, P, N)

    loss = submod.lovasz_softmax(scores, labels, measure=takes_all)
    assert kinds == {(np.ndarray, np.ndarray, float, float)}
    kinds.clear()
    assert submod.lovasz_softmax(scores, labels, measure=takes_numbers) == loss
    assert kinds == {(float, float, float, float)}
    wrong_shape = [
        lambda a, b, P, N: [1.0] if np.ndim(a) else (a + b) / (P + N),
        lambda a, b, P, N: np.zeros((np.size(a), 1)) if np.ndim(a) else (a + b) / (P + N),
    ]
    for measure in wrong_shape:
        assert submod.lovasz_softmax(scores, labels, measure=measure) == loss


def test_what_a_callable_raises():
    scores, labels = case((2, 3, 40))
    for error in (KeyError("lost"), ValueError("bad"), TypeError("worse"), MemoryError("full")):

        def measure(a, b, P, N, error=error):
            raise error

        for engine in ("exact", "histogram"):
            with pytest.raises(type(error), match=error.args[0]):
                submod.lovasz_softmax(scores, labels, measure=measure, engine=engine)
    dataset = submod.DatasetJaccard(3, measure=lambda a, b, P, N: 1 / 0)
    dataset.add(scores, labels)
    with pytest.raises(ZeroDivisionError):
        dataset.loss()
    assert submod.lovasz_softmax(scores, labels) > 0  # nothing is left behind


def test_the_exception_has_its_place():
    def measure(a, b, P, N):
        raise LookupError

    with pytest.raises(LookupError) as caught:
        submod.lovasz_hinge([1.0, 2.0], [0, 1], measure=measure)
    assert caught.traceback[-1].name == "measure"


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("engine", ["exact", "histogram"])
def test_not_a_number(value, engine):
    scores, labels = case((2, 3, 40))
    with pytest.raises(submod.CallbackError):
        submod.lovasz_softmax(
            scores, labels, engine=engine, measure=lambda a, b, P, N: np.where(a > 1, value, a + b)
        )


def test_nothing_wrong_costs_nothing():
    """0 / 0 at a = b = 0 is 0, and other numbers there are refused."""
    scores, labels = np.array([[-3.0, 0.5, 0.2]]), np.array([[0, 0, 0]])
    for measure in (lambda a, b, P, N: (a + b) / (P + b), root_of_numbers, root):
        assert submod.lovasz_hinge(scores, labels, measure=measure) == pytest.approx(1.5)
    scalar = [lambda a, b, P, N: 1.0 if a + b > 0 else 0.0, lambda a, b, P, N: (a + b) / max(b, a)]
    for measure in scalar:
        assert submod.lovasz_hinge(scores, labels, measure=measure) == pytest.approx(1.5, abs=0.6)
    with pytest.raises(ValueError, match=r"the measure is 0\.25 at a = b = 0; it must be 0 there"):
        submod.lovasz_hinge(scores, labels, measure=lambda a, b, P, N: 0.25 + (a + b) / (P + N))


@pytest.mark.parametrize("name", MEASURES)
def test_threads_of_the_library(name):
    """The same bits for any number of them."""
    scores, labels = case((3, 6, 40, 50))
    measure = MEASURES[name][0]
    options = {"measure": measure, "per_image": True, "return_grad": True}
    for engine in ("exact", "histogram"):
        results = []
        try:
            for threads in (1, 2, 5):
                submod.set_num_threads(threads)
                results.append(submod.lovasz_softmax(scores, labels, engine=engine, **options))
        finally:
            submod.set_num_threads(0)
        for loss, gradient in results[1:]:
            assert loss == results[0][0] and np.array_equal(gradient, results[0][1])


def test_threads_of_python():
    """Each caller gets what its own measure raised, or its own loss."""
    scores, labels = case((4, 5, 60))
    expected = submod.lovasz_softmax(scores, labels, measure=root, per_image=True)
    found = {}

    def work(number):
        def raises(a, b, P, N):
            raise KeyError(number)

        for _ in range(5):
            try:
                submod.lovasz_softmax(scores, labels, measure=raises, per_image=True)
            except KeyError as error:
                found.setdefault(number, []).append(error.args[0])
            loss = submod.lovasz_softmax(scores, labels, measure=root, per_image=True)
            found[number].append(loss)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found == {number: 5 * [number, expected] for number in range(4)}
    assert not any(isinstance(thread, threading._DummyThread) for thread in threading.enumerate())


def test_ctrl_c():
    """In the middle of a measure, and while the library computes."""
    scores, labels = case((4, 5, 200))
    asked = []

    def measure(a, b, P, N):
        asked.append(a.size)
        if len(asked) == 2:
            os.kill(os.getpid(), signal.SIGINT)
        return (a + b) / (P + b)

    with pytest.raises(KeyboardInterrupt):
        submod.lovasz_softmax(scores, labels, measure=measure, per_image=True)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert submod.lovasz_softmax(scores, labels, measure="hamming") > 0


def test_tversky():
    measure = Tversky(alpha=0.3, beta=2)
    assert repr(measure) == "Tversky(alpha=0.3, beta=2.0)"
    assert measure == Tversky(0.3, 2.0) != Tversky(0.3, 1) and len({measure, Tversky(0.3, 2)}) == 1
    assert pickle.loads(pickle.dumps(measure)) == copy.deepcopy(measure) == measure
    with pytest.raises(AttributeError):
        measure.alpha = 1
    for alpha, beta, words in [
        (0.5, 0.5, r"beta = 0\.5; it must be from 1 .*Dice.* not submodular"),
        (-1, 1, "alpha = -1; it must be 0 or from"),
        (np.nan, 1, "alpha = nan"),
        (1, np.inf, "beta = inf"),
        (1e-13, 1, "alpha = 1e-13"),
    ]:
        with pytest.raises(ValueError, match=words):
            Tversky(alpha, beta)
    with pytest.raises(TypeError, match="beta = 'two'; a number is needed"):
        Tversky(1, "two")


@pytest.mark.parametrize(
    "measure, error",
    [("dice", ValueError), ("tversky", ValueError), (3, TypeError), (None, TypeError),
     (Tversky, TypeError), (("jaccard",), TypeError)],
)  # fmt: skip
def test_refused(measure, error):
    scores, labels = np.zeros((1, 2, 3), np.float32), np.zeros((1, 3), np.uint8)
    words = r"measure = .*; 'jaccard', 'hamming', submod\.Tversky.* F\(a, b, P, N\) is needed"
    with pytest.raises(error, match=words):
        submod.lovasz_softmax(scores, labels, measure=measure)
    with pytest.raises(error, match=words):
        submod.lovasz_hinge(scores[:, 0], labels, measure=measure)
    with pytest.raises(error, match=words):
        submod.DatasetJaccard(2, measure=measure)


@pytest.mark.parametrize("name", MEASURES)
def test_dataset(name):
    measure, by_counts = MEASURES[name]
    dataset = submod.DatasetJaccard(4, 1e-3, measure=measure)
    batches = [case((2, 4, 6, 7)) for _ in range(3)]
    for scores, labels in batches:
        dataset.add(scores, labels)
    scores, labels = (np.concatenate(each) for each in zip(*batches))
    p = reference.softmax(scores.astype(float))
    exact = reference.class_loss(p, labels, measure=by_counts)
    assert abs(dataset.loss() - exact) <= 1e-3 + 2e-6
    whole, gradient = submod.lovasz_softmax(
        scores, labels, engine="histogram", delta=1e-3, measure=measure, return_grad=True
    )
    assert dataset.loss() == pytest.approx(whole, abs=1e-9)
    assert np.allclose(dataset.gradient(scores, labels), gradient, atol=1e-7)
    if not callable(measure):
        again = pickle.loads(pickle.dumps(dataset))
        assert again.loss() == dataset.loss()


def test_counts_do_not_depend_on_the_measure():
    scores, labels = case((2, 4, 60))
    datasets = [submod.DatasetJaccard(4, measure=m) for m in ("jaccard", "hamming")]
    for dataset in datasets:
        dataset.add(scores, labels)
    assert np.array_equal(datasets[0].counts, datasets[1].counts)
    assert datasets[0].loss() != datasets[1].loss()
