"""What the tests of submod.torch.compat share: random cases, and the comparison of two losses."""

import itertools

import torch

GENERATOR = torch.Generator().manual_seed(18)
SHAPES = [(2, 5, 7), (3, 4, 4), (1, 6, 3), (2, 1, 9)]  # images, height, width


def product(**options):
    """Every combination, as dictionaries."""
    return [dict(zip(options, values)) for values in itertools.product(*options.values())]


def case(classes, shape, ignored=None, missing=None):
    """Logits (N, C, H, W) and labels (N, H, W): a third of them ignored, a class of none."""
    logits = 2 * torch.randn((shape[0], classes, *shape[1:]), generator=GENERATOR)
    labels = torch.randint(classes, shape, generator=GENERATOR)
    if missing is not None:
        labels[labels == missing] = (missing + 1) % classes
    if ignored is not None:
        hidden = torch.rand(shape, generator=GENERATOR) < 0.3
        hidden.view(shape[0], -1)[:, :2] = False  # some pixels count in each image
        labels[hidden] = ignored
    return logits, labels


def weights(number):
    return torch.rand(number, generator=GENERATOR) + 0.1


def result(loss, logits, labels, above=None):
    """The value, and the gradient of its sum, or of its product with the numbers above."""
    leaf = logits.clone().requires_grad_(True)
    value = loss(leaf, labels)
    (value.sum() if above is None else (value * above).sum()).backward()
    return value.detach(), leaf.grad


def assert_same(ours, theirs, logits, labels, tolerance=2e-6):
    """Values, gradients, shapes and types."""
    with torch.no_grad():
        shape = theirs(logits, labels).shape
    above = torch.randn(shape, generator=GENERATOR)
    value, gradient = result(ours, logits, labels, above)
    expected, expected_gradient = result(theirs, logits, labels, above)
    torch.testing.assert_close(value, expected, rtol=1e-5, atol=tolerance)
    torch.testing.assert_close(gradient, expected_gradient, rtol=1e-4, atol=tolerance)
    assert expected_gradient.isfinite().all()
