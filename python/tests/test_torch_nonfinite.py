"""Logits that are not finite: exceptions or NaN, as is asked for, and classes that -Inf masks."""

import math

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod.torch import _anywhere  # noqa: E402

GENERATOR = torch.Generator().manual_seed(3)
INF = math.inf
SOFTMAX = ["lovasz_softmax", "soft_dice", "soft_jaccard"]
MODULES = {
    "LovaszSoftmax": {},
    "LovaszSigmoid": {},
    "LovaszHinge": {},
    "ProxLovaszHinge": {"lam": 1.0},
    "RahmanWang": {},
    "SoftDice": {},
    "SoftJaccard": {},
}
BINARY = ("LovaszHinge", "ProxLovaszHinge", "RahmanWang")


@pytest.fixture(autouse=True)
def same_numbers():
    GENERATOR.manual_seed(3)


def batch(classes=4, kind=torch.float32, labels_of=None):
    logits = (3 * torch.randn((2, classes, 5, 7), generator=GENERATOR)).to(kind)
    labels = torch.randint(labels_of or classes, (2, 5, 7), generator=GENERATOR)
    return logits, labels


def with_gradient(loss, logits, labels, **options):
    leaf = logits.clone().requires_grad_(True)
    value = loss(leaf, labels, **options)
    value.sum().backward()
    return value.detach(), leaf.grad


# ---- raise or propagate ----


@pytest.mark.parametrize("bad", [math.nan, INF, -INF])
@pytest.mark.parametrize("name", MODULES)
def test_raise_or_propagate(name, bad):
    logits, labels = batch(4)
    if name in BINARY:
        logits, labels = logits[:, 0], labels % 2
    elif name == "LovaszSigmoid":
        labels = torch.randint(2, logits.shape, generator=GENERATOR)
    where = logits[1, 2] if name in BINARY else logits[1, :, 3, 2]
    where[:] = bad
    kind = getattr(lovasz, name)
    with pytest.raises(submod.NonFiniteError, match=r"\[1\]|pixel \[1, 3, 2\]"):
        kind(**MODULES[name])(logits, labels)
    for reduction, shape in (("mean", ()), ("none", (2,))):
        options = {"per_image": True, "reduction": reduction, **MODULES[name]}
        loss = kind(nonfinite="propagate", **options)
        value, gradient = with_gradient(loss, logits, labels)
        assert value.shape == shape and value.isnan().all()
        assert gradient.isnan().all()
    finite = torch.nan_to_num(logits, posinf=1.0, neginf=1.0)
    assert loss(finite, labels).isfinite().all()
    with pytest.raises(submod.InvalidArgumentError):  # that is another matter
        loss(finite, labels + 7)
    with pytest.raises(ValueError, match="'raise', 'propagate'"):
        kind(nonfinite="ignore", **MODULES[name])


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("options", [{}, {"engine": "histogram"}, {"weighted": True}])
def test_hinge_takes_infinite_logits_of_the_right_sign(monkeypatch, options, forced, kind):
    """Infinite logits count as logits beyond the margin; ignored pixels and those of weight 0
    accept both signs."""
    logits, labels = batch(1, kind, labels_of=3)
    logits, sides = logits[:, 0], 2.0 * (labels == 1) - 1
    weights = torch.rand(labels.shape, generator=GENERATOR)
    weights[0] = torch.where(weights[0] < 0.3, 0, weights[0])
    options = {"ignore_index": 2, "per_image": True, **options}
    out = labels == 2
    if options.pop("weighted", False):
        options["pixel_weights"], out = weights, out | (weights == 0)
    chosen = torch.rand(labels.shape, generator=GENERATOR) < 0.4
    sign = torch.where(out, sides.flip(1), sides).to(kind)
    infinite, finite = (torch.where(chosen, sign * size, logits) for size in (INF, 5))
    monkeypatch.setattr(_anywhere, "FORCED", forced)
    value, gradient = with_gradient(lovasz.lovasz_hinge, infinite, labels, **options)
    expected, slope = with_gradient(lovasz.lovasz_hinge, finite, labels, **options)
    assert value.isfinite() and not gradient[chosen].any()
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, slope)
    if not forced and kind != torch.bfloat16:
        given = {k: v.numpy() if isinstance(v, torch.Tensor) else v for k, v in options.items()}
        arrays = infinite.float().numpy(), labels.numpy()
        assert submod.lovasz_hinge(*arrays, **given) == pytest.approx(value.item(), rel=1e-6)
        given.pop("engine", None)
        assert np.isfinite(submod.hinge(*arrays, **given))
    infinite[1, 2, 3], labels[1, 2, 3] = -INF, 1
    assert lovasz.lovasz_hinge(infinite, labels, 1, 2, nonfinite="propagate").isnan()
    monkeypatch.setattr(_anywhere, "FORCED", False)
    with pytest.raises(submod.NonFiniteError, match="is -inf at label 1"):
        lovasz.lovasz_hinge(infinite, labels, ignore_index=2)


def test_weights_of_pixels_are_not_propagated():
    logits, labels = batch()
    weights = torch.full((2, 5, 7), math.nan)
    with pytest.raises(submod.NonFiniteError, match="pixel_weights"):
        lovasz.lovasz_softmax(logits, labels, pixel_weights=weights, nonfinite="propagate")


def test_grad_scaler_skips_the_step():
    model = torch.nn.Conv2d(3, 4, 1)
    images, labels = torch.randn((2, 3, 5, 7), generator=GENERATOR), batch()[1]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=8.0)
    before = [p.detach().clone() for p in model.parameters()]
    for factor, moved in ((INF, False), (1.0, True)):
        optimizer.zero_grad()
        loss = lovasz.lovasz_softmax(factor * model(images), labels, nonfinite="propagate")
        scale = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        assert (scaler.get_scale() == scale / 2) is not moved
        after = list(model.parameters())
        assert any(not torch.equal(p, q) for p, q in zip(before, after)) is moved
        assert all(p.isfinite().all() for p in after)


# ---- masked classes ----


def test_propagate_is_compiled():
    logits, labels = batch()
    logits[0, 0, 0, 0] = math.nan
    loss = torch.compile(lovasz.LovaszSoftmax(nonfinite="propagate"), backend="aot_eager")
    value, gradient = with_gradient(loss, logits, labels)
    assert value.isnan() and gradient.isnan().all()


@pytest.mark.parametrize("kind", [torch.float32, torch.bfloat16, torch.float64])
@pytest.mark.parametrize("name", [*SOFTMAX, "histogram"])
def test_mask_is_as_if_the_class_were_not_there(name, kind):
    options = {}
    if name == "histogram":
        name, options = "lovasz_softmax", {"engine": name}
    loss = getattr(lovasz, name)
    logits, labels = batch(4, kind, labels_of=3)
    # What a softmax does not see, taken away beforehand: then all bits have to agree.
    logits -= logits[:, :3].amax(1, keepdim=True)
    expected, slope = with_gradient(loss, logits[:, :3].contiguous(), labels, **options)
    for memory in (torch.contiguous_format, torch.channels_last):
        masked = logits.clone(memory_format=memory)
        masked[:, 3] = -INF
        value, gradient = with_gradient(loss, masked, labels, **options)
        assert torch.equal(value, expected) and torch.equal(gradient[:, :3], slope)
        assert not gradient[:, 3].any() and gradient.dtype == kind


@pytest.mark.parametrize("name", SOFTMAX)
def test_masks_here_and_there(name, monkeypatch):
    """Against PyTorch's softmax, which knows -Inf."""
    logits, labels = batch(5)
    mask = torch.rand(logits.shape, generator=GENERATOR) < 0.3
    mask.scatter_(1, labels[:, None], False)
    mask[1, :, :, 3:] = False
    labels[0, 0, :3], mask[0, :4, 0, :3] = 255, True
    masked = logits.masked_fill(mask, -INF)
    loss, options = getattr(lovasz, name), {"ignore_index": 255, "per_image": True}
    value, gradient = with_gradient(loss, masked, labels, **options)
    assert not gradient[mask].any() and gradient.isfinite().all()

    def theirs(x, y):
        return loss(x.softmax(1), y, from_logits=False, **options)

    expected, slope = with_gradient(theirs, masked, labels)
    torch.testing.assert_close(value, expected, rtol=1e-6, atol=1e-7)
    torch.testing.assert_close(gradient, slope, rtol=1e-4, atol=1e-7)
    found, numpys = getattr(submod, name)(
        masked.numpy(), labels.numpy(), return_grad=True, **options
    )
    assert found == pytest.approx(value.item(), rel=1e-6)
    np.testing.assert_array_equal(numpys, gradient.numpy())
    if name in _anywhere.LOSSES:
        monkeypatch.setattr(_anywhere, "FORCED", True)
        elsewhere, slope = with_gradient(loss, masked, labels, **options)
        torch.testing.assert_close(elsewhere, value)
        torch.testing.assert_close(slope, gradient, rtol=1e-4, atol=1e-7)
        masked[0, :, 1, 1] = -INF
        assert loss(masked, labels, **options).isnan()


def test_lists_of_pixels():
    logits, labels = np.float32([[1, 2, -INF], [0, -1, 3], [-INF, 5e4, -3e38]]), [0, 2, 1]
    value, gradient = submod.lovasz_softmax(logits, labels, return_grad=True)
    low = np.float32([[1, 2, -90], [0, -1, 3], [-5e4, 5e4, -9e4]])
    expected, slope = submod.lovasz_softmax(low, labels, return_grad=True)
    assert value == pytest.approx(expected, rel=1e-6)
    np.testing.assert_allclose(gradient, slope, rtol=1e-5, atol=1e-30)


def test_what_cannot_be_masked():
    logits, labels = batch(3)
    logits[1, :, 2, 4] = -INF
    for name in SOFTMAX:
        with pytest.raises(submod.NonFiniteError, match=r"pixel \[1, 2, 4\] are -Inf"):
            getattr(lovasz, name)(logits, labels)
        with pytest.raises(submod.NonFiniteError, match=r"pixel \[1, 2, 4\] are -Inf"):
            getattr(submod, name)(logits.numpy(), labels.numpy())
    logits[1, 0, 2, 4] = 0
    labels[1, 2, 4] = 2
    assert lovasz.lovasz_softmax(logits, labels).isfinite()  # that pixel's error is 1
    with pytest.raises(submod.NonFiniteError, match="the loss would be Inf"):
        submod.cross_entropy(logits.numpy(), labels.numpy())
    labels[1, 2, 4] = 7
    assert np.isfinite(submod.cross_entropy(logits.numpy(), labels.numpy(), ignore_index=7))
    with pytest.raises(submod.NonFiniteError, match="scores"):
        lovasz.lovasz_softmax(logits.clamp(0, 1) * -INF, labels % 3)
