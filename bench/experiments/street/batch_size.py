"""Images in a batch: the loss of a batch, of its images, of the dataset (the paper's figures on
image- against dataset-mIoU and on batch sizes)."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..intervals import Index, Interval, Numbers, Weights, dataset_miou, image_miou
from ..jobs import Final, Job, Way
from ..lab import Lab
from ..telling import drawing, tables, verdicts, words
from ..telling.section import Claim, Figure, Section, Table
from . import results

PER_BATCH, PER_IMAGE = Way("camvid", "lovasz"), Way("camvid", "lovasz_per_image")
EQUIBATCH = Way("camvid", "lovasz", "equibatch")
WAYS = (PER_BATCH, PER_IMAGE, EQUIBATCH, Way("camvid", "dataset_lovasz"))
BASE = Way("camvid", "cross_entropy")
INDICES: dict[str, Index] = {"dataset-mIoU": dataset_miou, "image-mIoU": image_miou}
Counts = dict[tuple[Way, int], Any]  # of every seed


def jobs(lab: Lab) -> list[Job]:
    wanted: list[Job] = [
        Final(way, seed, batch)
        for seed in lab.plan.seeds
        for batch in lab.plan.batches
        for way in WAYS
    ]
    return wanted + [Final(BASE, seed, lab.plan.batch) for seed in lab.plan.seeds]


def section(lab: Lab) -> Section:
    found: Counts = {
        (way, batch): results.counts(lab, way, batch) for way in WAYS for batch in lab.plan.batches
    }
    base = results.counts(lab, BASE)
    gained = gains(lab, found)
    first, last = min(lab.plan.batches), max(lab.plan.batches)
    return Section(
        "Batch size",
        [
            "Fine-tuning with so many images in a batch. All runs see the same number of images, "
            "so larger batches make fewer steps; the learning rate is the one picked on val with "
            f"{lab.plan.batch} images in a batch. Batch normalisation takes its means from the "
            "batch too. So a batch of one image is hard for other reasons than the loss: taken per "
            "image, the loss does not depend on the batch, and what that curve gains is due to "
            f"these. The dashed line is cross-entropy with {lab.plan.batch} images.",
            words.power(gained, f"the intervals of {last} images less {first}"),
        ],
        [*shown(lab, found), raw(lab, found), *changes(lab, gained)],
        [
            Figure(
                "batch_size",
                "Dataset- and image-mIoU on test against the number of images in a batch: means "
                "over the seeds, and bands from the smallest to the largest.",
                partial(draw, lab.plan.batches, found, base),
            )
        ],
        claims(lab, found),
    )


def shown(lab: Lab, found: Counts) -> list[Table]:
    return [
        tables.scored(
            f"batch_size_{name.split('-')[0]}",
            f"{name} on test, in %, by images in a batch.",
            [[words.title(way)] for way in WAYS],
            ["trained with"],
            [
                tables.Column(f"{batch}", [results.each(index, found[way, batch]) for way in WAYS])
                for batch in lab.plan.batches
            ],
        )
        for name, index in INDICES.items()
    ]


def raw(lab: Lab, found: Counts) -> Table:
    columns = [
        tables.Column(name, [results.each(index, of) for of in found.values()])
        for name, index in INDICES.items()
    ]
    rows = [[words.title(way), f"{batch}"] for way, batch in found]
    heads = ["trained with", "images in a batch"]
    caption = "Scores on test of every seed."
    return tables.raw("batch_size_seeds", caption, rows, heads, columns, lab.plan.seeds)


def ends(lab: Lab, found: Counts, way: Way, index: Index) -> Interval:
    """The largest batch less the smallest."""
    first, last = min(lab.plan.batches), max(lab.plan.batches)
    return results.compared(index, found[way, last], found[way, first])


@Index
def change(both: Any, weights: Weights) -> Numbers:
    """In dataset-mIoU, from one to the other of two counts (images, 2, truth, prediction)."""
    before, after = (dataset_miou.resampled(both[:, k], weights) for k in (0, 1))
    return after - before


def beyond_control(lab: Lab, found: Counts) -> Interval:
    """What the loss of a batch gains from the smallest batch to the largest, less what the loss of
    an image gains, which does not depend on the batch."""
    first, last = min(lab.plan.batches), max(lab.plan.batches)
    ours, control = (
        [np.stack(pair, 1) for pair in zip(found[way, first], found[way, last])]
        for way in (PER_BATCH, PER_IMAGE)
    )
    return results.compared(change, ours, control)


def gains(lab: Lab, found: Counts) -> dict[str, dict[str, Interval]]:
    """By index, by way."""
    return {
        name: {words.title(way): ends(lab, found, way, index) for way in WAYS}
        for name, index in INDICES.items()
    }


def changes(lab: Lab, of: dict[str, dict[str, Interval]]) -> list[Table]:
    first, last = min(lab.plan.batches), max(lab.plan.batches)
    caption = (
        f"{last} images in a batch less {first}, in percentage points, with 95 % intervals: paired "
        "by seed and image."
    )
    return tables.differences("batch_size_changes", caption, "trained with", of)


def draw(batches: Sequence[int], found: Counts, base: Any) -> Any:
    figure, [axes] = drawing.new(9.5, 4.2, 1, 2)
    for axis, (name, index) in zip(axes, INDICES.items()):
        for way, colour in zip(WAYS, drawing.LINES):
            values = [[100 * x for x in results.each(index, found[way, b])] for b in batches]
            means = [sum(of) / len(of) for of in values]
            axis.plot(batches, means, "o-", color=colour, label=words.title(way), lw=2)
            low, high = [min(of) for of in values], [max(of) for of in values]
            axis.fill_between(batches, low, high, color=colour, alpha=0.15, lw=0)
        level = [100 * x for x in results.each(index, base)]
        axis.axhline(
            sum(level) / len(level), color="black", ls="--", lw=1.2, label=words.title(BASE)
        )
        axis.set_xscale("log", base=2)
        axis.set_xticks(batches, [str(b) for b in batches])
        axis.minorticks_off()
        axis.set(title=name, xlabel="images in a batch", ylabel=f"{name} on test, %")
        axis.grid(color="#dddddd", lw=0.6)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=3, frameon=False)
    return figure


def claims(lab: Lab, found: Counts) -> list[Claim]:
    data = results.where(lab, len(found[PER_BATCH, lab.plan.batch][0]))
    larger, control = (ends(lab, found, way, dataset_miou) for way in (PER_BATCH, PER_IMAGE))
    [of_images, of_dataset] = [
        results.compared(index, found[PER_IMAGE, lab.plan.batch], found[PER_BATCH, lab.plan.batch])
        for index in (image_miou, dataset_miou)
    ]
    cycled = [
        results.compared(dataset_miou, found[EQUIBATCH, b], found[PER_BATCH, b])
        for b in lab.plan.batches
    ]
    return [
        Claim(
            "Fig. on batch sizes: higher batch sizes generally lead to more improvement (Lovász "
            "per batch, dataset-mIoU, as many images in all)",
            f"{words.points(larger)} points from {min(lab.plan.batches)} to "
            f"{max(lab.plan.batches)} images; per image, where the loss is the same, "
            f"{words.points(control)}; the former less the latter "
            f"{words.points(beyond_control(lab, found))}",
            verdicts.rises([larger]), data,
        ),
        Claim(
            "Sec. 4.3: optimising one of image-mIoU and dataset-mIoU is detrimental to the other "
            "(Lovász per image less per batch)",
            f"image-mIoU {words.points(of_images)}, dataset-mIoU {words.points(of_dataset)} points",
            verdicts.rises([of_images, verdicts.negative(of_dataset)]), data,
        ),
        Claim(
            "Sec. 4.4: equibatch makes no difference on street scenes (within one point, for every "
            "batch size)",
            "; ".join(f"{b}: {words.points(one)}" for b, one in zip(lab.plan.batches, cycled)),
            verdicts.stays(cycled), data,
        ),
    ]  # fmt: skip
