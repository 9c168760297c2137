"""Metrics against the packages that people take them from, and against slow definitions."""

import copy
import pickle
import threading

import numpy as np
import pytest

import submod
from submod import metrics

RNG = np.random.default_rng(7)


def label_maps(shape, classes, rng=RNG, some=None, ignore=None):
    """Random maps of blocks of 3 pixels; of the first few classes alone where `some` says so."""
    truth = rng.integers(some or classes, size=shape).repeat(3, -1)[..., : shape[-1]]
    prediction = np.where(rng.random(shape) < 0.6, truth, rng.integers(classes, size=shape))
    if ignore is not None:
        truth = np.where(rng.random(shape) < 0.1, ignore, truth)
    return prediction, truth


# ---- counts of pixels ----


@pytest.mark.parametrize("trial", range(60))
def test_scores_of_scikit_learn(trial):
    sklearn = pytest.importorskip("sklearn.metrics", reason="for want of scikit-learn")
    rng = np.random.default_rng(trial)
    prediction, truth = label_maps((2, 5, 8), 6, rng, some=1 + trial % 6, ignore=255)
    kept = truth != 255
    flat = truth[kept], prediction[kept]
    for absent, zero in (("zero", 0), ("one", 1)):
        counts = metrics.Confusion(6, ignore_index=255, absent=absent)
        counts.update(prediction, truth)
        ours = counts.compute()
        for theirs, name in (
            (sklearn.jaccard_score, "iou"),
            (sklearn.f1_score, "dice"),
            (sklearn.recall_score, "accuracy"),
        ):
            wanted = theirs(*flat, labels=range(6), average=None, zero_division=zero)
            np.testing.assert_allclose(getattr(ours.classes, name), wanted, atol=1e-15)
            assert getattr(ours.mean, name) == pytest.approx(np.mean(wanted), abs=1e-15)


@pytest.mark.parametrize("trial", range(40))
def test_iou_of_torchmetrics(trial):
    torch = pytest.importorskip("torch", reason="for want of PyTorch")
    theirs = pytest.importorskip(
        "torchmetrics.functional.classification", reason="for want of torchmetrics"
    )
    rng = np.random.default_rng(trial)
    prediction, truth = label_maps((3, 4, 9), 5, rng, some=1 + trial % 5, ignore=-1)
    tensors = torch.tensor(prediction), torch.tensor(truth)
    wanted = theirs.multiclass_jaccard_index(*tensors, 5, average="macro", ignore_index=-1)
    counts = metrics.Confusion(5, ignore_index=-1, absent="skip")
    counts.update(prediction, truth)
    assert counts.compute().mean.iou == pytest.approx(float(wanted), abs=1e-6)


def test_categories():
    prediction, truth = label_maps((4, 6, 6), 4)
    groups = ["sky", "road", "road", "sky"]
    number = np.array([0, 1, 1, 0])
    found = metrics.category_iou(prediction, truth, groups, average=False)
    wanted = submod.miou(number[prediction], number[truth], 2)
    assert list(found) == ["sky", "road"] and np.mean(list(found.values())) == wanted
    assert metrics.category_iou(prediction, truth, groups) == wanted


# ---- boundaries ----


@pytest.mark.parametrize("trial", range(40))
def test_boundary_by_erosion(trial):
    ndimage = pytest.importorskip("scipy.ndimage", reason="for want of SciPy")
    rng = np.random.default_rng(trial)
    shape = tuple(rng.integers(3, 70, size=2))
    noise = [ndimage.gaussian_filter(rng.normal(size=shape), 3) for _ in range(2)]
    truth, prediction = noise[0] > 0, noise[0] + 0.3 * noise[1] > 0
    ratio = [0.02, 0.05, 0.2][trial % 3]
    distance = max(1, round(ratio * np.hypot(*shape)))

    def band(mask):
        return mask & ~ndimage.binary_erosion(mask, np.ones((3, 3)), distance)

    a, b = band(truth), band(prediction)
    wanted = (a & b).sum() / (a | b).sum() if (a | b).any() else 1
    ours = metrics.boundary_iou(prediction[None], truth[None], ratio=ratio, average=False)
    assert ours[1] == wanted
    again = metrics.boundary_iou(prediction[None], truth[None], distance=distance, average=False)
    assert again[1] == wanted


@pytest.mark.parametrize("trial", range(20))
def test_boundary_of_opencv(trial):
    """As the authors' code calls it: a border of zeros, d erosions by 3 x 3."""
    cv2 = pytest.importorskip("cv2", reason="for want of OpenCV")
    rng = np.random.default_rng(trial)
    shape = tuple(rng.integers(20, 90, size=2))
    masks = cv2.blur(rng.random((*shape, 2)), (9, 9)) > 0.5
    distance = int(rng.integers(1, 6))

    def band(mask):
        framed = cv2.copyMakeBorder(mask.astype(np.uint8), 1, 1, 1, 1, cv2.BORDER_CONSTANT, value=0)
        inner = cv2.erode(framed, np.ones((3, 3), np.uint8), iterations=distance)
        return mask & (inner[1:-1, 1:-1] == 0)

    a, b = band(masks[..., 0]), band(masks[..., 1])
    ours = metrics.boundary_iou(
        masks[None, ..., 1], masks[None, ..., 0], distance=distance, average=False
    )
    assert ours[1] == (a & b).sum() / (a | b).sum()


# ---- images one by one ----


@pytest.mark.parametrize("trial", range(20))
def test_fine_grained_by_definition(trial):
    rng = np.random.default_rng(trial)
    images, classes = int(rng.integers(1, 40)), 5
    pairs = [
        label_maps((1, 4, 9), classes, rng, 1 + int(rng.integers(classes)), 255)
        for _ in range(images)
    ]
    stream = metrics.FineGrainedIoU(classes, ignore_index=255)
    iou = np.full((images, classes), np.nan)
    for i, (prediction, truth) in enumerate(pairs):
        stream.update(prediction, truth)
        for c in np.unique(truth[truth != 255]):
            p, t = (prediction == c) & (truth != 255), truth == c
            iou[i, c] = (p & t).sum() / (p | t).sum()
    np.testing.assert_array_equal(stream.table(), iou)

    def worst(values, percent):
        values = np.sort(values[~np.isnan(values)])
        return values[: max(1, int(percent) * len(values) // 100)].mean()

    def reduced(percent):
        each = worst(np.nanmean(iou, 1), percent)
        columns = [worst(column, percent) for column in iou.T if not np.isnan(column).all()]
        return each, np.mean(columns)

    values = stream.compute()
    np.testing.assert_allclose((values.image, values.of_class), reduced(100))
    means = np.mean([reduced(q) for q in range(10, 110, 10)], 0)
    np.testing.assert_allclose((values.image_mean, values.class_mean), means)
    for percent in (1, 5, 29, 50, 100):
        np.testing.assert_allclose(stream.worst(percent), reduced(percent))
    stacked = [np.concatenate(maps) for maps in zip(*pairs)]
    whole = submod.miou(*stacked, classes, ignore_index=255, absent="truth")
    assert values.dataset == pytest.approx(whole)
    assert metrics.fine_grained_miou(*stacked, classes, ignore_index=255) == values


# ---- streams ----

STREAMS = {
    "Confusion": lambda: metrics.Confusion(4, ignore_index=255),
    "InstanceIoU": lambda: metrics.InstanceIoU(4, ignore_index=255),
    "BoundaryIoU": lambda: metrics.BoundaryIoU(4, ignore_index=255),
    "FineGrainedIoU": lambda: metrics.FineGrainedIoU(4, ignore_index=255),
}


def batches(kind, count):
    rng = np.random.default_rng(1)
    for _ in range(count):
        prediction, truth = label_maps((2, 7, 8), 4, rng, ignore=255)
        if kind == "InstanceIoU":
            yield prediction, truth, rng.integers(3, size=truth.shape)
        else:
            yield prediction, truth


def numbers(values):
    flat = []
    for value in values:
        flat += numbers(value) if isinstance(value, tuple) else list(np.atleast_1d(value))
    return flat


@pytest.mark.parametrize("kind", STREAMS)
def test_streams(kind):
    """Batch by batch, merged in any order, by threads, at once: the same bits."""
    whole, last, threaded = STREAMS[kind](), STREAMS[kind](), STREAMS[kind]()
    parts = list(batches(kind, 6))
    whole.update(*(np.concatenate(arrays) for arrays in zip(*parts)))
    wanted = numbers(whole.compute())
    for batch in reversed(parts):
        one = STREAMS[kind]()
        one.update(*batch)
        last.merge(one)
    threads = [threading.Thread(target=threaded.update, args=batch) for batch in parts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for stream in (last, threaded):
        np.testing.assert_array_equal(numbers(stream.compute()), wanted)
    fresh = numbers(STREAMS[kind]().compute())
    whole.reset()
    np.testing.assert_array_equal(numbers(whole.compute()), fresh)
    with pytest.raises(TypeError, match="cannot be merged"):
        whole.merge(submod.MeanIoU(4))
    for way in (copy.copy, copy.deepcopy, pickle.dumps):
        with pytest.raises(TypeError, match="neither copied nor pickled"):
            way(whole)


@pytest.mark.parametrize("kind", STREAMS)
def test_states(kind):
    """Through a pickle to another process, as it were, and merged there."""
    whole, sum_, other = STREAMS[kind](), STREAMS[kind](), STREAMS[kind]()
    for batch in batches(kind, 3):
        whole.update(*batch)
        one = STREAMS[kind]()
        one.update(*batch)
        other.load_state_dict(pickle.loads(pickle.dumps(one.state_dict())))
        sum_.merge(other)
    wanted = numbers(whole.compute())
    np.testing.assert_array_equal(numbers(sum_.compute()), wanted)
    state = whole.state_dict()
    for wrong in ({"kind": "x"}, {"classes": 5}, {"words": state["words"][1:]}):
        with pytest.raises(ValueError):
            whole.load_state_dict({**state, **wrong})
    with pytest.raises(ValueError):
        whole.load_state_dict({**state, "words": np.full_like(state["words"], 2**64 - 1)})
    np.testing.assert_array_equal(numbers(whole.compute()), wanted)


@pytest.mark.parametrize("kind", STREAMS)
def test_refused_batches_leave_no_trace(kind):
    stream = STREAMS[kind]()
    first, second = batches(kind, 2)
    stream.update(*first)
    before = numbers(stream.compute())
    truth = second[1].copy()
    truth[1, 3, 4] = 9
    with pytest.raises(submod.InvalidArgumentError, match=r"truth\[1\]\[28\] = 9"):
        stream.update(second[0], truth, *second[2:])
    with pytest.raises(ValueError, match="shape"):
        stream.update(second[0], truth[:, :3], *second[2:])
    np.testing.assert_array_equal(numbers(stream.compute()), before)


def test_instances():
    prediction, truth, ids = next(batches("InstanceIoU", 1))
    stream = metrics.InstanceIoU(4, ignore_index=255)
    stream.update(prediction, truth, ids)
    count, size = stream.sizes()
    sums, found = np.zeros(4), np.zeros(4)
    for image in range(2):
        for c in range(4):
            for number in (1, 2):
                mask = (truth[image] == c) & (ids[image] == number)
                if mask.any():
                    sums[c] += 1
                    found[c] += (prediction[image][mask] == c).mean()
    assert np.array_equal(count, sums)
    false = [((prediction == c) & (truth != c) & (truth != 255)).sum() for c in range(4)]
    wanted = size * found / (size * sums + false)
    np.testing.assert_allclose(stream.compute().iou, wanted)
    options = {"ignore_index": 255, "average": False}
    np.testing.assert_allclose(metrics.instance_iou(prediction, truth, ids, 4, **options), wanted)
    double = metrics.instance_iou(prediction, truth, ids, 4, average_size=2 * size, **options)
    np.testing.assert_allclose(double, 2 * size * found / (2 * size * sums + false))


def test_counts_from_elsewhere():
    prediction, truth = label_maps((2, 5, 5), 3)
    counts, other = metrics.Confusion(3), metrics.Confusion(3)
    counts.update(prediction, truth)
    other.add_counts(counts.confusion)
    assert numbers(other.compute()) == numbers(counts.compute())
    with pytest.raises(ValueError, match="shape"):
        other.add_counts([1, 2])


@pytest.mark.parametrize(
    "make, error, words",
    [
        (lambda: metrics.Confusion(0), ValueError, "classes = 0"),
        (lambda: metrics.Confusion(3, absent="two"), ValueError, "absent"),
        (lambda: metrics.Confusion(3, leave_out=3), ValueError, "leave_out = 3"),
        (lambda: metrics.Confusion(3).regroup([0, 1]), ValueError, "truth_group of shape"),
        (lambda: metrics.Confusion(3).regroup([0, -1, 1]), ValueError, r"prediction_group\[1\]"),
        (lambda: metrics.InstanceIoU(3, average_size=[1, 2]), ValueError, "average_size"),
        (lambda: metrics.InstanceIoU(3, average_size=[1, 2, -1]), ValueError, "average_size"),
        (lambda: metrics.BoundaryIoU(3, ratio=-1), ValueError, "ratio = -1"),
        (lambda: metrics.BoundaryIoU(3, distance=-1), ValueError, "distance = -1"),
        (lambda: metrics.boundary_iou([[0, 1]], [[0, 1]]), ValueError, "height, width"),
        (lambda: metrics.FineGrainedIoU(3).worst(0), ValueError, "percent = 0"),
    ],
)
def test_errors(make, error, words):
    with pytest.raises(error, match=words):
        make()
