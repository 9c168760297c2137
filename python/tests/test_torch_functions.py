"""lovasz and prox of any set function, as PyTorch's autograd, compiler and transforms see them."""

import gc

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod.torch import _function_ops  # noqa: E402

GENERATOR = torch.Generator().manual_seed(5)
RING = [(i, (i + 1) % 6) for i in range(6)]
FUNCTIONS = {
    "jaccard": submod.Function.jaccard([1, 0, 1, 0, 0, 1]),
    "cut": submod.Function.cut(6, RING, np.arange(1.0, 7.0)),
    "sum": submod.Function.sqrt(6) + 0.5 * submod.Function.cut(6, RING) + np.ones(6),
    "custom": submod.Function.custom(6, lambda S: np.log1p(np.sum(S) + len(S))),
}
of_themselves = pytest.mark.filterwarnings("ignore")


def point(*shape, kind=torch.float64):
    return torch.randn(shape, generator=GENERATOR, dtype=torch.float64).to(kind)


def leaf(*shape, kind=torch.float64):
    return point(*shape, kind=kind).requires_grad_(True)


def by_sets(f, x):
    """The extension by its definition: the values of F on the level sets."""
    order = np.argsort(-x, kind="stable")
    values = [f(order[:k]) for k in range(len(x) + 1)]
    return float(np.dot(x[order], np.diff(values)))


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shape", [(6,), (4, 6), (2, 3, 6)])
def test_lovasz_is_the_extension(name, shape):
    f, x = FUNCTIONS[name], leaf(*shape)
    found = lovasz.lovasz(f, x)
    expected = [by_sets(f, row) for row in x.detach().numpy().reshape(-1, 6)]
    assert found.shape == shape[:-1] and found.dtype == torch.float64
    assert np.allclose(found.detach().numpy().ravel(), expected, atol=1e-12)
    torch.autograd.gradcheck(lambda x: lovasz.lovasz(f, x), x)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("hinge", [False, True])
def test_prox_and_its_derivatives(name, hinge):
    """Finite differences, by x and by a lam for each row; the values are those of Function.prox."""
    f, x = FUNCTIONS[name], leaf(3, 6)
    if hinge and name == "cut":
        pytest.skip("the hinge is for monotone functions")
    lam = (1 + torch.rand(3, generator=GENERATOR, dtype=torch.float64)).requires_grad_(True)
    options = {"hinge": hinge, "tolerance": 1e-14 if name in ("sum", "custom") else None}

    def function(x, lam):
        return lovasz.prox(f, x, lam, **options)

    found = function(x, lam)
    for row, number, u in zip(x.detach(), lam.detach(), found.detach()):
        assert np.array_equal(f.prox(row.numpy(), number.item(), **options).u, u.numpy())
    torch.autograd.gradcheck(function, (x, lam), eps=1e-5, atol=1e-4)


@pytest.mark.parametrize("hinge", [False, True])
def test_backward_is_the_product_of_the_library(hinge):
    """submod_prox_vjp, with blocks of all sizes and equal entries of x."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        f = submod.Function.jaccard(rng.integers(0, 2, 40)) * 5
        x, v = np.round(rng.normal(size=40), 1), rng.normal(size=40)
        lam = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
        given = torch.tensor(x, requires_grad=True)
        lovasz.prox(f, given, lam, hinge=hinge).backward(torch.from_numpy(v))
        expected = f.prox(x, 0.7, hinge=hinge).vjp(v)
        assert np.allclose(given.grad.numpy(), expected.by_x, rtol=1e-13, atol=1e-13)
        assert lam.grad.item() == pytest.approx(expected.by_lam, rel=1e-11, abs=1e-12)


def test_lam_expands():
    f, x = FUNCTIONS["jaccard"], leaf(2, 3, 6)
    expected = torch.stack([lovasz.prox(f, x[i], i + 1) for i in range(2)])
    lam = torch.tensor([[1.0], [2.0]], requires_grad=True)
    found = lovasz.prox(f, x, lam)
    assert torch.equal(found, expected)
    found.sum().backward()
    assert lam.grad.shape == (2, 1) and lam.grad.dtype == torch.float32
    whole = torch.tensor(2.0, requires_grad=True)
    lovasz.prox(f, x, whole).sum().backward()
    assert whole.grad.shape == ()


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32])
def test_types(kind):
    """Computed in double precision, whatever comes in; a layer in autocast sends halves."""
    f, x = FUNCTIONS["cut"], leaf(2, 6, kind=kind)
    for function in (lambda x: lovasz.lovasz(f, x), lambda x: lovasz.prox(f, x, 2.0)):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            found = function(x)
        assert found.dtype == torch.float32
        assert torch.equal(found, function(x.detach().double()).float())
        (gradient,) = torch.autograd.grad(found.sum(), x)
        assert gradient.dtype == kind and gradient.isfinite().all()


def test_no_rows():
    for function in (lovasz.lovasz, lambda f, x: lovasz.prox(f, x, 1.0)):
        x = leaf(0, 3, 6)
        found = function(FUNCTIONS["cut"], x)
        found.sum().backward()
        assert found.numel() == 0 and x.grad.shape == x.shape


@of_themselves
@pytest.mark.parametrize("need", [True, False])
def test_opcheck(need):
    f, x = FUNCTIONS["cut"], leaf(2, 6) if need else point(2, 6)
    lam = torch.ones(2, dtype=torch.float64, requires_grad=need)
    torch.library.opcheck(_function_ops.extension, (x, f._token, need))
    how = (f._token, "auto", False, None, need)
    torch.library.opcheck(_function_ops.prox, (x, lam, *how))


@of_themselves
def test_compile():
    """One graph for all functions; another function is another number in it."""
    torch._dynamo.reset()

    def step(f, x, lam):
        return lovasz.prox(f, 2 * x.relu(), lam).square().sum() + lovasz.lovasz(f, x).sum()

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    x, lam = leaf(2, 6), torch.tensor(1.5, requires_grad=True)
    for name in ("jaccard", "cut", "sum", "jaccard"):
        f = FUNCTIONS[name]
        found = torch.autograd.grad(compiled(f, x, lam), (x, lam))
        expected = torch.autograd.grad(step(f, x, lam), (x, lam))
        assert all(map(torch.equal, found, expected))


def test_transforms():
    """torch.func: rows of vmap are rows; Jacobians by vmap over backward."""
    f, x = FUNCTIONS["cut"], point(3, 6)
    assert torch.equal(
        torch.func.vmap(lambda x: lovasz.lovasz(f, x), in_dims=1)(x.T), lovasz.lovasz(f, x)
    )
    lams = torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64)
    found = torch.func.vmap(lambda x, lam: lovasz.prox(f, x, lam))(x, lams)
    assert torch.equal(found, lovasz.prox(f, x, lams))
    assert torch.equal(
        torch.func.vmap(lambda lam: lovasz.prox(f, x[0], lam))(lams),
        torch.stack([lovasz.prox(f, x[0], lam) for lam in lams]),
    )
    jacobian = torch.func.jacrev(lambda x: lovasz.prox(f, x, 2.0))(x[0])
    assert torch.allclose(jacobian, jacobian.T) and torch.allclose(
        jacobian, jacobian @ jacobian, atol=1e-12
    )
    slope = torch.func.grad(lambda x: lovasz.lovasz(f, x))(x[0])
    assert np.array_equal(slope.numpy(), f.lovasz(x[0].numpy())[1])


@pytest.mark.parametrize("which", ["lovasz", "prox"])
def test_refusals(which):
    f, x = FUNCTIONS["cut"], leaf(2, 6)
    function = lovasz.lovasz if which == "lovasz" else lambda f, x: lovasz.prox(f, x, 1.0)
    with pytest.raises(RuntimeError, match=r"forward-mode.*backward only"):
        torch.func.jvp(lambda x: function(f, x), (x.detach(),), (x.detach(),))
    (slope,) = torch.autograd.grad(function(f, x).square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match=r"double backward.*no second derivative"):
        slope.sum().backward()
    with pytest.raises(ValueError, match=r"shape \(2, 5\).*last dimension must be 6"):
        function(f, x[:, 1:])
    with pytest.raises(submod.NonFiniteError, match=r"\[1\]\[3\] is nan"):
        function(f, torch.where(torch.arange(12).reshape(2, 6) == 9, torch.nan, x))
    with pytest.raises(TypeError, match=r"a submod\.Function is needed, this is a string"):
        function("cut", x)
    with pytest.raises(TypeError, match="a tensor is needed"):
        function(f, x.detach().numpy())
    with pytest.raises(TypeError, match="floating-point"):
        function(f, torch.zeros(2, 6, dtype=torch.int64))


def test_bad_lam():
    f, x = FUNCTIONS["cut"], leaf(2, 6)
    for lam in (0.0, -1.0, float("nan"), float("inf")):
        for given in (lam, torch.tensor(lam)):
            with pytest.raises(ValueError, match="lam"):
                lovasz.prox(f, x, given)
    for shape in ((3,), (2, 2), (1, 2, 1)):
        with pytest.raises(ValueError, match=r"it must expand to \(2,\)"):
            lovasz.prox(f, x, torch.ones(shape))
    with pytest.raises(ValueError, match="method"):
        lovasz.prox(f, x, 1.0, method="magic")
    for wrong in (0.0, -1.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match=r"lam\[1\] = .*; it must be finite and > 0"):
            lovasz.prox(f, x, torch.tensor([1.0, wrong]))
        with pytest.raises(ValueError, match=r"lam = .*; it must be finite and > 0"):
            lovasz.prox(f, x[0], torch.tensor(wrong))


def test_tokens_do_not_keep_functions():
    """Backward, and backward again, works without the function's owner; when the graph is gone, an
    operator with its token says what is missing."""
    f, x = submod.Function.sqrt(6), leaf(2, 6)
    token = f._token
    losses = lovasz.lovasz(f, x).sum() + lovasz.prox(f, x, 1.0).sum()
    del f
    gc.collect()
    losses.backward(retain_graph=True)
    first = x.grad.clone()
    losses.backward()
    assert torch.equal(x.grad, 2 * first) and first.abs().sum() > 0
    del losses
    gc.collect()
    with pytest.raises(ReferenceError, match="gone; keep a reference"):
        _function_ops.extension(x, token, False)
