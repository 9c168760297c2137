"""Eleven classes of CamVid: cross-entropy, Lovász-Softmax in its variants, and other surrogates
(the paper's Tables 2 and 3, and its table on Cityscapes)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..intervals import (
    Index,
    Interval,
    dataset_miou,
    image_miou,
    of_images,
    paired_seeds,
    worst_tenth,
)
from ..jobs import Final, Job, Way
from ..lab import Lab
from ..telling import drawing, tables, verdicts, words
from ..telling.section import Claim, Figure, Section, Table
from . import losses, masks, results
from .camvid import CLASSES
from .measures import CATEGORIES, category_iou, class_iou, small_against_large

WAYS = (
    *(Way("camvid", loss) for loss in losses.MULTICLASS),
    Way("camvid", "cross_entropy", "equibatch"),
    Way("camvid", "lovasz", "equibatch"),
)
BASE = Way("camvid", "cross_entropy")
SELDOM = 1e-4  # of all pixels
INDICES: dict[str, Index] = {
    "dataset-mIoU": dataset_miou,
    "image-mIoU": image_miou,
    "category IoU": category_iou,
    "worst 10 % of images": worst_tenth,
}


def jobs(lab: Lab) -> list[Job]:
    return [Final(way, seed, lab.plan.batch) for seed in lab.plan.seeds for way in WAYS]


class Found:
    """Everything that the section tells of, by the title of the way."""

    def __init__(self, lab: Lab) -> None:
        self.lab = lab
        self.titles = {words.title(way): way for way in WAYS}
        read = {name: results.read(lab, way, "test.npz") for name, way in self.titles.items()}
        self.counts = {name: [one["confusion"] for one in of] for name, of in read.items()}
        self.boundary = {
            name: [float(np.nanmean(x["boundary"])) for x in of] for name, of in read.items()
        }
        self.error = {name: [float(x["calibration"]) for x in of] for name, of in read.items()}
        self.base = words.title(BASE)
        self.others = [name for name in self.titles if name != self.base]

    def less(self, index: Index) -> dict[str, Interval]:
        """Of every other way, less cross-entropy."""
        return {name: self.between(index, name, self.base) for name in self.others}

    def between(self, index: Index, ours: str, theirs: str) -> Interval:
        return results.compared(index, self.counts[ours], self.counts[theirs])


def section(lab: Lab) -> Section:
    found = Found(lab)
    less = {name: found.less(index) for name, index in INDICES.items()}
    less["boundary IoU"] = {
        name: paired_seeds(found.boundary[name], found.boundary[found.base])
        for name in found.others
    }
    less["calibration error saved"] = {
        name: paired_seeds(found.error[found.base], found.error[name]) for name in found.others
    }
    return Section(
        "Multiclass: eleven classes of CamVid",
        texts(found, less),
        [scores(found), *differences(less), class_table(found), *raw(found)],
        figures(found, less),
        claims(found),
    )


def texts(found: Found, less: dict[str, dict[str, Interval]]) -> list[str]:
    return [
        "A U-Net is pre-trained with cross-entropy once per seed and fine-tuned with each loss for "
        "the same number of images; each loss has the learning rate that is best for it on val. "
        "Cross-entropy is fine-tuned equally long. Lovász-Softmax is over the classes present in a "
        "batch unless the name says otherwise. Class IoU, as Cityscapes calls it, is the "
        "dataset-mIoU; its categories are " + categories() + ". Its iIoU needs instances, which "
        "CamVid does not have.",
        *left_out(found),
        *words.at_the_edge("Learning rates", found.lab.plan.rates, rates(found)),
        words.shown("cross-entropy", less),
        words.power(less),
    ]


def left_out(found: Found) -> list[str]:
    """Which classes cross-entropy hardly ever predicts, if there are any."""
    shares = [x.sum((0, 1)) / x.sum() for x in found.counts[found.base]]
    never = [name for c, name in enumerate(CLASSES) if all(share[c] < SELDOM for share in shares)]
    if not never:
        return []
    return [
        f"Cross-entropy predicts {words.listed(never)} in less than {100 * SELDOM:g} % of the "
        "pixels, with every seed. In an image without such a class that is right and counts as 1; "
        "who begins to predict it gains dataset-mIoU, and loses image-mIoU wherever it is absent."
    ]


def categories() -> str:
    return "; ".join(f"{name}: {', '.join(of)}" for name, of in CATEGORIES.items())


def rates(found: Found) -> dict[str, float]:
    return {name: way.rate(found.lab) for name, way in found.titles.items()}


def rows(found: Found) -> list[list[str]]:
    return [[name, f"{rate:g}"] for name, rate in rates(found).items()]


def columns(found: Found) -> list[tables.Column]:
    of_counts = [
        tables.Column(title, [results.each(index, found.counts[name]) for name in found.titles])
        for title, index in INDICES.items()
    ]
    return [
        *of_counts,
        tables.Column("boundary IoU", list(found.boundary.values())),
        tables.Column("calibration error", list(found.error.values()), rising=False),
    ]


def scores(found: Found) -> Table:
    caption = (
        "Trained with each loss, scored on test, in %. Calibration error: the expected one, less "
        "is better."
    )
    heads = ["trained with", "rate"]
    return tables.scored("multiclass", caption, rows(found), heads, columns(found))


def differences(less: dict[str, dict[str, Interval]]) -> list[Table]:
    caption = (
        "Less cross-entropy's, in percentage points, with 95 % intervals: paired by seed and "
        "image; those of boundary IoU and calibration error by seed alone, without what other "
        "images would change."
    )
    return tables.differences("multiclass_differences", caption, "trained with", less)


def class_means(found: Found) -> Any:
    """IoU (ways, classes) over the dataset, mean over the seeds."""
    return np.array([np.mean([class_iou(x) for x in of], 0) for of in found.counts.values()])


def class_table(found: Found) -> Table:
    means = 100 * class_means(found)
    best = means.max(0)
    body = [
        [name, *(f"{x:.1f}{tables.BEST if x == most > 0 else ''}" for x, most in zip(row, best))]
        for name, row in zip(found.titles, means)
    ]
    caption = (
        "IoU of each class over the dataset, in %, mean over the seeds; * the best of a column."
    )
    return Table("multiclass_classes", caption, ["trained with", *CLASSES], body)


def raw(found: Found) -> list[Table]:
    seeds = found.lab.plan.seeds
    every = [(name, seed, k) for name in found.titles for k, seed in enumerate(seeds)]
    of_class = [
        [name, seed, *(f"{x:.6f}" for x in class_iou(found.counts[name][k]))]
        for name, seed, k in every
    ]
    of_image = np.array([of_images(found.counts[name][k]).mean(1) for name, _, k in every]).T
    return [
        tables.raw(
            "multiclass_seeds", "Scores on test of every seed.", rows(found),
            ["trained with", "rate"], columns(found), seeds,
        ),
        Table(
            "multiclass_classes_seeds", "IoU of each class, of every seed.",
            ["trained with", "seed", *CLASSES], of_class, shown=False,
        ),
        Table(
            "multiclass_images", "mIoU of every test image, in the order of the list.",
            ["image", *(f"{name}, seed {seed}" for name, seed, _ in every)],
            [[k, *(f"{x:.4f}" for x in row)] for k, row in enumerate(of_image)], shown=False,
        ),
    ]  # fmt: skip


def figures(found: Found, less: dict[str, dict[str, Interval]]) -> list[Figure]:
    return [
        Figure(
            "multiclass_differences",
            "Each loss against cross-entropy fine-tuned equally long: mean over the seeds and 95 "
            "% interval, paired by seed and test image; of boundary IoU and calibration error by "
            "seed alone. Each panel has its own scale.",
            partial(drawing.forest, less, "cross-entropy"),
        ),
        Figure(
            "multiclass_classes",
            "IoU of each class over the dataset, less cross-entropy's, in percentage points; rare "
            "classes to the right. The first row is cross-entropy's own IoU.",
            partial(draw_classes, found),
        ),
        Figure("multiclass_masks", masks.CAPTION, partial(masks.draw, found.lab), shows_data=True),
    ]


def draw_classes(found: Found) -> Any:
    means = 100 * class_means(found)
    shares = found.counts[found.base][0].sum((0, 2))
    order = np.argsort(-shares, kind="stable")
    names = list(found.titles)
    base = means[names.index(found.base)]
    own = [k for k, name in enumerate(names) if name != found.base]
    less = (means[own] - base)[:, order]
    figure, [[axis]] = drawing.new(10, 5.2)
    shown = np.vstack([np.zeros(len(order)), less])
    texts = [
        [f"{x:.0f} %" for x in base[order]],
        *([words.signed(x, 1) for x in row] for row in less),
    ]
    most = max(1.0, float(np.abs(less).max()))
    labels = [found.base, *(names[k] for k in own)]
    classes = [f"{CLASSES[c]} ({100 * shares[c] / shares.sum():.1f} %)" for c in order]
    drawn = drawing.heat(axis, shown, texts, labels, classes, "RdBu", (-most, most))
    axis.axhline(0.5, color="black", lw=1.5)
    axis.set_xlabel("class (share of test pixels)")
    figure.colorbar(drawn, label="points more than cross-entropy", pad=0.01)
    return figure


def claims(found: Found) -> list[Claim]:
    images = len(found.counts[found.base][0])
    data = results.where(found.lab, images)
    base, lovasz, all_classes, per_image, weighted, base_equibatch, equibatch = (
        words.title(way)
        for way in (
            BASE,
            Way("camvid", "lovasz"),
            Way("camvid", "lovasz_all"),
            Way("camvid", "lovasz_per_image"),
            Way("camvid", "weighted_cross_entropy"),
            Way("camvid", "cross_entropy", "equibatch"),
            Way("camvid", "lovasz", "equibatch"),
        )
    )
    first = found.between(dataset_miou, lovasz, base)
    over_weighted = found.between(dataset_miou, lovasz, weighted)
    categories_gain = found.between(category_iou, lovasz, weighted)
    cycled_base = found.between(dataset_miou, base_equibatch, base)
    cycled = found.between(dataset_miou, equibatch, lovasz)
    degraded = [found.between(dataset_miou, name, base) for name in (per_image, all_classes)]
    present = found.between(dataset_miou, lovasz, all_classes)
    small = found.between(small_against_large, lovasz, base)
    return [
        Claim(
            "Table 2: Lovász-Softmax gives a higher dataset-mIoU than cross-entropy (76.6 against "
            "74.6 %, Pascal VOC)",
            f"{words.points(first)} points; "
            f"{results.in_seeds(dataset_miou, found.counts[lovasz], found.counts[base])}",
            verdicts.rises([first]), data,
        ),
        Claim(
            "Sec. 4.4: fine-tuning with Lovász-Softmax raises the class IoU over weighted "
            "cross-entropy (63.1 against 58.3 %, Cityscapes)",
            f"{words.points(over_weighted)} points", verdicts.rises([over_weighted]), data,
        ),
        Claim(
            "Sec. 4.4: and the category IoU (83.6 against 80.4 %)",
            f"{words.points(categories_gain)} points", verdicts.rises([categories_gain]), data,
        ),
        Claim(
            "Sec. 4.3: equibatch helps cross-entropy (75.5 against 74.6 %)",
            f"{words.points(cycled_base)} points", verdicts.rises([cycled_base]), data,
        ),
        Claim(
            "Sec. 4.3: equibatch changes Lovász-Softmax hardly (within one point here)",
            f"{words.points(cycled)} points", verdicts.stays([cycled]), data,
        ),
        Claim(
            "Sec. 3.1: optimising the image-mIoU, or the batch-mIoU over all classes, degrades the "
            "dataset-mIoU compared with cross-entropy",
            f"per image {words.points(degraded[0])}, all classes {words.points(degraded[1])}",
            verdicts.falls(degraded), data,
        ),
        Claim(
            "Sec. 3.1: taking present classes only gains dataset-mIoU (against all classes)",
            f"{words.points(present)} points", verdicts.rises([present]), data,
        ),
        Claim(
            "Sec. 5: small objects gain most, large ones less (the five rarest classes against the "
            "others, Lovász-Softmax against cross-entropy)",
            f"{words.points(small)} points more gained by the rare ones",
            verdicts.rises([small]), data,
        ),
    ]  # fmt: skip
