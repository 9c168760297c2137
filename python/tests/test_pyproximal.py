"""Lovász extensions inside the solvers of PyProximal, against the prox itself."""

import numpy as np
import pytest

import submod
from submod import Function

pyproximal = pytest.importorskip("pyproximal", reason="PyProximal is not installed")
pylops = pytest.importorskip("pylops")

from pyproximal.optimization.primal import ADMM, LinearizedADMM, ProximalGradient  # noqa: E402
from pyproximal.optimization.primaldual import PrimalDual  # noqa: E402

from submod.pyproximal import LovaszExtension  # noqa: E402

N = 12
RNG = np.random.default_rng(41)
EDGES = [(i, i + 1) for i in range(N - 1)] + [(0, 5), (3, 9)]
FUNCTIONS = {
    "jaccard": Function.jaccard(RNG.random(N) < 0.4),
    "cut": Function.cut(N, EDGES, RNG.random(len(EDGES))),
    "chain": Function.cut(N, EDGES[: N - 1]),
    "sqrt": Function.sqrt(N),
    "sum": Function.jaccard(RNG.random(N) < 0.4) + 0.3 * Function.cut(N, EDGES),
}


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("sigma", [1.0, 0.3])
def test_prox_and_its_dual(name, sigma):
    f = FUNCTIONS[name]
    operator, x, tau = LovaszExtension(f, sigma), RNG.normal(size=N), 0.6
    u = operator.prox(x, tau)

    def objective(v):
        return operator(v) + ((v - x) ** 2).sum() / (2 * tau)

    assert operator(x) == pytest.approx(sigma * f.lovasz(x)[0])
    for _ in range(30):
        assert objective(u + RNG.normal(size=N) * 10.0 ** RNG.uniform(-4, 0)) >= objective(u) - 1e-9
    # Moreau, both ways, by PyProximal's own formulas.
    assert operator._prox_moreau(x, tau) == pytest.approx(u, abs=1e-7)
    dual = operator.proxdual(x, tau)
    assert operator._proxdual_moreau(x, tau) == pytest.approx(dual, abs=1e-7)
    # The conjugate is the indicator of sigma B(F): the dual prox is in it, and no point of it is
    # nearer to x.
    assert dual.sum() == pytest.approx(sigma * f(range(N)), abs=1e-9)
    for _ in range(30):
        _, g = f.lovasz(RNG.normal(size=N))
        assert (x - dual) @ (sigma * g - dual) <= 1e-7


def test_hinge():
    f, x = FUNCTIONS["jaccard"], RNG.normal(size=N)
    operator = LovaszExtension(f, 0.5, hinge=True)
    assert operator(x) == pytest.approx(0.5 * f.lovasz(np.maximum(x, 0))[0])
    assert operator.prox(x, 2.0) == pytest.approx(f.prox(x, 1.0, hinge=True).u)
    assert operator._proxdual_moreau(x, 2.0) == pytest.approx(operator.proxdual(x, 2.0), abs=1e-9)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_inside_solvers(name):
    """min over x of |x - y|^2 / 2 + 0.5 f(x), which is the prox at y."""
    f, y = FUNCTIONS[name], RNG.normal(size=N)
    expected = f.prox(y, 2.0).u
    data, prior = pyproximal.L2(b=y), LovaszExtension(f, 0.5)
    start, same = np.zeros(N), pylops.Identity(N)
    found = {
        "ADMM": ADMM(data, prior, x0=start, tau=1.0, niter=200)[0],
        "LinearizedADMM": LinearizedADMM(data, prior, same, x0=start, tau=0.9, mu=0.9, niter=300)[
            0
        ],
        "ProximalGradient": ProximalGradient(data, prior, x0=start, tau=0.9, niter=60),
        "PrimalDual": PrimalDual(data, prior, same, x0=start, tau=0.9, mu=0.9, niter=300),
    }
    for solver, x in found.items():
        assert np.asarray(x) == pytest.approx(expected, abs=1e-6), solver


def test_with_an_operator_in_between():
    """Deblurring with total variation on a chain: two solvers of one problem agree."""
    blur = pylops.Smoothing1D(3, N)
    y = np.repeat([0.0, 1.0, 0.3], N // 3) + 0.05 * RNG.normal(size=N)
    prior = LovaszExtension(FUNCTIONS["chain"], 0.05)
    data = pyproximal.L2(Op=blur, b=y)
    gradient = ProximalGradient(data, prior, x0=np.zeros(N), tau=0.9, niter=3000)
    admm, _ = ADMM(data, prior, x0=np.zeros(N), tau=1.0, niter=500)
    assert gradient == pytest.approx(admm, abs=1e-4)


def test_shapes_and_what_is_refused():
    f = FUNCTIONS["sqrt"]
    x = RNG.normal(size=(3, 4))
    assert LovaszExtension(f).prox(x, 1.0).shape == (3, 4)
    assert LovaszExtension(f).proxdual(x, 1.0).shape == (3, 4)
    assert LovaszExtension(f, method="min_norm", tolerance=1e-12).prox(x, 1.0).ravel() == (
        pytest.approx(f.prox(x.ravel(), 1.0).u, abs=1e-6)
    )
    with pytest.raises(ValueError, match="12 numbers are needed"):
        LovaszExtension(f).prox(np.zeros(5), 1.0)
    for wrong in (0, -1.0, np.inf, np.nan):
        with pytest.raises(submod.InvalidArgumentError, match="sigma"):
            LovaszExtension(f, wrong)
        with pytest.raises(submod.InvalidArgumentError, match="tau"):
            LovaszExtension(f).prox(np.zeros(N), wrong)
    with pytest.raises(TypeError, match="tau"):
        LovaszExtension(f).prox(np.zeros(N), np.ones(N))
