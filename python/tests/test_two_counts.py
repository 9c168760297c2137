"""Set functions of two counts, against reference.py and solvers that know nothing of them."""

import threading

import numpy as np
import pytest
import reference

import submod
from submod import Function, Tversky

RNG = np.random.default_rng(19)


def root(a, b, P, N):
    return np.sqrt((a + b) / (P + N))


def root_of_numbers(a, b, P, N):
    return ((a + b) / (P + N)) ** 0.5 if a + b > 0 else 0


MEASURES = {
    "jaccard": ("jaccard", reference.jaccard_by_counts),
    "hamming": ("hamming", reference.hamming_by_counts),
    "tversky": (Tversky(0.3, 1.7), reference.tversky_by_counts(0.3, 1.7)),
    "arrays": (root, root_of_numbers),
    "numbers": (root_of_numbers, root_of_numbers),
}


def by_definition(measure, mask, weights):
    """F of a set of wrong pixels, from sums over it."""
    P, N = weights[mask].sum(), weights[~mask].sum()

    def value(wrong):
        members = np.zeros(mask.size, bool)
        members[list(wrong)] = True
        a, b = weights[mask & members].sum(), weights[~mask & members].sum()
        return measure(a, b, P, N)

    return value


@pytest.mark.parametrize("name", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_by_definition(name, weighted):
    measure, by_counts = MEASURES[name]
    n = 9
    mask = RNG.random(n) < 0.5
    weights = RNG.exponential(size=n) if weighted else np.ones(n)
    f = Function.two_counts(mask, measure, weights=weights if weighted else None)
    value = by_definition(by_counts, mask, weights)
    assert f.n == n
    for _ in range(20):
        wrong = RNG.permutation(n)[: RNG.integers(n + 1)]
        assert f(wrong) == pytest.approx(value(wrong), abs=1e-12)
    assert f.check().submodular and f.check().monotone
    x = RNG.normal(size=n)
    extension, gradient = f.lovasz(x)
    order = np.argsort(-x)
    sets = [value(order[:k]) for k in range(n + 1)]
    assert extension == pytest.approx(x[order] @ np.diff(sets), abs=1e-12)
    assert gradient[order] == pytest.approx(np.diff(sets), abs=1e-12)
    # What knows the values alone finds the same.
    unknown = Function.custom(n, value, check="never")
    for lam in (0.1, 1.0, 10.0):
        found, expected = f.prox(x, lam), unknown.prox(x, lam, "min_norm", tolerance=1e-14)
        assert np.allclose(found.u, expected.u, atol=1e-7)
        assert found.gap <= 1e-9
    shifted = f + -0.2 * RNG.random(n)
    assert shifted.minimize().value == pytest.approx(
        shifted.minimize("exhaustive").value, abs=1e-12
    )


def test_tversky():
    mask = [1, 0, 1, 1, 0]
    f = Function.tversky(mask, alpha=0.5, beta=2)
    same = Function.two_counts(mask, Tversky(0.5, 2))
    for wrong in ([], [0], [1], [0, 1, 4], range(5)):
        assert f(wrong) == same(wrong)
    assert f([0, 1]) == pytest.approx(1 - 2 / (2 + 2 * 1 + 0.5 * 1))
    assert Function.tversky(mask, alpha=1, beta=1)([0, 1]) == pytest.approx(
        Function.jaccard(mask)([0, 1])
    )
    with pytest.raises(ValueError, match="not submodular"):
        Function.tversky(mask, alpha=0.5, beta=0.5)
    heavy = Function.tversky(mask, alpha=1, beta=1, weights=[3, 1, 1, 1, 1])
    assert heavy([0]) == pytest.approx(3 / 5)


def test_what_a_callable_raises():
    def measure(a, b, P, N):
        raise LookupError("nothing there")

    with pytest.raises(LookupError, match="nothing there"):
        Function.two_counts([1, 0, 1], measure)
    f = Function.two_counts([1, 0, 1], measure, check="never")
    for call in (lambda: f([0]), lambda: f.lovasz([1, 2, 3]), lambda: (2 * f).prox([1, 2, 3], 1.0)):
        with pytest.raises(LookupError, match="nothing there"):
            call()
    found = []

    def work():
        try:
            f([0, 1])
        except LookupError:
            found.append(True)

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8


def test_the_measure_lives_as_long_as_the_function():
    f = Function.two_counts([1, 0, 1, 0], lambda a, b, P, N: (a + b) / (P + N))
    g = (2 * f + np.ones(4)).restrict([0, 1, 3])
    del f
    assert g([0, 2]) == pytest.approx(2 * 2 / 4 + 2)


def test_refused():
    with pytest.raises(TypeError, match="measure = 3"):
        Function.two_counts([1, 0], 3)
    with pytest.raises(ValueError, match="weights of shape"):
        Function.two_counts([1, 0], weights=[1, 2, 3])
    with pytest.raises(ValueError, match="weight"):
        Function.two_counts([1, 0], weights=[1, -2])
    with pytest.raises(ValueError, match="nan"):
        Function.two_counts([1, 0], weights=[1, np.nan])


def test_measures_are_looked_at():
    def dice(a, b, P, N):
        return (a + b) / (2 * P - a + b)

    mask = np.arange(40) < 10
    words = r"this is no measure\. submodular: no, .* add .*check='never' in Function\.two_counts"
    for weights in (None, np.ones(40)):
        with pytest.raises(ValueError, match=words):
            Function.two_counts(mask, dice, weights=weights)
    assert Function.two_counts(mask, dice, check="never")([0, 1]) == pytest.approx(2 / 18)
    large = np.arange(2000) < 100  # more than 4096 pairs
    with pytest.warns(submod.SubmodularityWarning, match=r"P = 100 and N = 1900\. submodular: no"):
        assert Function.two_counts(large, dice)([0, 1]) == pytest.approx(2 / 198)
    with pytest.raises(ValueError, match=words):
        Function.two_counts(large, dice, check="always")
    with pytest.raises(ValueError, match=r"this is no measure\. normalised: no"):
        Function.two_counts(mask, lambda a, b, P, N: 1 + a + b)
    with pytest.raises(ValueError, match="check = 'often'"):
        Function.two_counts(mask, dice, check="often")


# ---- its prox, in other forms ----


@pytest.mark.parametrize("name", MEASURES)
def test_prox_of_points(name):
    """Whole weights are as many equal pixels."""
    measure, _ = MEASURES[name]
    x, mask, times = RNG.normal(size=12), RNG.random(12) < 0.4, RNG.integers(1, 4, size=12)
    u, s, gap = submod.prox_two_counts_points(x, mask, times, 2.0, measure=measure)
    copies = np.repeat(np.arange(12), times)
    plain = Function.two_counts(mask[copies], measure).prox(x[copies], 2.0)
    assert np.allclose(u[copies], plain.u, atol=1e-9) and np.allclose(s, 2.0 * (x - u))
    assert abs(gap) <= 1e-12 and u.dtype == s.dtype == np.float64


def test_prox_of_points_with_real_weights():
    """No step of any size to any side is better."""
    n, lam = 8, 1.5
    x, mask, weights = RNG.normal(size=n), RNG.random(n) < 0.5, RNG.exponential(size=n) + 0.1
    f = Function.tversky(mask, alpha=0.5, beta=2, weights=weights)

    def objective(u):
        return f.lovasz(u)[0] + lam / 2 * (weights * (u - x) ** 2).sum()

    measure = Tversky(0.5, 2)
    u, s, gap = submod.prox_two_counts_points(x, mask, weights, lam, measure=measure)
    best = objective(u)
    assert abs(gap) <= 1e-12 and np.allclose(s, lam * (x - u))
    for size in (1e-4, 1e-2, 1):
        for _ in range(100):
            assert objective(u + size * RNG.normal(size=n)) >= best - 1e-12


@pytest.mark.parametrize("name", MEASURES)
def test_prox_by_histogram(name):
    measure, _ = MEASURES[name]
    x, mask = RNG.normal(size=500), RNG.random(500) < 0.3
    u, error, gap = submod.prox_two_counts_histogram(x, mask, 0.05, 1e-3, measure=measure)
    plain = Function.two_counts(mask, measure).prox(x, 0.05)
    assert u.dtype == np.float64 and error <= 1e-3 and gap >= -1e-9
    assert np.abs(u - plain.u).max() <= error + 1e-12


def test_prox_refused():
    x, mask, ones = np.zeros(3), [1, 0, 0], np.ones(3)
    with pytest.raises(ValueError, match="mask of shape"):
        submod.prox_two_counts_points(x, mask[:2], ones, 1.0)
    with pytest.raises(ValueError, match="weights of shape"):
        submod.prox_two_counts_points(x, mask, ones[:2], 1.0)
    with pytest.raises(ValueError, match="multiplicity"):
        submod.prox_two_counts_points(x, mask, -ones, 1.0)
    with pytest.raises(ValueError, match="x of shape"):
        submod.prox_two_counts_histogram(np.zeros((3, 1)), mask, 1.0, 0.1)
    with pytest.raises(ValueError, match="delta"):
        submod.prox_two_counts_histogram(x, mask, 1.0, -0.1)
    with pytest.raises(KeyError, match="lost"):
        submod.prox_two_counts_points(x, mask, ones, 1.0, measure=_lost)


def _lost(a, b, P, N):
    raise KeyError("lost")
