"""A callback that raises ends the call at once, and its exception reaches the caller."""

import threading
import warnings

import numpy as np
import pytest

import submod
from submod import Function
from submod._prox import PROX_METHODS, SFM_METHODS

N = 12
RNG = np.random.default_rng(11)
X = RNG.normal(size=N)
PATH = [(i, i + 1) for i in range(N - 1)]


class Stop(Exception):
    pass


class Raises:
    """Raises at the given call, and counts the calls that come after."""

    def __init__(self, at):
        self.at, self.calls = at, 0

    def tick(self):
        self.calls += 1
        if self.calls >= self.at:
            raise Stop

    def value(self, A):
        self.tick()
        return float(np.sqrt(len(A)))

    def gains(self, A, order):
        self.tick()
        roots = np.sqrt(np.arange(len(A), len(A) + len(order) + 1))
        return np.diff(roots)

    @property
    def after(self):
        return max(self.calls - self.at, 0)


FORMS = {
    "itself": lambda f: f,
    "and a cut": lambda f: f + Function.cut(N, PATH),
    "twice": lambda f: f + 2 * f,
    "modular": lambda f: f + X,
    "embedded": lambda f: f.embed(N + 3, range(N)),
    "restricted": lambda f: f.restrict(range(N - 1)),
}
USES = {
    **{
        f"prox {m}": lambda f, m=m: f.prox(X[: f.n] if f.n <= N else np.ones(f.n), 1.0, m)
        for m in PROX_METHODS
    },
    **{f"minimize {m}": lambda f, m=m: f.minimize(m) for m in SFM_METHODS},
    **{f"maximize {m}": lambda f, m=m: f.maximize(4, m) for m in ("lazy", "plain", "stochastic")},
    "prox_path": lambda f: f.prox_path(np.ones(f.n), [1.0, 2.0]),
    "level_sets": lambda f: f.level_sets(np.ones(f.n), 1.0, [0.0, 1.0]),
    "lovasz": lambda f: f.lovasz(np.arange(f.n)),
    "chain": lambda f: f.chain(np.arange(f.n)),
    "check": lambda f: f.check(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("check", [False, True])
def test_functions(form, use, check):
    raised = 0
    for gains in (False, True):
        for at in (1, 2, 5, 14, 40):
            callback = Raises(at)
            f = Function.custom(N, callback.value, callback.gains if gains else None, check=check)
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    USES[use](FORMS[form](f))
            except Stop:
                raised += 1
            except submod.UnsupportedError:  # the method does not support it
                pass
            assert callback.after <= check  # exceptions end the check, then the call
    assert raised or use.startswith(("prox", "minimize"))


def problem(callback):
    def subgradient(x):
        callback.tick()
        return np.abs(x).sum(), np.sign(x)

    return submod.optim.Problem(3, subgradient)


@pytest.mark.parametrize("at", [1, 3])
def test_problems_and_traces(at):
    x, quiet = np.array([3.0, 1.0, -2.0]), Raises(10**9)
    for run in (
        lambda p, **o: submod.optim.descend(p, x, 0.01, max_iterations=50, **o),
        lambda p, **o: submod.optim.bundle(p, x, weight_decay=0.1, max_iterations=50, **o),
    ):
        callback = Raises(at)
        with pytest.raises(Stop):
            run(problem(callback))
        assert callback.after == 0
        trace = Raises(at)
        with pytest.raises(Stop):
            run(problem(quiet), trace=lambda line, trace=trace: trace.tick())
        assert trace.after == 0


def kernel(n):
    points = RNG.normal(size=(n, 4))
    return np.exp(-((points[:, None] - points[None]) ** 2).sum(2)) + 1e-3 * np.eye(n)


@pytest.mark.parametrize("method", ["min_norm", "sum"])
@pytest.mark.parametrize("in_thread", [False, True])
def test_progress(method, in_thread):
    """After the exception, at most one more pass over the functions evaluates the result."""
    n = 40
    x, counted = 10 * RNG.normal(size=n), Raises(10**9)
    smooth = Function.logdet(kernel(n))
    found = []

    def ask():
        for f in (smooth + Function.sqrt(n), smooth + Function.custom(n, counted.value)):
            told, calls = Raises(2), []

            def progress(iterations, gap, told=told, calls=calls):
                calls[:] = [counted.calls]
                told.tick()

            options = {"tolerance": 0, "max_iterations": 3000}
            try:
                f.prox(x, 1e-2, method, progress=progress, **options)
            except Stop:
                found.append((told.after, counted.calls - calls[0]))
            # Nothing is left behind: the next call is not cancelled.
            again = f.prox(x, 1e-2, "min_norm", tolerance=0, max_iterations=5)
            found.append(again.iterations)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if in_thread:
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
        else:
            ask()
    (after, _), iterations, (after_too, calls), iterations_too = found
    assert after == after_too == 0 and iterations == iterations_too == 5
    assert calls <= 4 * (n + 1)


def test_progress_within_another_call():
    """Each call resets its own cancel flag."""
    f = Function.logdet(kernel(20)) + Function.custom(20, lambda A: float(np.sqrt(len(A))))
    x = 10 * RNG.normal(size=20)
    seen = []

    def inner(iterations, gap):
        raise Stop

    def outer(iterations, gap):
        seen.append(iterations)
        with pytest.raises(Stop):
            f.prox(x, 1e-2, "min_norm", tolerance=0, progress=inner)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        f.prox(x, 1e-2, "min_norm", tolerance=0, max_iterations=6, progress=outer)
    assert len(seen) > 3
