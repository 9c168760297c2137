"""The metrics of submod.torch: those of torchmetrics, and of submod.metrics, which has its own
tests."""

import copy
import io
import pickle

import numpy as np
import pytest

torch = pytest.importorskip("torch")

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod.torch import metrics  # noqa: E402

CLASSES = 4
# Each with its arguments, and what it is updated with beside prediction and truth.
KINDS = {
    "Confusion": {"ignore_index": 255},
    "InstanceIoU": {},
    "BoundaryIoU": {"distance": 1},
    "FineGrainedIoU": {},
}


def batch_for(name, seed):
    generator = torch.Generator().manual_seed(seed)
    truth = torch.randint(CLASSES, (2, 6, 7), generator=generator)
    prediction = torch.randn((2, CLASSES, 6, 7), generator=generator).argmax(1)
    if name == "InstanceIoU":
        return prediction, truth, torch.randint(5, truth.shape, generator=generator)
    return prediction, truth


def assert_equal(found, wanted):
    if isinstance(wanted, tuple):
        assert type(found) is type(wanted)
        for one, other in zip(found, wanted):
            assert_equal(one, other)
    else:
        assert isinstance(found, torch.Tensor)
        np.testing.assert_array_equal(found.numpy(), wanted)


@pytest.mark.parametrize("name", KINDS)
def test_of_arrays(name):
    options = KINDS[name]
    metric = getattr(metrics, name)(CLASSES, **options)
    stream = getattr(submod.metrics, name)(CLASSES, **options)
    for seed in range(3):
        batch = batch_for(name, seed)
        stream.update(*(x.numpy() for x in batch))
        if seed != 1:
            metric.update(*batch)
            continue
        alone = getattr(submod.metrics, name)(CLASSES, **options)
        alone.update(*(x.numpy() for x in batch))
        assert_equal(metric(*batch), alone.compute())
    assert_equal(metric.compute(), stream.compute())
    assert f"{name}({CLASSES}" in repr(metric)


@pytest.mark.parametrize("name", KINDS)
def test_saved_and_copied(name):
    options = KINDS[name]
    metric = getattr(metrics, name)(CLASSES, **options)
    metric.update(*batch_for(name, 1))
    wanted = metric.stream.compute()
    file = io.BytesIO()
    torch.save(torch.nn.ModuleDict({"metric": metric}).state_dict(), file)
    file.seek(0)
    other = torch.nn.ModuleDict({"metric": getattr(metrics, name)(CLASSES, **options)})
    other.load_state_dict(torch.load(file, weights_only=True))
    for again in (other["metric"], copy.deepcopy(metric), pickle.loads(pickle.dumps(metric))):
        assert_equal(again.compute(), wanted)
        again.update(*batch_for(name, 2))
    assert_equal(metric.compute(), wanted)  # they are on their own
    both = getattr(submod.metrics, name)(CLASSES, **options)
    for seed in (1, 2, 1):
        both.update(*(x.numpy() for x in batch_for(name, seed)))
    again.merge(metric)
    assert_equal(again.compute(), both.compute())
    metric.reset()
    assert_equal(metric.compute(), getattr(submod.metrics, name)(CLASSES, **options).compute())
    with pytest.raises(ValueError, match="with 3"):
        getattr(metrics, name)(3).set_extra_state(metric.get_extra_state())


@pytest.mark.parametrize("trial", range(30))
def test_mean_iou_of_torchmetrics(trial):
    theirs = pytest.importorskip("torchmetrics.classification", reason="for want of torchmetrics")
    generator = torch.Generator().manual_seed(trial)
    options = {"num_classes": 5, "ignore_index": 255}
    wanted = {
        "compute": theirs.MulticlassJaccardIndex(average="macro", **options),
        "iou": theirs.MulticlassJaccardIndex(average="none", **options),
        "dice": theirs.MulticlassF1Score(average="none", **options),
        "accuracy": theirs.MulticlassAccuracy(average="none", **options),
    }
    skip = lovasz.MeanIoU(5, ignore_index=255, absent="skip")
    zero = lovasz.MeanIoU(5, ignore_index=255, absent="zero")
    kind = [torch.float32, torch.bfloat16, torch.float64][trial % 3]
    for _ in range(3):
        scores = torch.randn((2, 5, 4, 6), generator=generator).to(kind).requires_grad_()
        truth = torch.randint(1 + trial % 5, (2, 4, 6), generator=generator)
        truth[torch.rand(truth.shape, generator=generator) < 0.2] = 255
        batch = (scores, truth) if trial % 2 else (scores.argmax(1), truth)
        for metric in (*wanted.values(), skip, zero):
            metric.update(*batch)
    found = skip.compute()
    assert found.shape == () and found.dtype == torch.float64
    torch.testing.assert_close(found.float(), wanted["compute"].compute())
    for name in ("iou", "dice", "accuracy"):
        torch.testing.assert_close(getattr(zero, name).float(), wanted[name].compute())
    assert zero.values().pixels == (zero.stream.confusion.sum())


def test_device_of_results():
    metric = lovasz.MeanIoU(2)
    metric.update(torch.tensor([[0, 1]]), torch.tensor([[0, 1]]))
    assert metric.compute().device.type == "cpu" and metric.compute() == 1
    metric._like = torch.empty(0, device="meta")  # what an update with such tensors leaves
    assert metric.iou.device.type == "meta"


def test_refused():
    metric = lovasz.MeanIoU(3)
    labels = torch.zeros((1, 4), dtype=torch.int64)
    with pytest.raises(ValueError, match=r"\(N, 3, ..\) is needed"):
        metric.update(torch.zeros((1, 2, 4)), labels)
    with pytest.raises(TypeError, match="a tensor is needed"):
        metric.update([0], labels)
    with pytest.raises(ValueError, match="truth"):
        metric.update(labels, labels + 3)
    assert metric.values().pixels == 0


@pytest.mark.parametrize("name", ["MeanIoU", "Confusion", "BoundaryIoU", "FineGrainedIoU"])
@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float32, torch.float64])
def test_scores_that_are_not_numbers(name, kind):
    """NaN cannot be ordered and is refused; Inf can be ordered and is accepted."""
    metric = getattr(metrics, name)(CLASSES)
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn((2, CLASSES, 6, 7), generator=generator).to(kind)
    truth = torch.randint(CLASSES, (2, 6, 7), generator=generator)
    for how in (metric.update, metric):
        for c in range(CLASSES):
            spoiled = scores.clone()
            spoiled[1, c, 3, 2] = torch.nan
            spoiled[1, c, 4, 1] = torch.nan
            with pytest.raises(
                submod.NonFiniteError, match=rf"scores\[1\]\[{c}\]\[3\]\[2\] is nan"
            ):
                how(spoiled, truth)
    assert metric.stream.confusion.sum() == 0
    scores[0, 0] = torch.inf
    scores[1, 1] = -torch.inf
    metric.update(scores, truth)
    expected = np.zeros((CLASSES, CLASSES), int)
    np.add.at(expected, (truth.numpy(), scores.double().numpy().argmax(1)), 1)
    assert np.array_equal(metric.stream.confusion, expected)
    nan = np.where(truth == 0, np.nan, truth)
    with pytest.raises(TypeError, match="prediction of type float64; not all are whole numbers"):
        getattr(submod.metrics, name.replace("MeanIoU", "Confusion"))(CLASSES).update(nan, truth)


def test_torchmetrics_leaves_an_ignored_class_out():
    """As docs/switching.md says."""
    torchmetrics = pytest.importorskip("torchmetrics")
    prediction, truth = torch.randint(3, (2, 2, 5, 5), generator=torch.Generator().manual_seed(1))
    theirs = torchmetrics.JaccardIndex("multiclass", num_classes=3, ignore_index=0)
    ours = submod.torch.MeanIoU(3, ignore_index=0, leave_out=0, absent="skip")
    theirs.update(prediction, truth)
    ours.update(prediction, truth)
    assert ours.compute().item() == pytest.approx(theirs.compute().item())


def test_mean_of_no_pixels():
    metric = submod.torch.MeanIoU(3)
    assert metric.compute().isnan()
    metric.update(torch.tensor([[0, 1]]), torch.tensor([[0, 1]]))
    assert metric.compute() == 1
    metric.reset()
    assert metric.compute().isnan()
