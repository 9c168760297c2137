"""The metric losses of submod.torch: formulas that PyTorch differentiates."""

import math

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod._options import LossOptions  # noqa: E402
from submod.torch import _flat, _ops  # noqa: E402

GENERATOR = torch.Generator().manual_seed(31)
FORMS = [
    ("jaccard_metric_loss", "JaccardMetricLoss"),
    ("dice_metric_loss", "DiceMetricLoss"),
]


def case(kind=torch.float32):
    logits = (2 * torch.randn((3, 4, 6, 5), generator=GENERATOR)).to(kind)
    labels = torch.randn((3, 4, 6, 5), generator=GENERATOR).softmax(1)
    labels[:, 3] = 0  # class 3 is in none
    return logits, labels


def with_gradient(loss, logits, labels, **options):
    leaf = logits.clone().requires_grad_(True)
    value = loss(leaf, labels, **options)
    value.sum().backward()
    return value.detach(), leaf.grad


def assert_same(ours, theirs, logits, labels, **options):
    found, slope = with_gradient(ours, logits, labels, **options)
    expected, expected_slope = with_gradient(theirs, logits.double(), labels.double())
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(slope.double(), expected_slope, rtol=1e-3, atol=1e-6)
    assert slope.dtype == logits.dtype


def formula(name, classes="present", class_weight=None, smoothing=0.0, overlap="min"):
    """Of probabilities, for one group."""

    def loss(p, y):
        p, y = p.movedim(1, 0).flatten(1), y.movedim(1, 0).flatten(1)
        apart = (p - y).abs().sum(1)
        common = (p * y).sum(1) if overlap == "product" else ((p + y).sum(1) - apart) / 2
        twice = 2 if name.startswith("dice") else 1
        losses = 1 - (twice * common + smoothing) / (twice * common + apart + smoothing)
        chosen = {"all": [0, 1, 2, 3], "present": [0, 1, 2]}.get(str(classes), classes)
        weight = torch.tensor(class_weight or [1.0] * 4, dtype=p.dtype)[chosen]
        return (weight * losses[chosen]).sum() / weight.sum()

    return loss


@pytest.mark.parametrize("overlap", ["min", "product"])
@pytest.mark.parametrize("classes", ["present", "all", [2, 0]])
@pytest.mark.parametrize("weight, smoothing", [(None, 0.0), ([1.0, 5.0, 0.5, 2.0], 1.0)])
@pytest.mark.parametrize("name, module", FORMS)
def test_formulas(name, module, classes, weight, smoothing, overlap):
    logits, labels = case()
    options = {
        "classes": classes,
        "class_weight": weight,
        "smoothing": smoothing,
        "overlap": overlap,
    }
    of_probabilities = formula(name, **options)

    def theirs(x, y):
        return of_probabilities(x.softmax(1), y)

    function = getattr(lovasz, name)
    assert_same(function, theirs, logits, labels, **options)
    assert_same(getattr(lovasz, module)(**options), theirs, logits, labels)
    p = logits.softmax(1)
    assert_same(function, of_probabilities, p, labels, from_logits=False, **options)

    def each(x, y):
        return torch.stack([theirs(x[i : i + 1], y[i : i + 1]) for i in range(len(x))])

    given = {**options, "per_image": True}
    assert_same(function, each, logits, labels, reduction="none", **given)
    last = logits.to(memory_format=torch.channels_last)
    assert_same(function, lambda x, y: each(x, y).mean(), last, labels, **given)


@pytest.mark.parametrize("name, module", FORMS)
def test_pixel_weights_leave_pixels_out(name, module):
    logits, labels = case()
    weights = torch.ones(3, 6, 5)
    weights[:, 2:] = 0
    function = getattr(lovasz, name)
    expected, _ = with_gradient(function, logits[:, :, :2], labels[:, :, :2])
    for loss in (function, getattr(lovasz, module)()):
        found, slope = with_gradient(loss, logits, labels, pixel_weights=weights)
        torch.testing.assert_close(found, expected)
        assert (slope[:, :, 2:] == 0).all() and (slope[:, :, :2] != 0).any()


@pytest.mark.parametrize("name, module", FORMS)
def test_hard_labels(name, module):
    """One-hot labels of whole numbers: soft Jaccard and soft Dice."""
    logits, _ = case()
    labels = torch.randint(4, (3, 6, 5), generator=GENERATOR)
    hard = F.one_hot(labels, 4).movedim(-1, 1)
    soft = lovasz.soft_dice if name.startswith("dice") else lovasz.soft_jaccard
    expected, slope = with_gradient(soft, logits, labels)
    found, gradient = with_gradient(getattr(lovasz, name), logits, hard)
    torch.testing.assert_close(found, expected)
    torch.testing.assert_close(gradient, slope)


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_types(kind):
    logits, labels = case(kind)
    found, gradient = with_gradient(lovasz.jaccard_metric_loss, logits, labels)
    assert gradient.dtype == kind
    expected = formula("jaccard")(logits.double().softmax(1), labels.double())
    assert found.item() == pytest.approx(expected.item(), rel=1e-5)


def test_training_finds_the_labels():
    """Where soft Jaccard would leave them: the probabilities become the soft labels."""
    _, labels = case()
    labels = labels[:1, :3, :2, :2] / labels[:1, :3, :2, :2].sum(1, keepdim=True)
    logits = torch.zeros_like(labels, requires_grad=True)
    for step in range(400):
        logits.grad = None
        lovasz.jaccard_metric_loss(logits, labels).backward()
        with torch.no_grad():
            logits -= 2 * 0.98**step * logits.grad
    assert lovasz.jaccard_metric_loss(logits, labels) < 0.01
    assert (logits.softmax(1) - labels).abs().max() < 0.02


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, module", FORMS)
def test_compile_and_opcheck(name, module):
    logits, labels = case()
    loss = getattr(lovasz, module)(overlap="product")
    expected = with_gradient(loss, 2 * logits, labels)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: loss(2 * x, y), fullgraph=True, backend="aot_eager")
    value, slope = with_gradient(compiled, logits, labels)
    assert value == expected[0]
    torch.testing.assert_close(slope, 2 * expected[1])
    arguments = (labels, None, name[:-5], "min", *_flat.flat(LossOptions()), True)
    torch.library.opcheck(_ops.soft_loss, (logits.requires_grad_(True), *arguments))


def test_modules_say_what_they_are():
    assert repr(lovasz.JaccardMetricLoss([1, 0], smoothing=1)) == (
        "JaccardMetricLoss(classes=[1, 0], per_image=False, class_weight=None, smoothing=1.0, "
        "overlap='min', from_logits=True, reduction='mean', nonfinite='raise')"
    )


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: lovasz.JaccardMetricLoss(smoothing=-1), "smoothing"),
        (lambda: lovasz.DiceMetricLoss("some"), "it must be 'present', 'all' or a list"),
        (lambda: lovasz.DiceMetricLoss(overlap="max"), "overlap = 'max'; it must be one of"),
        (lambda: lovasz.JaccardMetricLoss(class_weight=[0, 0]), "0 for every class"),
    ],
)
def test_refused_when_made(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_refused_with_words():
    logits, labels = case()
    loss = lovasz.jaccard_metric_loss
    with pytest.raises(ValueError, match=r"soft_labels\[0\]\[0\]\[0\] = .* is no probability"):
        loss(logits, labels + 2)
    with pytest.raises(ValueError, match=r"soft_labels require a gradient"):
        loss(logits, labels.requires_grad_(True))
    with pytest.raises(TypeError, match="soft_labels: a tensor is needed"):
        loss(logits, labels.detach().numpy())
    with pytest.raises(TypeError, match=r"soft_labels of type torch\.complex64"):
        loss(logits, labels.detach() + 1j)
    with pytest.raises(ValueError, match="labels of shape"):
        loss(logits, labels.detach()[:, 0])


@pytest.mark.parametrize("name", ["jaccard_metric_loss", "dice_metric_loss"])
def test_masked_classes_and_what_is_not_finite(name):
    generator = torch.Generator().manual_seed(4)
    logits = torch.randn(2, 3, 4, 5, generator=generator)
    labels = torch.rand(2, 3, 4, 5, generator=generator)
    logits[0, 1, 2, 3] = -math.inf
    far = logits.clamp(min=-200).requires_grad_()
    expected = getattr(submod.torch, name)(far, labels)
    expected.backward()
    masked = logits.clone().requires_grad_()
    loss = getattr(submod.torch, name)(masked, labels)
    loss.backward()
    assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    torch.testing.assert_close(masked.grad, far.grad)
    arrays = logits.numpy(), labels.numpy()
    value, gradient = getattr(submod, name)(*arrays, return_grad=True)
    assert value == pytest.approx(expected.item(), rel=1e-6)
    assert gradient[0, 1, 2, 3] == 0 and masked.grad[0, 1, 2, 3] == 0

    wrong = torch.full_like(logits, math.nan).requires_grad_()
    with pytest.raises(submod.NonFiniteError, match="is nan"):
        getattr(submod.torch, name)(wrong, labels)
    loss = getattr(submod.torch, name)(wrong, labels, nonfinite="propagate")
    loss.backward()
    assert loss.isnan() and wrong.grad.isnan().all()
    with pytest.raises(submod.NonFiniteError, match="soft_labels"):
        getattr(submod.torch, name)(far, labels * math.nan, nonfinite="propagate")
