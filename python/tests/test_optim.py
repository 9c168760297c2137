"""Optimisers from Python: they do what their formulas say, stop when they should, and say why."""

import numpy as np
import pytest

import submod
from submod import optim

RNG = np.random.default_rng(17)


def quadratic(center):
    """|x - center|^2 / 2 in Python."""
    return optim.Problem(len(center), lambda x: (((x - center) ** 2).sum() / 2, x - center))


def test_step_rules():
    """Against the rules written out."""
    center, start, eta = RNG.normal(size=4), RNG.normal(size=4), 0.1
    before = start.copy()

    def by_hand(rule, steps=7):
        x, v, m = start.copy(), np.zeros(4), np.zeros(4)
        for t in range(1, steps + 1):
            g = x - center
            if rule == "gd":
                x = x - eta * g
            elif rule == "momentum":
                v = 0.8 * v + g
                x = x - eta * v
            elif rule == "nesterov":
                v = 0.8 * v + g
                x = x - eta * (g + 0.8 * v)
            else:
                m, v = 0.9 * m + 0.1 * g, 0.99 * v + 0.01 * g**2
                x = x - eta * (m / (1 - 0.9**t)) / (np.sqrt(v / (1 - 0.99**t)) + 1e-8)
        return x

    rules = {
        "gd": optim.GD(),
        "momentum": optim.Momentum(0.8),
        "nesterov": optim.Nesterov(0.8),
        "adam": optim.Adam(beta2=0.99),
    }
    for name, rule in rules.items():
        run = optim.descend(
            quadratic(center), start, eta, step=rule, max_iterations=7, keep_best=False
        )
        assert run.x == pytest.approx(by_hand(name), abs=1e-12), name
        assert run.stop == "iterations" and run.iterations == 7
        assert np.array_equal(start, before)


def test_adagrad():
    """Written out."""
    center, start, eta, n = RNG.normal(size=4), RNG.normal(size=4), 0.1, 6
    x, squares = start.copy(), np.zeros(4)
    for _ in range(n):
        squares += (x - center) ** 2
        x = x - eta * (x - center) / (np.sqrt(squares) + 1e-3)
    run = optim.descend(quadratic(center), start, eta, step=optim.AdaGrad(1e-3), max_iterations=n)
    assert run.x == pytest.approx(x, abs=1e-12)


def test_answers():
    """Rules that answer with another point than that of their gradients: the run tells of it."""
    center, start, eta, n = RNG.normal(size=4), RNG.normal(size=4), 0.1, 6
    points = [start]
    while len(points) <= n:
        points.append(points[-1] - eta * (points[-1] - center))
    mean = optim.descend(
        quadratic(center), start, eta, step=optim.Averaged(), max_iterations=n, trace=True
    )
    for k, line in enumerate(mean.trace):
        assert line.x == pytest.approx(np.mean(points[: k + 1], axis=0), abs=1e-12)
        assert line.f == pytest.approx(((line.x - center) ** 2).sum() / 2)
    assert np.array_equal(mean.x, mean.trace[-1].x) and mean.f == mean.trace[-1].f
    late = optim.Averaged(optim.GD(), power=1)
    run = optim.descend(quadratic(center), start, eta, step=late, max_iterations=n)
    assert run.x == pytest.approx(np.average(points, axis=0, weights=range(1, n + 2)), abs=1e-12)


def test_schedules():
    assert optim.Schedule.constant(0.5)(9) == 0.5
    assert optim.Schedule.step(1, 0.1, 10)(25) == pytest.approx(0.01)
    assert optim.Schedule.exponential(1, 0.5, 2)(4) == pytest.approx(0.25)
    assert optim.Schedule.poly(2, 10)(5) == pytest.approx(2 * 0.5**0.9)
    assert optim.Schedule.inverse_sqrt(3)(8) == pytest.approx(1)
    assert optim.Schedule.inverse(3, 2)(4) == pytest.approx(1)
    assert np.isnan(optim.Schedule.polyak()(1))
    with pytest.raises(submod.InvalidArgumentError):
        optim.Schedule.constant(-1)


@pytest.mark.parametrize("nu", [0.7, 1.0, 1.3])
def test_nu_problem(nu):
    """max(0, nu x1, x2): the minimum 0 by every method."""
    problem, start = optim.nu_problem(nu), [2.0, 0.73]
    for run in (
        optim.descend(problem, start, 0.05, f_star=0.0, tolerance=1e-9),
        optim.descend(problem, start, 0.05, step=optim.Momentum(0.7), f_star=0.0, tolerance=1e-9),
        optim.descend(problem, start, 0.05, direction="prox", f_star=0.0, tolerance=1e-9),
        optim.descend(problem, start, optim.Schedule.polyak(), f_star=0.0, tolerance=1e-9),
        optim.fista(problem, start, f_star=0.0, tolerance=1e-9),
        optim.bundle(problem, start, radius=5.0),
    ):
        x = run.x
        assert run.f == max(0, nu * x[0], x[1]) <= 1e-6 and run.stop == "target"


def test_prox_direction():
    """On nu problems: a plain step of the prox direction lands on the prox."""
    problem, x = optim.nu_problem(0.5), np.array([1.0, 0.3])
    run = optim.descend(problem, x, 0.5, direction="prox", max_iterations=1, keep_best=False)
    expected, _ = submod.prox_max_affine([[0, 0], [0.5, 0], [0, 1]], None, x, 2.0)
    assert run.x == pytest.approx(expected, abs=1e-9)


def test_python_problem_with_everything():
    """A lasso: smooth part, prox, value, metric; fista and bundle agree on its minimum."""
    A, y, weight = RNG.normal(size=(12, 5)), RNG.normal(size=12), 0.8

    def smooth(x):
        r = A @ x - y
        return (r @ r) / 2, A.T @ r

    def subgradient(x):
        value, g = smooth(x)
        return value + weight * abs(x).sum(), g + weight * np.sign(x)

    def prox(x, lam):
        return np.sign(x) * np.maximum(abs(x) - weight / lam, 0)

    problem = optim.Problem(
        5,
        subgradient,
        value=lambda x: subgradient(x)[0],
        prox=prox,
        smooth=smooth,
        metric=lambda x: np.count_nonzero(x),
    )
    fast = optim.fista(problem, np.zeros(5), max_iterations=2000, trace=True)
    certain = optim.bundle(problem, np.zeros(5), radius=20.0, tolerance=1e-6)
    assert certain.lower_bound - 1e-9 <= fast.f <= certain.f + 1e-9
    assert certain.gap <= 1e-6 and certain.gap == pytest.approx(certain.f - certain.lower_bound)
    assert fast.trace[0].metric == 0 and fast.trace[-1].f == pytest.approx(fast.f)
    assert fast.proxes > 0 and certain.gradients > 0


def test_batches():
    """The mean of quadratics, one at a time and all together."""
    centers = RNG.normal(size=(4, 3))
    seen = []

    def subgradient(x, batch):
        seen.append(batch)
        chosen = centers if batch is None else centers[batch : batch + 1]
        return ((x - chosen) ** 2).sum(1).mean() / 2, (x - chosen).mean(0)

    problem = optim.Problem(3, subgradient, batches=4)
    run = optim.descend(
        problem,
        np.zeros(3),
        optim.Schedule.inverse_sqrt(0.2),
        order="cyclic",
        max_iterations=400,
        trace_every=100,
    )
    assert run.x == pytest.approx(centers.mean(0), abs=0.2)
    assert {0, 1, 2, 3, None} == set(seen)
    stepwise = [batch for batch in seen if batch is not None]
    assert stepwise[:8] == [0, 1, 2, 3, 0, 1, 2, 3]


def test_trace_and_stops():
    problem = quadratic(np.ones(2))
    run = optim.descend(problem, [0.0, 0.0], 0.1, max_iterations=5, trace=True)
    assert [line.iteration for line in run.trace] == [0, 1, 2, 3, 4, 5]
    assert run.trace[0].f == 1 and list(run.trace[0].x) == [0, 0]
    seen = []
    stopped = optim.descend(
        problem, [0.0, 0.0], 0.1, trace=lambda line: seen.append(line) or line.iteration == 3
    )
    assert stopped.stop == "callback" and len(seen) == 4
    near = optim.descend(problem, [0.0, 0.0], 0.5, gradient_tolerance=1e-3)
    assert near.stop == "gradient" and near.gradient_norm <= 1e-3
    with pytest.warns(submod.AccuracyWarning, match="descend"):
        optim.descend(problem, [0.0, 0.0], 1e-3, f_star=0.0, tolerance=1e-9, max_iterations=3)
    decayed = optim.descend(problem, [0.0, 0.0], 0.5, weight_decay=1.0, max_iterations=200)
    assert decayed.x == pytest.approx([0.5, 0.5])


def test_points_can_be_changed():
    def subgradient(x):
        x *= 2
        return (x**2).sum() / 8, x / 2

    problem = optim.Problem(2, subgradient)
    found = optim.descend(problem, [1.0, 2.0], 0.1, max_iterations=1, trace=True)
    assert np.allclose(found.x, [0.9, 1.8])
    assert all(line.x.flags.writeable for line in found.trace)


def test_errors():
    def broken(x):
        raise ZeroDivisionError("mine")

    with pytest.raises(ZeroDivisionError, match="mine"):
        optim.descend(optim.Problem(2, broken), [0.0, 0.0], 0.1)
    with pytest.raises(ZeroDivisionError, match="mine"):
        optim.descend(quadratic(np.ones(2)), [0.0, 0.0], 0.1, trace=broken)
    with pytest.raises(submod.CallbackError):
        optim.descend(optim.Problem(2, lambda x: (np.nan, x)), [0.0, 0.0], 0.1)
    with pytest.raises(ValueError, match="shape"):
        optim.descend(optim.Problem(2, lambda x: (0.0, [1.0])), [0.0, 0.0], 0.1)
    with pytest.raises(ValueError, match="shape"):
        optim.descend(quadratic(np.ones(2)), [0.0], 0.1)
    with pytest.raises(submod.InvalidArgumentError):
        optim.bundle(optim.nu_problem(1.0), [1.0, 1.0])
    with pytest.raises(submod.InvalidArgumentError):
        optim.fista(quadratic(np.ones(2)), [0.0, 0.0])
    with pytest.raises(TypeError, match="iterations"):
        optim.fista(optim.nu_problem(1.0), [0.0, 0.0], iterations=3)
    with pytest.raises(ValueError, match="direction"):
        optim.descend(quadratic(np.ones(2)), [0.0, 0.0], 0.1, direction="up")
    with pytest.raises(submod.InvalidArgumentError):
        optim.descend(quadratic(np.ones(2)), [0.0, 0.0], 0.1, step=optim.Momentum(2.0))
    for rule in (
        optim.Averaged(optim.GD(), power=-1),
        optim.Averaged(optim.Momentum(2.0)),
        optim.AdaGrad(-1),
        optim.AdaGrad(np.nan),
    ):
        with pytest.raises(submod.InvalidArgumentError):
            optim.descend(quadratic(np.ones(2)), [0.0, 0.0], 0.1, step=rule)


def hinges(center):
    """The mean over k of |x - center_k|_1, with everything that solvers ask for."""
    m, n = center.shape

    def subgradient(x, k):
        c = center if k is None else center[k : k + 1]
        return np.abs(x - c).sum() / len(c), np.sign(x - c).mean(axis=0)

    def prox(x, lam, k):
        c = center[0] if k is None else center[k]
        return c + np.sign(x - c) * np.maximum(np.abs(x - c) - 1 / lam, 0)

    return optim.Problem(n, subgradient, prox=prox, batches=m)


def test_bcfw():
    """Its gap closes, around the minimum that the bundle method finds."""
    problem = hinges(RNG.normal(size=(5, 3)))
    best = optim.bundle(problem, np.zeros(3), weight_decay=0.5, tolerance=1e-9)
    for order in ("full", "cyclic", "shuffled", "random"):
        found = optim.bcfw(
            problem, np.ones(3), weight_decay=0.5, order=order, tolerance=1e-3, max_iterations=20000
        )
        assert found.stop == "target" and found.gap <= 1e-3
        assert found.lower_bound <= best.f + 1e-9 <= found.f + 2e-9
    with pytest.raises(submod.SubmodError):
        optim.bcfw(problem, np.ones(3), weight_decay=0)


def test_smoothed():
    """The envelope of |x|_1 is Huber's function; exceptions come through it."""
    problem = optim.Problem(
        3,
        lambda x: (np.abs(x).sum(), np.sign(x)),
        prox=lambda x, lam: np.sign(x) * np.maximum(np.abs(x) - 1 / lam, 0),
    )
    found = optim.fista(
        optim.smoothed(problem, 4.0), [2.0, 0.1, 0.0], lipschitz=4, max_iterations=0
    )
    assert found.f == pytest.approx(2 - 1 / 8 + 4 * 0.01 / 2)

    def fails(x, lam):
        raise ZeroDivisionError

    broken = optim.smoothed(optim.Problem(1, lambda x: (0.0, x), prox=fails), 1.0)
    with pytest.raises(ZeroDivisionError):
        optim.fista(broken, [1.0])


def test_splitting():
    """Chambolle-Pock, against the bundle method on the same function."""
    A = RNG.normal(size=(4, 2))
    f = optim.max_affine(np.vstack([np.eye(4), -np.eye(4)]), RNG.normal(size=8))
    g = optim.Problem(
        2,
        lambda x: (np.abs(x).sum() / 5, np.sign(x) / 5),
        prox=lambda x, lam: np.sign(x) * np.maximum(np.abs(x) - 0.2 / lam, 0),
    )
    for part in (None, g):
        whole = optim.composed(f, A, part)
        best = optim.bundle(whole, np.zeros(2), weight_decay=0.1, tolerance=1e-10)
        found = optim.primal_dual(
            f, A, [1.0, 1.0], part, weight_decay=0.1, max_iterations=50000, tolerance=1e-6
        )
        assert found.gap <= 1e-6 and found.f == pytest.approx(best.f, abs=2e-6)
        assert found.lower_bound <= best.f + 1e-9 and np.isfinite(found.dual_residual)
        assert found.proxes >= found.iterations
        with pytest.raises(TypeError):
            optim.primal_dual(f, A, [1.0, 1.0], rho=3)
    with pytest.raises(submod.SubmodError):
        optim.primal_dual(f, A.T, [1.0] * 4)


def test_weight_of_the_prox():
    """lam is not 1/eta unless it is left out: a step eta lam (x - u), u the prox of |x| at x."""
    problem = optim.Problem(
        1,
        lambda x: (abs(x[0]), np.sign(x)),
        prox=lambda x, lam: np.sign(x) * np.maximum(abs(x) - 1 / lam, 0),
    )
    run = optim.descend(problem, [0.3], 0.05, direction="prox", lam=2.0, max_iterations=1)
    assert run.x == pytest.approx([0.3 - 0.05 * 2.0 * 0.3])  # the prox is 0: 1/lam > 0.3
    best = optim.bundle(problem, [0.3], radius=1.0, lam=4.0, trace=True)
    assert best.trace[0].step == pytest.approx(1 / 4) and best.gap <= 1e-6
