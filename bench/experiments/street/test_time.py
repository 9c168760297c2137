"""What is gained after training: mirrored and scaled images, and the decision with the best
expected IoU (Nowozin 2014) from cross-entropy's probabilities, against a network that was trained
with Lovász (the paper's Table 2 and its comparison in Sec. 4.3)."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from ..intervals import (
    Index,
    Interval,
    Numbers,
    Weights,
    dataset_iou,
    dataset_miou,
    image_iou,
    image_miou,
)
from ..jobs import Final, Job, Way
from ..lab import BINARY, Lab
from ..telling import drawing, tables, verdicts, words
from ..telling.section import Claim, Figure, Section, Table
from . import predictions, results
from .afterwards import Average, Decide

BASE, LOVASZ = Way("camvid", "cross_entropy"), Way("camvid", "lovasz")
AVERAGED = (BASE, LOVASZ)
DECIDED = tuple(Way(data, "cross_entropy") for data in ("camvid", *BINARY))
MEANS = {"plain": "plain", "mirrored": "mirrored", "scaled": "multi-scale", "both": "both"}
PER_IMAGE = "decided per image"
RIVALS = ("lovasz_hinge", "lovasz_sigmoid")  # of the binary decisions


def jobs(lab: Lab) -> list[Job]:
    averages: list[Job] = [Average(way, seed) for seed in lab.plan.seeds for way in AVERAGED]
    decisions: list[Job] = [Decide(way, seed) for seed in lab.plan.seeds for way in DECIDED]
    rivals: list[Job] = [
        Final(Way(data, loss), seed, lab.plan.batch)
        for seed in lab.plan.seeds
        for data in BINARY
        for loss in RIVALS
    ]
    return averages + decisions + rivals


Counts = list[Any]  # confusion counts of every seed


def section(lab: Lab) -> Section:
    means = {(way, name): counts for way in AVERAGED for name, counts in averaged(lab, way).items()}
    decisions = {data: decided(lab, data) for data in ("camvid", *BINARY)}
    temperatures = {way.data: fitted(lab, way) for way in DECIDED}
    changes = {data: compare(data, of) for data, of in decisions.items()}
    return Section(
        "Test time",
        [*texts(temperatures), *fallen(changes)],
        [
            average_table(means),
            *average_changes(means),
            *(decision_table(data, of) for data, of in decisions.items()),
            *decision_changes(changes),
            *raw(lab, means, decisions),
        ],
        figures(means, changes),
        claims(lab, means, decisions),
    )


def averaged(lab: Lab, way: Way) -> dict[str, Counts]:
    found = results.read(lab, way, Average.file)
    return {
        "plain": results.counts(lab, way),
        **{name: [one[name] for one in found] for name in MEANS if name != "plain"},
    }


def decided(lab: Lab, data: str) -> dict[str, Counts]:
    """By what was done: cross-entropy's largest probabilities first, then its decisions, then
    networks that were trained with Lovász."""
    own = Way(data, "cross_entropy")
    found = results.read(lab, own, Decide.file)
    rivals = RIVALS if data in BINARY else ("lovasz",)
    plain = "threshold 1/2" if data in BINARY else "argmax"
    return {
        f"cross-entropy, {plain}": results.counts(lab, own),
        f"cross-entropy, {PER_IMAGE}": [one["decided"] for one in found],
        f"cross-entropy, decided per {predictions.TOGETHER} images": [
            one["decided in batches"] for one in found
        ],
        **{
            f"{words.LOSSES[loss]}, {plain}": results.counts(lab, Way(data, loss))
            for loss in rivals
        },
    }


def fitted(lab: Lab, way: Way) -> list[float]:
    return [float(one["temperature"]) for one in results.read(lab, way, Decide.file)]


def indices(data: str) -> dict[str, Index]:
    if data in BINARY:
        return {"image-IoU": image_iou, "dataset-IoU": dataset_iou}
    return {"image-mIoU": image_miou, "dataset-mIoU": dataset_miou}


@Index
def batch_miou(counts: Any, weights: Weights) -> Numbers:
    """The mean over the batches that are decided as one of their mIoU."""
    batches = predictions.groups(len(counts), predictions.TOGETHER)
    of = [dataset_miou.resampled(counts[one], weights[:, one]) for one in batches]
    return np.mean(of, axis=0)


def compare(data: str, of: dict[str, Counts]) -> dict[str, dict[str, Interval]]:
    """By index: each against the first."""
    first, *others = of
    return {
        name: {other: results.compared(index, of[other], of[first]) for other in others}
        for name, index in indices(data).items()
    }


def task(data: str) -> str:
    return words.TASKS.get(data, "eleven classes")


def texts(temperatures: dict[str, list[float]]) -> list[str]:
    scales = words.listed([f"{scale:g}" for scale in predictions.SCALES])
    found = "; ".join(
        f"{task(data)} {', '.join(f'{x:.2f}' for x in of)}" for data, of in temperatures.items()
    )
    return [
        f"Multi-scale is the mean of the probabilities at {scales} times the size that the network "
        "was trained for, as in the paper; mirrored the mean over the image and its mirror image.",
        "Decisions take the segmentation with the best expected IoU for independent pixels "
        "(submod.decide; of several classes submod.decide_classes, which solves conflicts). The "
        "expectation is exact; Nowozin takes the ratio of two expectations for it. "
        "Decided per image, they maximise the image-IoU that is expected if the probabilities are "
        "right and pixels independent, not the dataset's; decided for "
        f"{predictions.TOGETHER} random images as one, as the paper compares, they come closer to "
        "the dataset's. The probabilities are cross-entropy's, with the temperature that makes "
        f"val's labels most likely, which the paper did not do. By seed: {found}; 1 is no change.",
    ]


def fallen(changes: dict[str, dict[str, dict[str, Interval]]]) -> list[str]:
    """Says where the index that is decided for falls all the same, and what is known of why."""
    names = [
        f"{task(data)} {words.points(one)}"
        for data, of in changes.items()
        for index, found in of.items()
        for name, one in found.items()
        if index.startswith("image") and name.endswith(PER_IMAGE) and one.verdict == "worse"
    ]
    if not names:
        return []
    return [
        f"Decided per image, the image-(m)IoU falls all the same: {words.listed(names)}. Known is "
        "what the decision supposes: that pixels are independent, which they are not. An object "
        "that is absent and not predicted counts as 1 (0/0). But for independent pixels the "
        "chance that it is in none of them is a product over all pixels, and next to 0 as soon "
        "as ten pixels of it are expected; then it is given pixels, and where it is absent its "
        "index is 0. How much of the fall is due to this, and how much to probabilities that are "
        "wrong, was not checked."
    ]


def score_columns(data: str, found: list[Counts]) -> list[tables.Column]:
    return [
        tables.Column(name, [results.each(index, counts) for counts in found])
        for name, index in indices(data).items()
    ]


def average_table(means: dict[tuple[Way, str], Counts]) -> Table:
    rows = [[words.title(way), MEANS[name]] for way, name in means]
    columns = score_columns("camvid", list(means.values()))
    caption = "Averaged predictions on test, in %."
    return tables.scored("test_time", caption, rows, ["trained with", "prediction"], columns)


def average_intervals(means: dict[tuple[Way, str], Counts]) -> dict[str, dict[str, Interval]]:
    """By index: against plain prediction of the same network."""
    return {
        title: {
            f"{words.title(way)}, {MEANS[name]}": results.compared(index, of, means[way, "plain"])
            for (way, name), of in means.items()
            if name != "plain"
        }
        for title, index in indices("camvid").items()
    }


def trained_intervals(means: dict[tuple[Way, str], Counts], index: Index) -> dict[str, Interval]:
    """Lovász less cross-entropy, predicted alike."""
    return {name: results.compared(index, means[LOVASZ, name], means[BASE, name]) for name in MEANS}


def average_changes(means: dict[tuple[Way, str], Counts]) -> list[Table]:
    alike = {
        title: {MEANS[name]: one for name, one in trained_intervals(means, index).items()}
        for title, index in indices("camvid").items()
    }
    return [
        *tables.differences(
            "test_time_changes",
            "Averaged less plain predictions of the same networks: percentage points with 95 % "
            "intervals.",
            "prediction",
            average_intervals(means),
        ),
        *tables.differences(
            "test_time_trained",
            "Trained with Lovász-Softmax less trained with cross-entropy, predicted alike: "
            "percentage points with 95 % intervals.",
            "prediction",
            alike,
        ),
    ]


def decision_table(data: str, of: dict[str, Counts]) -> Table:
    name = f"decisions_{data.replace('camvid-', '')}" if data in BINARY else "decisions"
    caption = f"{task(data)}: decisions on test, in %."
    columns = score_columns(data, list(of.values()))
    return tables.scored(
        name, caption, [[one] for one in of], ["trained with, decided by"], columns
    )


def decision_changes(changes: dict[str, dict[str, dict[str, Interval]]]) -> list[Table]:
    of: dict[str, dict[str, Interval]] = {"image-(m)IoU": {}, "dataset-(m)IoU": {}}
    for data, found in changes.items():
        for column, rows in zip(of.values(), found.values()):
            column.update({f"{task(data)}: {name}": one for name, one in rows.items()})
    caption = (
        "Against cross-entropy's most probable class (two classes: threshold 1/2), in percentage "
        "points with 95 % intervals."
    )
    return tables.differences("decision_changes", caption, "trained with, decided by", of)


def raw(
    lab: Lab, means: dict[tuple[Way, str], Counts], decisions: dict[str, dict[str, Counts]]
) -> list[Table]:
    seeds, caption = lab.plan.seeds, "Scores on test of every seed."
    found = [
        tables.raw(
            "test_time_seeds", caption, [[words.title(way), MEANS[name]] for way, name in means],
            ["trained with", "prediction"], score_columns("camvid", list(means.values())), seeds,
        )
    ]  # fmt: skip
    for data, of in decisions.items():
        name = f"{decision_table(data, of).name}_seeds"
        columns = score_columns(data, list(of.values()))
        heads = ["trained with, decided by"]
        found.append(tables.raw(name, caption, [[one] for one in of], heads, columns, seeds))
    return found


def figures(
    means: dict[tuple[Way, str], Counts], changes: dict[str, dict[str, dict[str, Interval]]]
) -> list[Figure]:
    several = changes["camvid"]
    single = {
        f"{task(data)}: {index}": found for data in BINARY for index, found in changes[data].items()
    }
    return [
        Figure(
            "test_time_averages",
            "Averaged predictions against plain ones of the same networks, and 95 % intervals.",
            partial(drawing.forest, average_intervals(means), "plain"),
        ),
        Figure(
            "test_time_decisions",
            "Eleven classes: deciding for the expected IoU, and training with Lovász-Softmax, "
            "against cross-entropy's most probable class; 95 % intervals.",
            partial(drawing.forest, several, "argmax"),
        ),
        Figure(
            "test_time_decisions_binary",
            "One class against the rest: deciding for the expected IoU, and training with Lovász, "
            "against cross-entropy's threshold 1/2; 95 % intervals.",
            partial(drawing.forest, single, "threshold 1/2", 2),
        ),
    ]


def claims(
    lab: Lab, means: dict[tuple[Way, str], Counts], decisions: dict[str, dict[str, Counts]]
) -> list[Claim]:
    several = decisions["camvid"]
    plain, _, batches, lovasz = several
    data = results.where(lab, len(several[plain][0]))
    scaled = [
        results.compared(dataset_miou, means[way, "scaled"], means[way, "plain"])
        for way in AVERAGED
    ]
    alike = trained_intervals(means, dataset_miou)
    worse, whole = (
        results.compared(index, several[batches], several[plain])
        for index in (batch_miou, dataset_miou)
    )
    rival = results.compared(batch_miou, several[lovasz], several[batches])
    return [
        Claim(
            "Table 2: multi-scale prediction raises the dataset-mIoU (74.6 to 76.2 % with "
            "cross-entropy, 76.6 to 77.2 % with Lovász)",
            f"cross-entropy {words.points(scaled[0])}, Lovász {words.points(scaled[1])} points",
            verdicts.rises(scaled), data,
        ),
        Claim(
            "Table 2: evaluated alike, the Lovász network has the higher dataset-mIoU",
            "; ".join(f"{MEANS[name]} {words.points(one)}" for name, one in alike.items()),
            verdicts.rises(list(alike.values())), data,
        ),
        Claim(
            "Sec. 4.3: Nowozin's decision on cross-entropy's probabilities degrades the mIoU of "
            f"batches of {predictions.TOGETHER} images (68.7 to 65.1 %)",
            f"{words.points(worse)} points, calibrated on val; in dataset-mIoU "
            f"{words.points(whole)}",
            verdicts.falls([worse]), data,
        ),
        Claim(
            "Sec. 4.3: training with Lovász beats that decision (72.5 against 65.1 %)",
            f"{words.points(rival)} points", verdicts.rises([rival]), data,
        ),
    ]  # fmt: skip
