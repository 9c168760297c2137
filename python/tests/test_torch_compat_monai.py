"""submod.torch.compat.monai in the manner of MONAI's DiceLoss: at zeros and ones the loss is its
Jaccard loss, with all of its options; between them it is the extension, by PyTorch's operations."""

import warnings

import pytest

torch = pytest.importorskip("torch")

from compat_cases import GENERATOR, SHAPES, assert_same, case, product, result  # noqa: E402
from torch_reference import extension  # noqa: E402

from submod.torch.compat.monai import LovaszLoss  # noqa: E402

VOLUMES = [*SHAPES, (2, 3, 4, 2)]


@pytest.fixture(scope="module")
def dice():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return pytest.importorskip("monai.losses", reason="monai is not installed").DiceLoss


def jaccard(dice, **options):
    """Nearly without smoothing: 0/0 is a similarity of 1, and so a loss of 0."""
    return dice(jaccard=True, smooth_nr=1e-9, smooth_dr=1e-9, **options)


def channels(labels, number):
    """A channel of 0 and 1 per class."""
    return torch.stack([labels == c for c in range(number)], 1).float()


def target_of(labels, number, to_onehot_y):
    return labels[:, None] if to_onehot_y else channels(labels, number)


OPTIONS = product(
    include_background=[True, False],
    to_onehot_y=[True, False],
    reduction=["mean", "sum", "none"],
    batch=[True, False],
    weight=[None, 0.5, [1.0, 2.0, 0.0]],
)


def with_weights(options, number):
    """As many as there are classes that count."""
    weight = options["weight"]
    if isinstance(weight, list):
        weight = (weight * 2)[: number - (not options["include_background"])]
    return {**options, "weight": weight}


@pytest.mark.parametrize("activation", [None, "softmax", "sigmoid", "other_act"])
@pytest.mark.parametrize("options", OPTIONS)
def test_at_zeros_and_ones(dice, options, activation):
    """Values and shapes, without an activation and with logits of which it makes 0 and 1."""
    act = {} if activation is None else {activation: True}
    if activation == "other_act":
        act = {"other_act": lambda x: x.clamp(0, 1)}
    for shape in VOLUMES[-2:]:
        number = 4
        guess = channels(case(number, shape)[1], number)
        logits = guess if activation is None else 400 * guess - 200
        labels = case(number, shape, missing=1)[1]
        target = target_of(labels, number, options["to_onehot_y"])
        full = {**with_weights(options, number), **act}
        found = LovaszLoss(**full)(logits, target)
        torch.testing.assert_close(found, jaccard(dice, **full)(logits, target))


@pytest.mark.parametrize("ignore_index", [0, 2, 255, -1])
@pytest.mark.parametrize(
    "options", product(include_background=[True, False], batch=[True, False], reduction=["none"])
)
def test_ignored(dice, options, ignore_index):
    number = 3
    for shape in VOLUMES:
        guess = channels(case(number, shape)[1], number)
        logits, labels = case(number, shape, ignore_index)
        for target, to_onehot_y in ((labels[:, None], True), (channels(labels, number), False)):
            full = {**options, "to_onehot_y": to_onehot_y, "ignore_index": ignore_index}
            found = LovaszLoss(**full)(guess, target)
            torch.testing.assert_close(found, jaccard(dice, **full)(guess, target))
            _, gradient = result(LovaszLoss(softmax=True, **full), logits, target)
            assert not gradient.movedim(1, -1)[labels == ignore_index].any()
            assert gradient.any()


def formula(include_background=True, to_onehot_y=False, reduction="mean", batch=False, weight=None):
    """Of probabilities; differentiated by autograd."""

    def loss(probabilities, target):
        truth = target
        if to_onehot_y:
            truth = channels(target[:, 0], probabilities.shape[1])
        first = 0 if include_background else 1
        p, y = probabilities[:, first:], truth[:, first:]
        if batch:
            p, y = (t.movedim(1, 0).flatten(1)[None] for t in (p, y))
        rows = [
            torch.stack([extension((b - a).abs().flatten(), b.flatten() == 1) for a, b in zip(*g)])
            for g in zip(p, y)
        ]
        losses = torch.stack(rows)
        if weight is not None and losses.shape[1] > 1:
            losses = losses * torch.as_tensor(weight)
        if reduction == "none":
            losses = losses[0] if batch else losses
            return losses.view(*losses.shape, *[1] * (target.ndim - 2))
        return losses.mean() if reduction == "mean" else losses.sum()

    return loss


@pytest.mark.parametrize("options", OPTIONS)
def test_between(options):
    """Values and gradients of logits in every activation, and of probabilities."""
    number = 4
    full = with_weights(options, number)
    reference = formula(**full)
    for shape in VOLUMES[::4]:
        logits, labels = case(number, shape, missing=2)
        target = target_of(labels, number, options["to_onehot_y"])
        for act, function in (
            ({"softmax": True}, lambda x: x.softmax(1)),
            ({"sigmoid": True}, torch.sigmoid),
            ({"other_act": lambda x: x.sigmoid() ** 2}, lambda x: x.sigmoid() ** 2),
        ):
            assert_same(
                LovaszLoss(**full, **act),
                lambda x, y, f=function: reference(f(x), y),
                logits,
                target,
            )
        assert_same(LovaszLoss(**full), reference, logits.sigmoid(), target)


def test_softmax_is_the_main_api():
    import submod.torch as lovasz

    logits, labels = case(5, SHAPES[0])
    ours = LovaszLoss(to_onehot_y=True, softmax=True)(logits, labels[:, None])
    for per_image, batch in ((True, False), (False, True)):
        ours = LovaszLoss(to_onehot_y=True, softmax=True, batch=batch)(logits, labels[:, None])
        expected = lovasz.lovasz_softmax(logits, labels, "all", per_image)
        assert ours.item() == pytest.approx(expected.item(), abs=1e-6)


@pytest.mark.parametrize("argument", ["softmax", "to_onehot_y", "include_background"])
def test_one_channel(dice, argument):
    """The argument has no meaning, and both warn."""
    guess = (torch.rand(2, 1, 4, 4, generator=GENERATOR) > 0.5).float()
    truth = (torch.rand(2, 1, 4, 4, generator=GENERATOR) > 0.5).float()
    options = {argument: argument != "include_background", "weight": [3.0]}
    losses = []
    for loss in (LovaszLoss(**options), jaccard(dice, **options)):
        with pytest.warns(UserWarning, match=f"single channel prediction, `{argument}="):
            losses.append(loss(guess, truth))
    torch.testing.assert_close(*losses)


@pytest.mark.parametrize("dtype", [torch.bool, torch.uint8, torch.int64, torch.float32])
@pytest.mark.parametrize("ignore_index", [None, 1])
def test_types_of_targets(dtype, ignore_index):
    logits, labels = case(3, SHAPES[0])
    loss = LovaszLoss(softmax=True, ignore_index=ignore_index)
    target = channels(labels, 3)
    assert loss(logits, target.to(dtype)) == loss(logits, target)


def test_nothing_there_and_nothing_predicted(dice):
    """0/0 without smoothing is NaN there; here it costs nothing."""
    zeros = torch.zeros(1, 2, 3, 3)
    assert dice(jaccard=True, smooth_nr=0, smooth_dr=0)(zeros, zeros).isnan()
    value, gradient = result(LovaszLoss(), zeros, zeros)
    assert value == 0 and gradient.isfinite().all()


def test_refused(dice):
    logits, labels = case(3, SHAPES[0])
    p, truth = logits.softmax(1), channels(labels, 3)
    for loss in (LovaszLoss, dice):
        with pytest.raises((ValueError, TypeError)):
            loss(sigmoid=True, softmax=True)
        with pytest.raises(TypeError, match="other_act"):
            loss(other_act=3)
        with pytest.raises(ValueError):
            loss(reduction="max")
        with pytest.raises((ValueError, AssertionError), match="shape"):
            loss()(p, labels[:, None])
        with pytest.raises((ValueError, AssertionError), match=r"shape|channel"):
            loss(to_onehot_y=True)(p, truth)
        with pytest.raises(ValueError, match="weight"):
            loss(weight=[1.0, 2.0])(p, truth)
        with pytest.raises(ValueError, match="weight"):
            loss(weight=[1.0, -2.0, 1])(p, truth)
    with pytest.raises(ValueError, match="whole"):
        LovaszLoss()(p, truth / 2)
    with pytest.raises(ValueError, match="labels"):
        LovaszLoss()(p, 4 * truth)
    with pytest.raises(ValueError, match="labels: 3"):
        LovaszLoss(to_onehot_y=True)(p, torch.full_like(labels, 3)[:, None])
    with pytest.raises(ValueError, match="scores"):
        LovaszLoss()(logits, truth)


def test_reduction_of_monai(dice):
    from monai.utils import LossReduction

    logits, labels = case(3, SHAPES[0])
    loss = LovaszLoss(softmax=True, to_onehot_y=True, reduction=LossReduction.SUM)
    assert loss.reduction == "sum" and loss(logits, labels[:, None]).shape == ()
