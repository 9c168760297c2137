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
    value, gradient = result(HINGE[name], logits, labels)
    assert not value.isfinite() and not gradient.isfinite().all()
