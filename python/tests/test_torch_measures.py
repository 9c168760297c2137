"""measure=, pixel_weights= and reduction= of the torch losses: against the definition, written out
in PyTorch's operations, and as autograd, compilers, autocast and transforms see them."""

import copy
import functools

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod._options import LossOptions  # noqa: E402
from submod.torch import _dataset_ops, _flat, _ops  # noqa: E402

GENERATOR = torch.Generator().manual_seed(3)
ENGINES = ["exact", "histogram"]
of_themselves = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def same_numbers():
    GENERATOR.manual_seed(3)


def mine(a, b, P, N):
    """Submodular, increasing, and nothing that is built in."""
    return (1.5 * a + 0.25 * b) / (P + 0.5 * a + 0.25 * b) + (a + b) / (P + N)


FORMULAS = {
    "jaccard": lambda a, b, P, N: (a + b) / (P + b),
    "hamming": lambda a, b, P, N: (a + b) / (P + N),
    "tversky": lambda a, b, P, N: (2 * a + 0.5 * b) / (P + a + 0.5 * b),
    "custom": mine,
}
MEASURES = {
    "jaccard": "jaccard",
    "hamming": "hamming",
    "tversky": submod.Tversky(alpha=0.5, beta=2),
    "custom": mine,
}


def extension(F, errors, foreground, weights):
    """By a sort: what each pixel adds to F of the weights ranked so far."""
    ranked, order = torch.sort(errors, descending=True)
    w, truth = weights[order], foreground[order]
    a, b = (w * truth).cumsum(0), (w * ~truth).cumsum(0)
    values = F(a, b, a[-1], b[-1])
    gains = torch.cat([values[:1], values[1:] - values[:-1]])
    return ranked @ gains.detach()


def expected_losses(name, F, scores, labels, weights):
    """Of each image, for the softmax and the sigmoid with classes that are all there."""
    losses = []
    for x, y, w in zip(scores.double(), labels, weights.double().flatten(1)):
        p = {"softmax": x.softmax(0), "sigmoid": x.sigmoid(), "hinge": x}[name].flatten(1)
        terms = []
        for c in range(len(p)):
            truth = (y == c if name == "softmax" else y[c] == 1).flatten()
            error = torch.where(truth, 1 - p[c], (1 if name == "hinge" else 0) + p[c]).relu()
            terms.append(extension(F, error, truth, w))
        losses.append(torch.stack(terms).mean())
    return torch.stack(losses)


FUNCTIONS = {
    "softmax": lovasz.lovasz_softmax,
    "sigmoid": lovasz.lovasz_sigmoid,
    "hinge": lambda s, y, **options: lovasz.lovasz_hinge(s[:, 0], y[:, 0], **options),
}


def case(name="softmax", shape=(3, 3, 7, 6)):
    shape = (shape[0], 1, *shape[2:]) if name == "hinge" else shape
    scores = torch.randn(shape, generator=GENERATOR)
    labels = torch.randint(2, shape, generator=GENERATOR)
    if name == "softmax":
        labels = torch.randint(shape[1], (shape[0], *shape[2:]), generator=GENERATOR)
    weights = torch.randint(0, 4, (shape[0], *shape[2:]), generator=GENERATOR) / 2
    return scores, labels, weights


def gradient_of(loss, leaf, factors):
    (gradient,) = torch.autograd.grad(loss, leaf, factors.to(loss.dtype), retain_graph=True)
    return gradient


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weighted", [False, True])
def test_against_the_definition(name, measure, weighted, engine):
    """Losses of images, each of whose gradients has a factor of its own."""
    scores, labels, weights = case(name)
    weights = weights if weighted else torch.ones(weights.shape)
    leaf, other = (scores.clone().requires_grad_(True) for _ in "ab")
    options = {"measure": MEASURES[measure], "engine": engine, "delta": 2.0**-18}
    options |= {"pixel_weights": weights} if weighted else {}
    options |= {"per_image": True, "reduction": "none"}
    found = FUNCTIONS[name](leaf, labels, **options)
    expected = expected_losses(name, FORMULAS[measure], other, labels, weights)
    off = 1e-6 if engine == "exact" else 5e-6
    assert found.shape == (3,) and found.dtype == torch.float32
    assert torch.allclose(found.double(), expected, atol=off)
    factors = torch.tensor([1.0, -2.0, 0.5])
    slope = gradient_of(expected, other, factors)
    gradient = gradient_of(found, leaf, factors)
    assert torch.allclose(gradient, slope, rtol=1e-4, atol=1e-4 * slope.abs().max().item())


@pytest.mark.parametrize("per_image", [True, False])
@pytest.mark.parametrize("name", ["softmax", "sigmoid", "hinge"])
def test_reductions(name, per_image):
    """Sum and mean of what "none" gives, gradients too; a batch that is one group is one loss."""
    scores, labels, weights = case(name)
    options = {"per_image": per_image, "pixel_weights": weights}
    leaf = scores.requires_grad_(True)
    none = FUNCTIONS[name](leaf, labels, reduction="none", **options)
    assert none.shape == ((3,) if per_image else (1,))
    for reduction, expected in (("sum", none.sum()), ("mean", none.mean())):
        found = FUNCTIONS[name](leaf, labels, reduction=reduction, **options)
        assert torch.allclose(found, expected) and found.shape == ()
        slopes = (gradient_of(x, leaf, torch.ones(())) for x in (found, expected))
        assert torch.allclose(*slopes, atol=1e-9)
    for reduction, value in (("sum", 0), ("mean", 0), ("none", None)):
        empty = FUNCTIONS[name](scores[:0], labels[:0], reduction=reduction, per_image=True)
        assert empty.shape == (0,) if value is None else empty == 0


def test_images_of_a_reduction_are_apart():
    """The gradient of one image's loss is 0 elsewhere, and its loss is that of the image alone."""
    scores, labels, weights = case()
    leaf = scores.requires_grad_(True)
    options = {"per_image": True, "reduction": "none"}
    losses = lovasz.lovasz_softmax(leaf, labels, pixel_weights=weights, **options)
    (gradient,) = torch.autograd.grad(losses[1], leaf)
    assert gradient[[0, 2]].eq(0).all() and gradient[1].abs().sum() > 0
    alone = lovasz.lovasz_softmax(leaf[1:2], labels[1:2], pixel_weights=weights[1:2])
    (slope,) = torch.autograd.grad(alone, leaf)
    assert torch.allclose(losses[1], alone) and torch.allclose(gradient, slope, atol=1e-8)


def test_hamming_is_the_mean_error():
    scores, labels, _ = case()
    p = scores.softmax(1)
    right = p.gather(1, labels[:, None])[:, 0]
    loss = lovasz.lovasz_softmax(scores, labels, classes="all", measure="hamming")
    assert loss.item() == pytest.approx(2 * (1 - right).mean().item() / 3, abs=1e-6)


def test_weights_expand_and_are_of_any_real_type():
    scores, labels, weights = case()
    column = weights[:, :, :1]
    expected = lovasz.lovasz_softmax(scores, labels, pixel_weights=column.expand(labels.shape))
    for given in (column, column.double(), (2 * column).to(torch.uint8), column[:, None]):
        found = lovasz.lovasz_softmax(scores, labels, pixel_weights=given)
        assert found.item() == pytest.approx(expected.item(), rel=1e-6)
    strided = torch.stack([weights, -weights], -1)[..., 0].transpose(1, 2).contiguous()
    found = lovasz.lovasz_softmax(scores, labels, pixel_weights=strided.transpose(1, 2))
    assert found == lovasz.lovasz_softmax(scores, labels, pixel_weights=weights)
    some = (scores[:, :, 0, 0], labels[:, 0, 0])  # a list of pixels
    assert lovasz.lovasz_softmax(*some, pixel_weights=weights[:, 0, 0]).isfinite()


@pytest.mark.parametrize("name", ["rahman_wang", "soft_dice", "soft_jaccard"])
def test_baselines(name):
    """Weights as copies of pixels; losses of images, with factors of their own."""
    binary = name == "rahman_wang"
    scores, labels, _ = case("hinge" if binary else "softmax")
    scores, labels = (scores[:, 0], labels[:, 0]) if binary else (scores, labels)
    weights = torch.randint(0, 3, (3, 7, 6), generator=GENERATOR)
    function = getattr(lovasz, name)
    leaf = scores.requires_grad_(True)
    options = {"per_image": True, "reduction": "none"}
    found = function(leaf, labels, pixel_weights=weights, **options)
    for i in range(3):
        times = weights[i].flatten()
        flat = leaf[i].flatten(-2).repeat_interleave(times, -1)[None]
        truth = labels[i].flatten().repeat_interleave(times)[None]
        expected = function(flat, truth, per_image=True)
        assert found[i].item() == pytest.approx(expected.item(), rel=1e-5)
        slope = torch.autograd.grad(expected, leaf)[0]
        gradient = torch.autograd.grad(found[i], leaf, retain_graph=True)[0]
        assert torch.allclose(gradient, slope, rtol=1e-4, atol=1e-7)
    whole = function(leaf, labels, pixel_weights=weights, per_image=True, reduction="sum")
    assert whole.item() == pytest.approx(found.sum().item(), rel=1e-6)
    with pytest.raises(TypeError, match="measure"):
        function(leaf, labels, measure="hamming")


def test_prox_lovasz_hinge():
    scores, labels, _ = case("hinge")
    leaf = scores[:, 0].requires_grad_(True)
    options = {"measure": submod.Tversky(alpha=0.5, beta=2), "per_image": True}
    losses = lovasz.prox_lovasz_hinge(leaf, labels[:, 0], 0.7, reduction="none", **options)
    assert torch.equal(losses, lovasz.lovasz_hinge(leaf, labels[:, 0], reduction="none", **options))
    factors = torch.tensor([1.0, 2.0, 3.0])
    gradient = gradient_of(losses, leaf, factors)
    _, d = submod.prox_lovasz_hinge(leaf.detach().numpy(), labels[:, 0].numpy(), 0.7, **options)
    expected = torch.from_numpy(3 * d) * factors.view(3, 1, 1)
    assert torch.allclose(gradient, expected, rtol=1e-5)
    with pytest.raises(TypeError, match="pixel_weights"):
        lovasz.ProxLovaszHinge(0.7)(leaf, labels[:, 0], pixel_weights=torch.ones(3, 7, 6))


@pytest.mark.parametrize("measure", MEASURES)
def test_gradcheck(measure):
    """Piecewise linear in the scores, which are read as floats: steps of a hundredth, no ties."""
    order = torch.randperm(8, generator=GENERATOR)
    scores = torch.linspace(-0.9, 0.8, 8, dtype=torch.float64)[order].view(2, 4)
    labels = torch.tensor([[0, 1, 1, 0], [1, 0, 1, 0]])
    weights = torch.tensor([[1.0, 2, 0, 0.5], [1, 1, 3, 1]])

    def function(x):
        options = {"measure": MEASURES[measure], "pixel_weights": weights, "reduction": "none"}
        return lovasz.lovasz_hinge(x, labels, **options)

    torch.autograd.gradcheck(function, scores.requires_grad_(True), eps=1e-2, atol=1e-4)


# ---- machinery ----


@of_themselves
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("reduction", ["none", "sum"])
def test_opcheck(measure, reduction):
    scores, labels, weights = case()
    held = submod._tokens.Held(mine)
    options = LossOptions(measure=MEASURES[measure], reduction=reduction, per_image=True)
    flat = _flat.flat(options, held.token)
    inputs = (scores.requires_grad_(True), labels, weights, "lovasz_softmax", *flat, True)
    torch.library.opcheck(_ops.loss, inputs)


@of_themselves
def test_opcheck_dataset_with_weights():
    scores, labels, weights = case()
    options = _flat.flat(LossOptions(measure="hamming"))
    counting = (scores, labels, weights, 64, *options)
    torch.library.opcheck(_dataset_ops.dataset_counts, counting)
    counts, scale = _dataset_ops.dataset_counts(*counting), torch.ones((), dtype=torch.float64)
    inputs = (scores.requires_grad_(True), labels, weights, counts, scale, *options, True)
    torch.library.opcheck(_dataset_ops.dataset_loss, inputs)


@of_themselves
def test_compile():
    """In one graph: measures of all kinds, weights, losses of images. Another function, though of
    the same code, is another measure."""
    torch._dynamo.reset()

    def scaled(t):
        return lambda a, b, P, N: t * (a + b) / (P + b)

    def step(scores, labels, weights, measure):
        options = {"measure": measure, "pixel_weights": weights, "per_image": True}
        return lovasz.lovasz_softmax(scores / 2, labels, reduction="none", **options).square().sum()

    compiled = torch.compile(step, fullgraph=True, backend="aot_eager")
    scores, labels, weights = case()
    for measure in (scaled(1.0), scaled(2.0), submod.Tversky(alpha=1, beta=3), "hamming"):
        leaf, other = (scores.clone().requires_grad_(True) for _ in "ab")
        found = compiled(leaf, labels, weights, measure)
        expected = step(other, labels, weights, measure)
        (found + expected).backward()
        assert torch.equal(found, expected) and torch.allclose(leaf.grad, other.grad)


@of_themselves
def test_compiled_modules():
    torch._dynamo.reset()
    scores, labels, weights = case()
    module = lovasz.LovaszSoftmax(measure=mine, engine="histogram", reduction="sum", per_image=True)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    assert compiled(scores, labels, weights) == module(scores, labels, weights)
    dataset, other = (lovasz.DatasetLovasz(3, measure=mine) for _ in "ab")
    whole = torch.compile(dataset, fullgraph=True, backend="aot_eager")
    for _ in range(2):
        assert whole(scores, labels, weights) == other(scores, labels, weights)
    assert torch.equal(dataset.counts, other.counts)


def test_autocast():
    scores, labels, weights = case()
    model = torch.nn.Conv2d(3, 3, 1)
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(scores)
        options = {"measure": mine, "pixel_weights": weights.bfloat16(), "reduction": "none"}
        losses = lovasz.lovasz_softmax(logits, labels, per_image=True, **options)
    losses.sum().backward()
    assert logits.dtype == torch.bfloat16 and losses.dtype == torch.float32
    assert model.weight.grad.isfinite().all() and model.weight.grad.abs().sum() > 0


def test_transforms():
    """vmap takes one after the other, weights too; forward mode and second derivatives are refused
    in words."""
    scores, labels, weights = case()

    def function(s, y, w):
        return lovasz.lovasz_softmax(s[None], y[None], measure=mine, pixel_weights=w[None])

    found = torch.func.vmap(function)(scores, labels, weights)
    slopes = torch.func.vmap(torch.func.grad(function))(scores, labels, weights)
    for i in range(3):
        assert found[i] == function(scores[i], labels[i], weights[i])
        leaf = scores[i].clone().requires_grad_(True)
        function(leaf, labels[i], weights[i]).backward()
        assert torch.allclose(slopes[i], leaf.grad)
    one = functools.partial(function, y=labels[0], w=weights[0])
    with pytest.raises(RuntimeError, match="forward-mode"):
        torch.func.jvp(one, (scores[0],), (scores[0],))
    leaf = scores.requires_grad_(True)
    losses = lovasz.lovasz_softmax(leaf, labels, per_image=True, reduction="none")
    (slope,) = torch.autograd.grad(losses.sum(), leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        slope.sum().backward()


def test_backward_again_knows_the_measure():
    """Though nobody else does any more."""
    scores, labels, weights = case()
    leaf = scores.requires_grad_(True)
    loss = lovasz.lovasz_softmax(
        leaf, labels, measure=lambda a, b, P, N: mine(a, b, P, N), pixel_weights=weights
    )
    loss.backward(retain_graph=True)
    first = leaf.grad.clone()
    loss.backward()
    assert torch.equal(leaf.grad, 2 * first)


def test_modules():
    """Weights come with the batch; what is refused at all is refused at once; copies are whole."""
    scores, _, weights = case()
    module = lovasz.LovaszSigmoid(measure=submod.Tversky(0.5, 2), reduction="none", per_image=True)
    assert "measure=Tversky(alpha=0.5, beta=2.0), reduction='none'" in repr(module)
    assert "measure=mine" in repr(lovasz.LovaszHinge(measure=mine))
    truth = torch.randint(2, scores.shape, generator=GENERATOR)
    options = {"measure": submod.Tversky(0.5, 2), "reduction": "none", "per_image": True}
    expected = lovasz.lovasz_sigmoid(scores, truth, pixel_weights=weights, **options)
    assert torch.equal(copy.deepcopy(module)(scores, truth, weights), expected)
    assert torch.equal(module(scores, truth, pixel_weights=weights), expected)
    for make in (
        lambda: lovasz.LovaszSoftmax(measure="dice"),
        lambda: lovasz.LovaszHinge(reduction="max"),
        lambda: lovasz.SoftDice(reduction=None),
        lambda: lovasz.DatasetLovasz(3, measure="iou"),
    ):
        with pytest.raises(ValueError, match=r"measure = |reduction = "):
            make()
    with pytest.raises(TypeError, match="measure"):
        lovasz.LovaszSoftmax(measure=3)


@pytest.mark.parametrize(
    "change, error, words",
    [
        (lambda w: w[:, :-1], ValueError, r"pixel_weights of shape \(3, 6, 6\)"),
        (lambda w: w.requires_grad_(True), ValueError, "there is none by them"),
        (lambda w: w * (1 + 0j), TypeError, "real numbers"),
        (lambda w: w.numpy(), TypeError, "pixel_weights: a tensor is needed"),
        (lambda w: w - 1, ValueError, r"pixel_weights\[0\]\[\d+\] = -(1|0\.5) must be >= 0"),
        (lambda w: w / 0, ValueError, r"pixel_weights\[0\]\[\d+\] is (inf|nan|-nan)"),
    ],
)
def test_refused_weights(change, error, words):
    scores, labels, weights = case()
    for function in (lovasz.lovasz_softmax, lovasz.soft_dice, lovasz.DatasetLovasz(3)):
        with pytest.raises(error, match=words):
            function(scores, labels, pixel_weights=change(weights.clone()))


def test_a_measure_that_raises():
    """What it raises comes out, and nothing is counted."""
    scores, labels, _ = case()

    def broken(a, b, P, N):
        raise KeyError("mine")

    for function in (lovasz.lovasz_softmax, lovasz.lovasz_sigmoid):
        truth = labels if function is lovasz.lovasz_softmax else (scores > 0)
        with pytest.raises(KeyError, match="mine"):
            function(scores, truth, measure=broken)
    with pytest.raises(submod.CallbackError):
        lovasz.lovasz_softmax(scores, labels, measure=lambda a, b, P, N: (a + b) * np.nan)


def test_dataset():
    """As DatasetJaccard has it, with weights and a measure."""
    plain = submod.DatasetJaccard(3, 2.0**-10, measure=mine)
    module = lovasz.DatasetLovasz(3, 2.0**-10, measure=mine, stochastic=False)
    for _ in range(2):
        scores, labels, weights = case()
        plain.add(scores.numpy(), labels.numpy(), pixel_weights=weights.numpy())
        leaf = scores.requires_grad_(True)
        loss = module(leaf, labels, weights)
        loss.backward()
        assert loss.item() == pytest.approx(plain.loss(), rel=1e-6)
        given = {"pixel_weights": weights.numpy()}
        expected = plain.gradient(leaf.detach().numpy(), labels.numpy(), **given)
        assert np.allclose(leaf.grad.numpy(), expected)
    assert np.array_equal(module.counts.numpy(), plain.counts)
    assert module.value() == pytest.approx(plain.loss())


def test_measures_that_compilers_make_have_tokens_of_their_own():
    """id() of a function that is made in compiled code is that of something which lives no longer
    than the compilation: another measure may have the same number later."""
    keep, of = submod._tokens.keep, submod._tokens.of

    def other(a, b, P, N):
        return mine(a, b, P, N) / 2

    first, second = keep(mine, 5), keep(other, 5)
    assert of(first) is mine and of(second) is other
    assert keep(mine, id(mine)) == first and keep(other, 7) == second
