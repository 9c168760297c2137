"""Set functions: every constructor against its formula on all subsets, and what is made of them."""

import copy
import itertools
import os
import pickle
import signal
import threading
import time
import warnings

import numpy as np
import pytest

import submod
from submod import Function

N = 5
RNG = np.random.default_rng(7)
WEIGHT = RNG.normal(size=N)
MASK = np.array([1, 0, 0, 1, 0])
EDGES = [(0, 1), (1, 2), (2, 4), (4, 0), (3, 1), (3, 3)]
EDGE_WEIGHT = RNG.uniform(size=len(EDGES))
COVERS = [[0, 1], [1, 2, 2], [], [3], [0, 3]]
ITEM_WEIGHT = RNG.uniform(size=4)
BENEFIT = RNG.uniform(size=(3, N))
ROOT = RNG.normal(size=(N, N))
KERNEL = ROOT @ ROOT.T + np.eye(N)


POSITIVE = np.array([0.5, 0.0, 2.0, 0.75, 0.5])
LISTS = [[0, 3], [1, 2, 4, 0], [], [2, 3, 4], [4, 3, 2, 1, 0]]
LIST_WEIGHT = [1.0, 0.5, 4.0, 0.0, 2.0]


def inside(S, e):
    return len(set(S) & set(e))


def jaccard(S):
    wrong_foreground = sum(MASK[i] for i in S)
    return len(S) / (MASK.sum() + len(S) - wrong_foreground) if len(S) else 0


def cut(S, directed):
    S = set(S)
    leave = sum(w for (i, j), w in zip(EDGES, EDGE_WEIGHT) if i in S and j not in S)
    enter = sum(w for (i, j), w in zip(EDGES, EDGE_WEIGHT) if j in S and i not in S)
    return leave if directed else leave + enter


def logdet(S):
    return np.linalg.slogdet(KERNEL[np.ix_(S, S)])[1] if S else 0


BUILT_IN = {
    "jaccard": (Function.jaccard(MASK), jaccard),
    "hamming": (Function.hamming(N), lambda S: len(S) / N),
    "modular": (Function.modular(WEIGHT), lambda S: sum(WEIGHT[i] for i in S)),
    "cardinality": (Function.cardinality([0, 3, 5, 6, 6, 5]), lambda S: [0, 3, 5, 6, 6, 5][len(S)]),
    "sqrt": (Function.sqrt(N), lambda S: len(S) ** 0.5),
    "log1p": (Function.log1p(N), lambda S: np.log1p(len(S))),
    "truncation": (Function.truncation(N, 2), lambda S: min(len(S), 2)),
    "concave sqrt": (Function.concave(POSITIVE), lambda S: POSITIVE[S].sum() ** 0.5),
    "concave log1p": (
        Function.concave(POSITIVE, "log1p"),
        lambda S: np.log1p(POSITIVE[S].sum()),
    ),
    "concave min": (Function.concave(POSITIVE, "min", 1), lambda S: min(POSITIVE[S].sum(), 1)),
    "concave power": (
        Function.concave(POSITIVE, "power", 0.3),
        lambda S: POSITIVE[S].sum() ** 0.3,
    ),
    "concave by points": (
        Function.concave(POSITIVE, ([0, 1, 9], [0, 2, 2])),
        lambda S: min(2 * POSITIVE[S].sum(), 2),
    ),
    "concave by a callable": (
        Function.concave(POSITIVE, lambda t: t * (9 - t)),
        lambda S: POSITIVE[S].sum() * (9 - POSITIVE[S].sum()),
    ),
    "groups": (
        Function.groups(N, LISTS, "log1p", weights=LIST_WEIGHT),
        lambda S: sum(w * np.log1p(inside(S, e)) for e, w in zip(LISTS, LIST_WEIGHT)),
    ),
    "groups with amounts": (
        Function.groups(N, LISTS, "min", 1.5, amounts=[[0.5 * i for i in e] for e in LISTS]),
        lambda S: sum(min(sum(0.5 * i for i in e if i in S), 1.5) for e in LISTS),
    ),
    "hypergraph": (
        Function.hypergraph(N, LISTS, LIST_WEIGHT),
        lambda S: sum(w for e, w in zip(LISTS, LIST_WEIGHT) if 0 < inside(S, e) < len(e)),
    ),
    "hypergraph, small side": (
        Function.hypergraph(N, LISTS, kind="small_side"),
        lambda S: sum(min(inside(S, e), len(e) - inside(S, e)) for e in LISTS),
    ),
    "hypergraph, product": (
        Function.hypergraph(N, LISTS, kind="product"),
        lambda S: sum(inside(S, e) * (len(e) - inside(S, e)) for e in LISTS),
    ),
    "hypergraph, clique": (
        Function.hypergraph(N, LISTS, kind="clique"),
        lambda S: sum(inside(S, e) * (len(e) - inside(S, e)) for e in LISTS),
    ),
    "cut": (Function.cut(N, EDGES, EDGE_WEIGHT), lambda S: cut(S, False)),
    "directed cut": (
        Function.cut(N, np.array(EDGES), EDGE_WEIGHT, directed=True),
        lambda S: cut(S, True),
    ),
    "coverage": (
        Function.coverage(COVERS, ITEM_WEIGHT),
        lambda S: sum(ITEM_WEIGHT[i] for i in {item for e in S for item in COVERS[e]}),
    ),
    "facility": (
        Function.facility(BENEFIT),
        lambda S: sum(max((row[j] for j in S), default=0) for row in BENEFIT),
    ),
    "logdet": (Function.logdet(KERNEL), logdet),
    "custom": (Function.custom(N, lambda S: len(S) ** 0.3), lambda S: len(S) ** 0.3),
}


def subsets(n=N):
    return [list(S) for k in range(n + 1) for S in itertools.combinations(range(n), k)]


@pytest.mark.parametrize("name", BUILT_IN)
def test_values(name):
    f, formula = BUILT_IN[name]
    assert f.n == N
    for S in subsets():
        assert f(S) == pytest.approx(formula(S), abs=1e-12)
        assert f(np.isin(np.arange(N), S)) == f(S)
    assert f(iter([1, 3])) == f([1, 3])


def test_differences_and_quotients_that_are_refused():
    f, g = BUILT_IN["jaccard"][0], BUILT_IN["cut"][0]
    with pytest.raises(TypeError, match="need not be submodular"):
        f - g
    for wrong in (lambda: f - 1, lambda: WEIGHT - f, lambda: 2 / f, lambda: f / WEIGHT):
        with pytest.raises(TypeError):
            wrong()
    with pytest.raises(ZeroDivisionError):
        f / 0
    with pytest.raises(ValueError, match=">= 0"):
        f / -2
    with pytest.raises(ValueError, match="5 numbers"):
        f - WEIGHT[:3]


@pytest.mark.parametrize("form", ["coo_array", "csr_matrix", "csc_array", "dok_array"])
def test_cut_of_a_sparse_matrix(form):
    sparse = pytest.importorskip("scipy.sparse", reason="for want of SciPy")
    tail, head = np.array(EDGES).T
    W = sparse.coo_array((EDGE_WEIGHT, (tail, head)), (N, N))
    # One edge in two parts, and in both directions.
    parts = sparse.coo_array(([0.25, 0.5, 2.0], ([1, 1, 2], [2, 2, 1])), (N, N))
    edges, weights = [*EDGES, (1, 2), (2, 1)], [*EDGE_WEIGHT, 0.75, 2.0]
    both = sparse.coo_array(
        (np.r_[W.data, parts.data], (np.r_[tail, 1, 1, 2], np.r_[head, 2, 2, 1])), (N, N)
    )
    given = getattr(sparse, form)(both)
    found = Function.cut(N, given, directed=True)
    expected = Function.cut(N, edges, weights, directed=True)
    symmetric = Function.cut(N, getattr(sparse, form)(both + both.T))
    undirected = Function.cut(N, edges, weights)
    for S in subsets():
        assert found(S) == pytest.approx(expected(S), abs=1e-15)
        assert symmetric(S) == pytest.approx(undirected(S), abs=1e-15)
    with pytest.raises(ValueError, match=r"W \+ W.T"):
        Function.cut(N, given)
    with pytest.raises(ValueError, match=r"\(5, 5\); \(4, 4\) is needed"):
        Function.cut(4, given, directed=True)
    with pytest.raises(ValueError, match="its entries are the weights"):
        Function.cut(N, given, [1.0], directed=True)
    with pytest.raises(ValueError, match=">= 0"):
        Function.cut(N, -given, directed=True)


def test_combinations():
    f, g = BUILT_IN["jaccard"][0], BUILT_IN["cut"][0]
    for S in subsets():
        assert (f + g)(S) == pytest.approx(f(S) + g(S))
        assert (2 * f)(S) == (f * 2)(S) == pytest.approx(2 * f(S))
        assert (f + WEIGHT)(S) == (WEIGHT + f)(S) == pytest.approx(f(S) + WEIGHT[S].sum())
        assert sum([f, g, f])(S) == pytest.approx(2 * f(S) + g(S))
        assert (f / 2)(S) == (0.5 * f)(S) and (f / np.float32(3))(S) == pytest.approx(f(S) / 3)
        rest = f(S) - WEIGHT[S].sum()
        assert (f - WEIGHT)(S) == (f - Function.modular(WEIGHT))(S) == pytest.approx(rest)
    for S in subsets(2):
        assert f.restrict([3, 1])(S) == pytest.approx(f([[3, 1][i] for i in S]))
        contracted = f.contract([0, 2, 3])
        assert contracted(S) == pytest.approx(f([0, 2, 3] + [[1, 4][i] for i in S]) - f([0, 2, 3]))
    places = [6, 1, 0, 4, 2]
    for S in subsets(7):
        inside = [places.index(i) for i in S if i in places]
        assert f.embed(7, places)(S) == pytest.approx(f(inside))
    with pytest.raises(ValueError, match="5"):
        f.embed(7, [1, 2])
    with pytest.raises(TypeError):
        f + 1
    with pytest.raises(ValueError):
        -1 * f


@pytest.mark.parametrize("name", BUILT_IN)
def test_extension(name):
    """Values at random points, from the definition; g is a base that attains them."""
    f, formula = BUILT_IN[name]
    for _ in range(20):
        x = RNG.normal(size=N).round(1)
        value, g = f.lovasz(x)
        order = list(np.argsort(-x, kind="stable"))
        prefixes = np.array([formula(order[:k]) for k in range(N + 1)])
        assert value == pytest.approx(x[order] @ np.diff(prefixes), abs=1e-12)
        assert value == pytest.approx(g @ x, abs=1e-12)
        assert all(g[S].sum() <= formula(S) + 1e-12 for S in subsets())
        vertex = f.lovasz(x, ties="index")[1]
        assert vertex[order] == pytest.approx(np.diff(prefixes), abs=1e-12)
        assert vertex[order] == pytest.approx(f.chain(order), abs=1e-12)


def test_check():
    found = Function.jaccard(MASK).check()
    assert found.normalised and found.submodular and found.monotone and found.exhaustive
    assert found.counterexample is None and not found.symmetric and "submodular: yes" in str(found)
    square = Function.custom(4, lambda S: len(S) ** 2)
    example = square.check().counterexample
    assert example is not None
    A = list(example.set)
    assert example.left == square([*A, example.e]) - square(A)
    assert example.right == square([*A, example.f, example.e]) - square([*A, example.f])
    assert example.left < example.right


def test_check_out_of_time():
    slow = Function.custom(16, lambda S: time.sleep(1e-3) or 0.0)
    with pytest.warns(submod.AccuracyWarning, match="check"):
        assert not slow.check(time_limit=0.05).complete


class Gains:
    """sqrt|A| with a count of the calls that it gets."""

    def __init__(self):
        self.evaluations = self.chains = 0

    def f(self, S):
        self.evaluations += 1
        return len(S) ** 0.5

    def gains(self, A, order):
        self.chains += 1
        return np.diff(np.sqrt(len(A) + np.arange(len(order) + 1)))


def test_custom_with_gains():
    counted = Gains()
    f = Function.custom(9, counted.f, counted.gains)
    x = RNG.normal(size=9)
    value, g = f.lovasz(x)
    assert (counted.evaluations, counted.chains) == (0, 1)
    expected, expected_g = Function.sqrt(9).lovasz(x)
    assert value == pytest.approx(expected) and g == pytest.approx(expected_g)
    assert f.check().consistent
    wrong = Function.custom(9, counted.f, lambda A, order: np.ones(len(order)))
    assert not wrong.check().consistent
    with pytest.raises(ValueError, match="gains of shape"):
        Function.custom(9, counted.f, lambda A, order: [1.0]).lovasz(x)


def test_custom_errors():
    def broken(S):
        raise KeyError("mine")

    f = Function.custom(3, broken)
    for fails in (f, 2 * f, f + Function.hamming(3), f.restrict([1, 2])):
        with pytest.raises(KeyError, match="mine"):
            fails([0, 1])
    with pytest.raises(submod.CallbackError):
        Function.custom(3, lambda S: float("nan"))([0])
    with pytest.raises(TypeError):
        Function.custom(3, lambda S: None)([0])
    # A kept array stays what it was.
    kept = []
    Function.custom(3, lambda S: kept.append(S) or 0.0)([2, 0])
    assert list(kept[-1]) == [2, 0]


def test_custom_lifetime():
    f = (Function.custom(3, lambda S: float(len(S))) + Function.hamming(3)) * 2
    assert f([0, 1]) == pytest.approx(2 * (2 + 2 / 3))


@pytest.mark.parametrize(
    "make, kind",
    [
        (lambda: Function.hamming(0), submod.InvalidArgumentError),
        (lambda: Function.jaccard([]), submod.InvalidArgumentError),
        (lambda: Function.modular([1, np.nan]), submod.NonFiniteError),
        (lambda: Function.cardinality([0, 1, 3]), submod.InvalidArgumentError),
        (lambda: Function.concave([1, -1]), submod.InvalidArgumentError),
        (lambda: Function.concave([1, 2], "sqrt", 3), ValueError),
        (lambda: Function.concave([1, 2], "min"), ValueError),
        (lambda: Function.concave([1, 2], "root"), ValueError),
        (lambda: Function.concave([1, 2], [0, 1, 2]), ValueError),
        (lambda: Function.concave([1, 2], ([0, 1, 2], [0, 1, 3])), submod.InvalidArgumentError),
        (lambda: Function.groups(3, [[0, 3]]), submod.InvalidArgumentError),
        (lambda: Function.groups(3, [[0, 1]], amounts=[[1]]), ValueError),
        (lambda: Function.groups(3, [[0, 1], [2]], amounts=[[1], [2, 3]]), ValueError),
        (lambda: Function.sqrt(1).embed(2.5, [0]), (TypeError, ValueError)),
        (lambda: Function.hypergraph(3, [[0, 1, 1]]), submod.InvalidArgumentError),
        (lambda: Function.hypergraph(3, [[0, 1]], kind="clone"), ValueError),
        (lambda: Function.sqrt(3).maximize(1, "eager"), ValueError),
        (lambda: Function.sqrt(3).maximize(1, epsilon=2), submod.InvalidArgumentError),
        (lambda: Function.sqrt(3).maximize(1, candidates=[5]), submod.InvalidArgumentError),
        (lambda: Function.cut(3, [(0, 5)]), submod.InvalidArgumentError),
        (lambda: Function.logdet(-np.eye(2)), submod.NumericError),
        (lambda: Function.facility([1.0, 2.0]), ValueError),
        (lambda: Function.hamming(3)([0, 0]), submod.InvalidArgumentError),
        (lambda: Function.hamming(3)([0.5]), ValueError),
        (lambda: Function.hamming(3)([2**40]), ValueError),
        (lambda: Function.hamming(3)([True, False]), ValueError),
        (lambda: Function.hamming(3).lovasz([1.0, 2.0]), ValueError),
        (lambda: Function.hamming(3).lovasz([1.0, 2.0, np.inf]), submod.NonFiniteError),
        (lambda: Function.hamming(3).lovasz([1.0, 2.0, 3.0], ties="?"), ValueError),
        (lambda: Function.hamming(3) + [1.0, 2.0], ValueError),
        (lambda: Function.sqrt(2**60), (submod.InvalidArgumentError, MemoryError)),
    ],
)
def test_errors(make, kind):
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value)
    if isinstance(caught.value, submod.SubmodError):
        assert "submod_" in str(caught.value)


def interrupt_after(seconds):
    timer = threading.Timer(seconds, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    return timer


def test_ctrl_c_in_a_callback():
    f = Function.custom(20, lambda S: time.sleep(1e-3) or 0.0)
    timer, start = interrupt_after(0.1), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        f.check(time_limit=20)
    timer.join()
    assert time.monotonic() - start < 5


def test_ctrl_c_between_callbacks():
    """Where Python is idle most of the time, and in a call made by a callback."""
    idle = Function.custom(60, lambda S: 0.0) + Function.logdet(np.eye(60))
    nested = Function.custom(4, lambda S: float(idle.check(samples=10**8, time_limit=20).monotone))
    for run in (lambda: idle.check(samples=10**8, time_limit=20), lambda: nested([1])):
        for delay in (0.05, 0.11, 0.17):
            timer, start = interrupt_after(delay), time.monotonic()
            with pytest.raises(KeyboardInterrupt):
                run()
            timer.join()
            assert time.monotonic() - start < 5
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    assert Function.custom(3, lambda S: 2.0)([1]) == 2


def test_other_signals_between_callbacks():
    """A handler of SIGALRM that raises, as pytest-timeout's, wherever the signal arrives."""

    class Alarm(Exception):
        pass

    def handle(*_):
        raise Alarm

    f = Function.custom(60, lambda S: 0.0) + Function.logdet(np.eye(60))
    previous = signal.signal(signal.SIGALRM, handle)
    try:
        for k in range(20):
            signal.setitimer(signal.ITIMER_REAL, 0.01 + 0.0007 * k)
            with pytest.raises(Alarm):
                f.check(samples=10**8, time_limit=20)
        assert signal.getsignal(signal.SIGALRM) is handle
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)


def test_arrays_of_callbacks_can_be_changed():
    def f(S):
        S.sort()
        return float(S.size) ** 0.5

    def gains(A, order):
        A += 1
        order += 1
        sizes = A.size + np.arange(order.size)
        return np.sqrt(sizes + 1) - np.sqrt(sizes)

    value, g = Function.custom(3, f, gains).lovasz([3.0, 1.0, 2.0])
    assert Function.custom(3, f)([2, 0]) == np.sqrt(2)
    assert np.allclose(g, np.sqrt([1, 3, 2]) - np.sqrt([0, 2, 1]))
    assert np.isclose(value, g @ [3, 1, 2])


def test_ctrl_c_without_callbacks():
    timer, start = interrupt_after(0.1), time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        Function.logdet(np.eye(400)).check(samples=10**9, time_limit=3)
    timer.join()
    assert time.monotonic() - start < 2


def test_other_threads_run_meanwhile():
    """The interpreter lock is released."""
    ticks = []
    done = threading.Event()

    def tick():
        while not done.is_set():
            ticks.append(1)
            time.sleep(1e-3)

    thread = threading.Thread(target=tick)
    thread.start()
    try:
        with pytest.warns(submod.AccuracyWarning):
            Function.logdet(np.eye(100)).check(samples=10**9, time_limit=0.3)
    finally:
        done.set()
        thread.join()
    assert len(ticks) > 20


def test_exceptions_stay_in_their_thread():
    """One custom function, two threads: the one with good calls never sees the other's error."""
    n = 6
    failing = threading.local()

    def value(elements):
        if getattr(failing, "now", False):
            raise KeyError("mine")
        return float(len(elements)) ** 0.5

    f = submod.Function.custom(n, value)
    x = np.arange(n, dtype=float)
    strange = []

    def good():
        for _ in range(150):
            try:
                f.lovasz(x)
            except BaseException as error:
                strange.append(error)

    def bad():
        failing.now = True
        for _ in range(150):
            try:
                f.lovasz(x)
            except KeyError:
                continue
            strange.append("no KeyError")

    threads = [threading.Thread(target=target) for target in (good, bad)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not strange


def test_edges_are_rows():
    path = [(0, 1), (1, 2), (2, 3)]
    for edges in (path, np.array(path), (edge for edge in path), set(path)):
        f = Function.cut(5, edges)
        assert [f([k]) for k in range(5)] == [1, 2, 2, 1, 0]
    assert Function.cut(3, [])([1]) == Function.cut(3, np.zeros((0, 2)))([1]) == 0
    for wrong in (np.array(path).T, [0, 1, 1, 2], np.zeros((1, 2, 2)), np.zeros((4, 1))):
        with pytest.raises(ValueError, match=r"\(m, 2\)"):
            Function.cut(5, wrong)
    for wrong in ([[0, 2**32]], [[0, 2**70]], [[0, 0.5]], [[0, np.nan]]):
        with pytest.raises(ValueError, match="edges holds"):
            Function.cut(5, wrong)


SCORES, LABELS = np.zeros((1, 2, 3), np.float32), np.zeros((1, 3), np.int64)
OUT_OF_RANGE = [
    ("c = -1", lambda: Function.truncation(5, -1)),
    ("n = ", lambda: Function.hamming(2**64 + 3)),
    ("n = -1", lambda: Function.custom(-1, lambda S: 0.0)),
    ("a class = ", lambda: submod.lovasz_softmax(SCORES, LABELS, classes=[2**32])),
    ("ignore_index = ", lambda: submod.lovasz_softmax(SCORES, LABELS, ignore_index=2**64)),
    ("a class = ", lambda: submod.MeanIoU(2, class_list=[2**32])),
    ("leave_out = ", lambda: submod.MeanIoU(2, leave_out=2**32)),
    ("ignore_index = ", lambda: submod.MeanIoU(2, ignore_index=2**64)),
    ("classes = ", lambda: submod.MeanIoU(2**64 + 2)),
    ("classes = ", lambda: submod.DatasetJaccard(-1)),
    ("seed = ", lambda: submod.Equibatch([[0]], 1, seed=-1)),
    ("batches = ", lambda: submod.optim.Problem(2, lambda x: (0.0, x), batches=-1)),
    ("period = ", lambda: submod.optim.Schedule.step(0.1, 0.5, 2**64 + 1)),
    ("max_iterations = ", lambda: Function.sqrt(2).prox([1, 2], 1.0, max_iterations=-1)),
    ("samples = ", lambda: Function.sqrt(2).check(samples=-1)),
    ("k = -1", lambda: Function.sqrt(2).maximize(-1)),
    ("threads = ", lambda: submod.set_num_threads(2**32)),
]
NO_NUMBER = [
    ("n = 3.0", lambda: Function.hamming(3.0)),
    ("lam = 'a'", lambda: Function.sqrt(2).prox([1, 2], "a")),
    ("lam = None", lambda: submod.prox_max_affine([[1.0]], None, [1.0], None)),
    ("a class = 0.5", lambda: submod.lovasz_softmax(SCORES, LABELS, classes=[0.5])),
    ("delta = '1'", lambda: submod.lovasz_softmax(SCORES, LABELS, delta="1")),
    ("time_limit = 'a'", lambda: Function.sqrt(2).check(time_limit="a")),
    ("eta = 'a'", lambda: submod.optim.descend(submod.optim.nu_problem(1.0), [0, 0], "a")),
    ("alpha = 'a'", lambda: submod.optim.Momentum("a").create(2)),
]


@pytest.mark.parametrize(
    "error, cases", [(submod.InvalidArgumentError, OUT_OF_RANGE), (TypeError, NO_NUMBER)]
)
def test_numbers_are_refused_by_name(error, cases):
    for words, ask in cases:
        with pytest.raises(error, match=f"^{words}"):
            ask()


def test_numbers_of_numpy_are_taken():
    assert Function.truncation(np.int64(5), np.uint8(2)).n == 5
    options = {"per_image": np.True_, "ignore_index": np.int16(7), "delta": np.float32(0.01)}
    loss = submod.lovasz_softmax(SCORES, LABELS, **options)
    assert loss == submod.lovasz_softmax(SCORES, LABELS, per_image=True)
    problem = submod.optim.nu_problem(1.0)
    assert submod.optim.descend(problem, [1, 1], 0.1, keep_best=np.True_).f <= 1


def test_copies_are_the_thing_itself():
    for thing in (Function.sqrt(3), Function.custom(2, len), submod.optim.nu_problem(0.1)):
        assert copy.copy(thing) is thing and copy.deepcopy([thing])[0] is thing
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            pickle.dumps(thing)


def test_value_of_the_empty_set():
    """Sets have the values that f says; what is made of differences does not see f([])."""

    def value(A):
        return 10 + np.sqrt(len(A)) - 1.5 * (2 in A)

    f, same = Function.custom(4, value), Function.custom(4, lambda A: value(A) - 10)
    assert f([]) == 10 and same([]) == 0
    for method in ("min_norm", "exhaustive"):
        found = f.minimize(method)
        assert found.set.tolist() == [2]
        assert found.value == f(found.set) == 9.5
        assert found.dual == pytest.approx(9.5) and found.gap == pytest.approx(0, abs=1e-12)
    x = [0.3, -1.0, 2.0, 0.1]
    assert f.lovasz(x)[0] == pytest.approx(same.lovasz(x)[0])
    found = f.prox(x, 2.0, "min_norm")
    assert found.u == pytest.approx(same.prox(x, 2.0).u)
    zero = f.prox(np.zeros(4), 1.0, "min_norm")
    checked = f.verify(np.zeros(4), 1.0, zero.u, zero.s, zero.certificate)
    assert checked.minimum_bound == pytest.approx(9.5)
    assert f.check().empty_value == 10 and not f.check().normalised


def counted(calls):
    """Not submodular, and how often it was asked."""

    def value(A):
        calls.append(A.size)
        return float(A.size) ** 2

    return value


def test_what_is_not_submodular():
    """Is refused where the result would be wrong, and nowhere else."""
    calls = []
    f = Function.custom(5, counted(calls))
    assert calls == [] and f([1, 2]) == 4 and f.lovasz(np.ones(5))[0] == 25
    assert not f.check().submodular
    for use in (f.minimize, lambda: f.prox(np.zeros(5), 1.0), lambda: (2 * f).minimize()):
        with pytest.raises(submod.InvalidArgumentError, match=r"submodular: no, A = {.*'never'"):
            use()
    asked = len(calls)
    with pytest.raises(submod.InvalidArgumentError):
        f.minimize()
    assert len(calls) == asked  # it is looked at once
    with warnings.catch_warnings():  # its base is none, but the set is right
        warnings.simplefilter("ignore")
        assert f.minimize("exhaustive").value == 0
    # What is made of it may be submodular after all.
    concave = Function.cardinality([0, 25, 46, 63, 76, 85])
    assert (f + concave).minimize().value == 0
    with pytest.raises(submod.InvalidArgumentError, match="minimize would be wrong"):
        (f + np.ones(5)).minimize()


def test_how_much_is_checked():
    for n, policy, refused in (
        (8, "small", True),
        (9, "small", False),
        (8, "never", False),
        (9, "always", True),
        (20, "always", True),
    ):
        f = Function.custom(n, counted([]), check=policy)
        if refused:
            with pytest.raises(submod.InvalidArgumentError, match="prox would be wrong"):
                f.prox(np.zeros(n), 1.0)
        else:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                f.prox(np.zeros(n), 1.0, max_iterations=5)
    sums = Function.custom(9, counted([]), check="never") + Function.custom(
        9, counted([]), check="always"
    )
    with pytest.raises(submod.InvalidArgumentError):
        sums.minimize()
    with pytest.raises(
        ValueError, match="check = 'sometimes'; it must be one of 'never', 'small', 'al"
    ):
        Function.custom(3, len, check="sometimes")


def test_gains_that_disagree_are_refused():
    def gains(A, order):
        return np.ones(order.size)

    with pytest.raises(submod.InvalidArgumentError, match="callbacks agree with eval: no"):
        Function.custom(4, lambda A: len(A) ** 0.5, gains).minimize()


def test_no_wrong_minimum_is_called_exact():
    """Random functions, most of them not submodular: refused, or right."""
    rng = np.random.default_rng(8)
    right = 0
    for repeat in range(100):
        table = rng.integers(-2, 3, 16).astype(float)
        if repeat % 2:  # submodular: a concave function of the size, and weights
            size = np.array([bin(mask).count("1") for mask in range(16)])
            weights = rng.normal(size=4)
            table = np.sqrt(size) + [
                sum(weights[e] for e in range(4) if mask >> e & 1) for mask in range(16)
            ]
        f = Function.custom(4, lambda A, table=table: table[sum(1 << int(e) for e in A)])
        try:
            found = f.minimize()
        except submod.InvalidArgumentError:
            assert repeat % 2 == 0
            continue
        assert found.value == pytest.approx(table.min(), abs=1e-9)
        right += 1
    assert right >= 50


def test_maximize():
    f = BUILT_IN["facility"][0]
    for k in range(N + 2):
        best = max(f(S) for S in subsets() if len(S) <= k)
        found = f.maximize(k)
        assert isinstance(found, submod.MaximizeResult)
        assert found.value == pytest.approx(f(found.set)) and found.status == "ok"
        assert found.gains.sum() == pytest.approx(found.value)
        assert (1 - 1 / np.e) * best <= found.value <= best + 1e-12 <= found.bound + 2e-12
        assert found.monotone and found.submodular and found.ratio >= found.guarantee - 1e-12
        plain = f.maximize(k, "plain")
        assert plain.method == "plain" and plain.set.tolist() == found.set.tolist()
        again = [f.maximize(k, "stochastic", seed=3, epsilon=0.4).set.tolist() for _ in range(2)]
        assert again[0] == again[1]
    among = f.maximize(3, candidates=[4, 1])
    assert sorted(among.set.tolist()) == [1, 4] and f.maximize(3, candidates=[]).value == 0
    odd = Function.custom(4, lambda S: len(S) ** 2.0).maximize(2)
    assert not odd.submodular and odd.bound == np.inf and odd.guarantee == 0


def test_exceptions_of_a_shape():
    def g(t):
        if t > 1:
            raise KeyError(t)
        return t

    f = Function.concave([1, 2], g)
    assert f([0]) == 1
    with pytest.raises(KeyError):
        f([1])
    with pytest.raises(submod.InvalidArgumentError, match="minimize would be wrong"):
        Function.concave([1, 2], lambda t: t * t).minimize()
