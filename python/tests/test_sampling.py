"""Functions and measures that are not submodular cause one warning each, at their first use."""

import functools
import gc
import multiprocessing
import re
import threading
import time
import warnings
import weakref
from fractions import Fraction

import numpy as np
import pytest

import submod
from submod import Function, SubmodularityWarning, _sampling

RNG = np.random.default_rng(5)
SCORES = RNG.normal(size=(2, 3, 10, 11)).astype(np.float32)
LABELS = RNG.integers(3, size=(2, 10, 11))
FLAGS = LABELS % 2
MOST = 404  # evaluations of a measure
MOST_OF_FUNCTIONS = 1026


@pytest.fixture(autouse=True)
def new_process():
    """Each test has all checks of a process."""
    _sampling._checked.clear()


def dice(a, b, P, N):
    """Increasing, but not submodular."""
    return (a + b) / (2 * P - a + b)


def jaccard(a, b, P, N):
    return (a + b) / (P + b)


class Measure:
    def __init__(self, f):
        self.f, self.asked = f, []

    def __call__(self, a, b, P, N):
        self.asked += [(x, y, P, N) for x, y in np.broadcast(a, b)]
        return self.f(a, b, P, N)

    def method(self, a, b, P, N):
        return self(a, b, P, N)


def dataset_loss(measure):
    dataset = submod.DatasetJaccard(3, measure=measure)
    dataset.add(SCORES, LABELS)
    return dataset.loss()


POINTS, LARGE = RNG.normal(size=200), np.arange(200) < 70
USES = {
    "softmax": lambda m: submod.lovasz_softmax(SCORES, LABELS, measure=m),
    "histogram": lambda m: submod.lovasz_softmax(SCORES, LABELS, measure=m, engine="histogram"),
    "sigmoid": lambda m: submod.lovasz_sigmoid(SCORES[:, :1], FLAGS[:, None], measure=m),
    "hinge": lambda m: submod.lovasz_hinge(SCORES[:, 0], FLAGS, measure=m),
    "prox": lambda m: submod.prox_lovasz_hinge(SCORES[:, 0], FLAGS, 1.0, measure=m),
    "dataset": dataset_loss,
    "points": lambda m: submod.prox_two_counts_points(POINTS, LARGE, POINTS**2, 1.0, measure=m),
    "bins": lambda m: submod.prox_two_counts_histogram(POINTS, LARGE, 1.0, 0.01, measure=m),
    "function": lambda m: Function.two_counts(LARGE, m)([0, 100]),
}


def warned(use, *arguments):
    """Returns the warnings and the result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = use(*arguments)
    return [w for w in caught if w.category is SubmodularityWarning], result


def same(one, other):
    one, other = (x if isinstance(x, tuple) else (x,) for x in (one, other))
    return all(np.array_equal(a, b) for a, b in zip(one, other))


@pytest.mark.parametrize("use", USES)
def test_measures_once(use):
    use = USES[use]
    measure, unchecked = Measure(dice), Measure(dice)
    said, first = warned(use, measure)
    assert len(said) == 1 and said[0].filename == __file__
    words = str(said[0].message)
    numbers = re.search(
        r"P = (\d+) and N = (\d+)\. submodular: no, (\d+) more of the (fore|back)ground add (.*) "
        r"to F\((\d+), (\d+)\), but (.*) to F\((\d+), (\d+)\)\. ",
        words,
    ).groups()
    P, N, step, a, b, c, d = (int(numbers[i]) for i in (0, 1, 2, 5, 6, 8, 9))
    da, db = (step, 0) if numbers[3] == "fore" else (0, step)
    left, right = (dice(x + da, y + db, P, N) - dice(x, y, P, N) for x, y in ((a, b), (c, d)))
    assert a <= c <= P - da and b <= d <= N - db and left < right
    assert float(numbers[4]) == pytest.approx(left) and float(numbers[7]) == pytest.approx(right)

    asked = len(measure.asked)
    said, again = warned(use, measure)
    asked_again = len(measure.asked) - asked
    said_unchecked, third = warned(use, submod.CustomMeasure(unchecked, check=False))
    assert said == said_unchecked == [] and same(first, again) and same(first, third)
    assert len(unchecked.asked) == asked_again <= asked <= asked_again + MOST


def test_sizes_are_those_of_the_use():
    """The check stays within the counts that the call could have used."""
    measure, unchecked = Measure(dice), Measure(dice)
    warned(USES["softmax"], measure)
    USES["softmax"](submod.CustomMeasure(unchecked, check=False))
    sizes = {pair[2:] for pair in unchecked.asked}
    checked = measure.asked[len(unchecked.asked) :]
    assert len({pair[2:] for pair in checked}) == 1 and {pair[2:] for pair in checked} <= sizes
    assert all(0 <= a <= P and 0 <= b <= N for a, b, P, N in checked)
    assert all(a == int(a) and b == int(b) for a, b, _, _ in checked)


def test_measures_that_are_not_increasing():
    said, _ = warned(USES["softmax"], lambda a, b, P, N: a * (P - a / 2) - b)
    assert len(said) == 1 and "increasing: no, F(" in str(said[0].message)


def in_float32(a, b, P, N):
    a, b = np.float32(a), np.float32(b)
    return np.sqrt((a + b) / (np.float32(P) + b)).astype(np.float32)


@pytest.mark.parametrize("use", USES)
def test_measures_that_are_submodular(use):
    written = [jaccard, in_float32, lambda a, b, P, N: (2 * a + b) / (P + a + b)]
    written.append(lambda a, b, P, N: min(a + b, (P + N) / 3))  # takes single numbers only
    for f in written:
        said, _ = warned(USES[use], Measure(f))
        assert said == []


def test_callables_made_anew():
    """A measure that a training loop writes into each call is checked once; different measures are
    checked separately."""

    def loss(measure):
        return submod.lovasz_softmax(SCORES, LABELS, measure=measure)

    holder = Measure(dice)
    made = {
        "lambda": lambda: lambda a, b, P, N: dice(a, b, P, N),
        "partial": lambda: functools.partial(lambda s, a, b, P, N: s * dice(a, b, P, N), 2.0),
        "method": lambda: holder.method,
    }
    for name, make in made.items():
        said = [warned(loss, make())[0] for _ in range(3)]
        assert [len(each) for each in said] == [1, 0, 0], name

    def power(p):
        return lambda a, b, P, N: jaccard(a, b, P, N) ** p

    said = [warned(loss, power(p))[0] for p in (0.5, 2.0, 1.0, 2.0, 3.0)]
    assert [len(each) for each in said] == [0, 1, 0, 0, 1]
    kept = [np.ones(1) for _ in range(40)]
    said = [warned(loss, lambda a, b, P, N, x=x: x[0] * dice(a, b, P, N))[0] for x in kept]
    assert [len(each) for each in said] == 16 * [1] + 24 * [0]  # closures, 16 at most
    said = [warned(loss, Measure(dice))[0] for _ in range(20)]
    assert [len(each) for each in said] == 16 * [1] + 4 * [0]  # objects of one class likewise


def test_custom_measures_made_anew():
    """CustomMeasure(f) is checked as f is."""
    measure = Measure(dice)
    said = [warned(USES["softmax"], submod.CustomMeasure(measure))[0] for _ in range(3)]
    assert [len(each) for each in said] == [1, 0, 0]
    assert warned(USES["softmax"], measure)[0] == []


@pytest.mark.parametrize("hold", [lambda p: np.array([p]), np.float32, Fraction, lambda p: (p,)])
def test_closures_of_values_that_are_freed(hold):
    """The address of a freed value may be that of the next closure's value."""

    def power(p):
        exponent = hold(p)
        return lambda a, b, P, N: jaccard(a, b, P, N) ** float(np.ravel(exponent)[0])

    for i in range(12):
        said, _ = warned(USES["hinge"], power((2.0 if i % 2 else 0.5) + i / 1000))
        gc.collect()
        assert len(said) == i % 2


class Slotted:
    """Cannot be weakly referenced."""

    __slots__ = ("alive",)
    freed = 0

    def __call__(self, a, b, P, N):
        return dice(a, b, P, N)

    def __del__(self):
        Slotted.freed += 1


def test_no_measure_is_kept_alive():
    for f in (Measure(dice), Measure(jaccard)):
        warned(USES["softmax"], f)
    reference = weakref.ref(f)
    del f
    gc.collect()
    assert reference() is None
    said = [len(warned(USES["softmax"], Slotted())[0]) for _ in range(5)]
    gc.collect()
    assert Slotted.freed == 5 and said == [1, 0, 0, 0, 0]  # one check for the class


def test_what_the_check_raises_is_not_the_users():
    """The check may use counts at which the user never evaluates the measure."""
    unchecked = Measure(dice)
    expected = USES["softmax"](submod.CustomMeasure(unchecked, check=False))
    known = set(unchecked.asked)

    def measure(a, b, P, N):
        if not {(x, y, P, N) for x, y in np.broadcast(a, b)} <= known:
            raise KeyError("never asked for")
        return dice(a, b, P, N)

    said, found = warned(USES["softmax"], measure)
    assert said == [] and found == expected


def test_threads_share_one_warning():
    measure, said = Measure(dice), []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        threads = [threading.Thread(target=USES["softmax"], args=(measure,)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        said = [w for w in caught if w.category is SubmodularityWarning]
    assert len(said) == 1


def in_worker(_):
    said, _ = warned(USES["softmax"], Measure(dice))
    f = Function.custom(12, lambda A: float(len(A)) ** 2)
    return len(said) + len(warned(lambda: f.prox(np.zeros(12), 1.0, max_iterations=1))[0])


def test_workers_are_silent():
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(in_worker, range(4)) == [0] * 4
    assert in_worker(None) == 2


def test_custom_measures():
    measure = submod.CustomMeasure(jaccard)
    assert measure.check and "jaccard" in repr(measure) and measure(1, 2, 3, 4) == 3 / 5
    assert warned(USES["softmax"], submod.CustomMeasure(dice))[0] != []
    for wrong in ("jaccard", None):
        with pytest.raises(TypeError, match=r"F\(a, b, P, N\) is needed"):
            submod.CustomMeasure(wrong)
    with pytest.raises(TypeError, match="check = 'never'"):
        submod.CustomMeasure(jaccard, check="never")
    with pytest.raises(ValueError, match="no measure"):
        Function.two_counts([0, 1] * 5, submod.CustomMeasure(dice))
    for check in ("small", False):
        Function.two_counts([0, 1] * 5, submod.CustomMeasure(dice, check=False), check=check)


# ---- set functions ----


class Counted:
    def __init__(self, f):
        self.f, self.calls = f, 0

    def __call__(self, A):
        self.calls += 1
        return self.f(A)


def dent(A):
    """0, except for one set."""
    return -1.0 if set(A.tolist()) == {3, 7} else 0.0


def square(A):
    return float(len(A)) ** 2


def few(f):
    """Returns each use whose result would be wrong, with few calls of f."""
    x = np.zeros(f.n)
    return {
        "minimize": lambda: f.minimize("auto" if f.n > 10 else "min_norm", max_iterations=2),
        "prox": lambda: f.prox(x, 1.0, max_iterations=2),
        "prox_path": lambda: f.prox_path(x, [1.0, 2.0], max_iterations=2),
        "level_sets": lambda: f.level_sets(x, 1.0, [0.0], max_iterations=2),
    }


@pytest.mark.parametrize("use", few(Function.sqrt(2)))
@pytest.mark.parametrize("n, value", [(9, dent), (10, square), (11, square), (300, square)])
def test_functions_once(use, n, value):
    f = Counted(value)
    function = Function.custom(n, f)
    assert f.calls == 0
    said, _ = warned(few(function)[use])
    assert len(said) == 1 and said[0].filename == __file__
    found = re.search(
        r"submodular: no, A = {(.*)}: element (\d+) adds (.*) to A, but (.*) to A \+ (\d+)\. check",
        str(said[0].message),
    )
    assert found
    if ".." not in found[1]:  # the report truncates long sets
        A = [int(e) for e in found[1].split(", ") if e]
        e, other = int(found[2]), int(found[5])
        sets = ([*A, e], A, [*A, other, e], [*A, other])
        with_e, alone, both, with_other = (value(np.array(each)) for each in sets)
        assert with_e - alone == float(found[3]) < float(found[4]) == both - with_other
    calls = f.calls
    said, _ = warned(few(function)[use])
    assert said == []
    again = f.calls - calls
    assert calls <= again + MOST_OF_FUNCTIONS
    for other in few(function).values():
        assert warned(other)[0] == []
    for check in (False, "never"):
        f.calls = 0
        assert warned(few(Function.custom(n, f, check=check))[use])[0] == []
        assert f.calls == again
    assert warned(function.minimize, "exhaustive")[0] == [] if n < 12 else True


def test_functions_that_are_submodular():
    edges = RNG.integers(0, 12, (30, 2))
    cut = Function.cut(12, edges[edges[:, 0] != edges[:, 1]])
    written = {
        "root": lambda A: np.sqrt(len(A)),
        "cut": lambda A: cut(A),
        "float32": lambda A: np.float32(np.sqrt(np.float32(len(A)))) + np.float32(1000),
        "modular": lambda A: float(POINTS[A].sum()),
        "large": lambda A: 1e300 * len(A),
    }
    for f in written.values():
        said, _ = warned(few(Function.custom(12, f))["minimize"])
        assert said == []
    assert warned(few(Function.concave(np.ones(12), np.sqrt))["prox"])[0] == []
    assert len(warned(few(Function.concave(np.ones(12), np.square))["prox"])[0]) == 1


def test_functions_made_of_others():
    """Functions that are submodular if and only if f is share its warning; others have their
    own."""
    f = Function.custom(12, square)
    assert len(warned(few(f + np.ones(12))["minimize"])[0]) == 1
    for other in (f, 2 * f, f - np.ones(12), f / 3, f.embed(14, range(12)), f.restrict(range(11))):
        assert warned(few(other)["minimize"])[0] == []
    f = Function.custom(12, square)
    assert len(warned(few(f.restrict(range(11)))["minimize"])[0]) == 1
    assert len(warned(few(f.contract([0]))["minimize"])[0]) == 1
    assert len(warned(few(f)["minimize"])[0]) == 1
    assert len(warned(few(f + Function.sqrt(12))["minimize"])[0]) == 1
    concave = Function.cardinality([k * (40 - k) for k in range(13)])
    assert warned(few(f + concave)["minimize"])[0] == []  # this sum is submodular
    counted = Counted(lambda A: np.sqrt(len(A)))
    good = Function.custom(12, counted)
    few(good)["minimize"]()
    counted.calls = 0
    few(good)["minimize"]()
    plain = counted.calls
    few(good + Function.sqrt(12))["minimize"]()
    assert counted.calls <= 2 * plain + 50  # not checked again


def test_gains_are_not_called_by_the_check():
    asked = []

    def gains(A, order):
        asked.append(order.size)
        return np.ones(order.size)

    f = Counted(lambda A: float(len(A)))
    function = Function.custom(12, f, gains)
    function._warn_unless_submodular("minimize")
    assert asked == [] and 0 < f.calls <= MOST_OF_FUNCTIONS


def test_what_functions_raise():
    def f(A):
        f.calls += 1
        if len(A) == 2:
            raise KeyError("two")
        return 0.0

    f.calls = 0
    g = Function.sqrt(12) + Function.custom(12, f)
    with pytest.raises(KeyError, match="two"):
        g.minimize()


@pytest.mark.parametrize("n", [6, 30])
def test_what_the_check_of_functions_raises(n):
    """prox visits the chain of the order 0, 1, .., and no other set; the check visits more sets."""

    def f(A):
        if not np.array_equal(np.sort(A), np.arange(len(A))):
            raise KeyError("never asked for")
        return np.sqrt(len(A))

    x = np.arange(n)[::-1] * 10.0
    expected = Function.sqrt(n).prox(x, 1.0).u
    partly, strict = Function.custom(n, f), Function.custom(n, f, check="always")
    for _ in range(2):
        said, found = warned(lambda: partly.prox(x, 1.0, "min_norm"))
        assert said == []
        np.testing.assert_allclose(found.u, expected, atol=1e-6)
        with pytest.raises(KeyError, match="never"):
            strict.prox(x, 1.0, "min_norm")


@pytest.mark.parametrize(
    "n, method", [(9, "auto"), (10, "auto"), (9, "exhaustive"), (12, "min_norm")]
)
def test_searches_of_all_subsets(n, method):
    """A search of all subsets proves the minimum of any function, so nothing is said about it."""
    f = Counted(dent if n < 12 else square)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = Function.custom(n, f).minimize(method)
    kinds = {w.category for w in caught}
    if n == 12:
        assert not found.exact and SubmodularityWarning in kinds
        return
    assert kinds == set() and found.exact and found.value == -1.0 and set(found.set) == {3, 7}
    calls, f.calls = f.calls, 0
    Function.custom(n, f, check=False).minimize(method)
    assert calls == f.calls
    said, _ = warned(few(Function.custom(n, f))["prox"])
    assert len(said) == 1


def test_slow_functions():
    f = Counted(lambda A: time.sleep(0.02) or float(len(A)))
    start = time.monotonic()
    assert warned(Function.custom(12, f)._warn_unless_submodular, "minimize")[0] == []
    assert f.calls < 40 and time.monotonic() - start < 2
