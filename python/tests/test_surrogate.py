"""The surrogate of losses that are not submodular, against its definition over all sets."""

import itertools

import numpy as np
import pytest

import submod


def dice(a, b, P, N):
    return (a + b) / max(2 * P - a + b, 1) if P or b else 0.0


def steps(a, b, P, N):
    """Neither submodular nor supermodular, in any direction."""
    return min(a, 1) + max(a - 2, 0) ** 2 + 0.5 * max(b - 1, 0) + 0.3 * a * b - 0.1 * b**2


MEASURES = {
    "dice": ("dice", dice),
    "custom dice": (dice, dice),
    "tversky 0.7 0.6": (
        (0.7, 0.6),
        lambda a, b, P, N: (0.6 * a + 0.7 * b) / (P - 0.4 * a + 0.7 * b) if a + b else 0.0,
    ),
    "tversky 1 0.2": (
        (1.0, 0.2),
        lambda a, b, P, N: (0.2 * a + b) / (P - 0.8 * a + b) if a + b else 0.0,
    ),
    "jaccard": ("jaccard", lambda a, b, P, N: (a + b) / (P + b) if a + b else 0.0),
    "steps": (steps, steps),
}
names = pytest.mark.parametrize("name", MEASURES)


def second_differences(table):
    return [np.diff(table, 2, axis=0), np.diff(table, 2, axis=1), np.diff(np.diff(table, axis=0))]


@names
def test_parts(name):
    measure, F = MEASURES[name]
    for P, N in [(0, 3), (1, 0), (4, 0), (5, 7), (7, 2), (2, 11)]:
        f, g = submod.measure_parts(measure, P, N)
        table = [[F(a, b, P, N) for b in range(N + 1)] for a in range(P + 1)]
        np.testing.assert_allclose(f + g, table, atol=1e-14)
        assert all((d <= 1e-13).all() for d in second_differences(f))
        assert all((d >= -1e-13).all() for d in second_differences(g))
        assert abs(g[:2, 0]).max() == 0 and abs(g[0, :2]).max() == 0
        assert (np.diff(g, axis=0) >= -1e-14).all() and (np.diff(g, axis=1) >= -1e-14).all()


def smallest_part(F, P, N):
    """The supermodular part with the smallest sum over all subsets, by linear programming."""
    from scipy.optimize import linprog
    from scipy.special import comb

    index = np.arange((P + 1) * (N + 1)).reshape(P + 1, N + 1)
    table = np.array([[F(a, b, P, N) for b in range(N + 1)] for a in range(P + 1)])
    rows, bounds = [], []

    def at_least(coefficients, bound):
        row = np.zeros(index.size)
        for place, factor in coefficients:
            row[index[place]] += factor
        rows.append(-row)
        bounds.append(-max(bound, 0))

    for a, b in itertools.product(range(P + 1), range(N + 1)):
        for corners in (
            [((a, b), 1), ((a + 1, b), -2), ((a + 2, b), 1)],
            [((a, b), 1), ((a, b + 1), -2), ((a, b + 2), 1)],
            [((a, b), 1), ((a + 1, b), -1), ((a, b + 1), -1), ((a + 1, b + 1), 1)],
        ):
            if all(i <= P and j <= N for (i, j), _ in corners):
                at_least(corners, sum(factor * table[place] for place, factor in corners))
    weight = np.outer(comb(P, np.arange(P + 1)), comb(N, np.arange(N + 1))).ravel()
    fixed = [(0, 0) if a + b <= 1 else (0, None) for a in range(P + 1) for b in range(N + 1)]
    found = linprog(weight, np.array(rows), np.array(bounds), bounds=fixed)
    assert found.status == 0
    return found.x.reshape(P + 1, N + 1)


def test_dice_has_the_smallest_part():
    pytest.importorskip("scipy")
    for P, N in [(3, 2), (5, 4), (6, 1)]:
        for name in ("dice", "custom dice", "tversky 0.7 0.6"):
            measure, F = MEASURES[name]
            _, g = submod.measure_parts(measure, P, N)
            np.testing.assert_allclose(g, smallest_part(F, P, N), atol=1e-9)


def test_one_kind_has_the_smallest_part():
    """A function of the cardinality: the paper's own example."""
    pytest.importorskip("scipy")

    def two_steps(a, b, P, N):
        return min(a, 2) / 2 + max(0, a - 6) / 2

    _, g = submod.measure_parts(two_steps, 8, 0)
    np.testing.assert_allclose(g[:, 0], np.maximum(0, np.arange(9) - 6) / 2)
    np.testing.assert_allclose(g, smallest_part(two_steps, 8, 0), atol=1e-9)


def by_definition(f, g, labels, m):
    """The Lovász extension of f by the sorted chain, and slack rescaling over all sets."""
    n = len(m)
    order = np.argsort(-m, kind="stable")
    order = np.array(sorted(order, key=lambda i: (-m[i], -labels[i])))
    a = np.concatenate([[0], np.cumsum(labels[order])])
    b = np.arange(n + 1) - a
    first = np.diff(f[a, b]) @ m[order]
    best = 0.0
    for flags in itertools.product([0, 1], repeat=n):
        A = np.array(flags, bool)
        size = g[labels[A].sum(), A.sum() - labels[A].sum()]
        best = max(best, size * (1 - (1 - m[A]).sum()))
    return first, best


@names
def test_value_by_definition(name):
    measure, _ = MEASURES[name]
    rng = np.random.default_rng(1)
    for round_ in range(60):
        n = int(rng.integers(1, 8))
        labels = rng.integers(0, 2, n)
        m = rng.normal(0.6, 0.8, n) if round_ % 2 else rng.integers(-1, 6, n) / 4
        P = int(labels.sum())
        f, g = submod.measure_parts(measure, P, n - P)
        found = submod.general_surrogate(m, labels, measure=measure)
        first, second = by_definition(f, g, labels, m)
        assert abs(found.submodular - first) < 1e-13 * max(1, abs(first))
        assert abs(found.supermodular - second) < 1e-13 * max(1, second)
        assert found.value == found.submodular + found.supermodular
        cut = submod.general_surrogate(m, labels, measure=measure, hinge=True)
        assert abs(cut.value - (max(first, 0) + second)) < 1e-12


@names
def test_extension(name):
    """Equal to the loss at all vertices."""
    measure, F = MEASURES[name]
    for labels in ([1, 1, 1, 0, 0], [0, 0, 1, 0, 1], [0, 0, 0], [1, 1, 1, 1]):
        labels = np.array(labels)
        P, N = int(labels.sum()), int((1 - labels).sum())
        for flags in itertools.product([0, 1], repeat=len(labels)):
            wrong = np.array(flags)
            a, b = int((wrong * labels).sum()), int((wrong * (1 - labels)).sum())
            found = submod.general_surrogate(wrong, labels, measure=measure)
            assert abs(found.value - F(a, b, P, N)) < 1e-13


@names
@pytest.mark.parametrize("hinge", [False, True])
def test_convex(name, hinge):
    """Along segments, and above its tangents, also where errors are tied."""
    measure, _ = MEASURES[name]
    rng = np.random.default_rng(2)

    def at(m):
        return submod.general_surrogate(m, labels, measure=measure, hinge=hinge)

    for round_ in range(60):
        n = int(rng.integers(2, 25))
        labels = rng.integers(0, 2, n)
        if round_ % 2:
            x, y = rng.normal(0.5, 1.5, (2, n))
        else:
            x, y = rng.integers(-1, 8, (2, n)) / 4
        t = rng.random()
        fx, fy, between = at(x), at(y), at(x + t * (y - x))
        slack = 1e-12 * (1 + abs(fx.value) + abs(fy.value))
        assert between.value <= (1 - t) * fx.value + t * fy.value + slack
        for tangent, from_ in ((fx, x), (fy, y)):
            for other, to in ((fx, x), (fy, y)):
                assert other.value >= tangent.value + tangent.gradient @ (to - from_) - slack
        # A piece is linear: the gradient gives the value nearby.
        step = 1e-7 * rng.normal(size=n)
        if round_ % 2:
            change = at(x + step).value - fx.value
            assert abs(change - fx.gradient @ step) < 1e-11 * (1 + abs(fx.gradient).sum())


def test_equal_pixels_have_equal_weights():
    labels = np.array([1, 1, 1, 0, 0, 1])
    m = np.array([0.75, 0.75, 0.75, 0.5, 0.5, 0.9])
    gradient = submod.general_surrogate(m, labels).gradient
    assert gradient[0] == gradient[1] == gradient[2] and gradient[3] == gradient[4]
    assert submod.general_surrogate(m, labels).supermodular > 0


def test_jaccard_is_the_lovasz_extension():
    rng = np.random.default_rng(3)
    labels, m = rng.integers(0, 2, 50), rng.random(50)
    found = submod.general_surrogate(m, labels, measure="jaccard")
    value, gradient, *_ = submod.Function.jaccard(labels).lovasz(m)
    assert abs(found.value - value) < 1e-14 and found.supermodular == 0
    np.testing.assert_allclose(found.gradient, gradient, atol=1e-15)


def test_dice_at_size():
    """The closed form and the scan agree; a large image works; descent finds the labels."""
    rng = np.random.default_rng(4)
    labels, m = rng.random(300) < 0.2, rng.random(300)
    one = submod.general_surrogate(m, labels)
    two = submod.general_surrogate(m, labels, measure=dice)
    assert abs(one.value - two.value) < 1e-12
    np.testing.assert_allclose(one.gradient, two.gradient, atol=1e-12)
    labels, m = rng.random((500, 600)) < 0.2, rng.random((500, 600))
    large = submod.general_surrogate(m, labels)
    assert large.gradient.shape == m.shape and np.isfinite(large.value)
    assert abs(submod.general_surrogate(np.ones(300), np.ones(300)).value - 1) < 1e-12


def test_refused():
    m, labels = np.full(4, 0.5), np.array([1, 0, 1, 0])
    bad = m.copy()
    bad[2] = np.inf
    with pytest.raises(submod.NonFiniteError, match=r"errors\[2\] is inf"):
        submod.general_surrogate(bad, labels)
    with pytest.raises(submod.InvalidArgumentError, match="beta = 0 must be"):
        submod.general_surrogate(m, labels, measure=(1, 0))
    with pytest.raises(submod.InvalidArgumentError, match="alpha = -1"):
        submod.general_surrogate(m, labels, measure=(-1, 0.5))
    with pytest.raises(ValueError, match="measure = 'f1'"):
        submod.general_surrogate(m, labels, measure="f1")
    with pytest.raises(ValueError, match="must be 0 there"):
        submod.general_surrogate(m, labels, measure=lambda a, b, P, N: 1.0 + a)
    with pytest.raises(submod.CallbackError):
        submod.general_surrogate(m, labels, measure=lambda a, b, P, N: np.nan if a > 1 else 0.0)

    def broken(a, b, P, N):
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        submod.general_surrogate(m, labels, measure=broken)
    with pytest.raises(ValueError, match="shape"):
        submod.general_surrogate(m, labels[:3])
    with pytest.raises(submod.UnsupportedError, match="2\\^26"):
        submod.measure_parts("dice", 1 << 20, 1 << 20)
    many = np.arange(20000) % 2
    with pytest.raises(submod.UnsupportedError, match="2\\^26"):
        submod.general_surrogate(many, many, measure=dice)
    nothing = submod.general_surrogate([], [])
    assert nothing.value == 0 and nothing.gradient.shape == (0,)
