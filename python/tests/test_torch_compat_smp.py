"""submod.torch.compat.smp beside segmentation-models-pytorch."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from compat_cases import SHAPES, assert_same, case, product, result  # noqa: E402

from submod.torch.compat.smp import LovaszLoss  # noqa: E402


@pytest.fixture(scope="module")
def theirs():
    name = "segmentation_models_pytorch"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip(name, reason=f"{name} is not installed").losses.LovaszLoss


OPTIONS = product(per_image=[False, True], ignore_index=[None, 255, 0], from_logits=[True, False])


@pytest.mark.parametrize("options", OPTIONS)
def test_multiclass(theirs, options):
    losses = [loss("multiclass", **options) for loss in (LovaszLoss, theirs)]
    for shape in SHAPES:
        for classes, missing in ((2, None), (4, 1), (7, None)):
            logits, labels = case(classes, shape, options["ignore_index"], missing)
            assert_same(*losses, logits, labels)
            assert_same(*losses, logits, labels[:, None])


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("mode", ["binary", "multilabel"])
def test_hinge(theirs, mode, options):
    """Of 0 or 1 for each number of logits; the channels of an image are one problem."""
    ignored = options["ignore_index"] or None  # 0 is a label here
    options = {**options, "ignore_index": ignored}
    losses = [loss(mode, **options) for loss in (LovaszLoss, theirs)]
    for shape in SHAPES:
        for channels in (1, 3):
            logits, _ = case(channels, shape)
            _, labels = case(2, (shape[0], channels * shape[1], shape[2]), ignored)
            labels = labels.view(logits.shape)
            for truth in (labels, labels.float(), labels.to(torch.uint8)):
                assert_same(*losses, logits, truth)
            if channels == 1:
                assert_same(*losses, logits, labels[:, 0])
                assert_same(*losses, logits[:, 0], labels)


@pytest.mark.parametrize("per_image", [False, True])
def test_lists_of_pixels(theirs, per_image):
    logits, labels = case(4, (9,))
    options = {"per_image": per_image}
    assert_same(
        LovaszLoss("multiclass", **options), theirs("multiclass", **options), logits, labels
    )
    binary = LovaszLoss("binary", **options), theirs("binary", **options)
    assert_same(*binary, logits[:, 0], (labels > 1).long())


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision(theirs, dtype):
    """Theirs is float32 then, as ours. Scores that are equal have one of several gradients."""
    logits, labels = case(2, SHAPES[0])
    logits = logits[:, :1].to(dtype)
    value, gradient = result(LovaszLoss("binary"), logits, labels)
    expected, wanted = result(theirs("binary"), logits, labels)
    assert value.dtype == expected.dtype and gradient.dtype == wanted.dtype
    assert value.item() == pytest.approx(expected.item(), rel=1e-5)
    assert gradient.float().sum().item() == pytest.approx(wanted.float().sum().item(), abs=1e-1)


def test_defaults(theirs):
    ours, its = LovaszLoss("binary"), theirs("binary")
    for name in ("mode", "per_image", "ignore_index", "reduction"):
        assert getattr(ours, name) == getattr(its, name)
    with pytest.raises(ValueError, match="mode"):
        LovaszLoss("both")


class TestWhereTheirsHasNone:
    """Theirs raises, or is empty; ours has a value and a gradient."""

    @pytest.mark.parametrize(
        "mode, dtype",
        [
            ("binary", torch.float64),
            ("multiclass", torch.float64),
            ("multiclass", torch.float16),
            ("multiclass", torch.bfloat16),
        ],
    )
    def test_types(self, theirs, mode, dtype):
        logits, labels = case(2, SHAPES[0])
        logits = (logits if mode == "multiclass" else logits[:, :1]).to(dtype)
        with pytest.raises(RuntimeError):
            theirs(mode)(logits, labels)
        value, gradient = result(LovaszLoss(mode), logits, labels)
        expected, _ = result(theirs(mode), logits.float(), labels)
        assert value.item() == pytest.approx(expected.item(), rel=1e-2)
        assert gradient.dtype == dtype and gradient.isfinite().all() and gradient.any()

    @pytest.mark.parametrize("per_image", [False, True])
    def test_everything_ignored(self, theirs, per_image):
        logits, labels = case(3, SHAPES[0])
        labels[:] = 255
        options = {"per_image": per_image, "ignore_index": 255}
        with pytest.raises(RuntimeError):
            theirs("multiclass", **options)(logits.requires_grad_(), labels).backward()
        value, gradient = result(LovaszLoss("multiclass", **options), logits.detach(), labels)
        assert value == 0 and not gradient.any()

    def test_an_image_is_ignored(self, theirs):
        logits, labels = case(3, SHAPES[0])
        labels[0] = 255
        options = {"per_image": True, "ignore_index": 255}
        assert theirs("multiclass", **options)(logits, labels).numel() == 0
        value, gradient = result(LovaszLoss("multiclass", **options), logits, labels)
        other, _ = result(LovaszLoss("multiclass"), logits[1:], labels[1:])
        assert value.item() == pytest.approx(other.item() / 2)
        assert not gradient[0].any() and gradient[1].any()

    def test_one_dimension(self, theirs):
        logits, labels = case(3, (2, 1, 8))
        with pytest.raises(ValueError):
            theirs("multiclass")(logits[:, :, 0], labels[:, 0])
        flat, _ = result(LovaszLoss("multiclass"), logits[:, :, 0], labels[:, 0])
        assert flat.item() == pytest.approx(theirs("multiclass")(logits, labels).item())

    def test_bool_labels(self, theirs):
        logits, labels = case(2, SHAPES[0])
        with pytest.raises(RuntimeError):
            theirs("binary")(logits[:, 0], labels == 1)
        assert_same(
            lambda x, y: LovaszLoss("binary")(x, y == 1), theirs("binary"), logits[:, 0], labels
        )


def test_refused():
    logits, labels = case(3, SHAPES[0])
    for mode in ("multiclass", "binary"):
        with pytest.raises(ValueError, match="labels of shape"):
            LovaszLoss(mode)(logits, labels[:, :2])
    with pytest.raises(ValueError, match="labels"):
        LovaszLoss("multiclass")(logits, labels + 1)
    with pytest.raises(ValueError, match="labels"):
        LovaszLoss("binary")(logits[:, 0], labels + 1)
