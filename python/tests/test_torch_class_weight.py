"""Both means of weighted classes, from the losses of single classes."""

import itertools

import pytest

torch = pytest.importorskip("torch")

import submod.torch as lovasz  # noqa: E402

GENERATOR = torch.Generator().manual_seed(11)
WEIGHT = [2.0, 0.5, 3.0, 0.0, 1.5]
CLASSES = ["present", "all", [3, 0, 4]]
MODULES = {
    "lovasz_softmax": lovasz.LovaszSoftmax,
    "lovasz_sigmoid": lovasz.LovaszSigmoid,
    "soft_dice": lovasz.SoftDice,
    "soft_jaccard": lovasz.SoftJaccard,
}


@pytest.fixture(autouse=True)
def same_numbers():
    GENERATOR.manual_seed(11)


def case(name):
    logits = torch.randn((3, 5, 4, 6), generator=GENERATOR)
    labels = torch.randint(4, (3, 4, 6), generator=GENERATOR)
    labels[0].clamp_(max=1)  # of images each has its own classes; class 4 is in none
    if name == "lovasz_sigmoid":
        labels = torch.stack([labels == c for c in range(5)], 1).long()
        labels[1, :, 0] = 255
    else:
        labels[1, 0] = 255
    weights = torch.rand((3, 4, 6), generator=GENERATOR)
    some = labels if name != "lovasz_sigmoid" else labels.argmax(1)
    return logits, labels, torch.where(some == 3, 0, weights)  # one has no weight


def by_hand(function, logits, labels, classes, per_image, pixel_weights):
    """The losses of the groups."""
    groups = [slice(i, i + 1) for i in range(3)] if per_image else [slice(0, 3)]
    found = []
    for group in groups:
        x, y = logits[group], labels[group]
        w = None if pixel_weights is None else pixel_weights[group]
        counts = (y != 255) if w is None else (y != 255) & ((w if y.ndim == 3 else w[:, None]) > 0)
        if y.ndim == 3:
            there = [bool((counts & (y == c)).any()) for c in range(5)]
        else:
            there = [bool((counts & (y == 1))[:, c].any()) for c in range(5)]
        chosen = [c for c in range(5) if there[c]] if classes == "present" else classes
        chosen = range(5) if chosen == "all" else chosen
        options = {"ignore_index": 255, "pixel_weights": w}
        each = [WEIGHT[c] * function(x, y, classes=[c], **options) for c in chosen]
        found.append(sum(each) / max(len(each), 1))
    return torch.stack([torch.as_tensor(x) for x in found])


@pytest.mark.parametrize("classes", CLASSES, ids=str)
@pytest.mark.parametrize("name", MODULES)
def test_divided_by_the_number_of_classes(name, classes):
    function = getattr(lovasz, name)
    logits, labels, weights = case(name)
    for per_image, weighted in itertools.product([True, False], [True, False]):
        given = weights if weighted else None
        leaf, other = (logits.clone().requires_grad_(True) for _ in range(2))
        options = {"classes": classes, "per_image": per_image, "ignore_index": 255}
        options |= {"class_weight": WEIGHT, "normalize": "classes"}
        losses = by_hand(function, other, labels, classes, per_image, given)
        for reduction in ("mean", "sum", "none"):
            loss = MODULES[name](reduction=reduction, **options)(leaf, labels, given)
            wanted = losses if reduction == "none" else getattr(losses, reduction)()
            torch.testing.assert_close(loss, wanted, rtol=1e-5, atol=1e-6)
        loss.sum().backward()
        losses.sum().backward()
        torch.testing.assert_close(leaf.grad, other.grad, rtol=1e-4, atol=1e-7)


def test_of_equal_weights_the_mean_is_scaled():
    logits, labels, _ = case("lovasz_softmax")
    options = {"ignore_index": 255}
    plain = lovasz.lovasz_softmax(logits, labels, **options)
    assert lovasz.lovasz_softmax(logits, labels, normalize="classes", **options) == plain
    options["class_weight"] = [3.0] * 5
    torch.testing.assert_close(lovasz.lovasz_softmax(logits, labels, **options), plain)
    tripled = lovasz.lovasz_softmax(logits, labels, normalize="classes", **options)
    torch.testing.assert_close(tripled, 3 * plain)
    nothing = torch.full_like(labels, 255)
    assert lovasz.lovasz_softmax(logits, nothing, normalize="classes", **options) == 0
    compiled = torch.compile(lovasz.lovasz_softmax, fullgraph=True, backend="aot_eager")
    assert compiled(logits, labels, normalize="classes", **options) == tripled
    with pytest.raises(ValueError, match="'weights', 'classes'"):
        lovasz.LovaszSoftmax(normalize="mean")


def test_in_double_precision():
    """Weights that float32 does not have."""
    logits, labels, _ = case("lovasz_softmax")
    logits, weight = logits.double(), [0.1, 0.2, 0.7, 0.3, 0.9]
    options = {"ignore_index": 255}
    each = [lovasz.lovasz_softmax(logits, labels, classes=[c], **options) for c in range(5)]
    wanted = sum(w * loss for w, loss in zip(weight, each)) / 5
    options |= {"classes": "all", "class_weight": weight, "normalize": "classes"}
    found = lovasz.lovasz_softmax(logits, labels, **options)
    torch.testing.assert_close(found, wanted, rtol=1e-14, atol=0)
