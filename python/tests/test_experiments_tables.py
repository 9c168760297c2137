"""bench/experiments: what tables, verdicts and decisions say, against slow computations."""

from __future__ import annotations

import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")

from experiments.intervals import Interval  # noqa: E402
from experiments.street import camvid, measures, predictions  # noqa: E402
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
        ([ABOVE, BELOW], "not shown"),
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
    assert words.points(Interval(0.0123, -0.0004, 0.02)) == "+1.2 [-0.0, +2.0]"
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
