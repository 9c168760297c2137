"""The baselines of submod.torch against formulas that PyTorch differentiates."""

import pytest

torch = pytest.importorskip("torch")

import torch.nn.functional as F  # noqa: E402

import submod.torch as lovasz  # noqa: E402

GENERATOR = torch.Generator().manual_seed(23)
IGNORED = 255


def multiclass_case(kind=torch.float32):
    logits = (2 * torch.randn((3, 4, 6, 5), generator=GENERATOR)).to(kind)
    labels = torch.randint(3, (3, 6, 5), generator=GENERATOR)  # class 3 is in none
    labels[:, ::3, 1] = IGNORED
    return logits, labels


def binary_case():
    logits, labels = multiclass_case()
    return logits[:, 0], torch.where(labels == IGNORED, labels, labels % 2)


def with_gradient(loss, logits, labels, **options):
    leaf = logits.clone().requires_grad_(True)
    value = loss(leaf, labels, **options)
    value.backward()
    return value.detach(), leaf.grad


def assert_same(ours, theirs, logits, labels, **options):
    found, slope = with_gradient(ours, logits, labels, **options)
    expected, expected_slope = with_gradient(theirs, logits.double(), labels)
    torch.testing.assert_close(found.double(), expected, rtol=1e-5, atol=1e-7)
    torch.testing.assert_close(slope.double(), expected_slope, rtol=1e-3, atol=1e-6)
    assert slope.dtype == logits.dtype


@pytest.mark.parametrize("kind", [torch.float64, torch.float16, torch.bfloat16])
def test_types(kind):
    logits, labels = multiclass_case(kind)
    loss, gradient = with_gradient(lovasz.soft_dice, logits, labels, ignore_index=IGNORED)
    assert gradient.dtype == kind
    expected = overlap(True, "present", None, 0.0)(logits.double().softmax(1), labels)
    assert loss.item() == pytest.approx(expected.item(), rel=1e-5)


def test_rahman_wang():
    logits, labels = binary_case()

    def of_probabilities(p, y):
        p, y = p[y != IGNORED], y[y != IGNORED]
        both = (p * y).sum()
        return 1 - both / (p.sum() + y.sum() - both)

    def theirs(x, y):
        return of_probabilities(x.sigmoid(), y)

    assert_same(lovasz.rahman_wang, theirs, logits, labels, ignore_index=IGNORED)
    assert_same(lovasz.RahmanWang(ignore_index=IGNORED), theirs, logits, labels)
    options = {"ignore_index": IGNORED, "from_logits": False}
    p = logits.sigmoid()
    assert_same(lovasz.rahman_wang, of_probabilities, p, labels, **options)
    assert_same(lovasz.RahmanWang(**options), of_probabilities, p, labels)


def overlap(dice, classes, weight, smoothing):
    """The formula of the header, of probabilities, for one group."""

    def loss(p, y):
        p, y = p.movedim(1, 0)[:, y != IGNORED], y[y != IGNORED]
        truth = F.one_hot(y, len(p)).T
        both, total = (p * truth).sum(1), p.sum(1) + truth.sum(1)
        above, below = (2 * both, total) if dice else (both, total - both)
        losses = 1 - (above + smoothing) / (below + smoothing)
        chosen = {"all": [0, 1, 2, 3], "present": [0, 1, 2]}.get(str(classes), classes)
        by_class = torch.tensor(weight or [1.0] * 4, dtype=p.dtype)[chosen]
        return (by_class * losses[chosen]).sum() / by_class.sum()

    return loss


@pytest.mark.parametrize("classes", ["present", "all", [2, 0]])
@pytest.mark.parametrize("weight, smoothing", [(None, 0.0), ([1.0, 5.0, 0.5, 2.0], 1.0)])
@pytest.mark.parametrize(
    "name, module", [("soft_dice", "SoftDice"), ("soft_jaccard", "SoftJaccard")]
)
def test_overlap(name, module, classes, weight, smoothing):
    logits, labels = multiclass_case()
    options = {
        "classes": classes,
        "class_weight": weight,
        "smoothing": smoothing,
        "ignore_index": IGNORED,
    }
    of_probabilities = overlap(name == "soft_dice", classes, weight, smoothing)

    def theirs(x, y):
        return of_probabilities(x.softmax(1), y)

    function = getattr(lovasz, name)
    assert_same(function, theirs, logits, labels, **options)
    assert_same(getattr(lovasz, module)(**options), theirs, logits, labels)
    given = {**options, "from_logits": False}
    assert_same(function, of_probabilities, logits.softmax(1), labels, **given)

    def per_image(x, y):
        return torch.stack([theirs(x[i : i + 1], y[i : i + 1]) for i in range(len(x))]).mean()

    assert_same(function, per_image, logits, labels, per_image=True, **options)


MODULES = [
    (lovasz.RahmanWang, binary_case),
    (lovasz.SoftDice, multiclass_case),
    (lovasz.SoftJaccard, multiclass_case),
]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("module, case", MODULES)
def test_compile(module, case):
    logits, labels = case()
    loss = module(ignore_index=IGNORED)
    expected = with_gradient(loss, 2 * logits, labels)
    torch._dynamo.reset()
    compiled = torch.compile(lambda x, y: loss(2 * x, y), fullgraph=True, backend="aot_eager")
    value, slope = with_gradient(compiled, logits, labels)
    assert value == expected[0]
    torch.testing.assert_close(slope, 2 * expected[1])


@pytest.mark.parametrize("module, case", MODULES)
def test_mixes_with_lovasz(module, case):
    """As one would train: a sum of losses, scaled, backward twice over the same graph."""
    logits, labels = case()
    ours = module(ignore_index=IGNORED)
    other = lovasz.LovaszSoftmax(ignore_index=IGNORED)
    if case is binary_case:
        other = lovasz.LovaszHinge(ignore_index=IGNORED)
    leaf = logits.clone().requires_grad_(True)
    total = 0.5 * ours(leaf, labels) + other(leaf, labels)
    total.backward(retain_graph=True)
    once = leaf.grad.clone()
    total.backward()
    torch.testing.assert_close(leaf.grad, 2 * once)
    expected = (
        0.5 * with_gradient(ours, logits, labels)[1] + with_gradient(other, logits, labels)[1]
    )
    torch.testing.assert_close(once, expected)


def test_modules_say_what_they_are():
    assert repr(lovasz.SoftDice([1, 0], smoothing=1)) == (
        "SoftDice(classes=[1, 0], per_image=False, ignore_index=None, class_weight=None, "
        "smoothing=1.0, from_logits=True, reduction='mean', "
        "nonfinite='raise', normalize='weights')"
    )
    assert repr(lovasz.RahmanWang()) == (
        "RahmanWang(per_image=False, ignore_index=None, from_logits=True, reduction='mean', "
        "nonfinite='raise')"
    )


@pytest.mark.parametrize(
    "make, words",
    [
        (lambda: lovasz.SoftDice(class_weight=[0, 0]), "0 for every class"),
        (lambda: lovasz.SoftDice(class_weight="balanced"), "a number per class is needed"),
        (lambda: lovasz.RahmanWang(from_logits="no"), "True or False is needed"),
        (lambda: lovasz.SoftDice(smoothing=-1), "smoothing"),
        (lambda: lovasz.SoftJaccard("some"), "it must be 'present', 'all' or a list"),
    ],
)
def test_refused_when_made(make, words):
    with pytest.raises((TypeError, ValueError), match=words):
        make()


def test_refused_with_words():
    logits, labels = multiclass_case()
    with pytest.raises(ValueError, match="= 255 is not"):
        lovasz.soft_jaccard(logits, labels)
    with pytest.raises(ValueError, match=r"scores.* is nan"):
        lovasz.soft_dice(logits + torch.nan, labels, ignore_index=IGNORED)
    with pytest.raises(TypeError, match="logits: a tensor is needed"):
        lovasz.rahman_wang(logits.numpy(), labels)
