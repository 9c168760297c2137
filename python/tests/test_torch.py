"""submod.torch against torch_reference.py: values, gradients, shapes, layouts, types, errors."""

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402
from torch_reference import loss_and_gradient  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402

GENERATOR = torch.Generator().manual_seed(3)
SHAPES = [(2, 3, 6, 5), (1, 4, 9), (2, 3, 3, 4, 2), (3, 2, 1, 1)]
OPTIONS = [
    {},
    {"classes": "all"},
    {"classes": [1]},
    {"per_image": True},
    {"ignore_index": 255, "per_image": True},
    {"ignore_index": 0, "classes": "all"},
    {"class_weight": True},
    {"class_weight": True, "classes": "all", "per_image": True, "ignore_index": -7},
]


def randn(*shape):
    return torch.randn(shape, generator=GENERATOR)


def randint(high, shape):
    return torch.randint(high, shape, generator=GENERATOR)


def chosen(options, classes, ignore=None):
    options = dict(options)
    if "class_weight" in options:
        options["class_weight"] = (1 + torch.rand(classes, generator=GENERATOR)).tolist()
    if ignore is not None and "ignore_index" in options:
        options["ignore_index"] = ignore
    return options


def with_ignored(labels, options):
    return reference.with_ignored(labels, options, GENERATOR)


def assert_agree(function, exact, scores, labels, tolerance=1e-6, **options):
    loss, gradient = loss_and_gradient(function, scores, labels, **options)
    expected, slope = loss_and_gradient(exact, scores.double(), labels, **options)
    assert gradient.shape == scores.shape and gradient.dtype == scores.dtype
    assert loss.item() == pytest.approx(expected.item(), abs=tolerance)
    assert (gradient - slope).abs().max().item() <= tolerance


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape, options):
    options = chosen(options, shape[1])
    scores, labels = randn(*shape), randint(shape[1], shape[:1] + shape[2:])
    labels = with_ignored(labels, options)
    assert_agree(lovasz.lovasz_softmax, reference.softmax, scores, labels, **options)
    # From probabilities: the same by the softmax of autograd.
    loss, gradient = loss_and_gradient(
        lambda s, y, **o: lovasz.lovasz_softmax(s.softmax(1), y, from_logits=False, **o),
        scores,
        labels,
        **options,
    )
    expected, slope = loss_and_gradient(reference.softmax, scores.double(), labels, **options)
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    assert (gradient - slope).abs().max().item() <= 1e-6
    module = lovasz.LovaszSoftmax(**options)
    assert module(scores, labels) == lovasz.lovasz_softmax(scores, labels, **options)
    assert "per_image" in repr(module)


def test_sigmoid_of_three_dimensions():
    """(N, H, W) or (N, C, L)? Whoever means one of them says so; the two losses differ."""
    scores, labels = randn(2, 4, 9), randint(2, (2, 4, 9))
    with pytest.raises(ValueError, match=r"scores\[:, None\].*scores\[\.\.\., None\]"):
        lovasz.lovasz_sigmoid(scores, labels)
    images = lovasz.lovasz_sigmoid(scores[:, None], labels[:, None])
    assert images == lovasz.lovasz_sigmoid(scores[:, None], labels)
    lists = lovasz.lovasz_sigmoid(scores[..., None], labels[..., None])
    expected = reference.sigmoid(scores.double(), labels)
    assert lists.item() == pytest.approx(expected.item(), abs=1e-6) and images != lists
    one = lovasz.lovasz_sigmoid(scores[:, :1], labels[:, :1])  # one class either way
    assert one == lovasz.lovasz_sigmoid(scores[:, :1, None], labels[:, :1, None])


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", [(1, 4, 9, 1) if len(s) == 3 else s for s in SHAPES])
def test_sigmoid(shape, options):
    options = chosen(options, shape[1], ignore=255)
    scores, labels = randn(*shape), with_ignored(randint(2, shape), options)
    if (labels == 255).flatten(2).all(2).any():
        labels[..., 0] = 1  # a class without any label counts 0, which the reference leaves out
    assert_agree(lovasz.lovasz_sigmoid, reference.sigmoid, scores, labels, **options)
    module = lovasz.LovaszSigmoid(**options)
    assert module(scores, labels) == lovasz.lovasz_sigmoid(scores, labels, **options)


@pytest.mark.parametrize("per_image", [True, False])
@pytest.mark.parametrize("ignore", [None, 255])
@pytest.mark.parametrize("shape", [(2, 6, 5), (3, 8), (2, 3, 4, 2)])
def test_hinge(shape, ignore, per_image):
    options = {"per_image": per_image}
    if ignore is not None:
        options["ignore_index"] = ignore
    scores, labels = randn(*shape), with_ignored(randint(2, shape), options)
    assert_agree(lovasz.lovasz_hinge, reference.hinge, scores, labels, **options)
    assert_agree(
        lambda s, y, **o: lovasz.lovasz_hinge(s[:, None], y, **o),
        reference.hinge,
        scores,
        labels,
        **options,
    )
    module = lovasz.LovaszHinge(**options)
    assert module(scores, labels) == lovasz.lovasz_hinge(scores, labels, **options)


@pytest.mark.parametrize("per_image", [True, False])
def test_histogram(per_image):
    scores, labels = randn(2, 4, 40, 30), randint(4, (2, 40, 30))
    exact, slope = loss_and_gradient(lovasz.lovasz_softmax, scores, labels, per_image=per_image)
    loss, gradient = loss_and_gradient(
        lovasz.lovasz_softmax, scores, labels, per_image=per_image, engine="histogram", delta=1e-4
    )
    assert abs(loss - exact) <= 1e-4 + 1e-6
    assert (gradient - slope).abs().sum() <= 0.05 * slope.abs().sum()


def test_finite_differences():
    """Of the loss itself along random directions, in what float32 allows."""
    scores, labels = randn(2, 3, 8, 8), randint(3, (2, 8, 8))
    _, gradient = loss_and_gradient(lovasz.lovasz_softmax, scores, labels)
    for _ in range(10):
        direction, h = randn(2, 3, 8, 8), 1e-3
        up, down = (
            lovasz.lovasz_softmax((scores + s * direction).double(), labels) for s in (h, -h)
        )
        quotient = (up - down).item() / (2 * h)
        assert (gradient * direction).sum().item() == pytest.approx(quotient, abs=2e-3)


def test_layouts():
    """Any view gives what a copy gives, and a gradient in its own memory format."""
    scores, labels = randn(2, 4, 6, 10), randint(4, (2, 6, 10))
    wide = randn(2, 4, 6, 20)
    views = [
        scores.to(memory_format=torch.channels_last),
        wide[..., ::2],
        wide[..., 3:13],
        randn(2, 4, 10, 6).transpose(2, 3),
        randn(6, 10, 4, 2).permute(3, 2, 0, 1),
        scores[:1].expand(2, 4, 6, 10),
        randn(4, 2, 6, 10).transpose(0, 1),
    ]
    for view in views:
        leaf = view.detach().requires_grad_(True)
        loss = lovasz.lovasz_softmax(leaf, labels)
        loss.backward()
        expected, slope = loss_and_gradient(lovasz.lovasz_softmax, view.contiguous(), labels)
        assert loss == expected and torch.equal(leaf.grad, slope)
    last = views[0].detach().requires_grad_(True)
    lovasz.lovasz_softmax(last, labels).backward()
    assert last.grad.is_contiguous(memory_format=torch.channels_last)
    permuted = randint(4, (6, 10, 2)).permute(2, 0, 1)
    assert lovasz.lovasz_softmax(scores, permuted) == lovasz.lovasz_softmax(
        scores, permuted.contiguous()
    )
    volume = randn(2, 4, 3, 5, 2).to(memory_format=torch.channels_last_3d)
    truth = randint(4, (2, 3, 5, 2))
    assert lovasz.lovasz_softmax(volume, truth) == lovasz.lovasz_softmax(volume.contiguous(), truth)


def test_views_are_not_copied():
    from submod.torch._memory import view_labels, view_scores

    for tensor in (randn(2, 3, 4, 5), randn(2, 3, 4, 5).to(memory_format=torch.channels_last)):
        for kind in (torch.float32, torch.float16, torch.bfloat16):
            typed = tensor.to(kind)
            assert view_scores(typed)[1] is typed
    labels = randint(2, (2, 4, 5))
    assert view_labels(labels)[1] is labels


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_types(kind):
    scores, labels = randn(2, 3, 5, 4).to(kind), randint(3, (2, 5, 4))
    loss, gradient = loss_and_gradient(lovasz.lovasz_softmax, scores, labels)
    expected, slope = loss_and_gradient(lovasz.lovasz_softmax, scores.float(), labels)
    assert gradient.dtype == kind
    if kind == torch.float64:  # computed in it
        torch.testing.assert_close(gradient, slope.double(), rtol=1e-4, atol=1e-8)
        assert loss.item() == pytest.approx(expected.item(), rel=1e-6)
    else:
        assert torch.equal(gradient, slope.to(kind)) and loss == expected
    assert loss.dtype == (torch.float64 if kind == torch.float64 else torch.float32)


@pytest.mark.parametrize("kind", ["uint8", "int8", "int32", "int64", "bool", "float32"])
def test_label_types(kind):
    scores, labels = randn(2, 5, 4), randint(2, (2, 5, 4))
    expected = lovasz.lovasz_hinge(scores, labels)
    assert lovasz.lovasz_hinge(scores, labels.to(getattr(torch, kind))) == expected


def test_shapes():
    scores, labels = randn(2, 3, 5, 4), randint(3, (2, 5, 4))
    assert lovasz.lovasz_softmax(scores, labels[:, None]) == lovasz.lovasz_softmax(scores, labels)
    flat = scores.permute(0, 2, 3, 1).reshape(-1, 3)
    assert lovasz.lovasz_softmax(flat, labels.flatten()) == lovasz.lovasz_softmax(scores, labels)
    empty, gradient = loss_and_gradient(
        lovasz.lovasz_softmax, randn(0, 3, 5), torch.zeros(0, 5, dtype=torch.long)
    )
    assert empty == 0 and gradient.shape == (0, 3, 5)
    part = randn(2, 3, 6, 8)[:0, :, :3, :4]  # "contiguous", but its pixels are not evenly spaced
    empty, gradient = loss_and_gradient(
        lovasz.lovasz_softmax, part, randint(3, (2, 6, 8))[:0, :3, :4]
    )
    assert empty == 0 and gradient.shape == part.shape


def test_errors():
    scores, labels = randn(1, 3, 4), randint(3, (1, 4))
    with pytest.raises(submod.InvalidArgumentError, match=r"labels\[0\]\[0\] = 5"):
        lovasz.lovasz_softmax(scores, torch.full((1, 4), 5))
    with pytest.raises(submod.NonFiniteError, match="is nan"):
        lovasz.lovasz_softmax(scores * float("nan"), labels)
    with pytest.raises(ValueError, match="shape"):
        lovasz.lovasz_softmax(scores, labels[:, :2])
    with pytest.raises(ValueError, match="engine"):
        lovasz.lovasz_softmax(scores, labels, engine="quick")
    with pytest.raises(ValueError, match="class_weight"):
        lovasz.lovasz_softmax(scores, labels, class_weight=[1.0])
    with pytest.raises(TypeError, match="floating"):
        lovasz.lovasz_softmax(labels[:, None].expand(1, 3, 4), labels)
    with pytest.raises(ValueError, match="whole"):
        lovasz.lovasz_hinge(scores, scores)
    with pytest.raises(submod.UnsupportedError, match="meta"):
        lovasz.lovasz_softmax(scores.to("meta"), labels)


@pytest.mark.parametrize("module", [lovasz.LovaszSoftmax, lovasz.LovaszSigmoid, lovasz.LovaszHinge])
def test_settings_are_refused_at_once(module):
    for wrong in ({"engine": "quick"}, {"engine": "histogram", "delta": 0.0}):
        with pytest.raises(ValueError, match=r"engine|delta"):
            module(**wrong)
    if module is lovasz.LovaszHinge:
        return
    weights = {"class_weight": [1.0, 2.0]}
    for wrong in ({"classes": "some"}, {"classes": [0, -1]}, {"classes": [2], **weights}):
        with pytest.raises(ValueError, match="class"):
            module(**wrong)
    for weight in ([1.0, -2.0], [[1.0, 2.0]]):
        with pytest.raises(ValueError, match="class_weight"):
            module(class_weight=weight)
    module(classes=[7, 3]), module(classes=[1], **weights), module(classes="all", delta=0.5)


def test_scaled_backward():
    scores, labels = randn(2, 3, 5, 4), randint(3, (2, 5, 4))
    _, gradient = loss_and_gradient(lovasz.lovasz_softmax, scores, labels)
    _, scaled = loss_and_gradient(lambda s, y: -3 * lovasz.lovasz_softmax(s, y), scores, labels)
    assert torch.equal(scaled, -3 * gradient)


def test_repeated_backward():
    """The gradient is handed out once and computed again when asked for again."""
    scores, labels = randn(2, 3, 5, 4), randint(3, (2, 5, 4))
    _, gradient = loss_and_gradient(lovasz.lovasz_softmax, scores, labels)
    leaf = scores.clone().requires_grad_(True)
    loss = lovasz.lovasz_softmax(leaf, labels)
    first = torch.autograd.grad(2 * loss, leaf, retain_graph=True)[0]
    first.zero_()  # whoever got it may do with it what he likes
    loss.backward(retain_graph=True)
    loss.backward(retain_graph=True)
    loss.backward()
    assert torch.allclose(leaf.grad, 3 * gradient)
    with pytest.raises(RuntimeError):
        loss.backward()


def test_no_gradient():
    scores, labels = randn(2, 3, 5, 4), randint(3, (2, 5, 4))
    leaf = scores.clone().requires_grad_(True)
    with torch.no_grad():
        assert not lovasz.lovasz_softmax(leaf, labels).requires_grad
    assert not lovasz.lovasz_softmax(scores, labels).requires_grad
    assert lovasz.lovasz_softmax(leaf, labels).detach() == lovasz.lovasz_softmax(scores, labels)


def test_double_backward_is_refused():
    leaf, labels = randn(2, 3, 5, 4).requires_grad_(True), randint(3, (2, 5, 4))
    loss = lovasz.lovasz_softmax(leaf, labels)
    (gradient,) = torch.autograd.grad(loss, leaf, create_graph=True)
    _, expected = loss_and_gradient(lovasz.lovasz_softmax, leaf, labels)
    assert torch.equal(gradient, expected)
    with pytest.raises(RuntimeError, match="second derivative"):
        gradient.square().sum().backward()


def test_training_goes_down():
    """A linear model of two classes, by gradient descent."""
    features, truth = randn(4, 6, 16, 16), randint(2, (4, 16, 16))
    features[:, 0] += 4 * truth
    model = torch.nn.Conv2d(6, 2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9)
    losses = []
    for _ in range(40):
        optimizer.zero_grad()
        loss = lovasz.lovasz_softmax(model(features), truth)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.3 * losses[0]


@pytest.mark.parametrize("per_image", [True, False])
def test_prox_hinge(per_image):
    """The value is the hinge's, what comes back is lam (x - prox(x)) / groups."""
    scores, labels = randn(2, 7, 6), with_ignored(randint(2, (2, 7, 6)), {"ignore_index": 255})
    options = {"per_image": per_image, "ignore_index": 255}
    loss, direction = loss_and_gradient(
        lovasz.prox_lovasz_hinge, scores, labels, lam=0.3, **options
    )
    assert loss == lovasz.lovasz_hinge(scores, labels, **options)
    u, d = submod.prox_lovasz_hinge(scores, labels, 0.3, **options)
    assert torch.equal(direction, torch.from_numpy(d))
    groups = 2 if per_image else 1
    assert torch.allclose(direction, 0.3 * (scores - torch.from_numpy(u)) / groups, atol=1e-6)
    steep = loss_and_gradient(lovasz.prox_lovasz_hinge, scores, labels, lam=1e5, **options)[1]
    slope = loss_and_gradient(reference.hinge, scores, labels, **options)[1]
    assert (steep - slope).abs().max() < 1e-6
    module = lovasz.ProxLovaszHinge(0.3, **options)
    assert module(scores, labels) == loss and "lam=0.3" in repr(module)
    with pytest.raises(ValueError, match="lam"):
        lovasz.prox_lovasz_hinge(scores, labels, 0.0)
    for lam in (-1.0, 0.0, float("nan"), float("inf")):
        with pytest.raises(ValueError, match="lam"):
            lovasz.ProxLovaszHinge(lam)
