"""submod.torch.compat.mmseg beside the formula of mmsegmentation, which needs a compiler and
mmcv to install, and beside itself where it is installed."""

import json

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from compat_cases import SHAPES, assert_same, case, product, result, weights  # noqa: E402
from torch_reference import extension  # noqa: E402

from submod.torch.compat.mmseg import LovaszLoss  # noqa: E402


def installed():
    try:
        from mmseg.models.losses import LovaszLoss as theirs
    except Exception:  # of any of the packages that it needs
        pytest.skip("mmsegmentation is not installed")
    return theirs


class Formula:
    """Each class and image by itself, for inputs of which theirs has a value."""

    def __init__(self, loss_type="multi_class", classes="present", per_image=False, **options):
        self.binary = loss_type == "binary"
        self.classes = classes
        self.per_image = per_image
        self.reduction = options.get("reduction", "mean")
        self.class_weight = options.get("class_weight")
        self.loss_weight = options.get("loss_weight", 1.0)

    def __call__(self, score, label, avg_factor=None, reduction_override=None, ignore_index=255):
        groups = [(score, label)]
        if self.per_image:
            groups = [(score[i : i + 1], label[i : i + 1]) for i in range(len(score))]
        group = self.hinge if self.binary else self.softmax
        losses = torch.stack([group(s, y, ignore_index) for s, y in groups])
        reduction = reduction_override or self.reduction
        if not self.per_image:
            losses = losses[0]
        elif reduction == "mean":
            losses = losses.sum() / (len(losses) if avg_factor is None else avg_factor)
        elif reduction == "sum":
            losses = losses.sum()
        return self.loss_weight * losses

    def hinge(self, score, label, ignore_index):
        score, label = score.flatten(), label.flatten()
        kept = torch.ones_like(label, dtype=torch.bool)
        if ignore_index is not None:
            kept = label != ignore_index
        margins = torch.relu(1 - score[kept] * (2.0 * label[kept] - 1))
        return extension(margins, label[kept] == 1)

    def softmax(self, score, label, ignore_index):
        kept = torch.ones_like(label, dtype=torch.bool)
        if ignore_index is not None:
            kept = label != ignore_index
        numbers = range(score.shape[1])
        if isinstance(self.classes, list):
            numbers = self.classes
        elif self.classes == "present":
            numbers = [c for c in numbers if (label[kept] == c).any()]
        losses = []
        for c in numbers:
            truth = label[kept] == c
            errors = (truth.float() - score.softmax(1)[:, c][kept]).abs()
            weight = 1.0 if self.class_weight is None else self.class_weight[c]
            losses.append(weight * extension(errors, truth))
        return torch.stack(losses).mean()


@pytest.fixture(params=["formula", "package"])
def theirs(request):
    return Formula if request.param == "formula" else installed()


@pytest.mark.parametrize(
    "options",
    product(classes=["present", "all", [2, 0]], weighted=[False, True])
    + [{"loss_type": "binary", "weighted": False}, {"loss_type": "binary", "weighted": True}],
)
@pytest.mark.parametrize(
    "grouped",
    [{"reduction": "none"}, *product(per_image=[True], reduction=["mean", "sum", "none"])],
)
def test_equal(theirs, options, grouped):
    options = {**options, **grouped}
    weighted = options.pop("weighted")
    binary = "loss_type" in options
    for shape, loss_weight in zip(SHAPES, (1.0, 0.4, 2, 1)):
        if weighted:
            options["class_weight"] = weights(4).tolist()
        pair = [loss(loss_weight=loss_weight, **options) for loss in (LovaszLoss, theirs)]
        for missing, ignored in ((None, 255), (1, 255), (0, 7)):
            logits, labels = case(4, shape, ignored, missing)
            if binary:
                logits = logits[:, 0]
                labels = torch.where(labels == ignored, ignored, (labels == 1).long())
            called = [lambda x, y, f=f: f(x, y, ignore_index=ignored) for f in pair]  # noqa: B023
            assert_same(*called, logits, labels)


@pytest.mark.parametrize("weight", [None, [1.0, 2.0, 0.5, 0.0], [0.0] * 4, [1.0, -1.0, 2.0, 0.0]])
@pytest.mark.parametrize(
    "called",
    [
        {"avg_factor": 5.0},
        {"avg_factor": 3, "reduction_override": "none"},
        {"reduction_override": "sum"},
        {"reduction_override": "mean", "avg_factor": 2},
        {"reduction_override": "none", "ignore_index": None},
    ],
)
def test_forward(theirs, weight, called):
    pair = [loss(per_image=True, class_weight=weight) for loss in (LovaszLoss, theirs)]
    for shape in SHAPES:
        logits, labels = case(4, shape, missing=2)
        assert_same(*[lambda x, y, f=f: f(x, y, **called) for f in pair], logits, labels)


def test_weights_of_pixels_have_no_effect():
    """As there: the argument is taken, and nothing is done with it."""
    logits, labels = case(3, SHAPES[0])
    loss = LovaszLoss()
    assert loss(logits, labels, weight=torch.zeros(labels.shape)) == loss(logits, labels)


def test_binary_with_a_channel():
    logits, labels = case(1, SHAPES[0])
    loss = LovaszLoss("binary", per_image=True)
    assert loss(logits, labels) == loss(logits[:, 0], labels) == loss(logits, labels[:, None])


def test_weights_of_a_file(tmp_path):
    logits, labels = case(3, SHAPES[0])
    numbers = [0.5, 1.0, 2.0]
    np.save(tmp_path / "w.npy", np.array(numbers))
    (tmp_path / "w.json").write_text(json.dumps(numbers), encoding="utf-8")
    expected = LovaszLoss(class_weight=numbers)(logits, labels)
    for name in ("w.npy", "w.json"):
        assert LovaszLoss(class_weight=str(tmp_path / name))(logits, labels) == expected
    with pytest.raises(ValueError, match=r"\.npy"):
        LovaszLoss(class_weight="w.pkl")


class TestWhereTheirsHasNone:
    """An exception, or an empty tensor."""

    @pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
    def test_everything_ignored(self, weight):
        logits, labels = case(3, SHAPES[0])
        labels[:] = 255
        for per_image in (False, True):
            loss = LovaszLoss(per_image=per_image, class_weight=weight)
            value, gradient = result(loss, logits, labels)
            assert value == 0 and not gradient.any()

    @pytest.mark.parametrize("weight", [None, [1.0, 2.0, 3.0]])
    def test_one_pixel_counts(self, weight):
        logits, labels = case(3, SHAPES[0])
        labels[:] = 255
        labels[0, 1, 2] = 1
        value, gradient = result(LovaszLoss(class_weight=weight), logits, labels)
        p = logits[0, :, 1, 2].softmax(0)[1].item()
        assert value.item() == pytest.approx((1 - p) * (1 if weight is None else 2))
        assert gradient[0, :, 1, 2].all() and gradient.count_nonzero() == 3
        each = LovaszLoss(per_image=True, reduction="none", class_weight=weight)(logits, labels)
        assert each.tolist() == [pytest.approx(value.item()), 0]

    def test_default_reduction_of_a_batch(self):
        """One number is its own mean, sum and self: theirs raises unless it is called "none"."""
        logits, labels = case(3, SHAPES[0])
        values = {LovaszLoss(reduction=r)(logits, labels).item() for r in ("none", "mean", "sum")}
        assert len(values) == 1
        assert LovaszLoss()(logits, labels).shape == ()


def test_refused():
    logits, labels = case(3, SHAPES[0])
    for wrong in (
        {"loss_type": "hinge"},
        {"classes": "some"},
        {"reduction": "max"},
    ):
        with pytest.raises(ValueError, match=next(iter(wrong))):
            LovaszLoss(**wrong)
    loss = LovaszLoss(per_image=True)
    with pytest.raises(ValueError, match="reduction_override"):
        loss(logits, labels, reduction_override="max")
    with pytest.raises(ValueError, match="avg_factor"):
        loss(logits, labels, reduction_override="sum", avg_factor=2)
    for weight in (None, [1.0, 1, 1]):
        with pytest.raises(ValueError, match="labels"):
            LovaszLoss(class_weight=weight)(logits, labels + 1)
        with pytest.raises(ValueError, match="labels of shape"):
            LovaszLoss(class_weight=weight)(logits, labels[:1])
    with pytest.raises(ValueError, match="class_weight: 2 numbers for 3 classes"):
        LovaszLoss(class_weight=[1.0, 2.0])(logits, labels)
    for weight in (None, [1.0]):
        with pytest.raises(ValueError, match="softmax"):
            LovaszLoss(class_weight=weight)(logits[:, :1], labels * 0)


def test_attributes():
    loss = LovaszLoss(loss_weight=0.3)
    assert loss.loss_name == "loss_lovasz" and loss.loss_weight == 0.3
    assert LovaszLoss(loss_name="loss_aux").loss_name == "loss_aux"
    assert loss.class_weight is None and loss.per_image is False
