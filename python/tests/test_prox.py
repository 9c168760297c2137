"""Prox and minimisation: optimality is recomputed here from the functions' values."""

import copy
import itertools
import os
import pickle
import signal
import threading
import time

import numpy as np
import pytest
import reference

import submod
from submod import Function

RNG = np.random.default_rng(21)
N = 6


def functions():
    root = RNG.normal(size=(N, N))
    edges = [(i, j) for i in range(N) for j in range(i)]
    custom = Function.custom(
        N,
        lambda S: float(np.sqrt(len(S)) + 0.3 * len(S)),
        lambda A, order: np.diff(np.sqrt(len(A) + np.arange(len(order) + 1))) + 0.3,
    )
    return {
        "jaccard": Function.jaccard([1, 0, 0, 1, 0, 1]),
        "hamming": Function.hamming(N),
        "sqrt": Function.sqrt(N),
        "cut": Function.cut(N, edges, RNG.uniform(size=len(edges))),
        "path": Function.cut(N, [(i, i + 1) for i in range(N - 1)]),
        "logdet": Function.logdet(root @ root.T + np.eye(N)),
        "custom": custom,
        "mixed": Function.sqrt(N) + 0.5 * custom + RNG.normal(size=N),
    }


FUNCTIONS = functions()


def subsets():
    return [list(S) for k in range(N + 1) for S in itertools.combinations(range(N), k)]


def objective(f, u, x, lam):
    return f.lovasz(u)[0] + lam / 2 * ((u - x) ** 2).sum()


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("lam", [0.1, 1.0, 20.0])
def test_prox(name, lam):
    """s is in the base polytope, the gap is what the two objectives say, u is not improved upon."""
    f, x = FUNCTIONS[name], RNG.normal(size=N)
    result = f.prox(x, lam)
    assert all(result.s[S].sum() <= f(S) + 1e-9 for S in subsets())
    assert result.s.sum() == pytest.approx(f(range(N)), abs=1e-9)
    primal = objective(f, result.u, x, lam)
    dual = result.s @ x - (result.s**2).sum() / (2 * lam)
    assert result.primal == pytest.approx(primal, abs=1e-9)
    assert primal - dual <= 1e-8 * (1 + abs(primal)) and result.status == "ok"
    for _ in range(30):
        other = result.u + RNG.normal(size=N) * 10.0 ** RNG.uniform(-4, 0)
        assert objective(f, other, x, lam) >= primal - 1e-9


def test_sums_by_their_parts():
    mask = np.arange(12) < 5
    x = np.sin(np.arange(12.0))
    rows = [(i, i + 1) for i in range(11) if i % 4 != 3]
    columns = [(i, i + 4) for i in range(8)]
    grid = Function.cut(12, rows + columns)
    f = Function.jaccard(mask) + 0.1 * grid + Function.sqrt(3).embed(12, [1, 5, 9])
    result = f.prox(x, 2.0)
    assert result.method == "sum"
    assert result.u == pytest.approx(f.prox(x, 2.0, "min_norm").u, abs=1e-4)
    assert (Function.jaccard(mask) + Function.hamming(12)).prox(x, 2.0).method == "jaccard"
    shifted = f + np.cos(np.arange(12.0))
    least = shifted.minimize("sum")
    assert least.method == "sum"
    assert least.value == pytest.approx(shifted.minimize("exhaustive").value)


def test_methods_agree():
    f, x = FUNCTIONS["jaccard"], RNG.normal(size=N)
    expected = f.prox(x, 2.0).u
    for method in ("jaccard", "decomposition", "min_norm"):
        result = f.prox(x, 2.0, method)
        assert result.u == pytest.approx(expected, abs=1e-7) and result.method == method
    with pytest.raises(submod.UnsupportedError):
        f.prox(x, 2.0, "cardinality")
    with pytest.raises(ValueError, match="method"):
        f.prox(x, 2.0, "magic")


def test_hinge_composition():
    f, x = FUNCTIONS["jaccard"], RNG.normal(size=N)
    u = f.prox(x, 1.5, hinge=True).u

    def composed(v):
        return f.lovasz(np.maximum(v, 0))[0] + 0.75 * ((v - x) ** 2).sum()

    for _ in range(50):
        assert composed(u + RNG.normal(size=N) * 10.0 ** RNG.uniform(-4, 0)) >= composed(u) - 1e-9


def test_certificate():
    f, x = FUNCTIONS["logdet"], RNG.normal(size=N)
    result = f.prox(x, 3.0, "min_norm")
    assert result.certificate is not None
    greedy = [f.chain(order)[np.argsort(order)] for order in result.certificate.orders]
    assert result.certificate.weights @ np.array(greedy) == pytest.approx(result.s, abs=1e-9)
    checked = f.verify(x, 3.0, result.u, result.s, result.certificate)
    assert checked.base_error < 1e-9 and checked.gap < 1e-8
    assert f.verify(x, 3.0, result.u + 0.1, result.s, result.certificate).gap > 1e-3
    again = f.prox(x, 3.0, "min_norm", start=result.certificate)
    assert again.iterations <= result.iterations
    assert again.u == pytest.approx(result.u, abs=1e-7)


def test_certificates_are_refused():
    f, x = Function.sqrt(3), [3.0, 1.0, 2.0]
    found = f.prox(x, 1.0, "cardinality")
    assert found.certificate is None
    with pytest.raises(ValueError, match="has no certificate"):
        f.verify(x, 1.0, found.u, found.s, found.certificate)
    start = submod.Certificate(np.array([[0, 1, 2**32 + 2]]), np.ones(1))
    with pytest.raises(ValueError, match="orders holds"):
        f.prox(x, 1.0, "min_norm", start=start)


def test_limits_warn():
    n = 30
    root = RNG.normal(size=(n, n))
    f = Function.logdet(root @ root.T + np.eye(n))
    with pytest.warns(submod.AccuracyWarning, match="prox, gap"):
        result = f.prox(RNG.normal(size=n), 1.0, "min_norm", max_iterations=2)
    assert result.gap > 0 and result.status != "ok"


@pytest.mark.parametrize("name", FUNCTIONS)
def test_minimize(name):
    f = FUNCTIONS[name] + RNG.normal(size=N)
    best = min(f(S) for S in subsets())
    for method in ("auto", "min_norm", "exhaustive"):
        result = f.minimize(method)
        assert result.value == pytest.approx(best, abs=1e-9)
        assert f(result.set) == pytest.approx(best, abs=1e-9)
        assert set(result.set) <= set(result.largest)
        assert np.minimum(result.s, 0).sum() == pytest.approx(result.dual, abs=1e-9)
        assert result.gap <= 1e-8


def test_warnings_name_the_line_that_asked():
    rng = np.random.default_rng(5)
    points = rng.normal(size=(30, 3))
    kernel = np.exp(-((points[:, None] - points[None]) ** 2).sum(2)) + 0.1 * np.eye(30)
    f, p = Function.logdet(kernel), submod.optim.max_affine(rng.normal(size=(4, 2)))
    x = rng.normal(size=30)
    for ask in (
        lambda: f.prox(x, 1.0, "min_norm", max_iterations=2),
        lambda: (f + 0.3 * x).minimize("min_norm", time_limit=1e-9),
        lambda: Function.sqrt(200).check(samples=10**9, time_limit=1e-3),
        lambda: submod.optim.descend(p, [3.0, 1.0], 1e-3, time_limit=1e-9),
        lambda: submod.optim.bundle(p, [3.0, 1.0], radius=9, max_iterations=1),
    ):
        with pytest.warns(submod.AccuracyWarning) as caught:
            ask()
        assert [(w.filename, w.lineno) for w in caught] == [(__file__, ask.__code__.co_firstlineno)]


@pytest.mark.parametrize("n, minimum", [(3, -12), (10, -84), (100, -6834)])
def test_iwata(n, minimum):
    """Iwata's test function: known minima."""
    for method in ("auto", "min_norm"):
        size, number = np.arange(n + 1), np.arange(1, n + 1)
        iwata = Function.cardinality(size * (n - size)) + (2 * n - 5 * number)
        assert iwata.minimize(method, integer_valued=True).value == minimum


def test_errors_come_through():
    calls = []

    def fails_later(S):
        calls.append(1)
        if len(calls) > 40:
            raise LookupError("enough")
        return float(np.sqrt(len(S)))

    with pytest.raises(LookupError, match="enough"):
        Function.custom(12, fails_later).prox(RNG.normal(size=12), 1.0)
    f = Function.hamming(3)
    with pytest.raises(submod.InvalidArgumentError):
        f.prox([1, 2, 3], 0)
    with pytest.raises(submod.NonFiniteError):
        f.prox([1, 2, np.nan], 1)


@pytest.mark.parametrize("custom", [True, False])
def test_ctrl_c(custom):
    n = 300
    points = RNG.normal(size=(n, 4))
    distance = ((points[:, None] - points[None]) ** 2).sum(2)
    f = Function.logdet(np.exp(-distance) + 1e-3 * np.eye(n))
    if custom:
        slow = Function.custom(n, lambda S: time.sleep(1e-4) or float(np.sqrt(len(S))))
        f = f + slow
    orders = np.stack([RNG.permutation(n) for _ in range(3000)])  # takes seconds to start from
    timer = threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT))
    start = time.monotonic()
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        f.prox(
            10 * RNG.normal(size=n),
            1e-3,
            "min_norm",
            tolerance=0,
            start=submod.Certificate(orders, np.ones(len(orders))),
        )
    timer.join()
    assert time.monotonic() - start < 2


def test_prox_max_affine():
    a, b, x = RNG.normal(size=(5, 3)), RNG.normal(size=5), RNG.normal(size=3)
    u, gap = submod.prox_max_affine(a, b, x, 2.0)

    def value(v):
        return (a @ v + b).max() + ((v - x) ** 2).sum()

    assert gap < 1e-9
    for _ in range(50):
        assert value(u + RNG.normal(size=3) * 10.0 ** RNG.uniform(-4, 0)) >= value(u) - 1e-12


@pytest.mark.parametrize("per_image", [True, False])
def test_prox_lovasz_hinge(per_image):
    scores = RNG.normal(size=(2, 9)).astype(np.float32)
    labels = RNG.integers(2, size=(2, 9))
    lam, groups = 0.7, 2 if per_image else 1
    u, d = submod.prox_lovasz_hinge(scores, labels, lam, per_image=per_image)
    assert d == pytest.approx(lam * (scores - u) / groups, abs=1e-6)

    def value(z):
        loss = groups * reference.hinge_loss(z, labels, per_image)
        return loss + lam / 2 * ((z - scores) ** 2).sum()

    for _ in range(50):
        other = u + RNG.normal(size=u.shape) * 10.0 ** RNG.uniform(-3, 0)
        assert value(other) >= value(u.astype(float)) - 1e-6
    # With a large lam the point stays on its linear piece: the direction is the gradient.
    _, steep = submod.prox_lovasz_hinge(scores, labels, 1e4, per_image=per_image)
    _, gradient = submod.lovasz_hinge(scores, labels, per_image=per_image, return_grad=True)
    assert steep == pytest.approx(gradient, abs=1e-6)


# ---- blocks and derivatives ----


def slope(solve, v, step=1e-5):
    """The central difference of <v, u>."""
    return v @ (solve(step).u - solve(-step).u) / (2 * step)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_vjp(name):
    rng = np.random.default_rng(11)
    f, lam = FUNCTIONS[name], 1.7
    x, v, d = rng.normal(size=(3, N))
    exact = {"tolerance": 1e-14}
    result = f.prox(x, lam, **exact)
    found = result.vjp(v)
    assert result.blocks.error < 1e-8 and len(result.blocks) == result.blocks.block.max() + 1
    assert result.blocks.values[result.blocks.block] == pytest.approx(result.u, abs=1e-8)
    assert found.by_x @ d == pytest.approx(
        slope(lambda t: f.prox(x + t * d, lam, **exact), v), abs=1e-4
    )
    assert found.by_lam == pytest.approx(slope(lambda t: f.prox(x, lam + t, **exact), v), abs=1e-4)
    assert found.by_modular @ d == pytest.approx(
        slope(lambda t: (f + t * d).prox(x, lam, **exact), v), abs=1e-4
    )
    assert found.by_weights is None and found.by_functions == []


def test_vjp_by_edges_and_functions():
    rng = np.random.default_rng(12)
    mask, edges = rng.random(N) < 0.5, [(i, (i + 1) % N) for i in range(N)]
    weights, x, v = rng.random(N), rng.normal(size=N), rng.normal(size=N)
    jaccard, cut = Function.jaccard(mask), Function.cut(N, edges, weights)
    result = (jaccard + cut).prox(x, 2.0, tolerance=1e-14)
    found = result.vjp(v, edges=edges, functions=[jaccard, cut])
    for k in range(N):

        def moved(t, k=k):
            cut = Function.cut(N, edges, weights + t * (np.arange(N) == k))
            return (jaccard + cut).prox(x, 2.0, tolerance=1e-14)

        assert found.by_weights[k] == pytest.approx(slope(moved, v), abs=1e-4)
    by_cut = slope(lambda t: (jaccard + (1 + t) * cut).prox(x, 2.0, tolerance=1e-14), v)
    assert found.by_functions[1] == pytest.approx(by_cut, abs=1e-4)
    assert found.by_functions[1] == pytest.approx(found.by_weights @ weights, abs=1e-9)


def test_vjp_of_the_hinge():
    f, x = Function.sqrt(3), np.array([3.0, 0.1, -1.0])
    result = f.prox(x, 1.0, hinge=True)
    assert list(result.blocks.block) == [0, -1, -2]
    found = result.vjp([1.0, 2.0, 4.0])
    assert list(found.by_x) == [1.0, 0.0, 4.0] and list(found.by_modular) == [-1.0, 0.0, 0.0]


def test_results_without_their_function():
    result = Function.sqrt(4).prox([1.0, 1.0, 2.0, 0.0], 1.0)
    assert copy.deepcopy(result).blocks.values == pytest.approx(result.blocks.values)
    known = pickle.loads(pickle.dumps(result))
    assert known.vjp(np.ones(4)).by_x == pytest.approx(np.ones(4))
    unknown = pickle.loads(pickle.dumps(Function.sqrt(4).prox([1.0, 1.0, 2.0, 0.0], 1.0)))
    assert unknown.u == pytest.approx(result.u)
    with pytest.raises(ValueError, match="has lost its function"):
        unknown.vjp(np.ones(4))


def test_vjp_arguments_are_refused():
    result = Function.sqrt(3).prox([1.0, 2.0, 3.0], 1.0)
    with pytest.raises(ValueError, match="v of shape"):
        result.vjp([1.0])
    with pytest.raises(ValueError, match="edges of shape"):
        result.vjp(np.ones(3), edges=[[0, 1, 2]])
    with pytest.raises(submod.InvalidArgumentError, match="head"):
        result.vjp(np.ones(3), edges=[(0, 3)])
    with pytest.raises(TypeError, match="directed"):
        result.vjp(np.ones(3), edges=[(0, 1)], directed="yes")
    for wrong in (Function.sqrt(4), "cut"):
        with pytest.raises(ValueError, match="a Function of 3 elements"):
            result.vjp(np.ones(3), functions=[wrong])
    with pytest.raises(submod.NonFiniteError):
        result.vjp([1.0, np.nan, 0.0])
    with pytest.raises(TypeError, match="hinge"):
        Function.sqrt(3).prox([1.0, 2.0, 3.0], 1.0, hinge="no")


def test_callbacks_of_a_direction_raise():
    def fails(S):
        if len(S) > 1:
            raise LookupError("enough")
        return float(len(S))

    result = Function.sqrt(3).prox([1.0, 2.0, 3.0], 1.0)
    with pytest.raises(LookupError, match="enough"):
        result.vjp(np.ones(3), functions=[Function.custom(3, fails)])


# ---- many at once ----


@pytest.mark.parametrize("name", FUNCTIONS)
def test_prox_path(name):
    f, x, lams = FUNCTIONS[name], RNG.normal(size=N), [5.0, 2.0, 0.7, 0.2]
    path = f.prox_path(x, lams, tolerance=1e-13)
    assert len(path) == 4 and path.status == "ok" and path.gap.shape == (4,)
    for k, lam in enumerate(lams):
        alone = f.prox(x, lam, tolerance=1e-13)
        assert path.u[k] == pytest.approx(alone.u, abs=1e-6)
        assert path[k].method == alone.method and path[k].gap == path.gap[k]
        v = RNG.normal(size=N)
        assert path[k].vjp(v).by_x == pytest.approx(alone.vjp(v).by_x, abs=1e-6)
    assert [len(r.u) for r in path] == [N] * 4  # it can be looped over
    assert len(f.prox_path(x, [])) == 0
    with pytest.raises(submod.InvalidArgumentError, match="lambda = -1"):
        f.prox_path(x, [1.0, -1.0])


@pytest.mark.parametrize("name", FUNCTIONS)
def test_level_sets(name):
    f, x, lam = FUNCTIONS[name], RNG.normal(size=N), 1.3
    u = f.prox(x, lam).u
    alphas = [u[0], u[1] + 0.01, 0.0]
    found = f.level_sets(x, lam, alphas)
    for k, alpha in enumerate(alphas):
        sets = map(tuple, subsets())
        values = {S: f(list(S)) - lam * sum(x[i] - alpha for i in S) for S in sets}
        best = min(values.values())
        good = [set(S) for S, value in values.items() if value <= best + 1e-9]
        assert set(np.flatnonzero(found.smallest[k])) == set.intersection(*good)
        assert set(np.flatnonzero(found.largest[k])) == set.union(*good)
    assert found.status == "ok" and found.smallest.dtype == bool
    with pytest.raises(submod.NonFiniteError, match="alpha"):
        f.level_sets(x, lam, [np.nan])


def test_progress() -> None:
    rng = np.random.default_rng(5)
    f = submod.Function.jaccard(rng.random(64) < 0.4) + 0.1 * submod.Function.cut(
        64, [(i, i + 1) for i in range(63)]
    )
    told: list[tuple[int, float]] = []
    result = f.prox(rng.normal(size=64), 0.1, progress=lambda k, gap: told.append((k, gap)))
    assert result.method == "sum"
    assert told[-1][0] == result.iterations
    assert [k for k, _ in told] == sorted(k for k, _ in told)

    def fail(iterations: int, gap: float) -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        f.prox(rng.normal(size=64), 0.1, progress=fail)
