"""bench/experiments: what tables, verdicts and decisions say, against slow computations."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")

from experiments.intervals import Interval  # noqa: E402
from experiments.plan import QUICK  # noqa: E402
from experiments.street import batch_size, camvid, measures, predictions, test_time  # noqa: E402
from experiments.telling import tables, verdicts, words  # noqa: E402

import submod  # noqa: E402

ABOVE, BELOW, AROUND = Interval(2, 1, 3), Interval(-2, -3, -1), Interval(0, -1, 1)
TINY = Interval(0.0, -0.005, 0.005)


@pytest.mark.parametrize(
    "found, word",
    [
        ([ABOVE], "held"),
        ([ABOVE, ABOVE], "held"),
        ([ABOVE, AROUND], "not shown"),
        ([ABOVE, BELOW], "not held"),
        ([AROUND], "not shown"),
        ([AROUND, BELOW], "not held"),
        ([BELOW], "not held"),
    ],
)
def test_a_claim_of_a_rise(found, word):
    assert verdicts.rises(found) == word
    assert verdicts.falls([verdicts.negative(one) for one in found]) == word


@pytest.mark.parametrize(
    "found, word",
    [
        ([TINY, TINY], "held"),
        ([TINY, AROUND], "not shown"),
        ([Interval(0.02, 0.005, 0.03)], "not shown"),
        ([TINY, BELOW], "not held"),
        ([Interval(0.02, 0.011, 0.03)], "not held"),
    ],
)
def test_a_claim_that_nothing_changes(found, word):
    assert verdicts.stays(found) == word


def test_a_general_claim():
    assert verdicts.mostly(10, 0, 12) == "held"
    assert verdicts.mostly(10, 2, 12) == "held"
    assert verdicts.mostly(9, 2, 12) == "not shown"
    assert verdicts.mostly(5, 0, 12) == "not shown"
    assert verdicts.mostly(1, 2, 12) == "not held"


def test_numbers_in_words():
    assert words.points(Interval(0.0123, -0.0021, 0.02)) == "+1.2 [-0.2, +2.0]"
    # An end that would be rounded to 0 has more decimals; the difference itself may be 0.0.
    assert words.points(Interval(0.0123, -0.0004, 0.02)) == "+1.23 [-0.04, +2.00]"
    assert words.points(Interval(0.0123, 0.00002, 0.02)) == "+1.230 [+0.002, +2.000]"
    assert words.points(Interval(0.0001, -0.02, 0.02)) == "+0.0 [-2.0, +2.0]"
    assert words.points(Interval(0.0, 0.0, 1e-17)) == "0.0 [0.0, 0.0]"
    assert words.mean_and_spread([0.5, 0.6, 0.55]) == "55.0 ± 5.0"
    assert words.listed([]) == "none"
    assert words.listed(["a", "b", "c"]) == "a, b and c"


def test_the_best_of_a_column_is_marked():
    values = [[0.1, 0.3], [0.2, 0.3], [0.1, 0.1]]
    assert [text.endswith("*") for text in tables.Column("x", values).texts()] == [0, 1, 0]
    falling = tables.Column("x", values, rising=False)
    assert [text.endswith("*") for text in falling.texts()] == [0, 0, 1]


def test_categories_are_of_every_class_once():
    of = [name for members in measures.CATEGORIES.values() for name in members]
    assert sorted(of) == sorted(camvid.CLASSES)


def test_category_iou_counts_pixels_by_category():
    rng = np.random.default_rng(5)
    classes = len(camvid.CLASSES)
    truth, guess = rng.integers(classes, size=(2, 400))
    category = np.array(
        [
            next(k for k, of in enumerate(measures.CATEGORIES.values()) if name in of)
            for name in camvid.CLASSES
        ]
    )
    counts = np.zeros((2, classes, classes), np.int64)
    np.add.at(counts, (np.arange(400) % 2, truth, guess), 1)
    ious = []
    for k in range(len(measures.CATEGORIES)):
        mine, theirs = category[truth] == k, category[guess] == k
        ious.append((mine & theirs).sum() / (mine | theirs).sum())
    assert measures.category_iou(counts) == pytest.approx(np.mean(ious), abs=1e-12)


def test_small_classes_are_the_rarest():
    classes = len(camvid.CLASSES)
    counts = np.zeros((1, classes, classes), np.int64)
    for c in range(classes):
        counts[0, c, c] = 10 * (c + 1)
    counts[0, 0, 10] = 10  # half of the rarest is lost to the most frequent
    expected = (0.5 + 4) / 5 - (5 + 110 / 120) / 6
    assert measures.small_against_large(counts) == pytest.approx(expected)


class Fixed(torch.nn.Module):
    """Scores that are the first channels of a fixed mixture of the image's."""

    def __init__(self, classes):
        super().__init__()
        self.mix = torch.nn.Conv2d(3, classes, 1)
        torch.manual_seed(0)
        torch.nn.init.normal_(self.mix.weight)

    def forward(self, images):
        return self.mix(images)


def split(images, classes):
    rng = np.random.default_rng(2)
    pixels = torch.from_numpy(rng.integers(0, 256, (images, 3, 12, 16)).astype(np.uint8))
    labels = torch.from_numpy(rng.integers(0, classes, (images, 12, 16)).astype(np.uint8))
    labels[:, 0] = camvid.IGNORE
    return camvid.Split([str(k) for k in range(images)], pixels, labels)


@pytest.mark.parametrize("outputs, classes", [(1, 2), (4, 4)])
def test_decisions_are_those_of_the_library(outputs, classes):
    network, data = Fixed(outputs).eval(), split(5, classes)
    found = predictions.decided(network, data, together=1, temperature=2.0)
    for k in range(5):
        scores = predictions.class_scores(network, data.images[k : k + 1])
        p = (scores / 2.0).softmax(1).numpy()
        if classes == 2:
            chosen = submod.decide(p[:, 1]).segmentation[0]
        else:
            chosen = submod.decide_classes(p).segmentation[0]
        truth = data.labels[k].numpy()
        for t in range(classes):
            for c in range(classes):
                assert found[k, t, c] == ((truth == t) & (chosen == c)).sum()


def test_images_that_are_decided_together_are_one_image():
    network, data = Fixed(4).eval(), split(3, 4)
    found = predictions.decided(network, data, together=3, temperature=1.0)
    p = torch.cat([predictions.class_scores(network, data.images[k : k + 1]) for k in range(3)])
    wide = np.concatenate(list(p.softmax(1).numpy()), 2)[None]  # side by side
    chosen = np.split(submod.decide_classes(wide).segmentation[0], 3, axis=1)
    for k in range(3):
        right = (data.labels[k].numpy() == chosen[k]).sum()
        assert np.trace(found[k]) == right


def test_the_miou_of_batches_is_the_mean_over_those_decided_as_one():
    rng = np.random.default_rng(4)
    counts = rng.integers(1, 9, (2 * predictions.TOGETHER + 3, 3, 3))
    batches = predictions.groups(len(counts), predictions.TOGETHER)
    assert sorted(np.concatenate(batches)) == list(range(len(counts)))
    slow = []
    for batch in batches:
        sums = counts[batch].sum(0)
        either = [sums[c].sum() + sums[:, c].sum() - sums[c, c] for c in range(3)]
        slow.append(np.mean([sums[c, c] / either[c] for c in range(3)]))
    assert len(slow) == 2
    assert test_time.batch_miou(counts) == pytest.approx(np.mean(slow))


def test_what_batches_gain_beyond_the_control():
    """So many of 10 pixels of the first class are right: an IoU of a tenth each, and 0."""

    def counts(right):
        return np.tile(np.array([[right, 10 - right], [0, 0]]), (6, 1, 1))

    found = {
        (way, batch): [counts(right)] * 2
        for way, rights in ((batch_size.PER_BATCH, (2, 8)), (batch_size.PER_IMAGE, (4, 5)))
        for batch, right in zip((1, 4), rights)
    }
    gained = batch_size.beyond_control(SimpleNamespace(plan=QUICK), found)
    assert gained == pytest.approx((0.05 * (6 - 1),) * 3)


def test_the_edge_of_a_grid_is_told():
    picked = {"a": 1.0, "b": 0.1, "c": 0.01, "d": 1.0}
    assert list(words.at_the_edge("Rates", (1.0, 0.1, 0.01), picked)) == [
        "Rates: the largest of the grid is best for a and d.",
        "Rates: the smallest of the grid is best for c.",
    ]
    assert list(words.at_the_edge("Rates", (1.0,), {"a": 1.0})) == []


def test_the_edge_of_a_grid_is_told_fold_by_fold():
    picked = {"a": [1.0, 1.0, 0.1], "b": [0.1, 0.1, 0.1], "c": [0.01, 1.0, 0.1]}
    assert list(words.at_the_edge_in_folds("Rates", (1.0, 0.1, 0.01), picked)) == [
        "Rates: the largest of the grid is best for a in 2 of 3 folds and c in 1 of 3 folds.",
        "Rates: the smallest of the grid is best for c in 1 of 3 folds.",
    ]


def test_only_what_is_shown_is_told():
    found = {"x": {"a": ABOVE, "b": AROUND, "c": BELOW}, "y": dict.fromkeys("abc", AROUND)}
    told = words.shown("d", found)
    assert "in 2 of 6 comparisons with d" in told
    assert told.endswith("By index: x: a better, c worse; y: nothing.")
    many = {"x": {f"{k}": AROUND for k in range(40)}}
    assert "in 0 of 40" in words.shown("d", many)
    assert "in about 2, by chance" in words.shown("d", many)


def test_what_could_have_been_shown():
    found = {"x": {"a": Interval(0, -0.01, 0.03), "b": Interval(0, -0.01, 0.01), "c": ABOVE}}
    assert "in points, 2.0 in x" in words.power(found)  # the median of 2, 1 and 100 points


def test_it_is_told_where_the_index_that_is_decided_for_falls():
    worse, other = f"cross-entropy, {test_time.PER_IMAGE}", "Lovász-Softmax, argmax"
    of = {
        "camvid": {"image-mIoU": {worse: BELOW, other: BELOW}, "dataset-mIoU": {worse: BELOW}},
        "camvid-car": {"image-IoU": {worse: AROUND}, "dataset-IoU": {worse: BELOW}},
    }
    [told] = test_time.fallen(of)
    assert "eleven classes -200.0 [-300.0, -100.0]. Known" in told
    assert test_time.fallen({"camvid-car": of["camvid-car"]}) == []


def test_the_temperature_undoes_a_scale():
    """Labels drawn from a network's probabilities, then its scores doubled."""
    network, data = Fixed(4).eval(), split(60, 4)
    p = torch.cat([predictions.class_scores(network, data.images[k : k + 1]) for k in range(60)])
    drawn = torch.distributions.Categorical(logits=p.movedim(1, -1))
    torch.manual_seed(1)
    data = data._replace(labels=drawn.sample().to(torch.uint8))
    assert 0.8 < predictions.temperature(network, data) < 1.25
    with torch.no_grad():
        network.mix.weight *= 2
        network.mix.bias *= 2
    assert 1.6 < predictions.temperature(network, data) < 2.5


def test_averages():
    network, data = Fixed(4).eval(), split(2, 4)
    found = predictions.averages(network, data.images)
    turned = predictions.averages(network, data.images.flip(-1))
    for name in ("mirrored", "both"):  # what averages over mirror images does not see them
        assert torch.allclose(found[name], turned[name].flip(-1), atol=1e-6)
    for p in found.values():
        assert torch.allclose(p.sum(1), torch.ones(2, 12, 16), atol=1e-5)
