"""float64 in, float64 throughout: PyTorch's own check of gradients, with its own tolerances."""

import math

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod.torch import _anywhere  # noqa: E402

GENERATOR = torch.Generator().manual_seed(5)
OPTIONS = [
    {},
    {"per_image": True},
    {"per_image": True, "reduction": "none", "ignore_index": 255},
    {"measure": "hamming"},
    {"measure": submod.Tversky(alpha=0.3, beta=1.7)},
    {"pixel_weights": torch.tensor([[[0.5, 2, 0, 1, 0.1]]])},
]


@pytest.fixture(autouse=True)
def same_numbers():
    GENERATOR.manual_seed(5)


def case(loss):
    logits = torch.randn((2, 3, 4, 5), generator=GENERATOR, dtype=torch.float64)
    labels = torch.randint(3, (2, 4, 5), generator=GENERATOR)
    labels[0, :2, 3] = 255 if loss != "sigmoid" else 1
    if loss == "sigmoid":
        return lovasz.lovasz_sigmoid, logits, torch.stack([labels == 0, labels == 1, labels > 1], 1)
    if loss == "hinge":
        return lovasz.lovasz_hinge, logits[:, 0], torch.where(labels == 255, labels, labels % 2)
    return lovasz.lovasz_softmax, logits, labels


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("loss", ["softmax", "sigmoid", "hinge"])
def test_gradcheck(loss, options):
    function, logits, labels = case(loss)
    options = {"ignore_index": 255, **options}
    leaf = logits.clone().requires_grad_(True)
    assert torch.autograd.gradcheck(lambda x: function(x, labels, **options), (leaf,))
    single = function(logits.float(), labels, **options).double()
    torch.testing.assert_close(function(logits, labels, **options), single, rtol=1e-5, atol=1e-6)


def test_all_bits_of_the_reference():
    _, logits, labels = case("softmax")
    labels = labels.clamp(max=2)
    leaf, other = (logits.clone().requires_grad_(True) for _ in range(2))
    loss, expected = lovasz.lovasz_softmax(leaf, labels), reference.softmax(other, labels)
    loss.backward()
    expected.backward()
    torch.testing.assert_close(loss, expected, rtol=1e-13, atol=1e-13)
    torch.testing.assert_close(leaf.grad, other.grad, rtol=1e-11, atol=1e-13)


def test_ties_and_compiling():
    logits, labels = torch.zeros((1, 3, 4), dtype=torch.float64), torch.tensor([[0, 0, 1, 2]])
    logits.requires_grad_(True)
    loss = lovasz.lovasz_softmax(logits, labels)
    same = lovasz.lovasz_softmax(logits.float(), labels)
    assert loss.item() == pytest.approx(same.item(), rel=1e-6)
    compiled = torch.compile(lovasz.lovasz_softmax, fullgraph=True, backend="aot_eager")
    assert compiled(logits, labels) == loss
    (slope,) = torch.autograd.grad(compiled(logits, labels), logits)
    assert torch.equal(slope, torch.autograd.grad(loss, logits)[0])


def test_what_is_refused():
    _, logits, labels = case("softmax")
    logits[1, 2, 0, 1] = math.nan
    with pytest.raises(submod.NonFiniteError, match=r"scores\[1\]\[2\]\[1\] is nan"):
        lovasz.lovasz_softmax(logits, labels, ignore_index=255)
    leaf = logits.requires_grad_(True)
    loss = lovasz.lovasz_softmax(leaf, labels, ignore_index=255, nonfinite="propagate")
    loss.backward()
    assert loss.isnan() and leaf.grad.isnan().all() and leaf.grad.dtype == torch.float64
    with pytest.raises(submod.InvalidArgumentError, match="255"):
        lovasz.lovasz_softmax(torch.zeros_like(logits), labels)
    with pytest.raises(submod.NonFiniteError, match="pixel_weights"):
        weights = torch.full(labels.shape, math.nan)
        lovasz.lovasz_softmax(torch.zeros_like(logits), labels % 3, pixel_weights=weights)


def test_what_stays_float32():
    """The histogram, and measures in Python, which are called with arrays."""
    _, logits, labels = case("softmax")
    labels = labels.clamp(max=2)
    seen = []

    def measure(a, b, P, N):
        seen.append(type(a))
        return (a + b) / (P + b)

    for options in ({"engine": "histogram"}, {"measure": measure}):
        found = lovasz.lovasz_softmax(logits, labels, **options)
        same = lovasz.lovasz_softmax(logits.float(), labels, **options)
        assert found.float() == same and found.dtype == torch.float64
    assert seen and torch.Tensor not in seen
    assert _anywhere.number_type("soft_dice", logits, "exact", "jaccard") == torch.float32


@pytest.mark.parametrize("loss", ["softmax", "sigmoid", "hinge"])
def test_labels_that_are_not_whole(loss):
    """As refused as those of float32 logits, and not rounded down."""
    function, logits, labels = case(loss)
    labels = labels.float()
    function(logits, labels, ignore_index=255)
    for scores in (logits, logits.float()):
        with pytest.raises(ValueError, match="not all are whole numbers"):
            function(scores, labels * 0.9, ignore_index=255)
