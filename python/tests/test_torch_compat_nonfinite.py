"""The frameworks' modules pass NaN on, as the frameworks do: a GradScaler looks for it."""

import pytest

torch = pytest.importorskip("torch")

from compat_cases import SHAPES, case, result  # noqa: E402

from submod.torch.compat import kornia, mmseg, smp  # noqa: E402

WEIGHT = [1.0, 2.0, 3.0]
SOFTMAX = {
    "smp": smp.LovaszLoss("multiclass"),
    "kornia": kornia.LovaszSoftmaxLoss(),
    "kornia, weight": kornia.LovaszSoftmaxLoss(torch.tensor(WEIGHT)),
    "mmseg": mmseg.LovaszLoss(),
    "mmseg, weight": mmseg.LovaszLoss(class_weight=WEIGHT, per_image=True),
}
HINGE = {
    "smp": smp.LovaszLoss("binary"),
    "kornia": kornia.LovaszHingeLoss(),
    "mmseg": mmseg.LovaszLoss("binary"),
}


@pytest.mark.parametrize("wrong", [float("nan"), float("inf")])
@pytest.mark.parametrize("name", SOFTMAX)
def test_softmax(name, wrong):
    logits, labels = case(3, SHAPES[0])
    logits[0, 1, 2, 3] = wrong
    value, gradient = result(SOFTMAX[name], logits, labels)
    assert value.isnan() and gradient.isnan().any()


@pytest.mark.parametrize("wrong", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("name", HINGE)
def test_hinge(name, wrong):
    logits, labels = case(1, SHAPES[0])
    logits[0, 0, 2, 3] = wrong
    labels[0, 2, 3] = wrong < 0
    value, gradient = result(HINGE[name], logits, labels)
    assert not value.isfinite() and not gradient.isfinite().all()


def by_formula(logits, labels):
    """Computes the hinge of each image as the frameworks do, from sorted errors, relu and the steps
    of the Jaccard loss."""
    losses = []
    for x, y in zip(logits.flatten(1), labels.flatten(1)):
        errors, order = (1 - x * (2.0 * y - 1)).sort(descending=True)
        truth = y[order].float()
        common = truth.sum() - truth.cumsum(0)
        jaccard = 1 - common / (truth.sum() + (1 - truth).cumsum(0))
        steps = torch.cat([jaccard[:1], jaccard[1:] - jaccard[:-1]])
        losses.append(errors.relu() @ steps)
    return torch.stack(losses).mean()


@pytest.mark.parametrize("name", ["smp", "kornia"])
def test_hinge_of_the_right_sign(name):
    loss = smp.LovaszLoss("binary", per_image=True) if name == "smp" else HINGE[name]
    logits, labels = case(2, SHAPES[0])
    logits = logits[:, :1].clone()
    chosen = torch.zeros_like(logits, dtype=torch.bool)
    chosen[:, :, 1:3] = True
    logits = torch.where(chosen, (2.0 * labels[:, None] - 1) * torch.inf, logits)
    value, gradient = result(loss, logits, labels)
    expected, slope = result(by_formula, logits, labels)
    assert expected.isfinite() and slope.isfinite().all() and not gradient[chosen].any()
    torch.testing.assert_close(value, expected)
    torch.testing.assert_close(gradient, slope)
