"""One class of CamVid against the rest: each loss trains, each loss judges (the paper's Table 1,
supplement A)."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np

from ..intervals import Index, Interval, dataset_iou, image_iou, mean
from ..jobs import Final, Job, Way
from ..lab import BINARY, Lab
from ..telling import drawing, tables, verdicts, words
from ..telling.section import Claim, Figure, Section, Table
from . import losses, results

WAYS = {data: [Way(data, loss) for loss in losses.BINARY] for data in BINARY}
INDICES: dict[str, Index] = {"image-IoU": image_iou, "dataset-IoU": dataset_iou}
BASE = "cross_entropy"
PAPER = ("cross_entropy", "hinge", "lovasz_hinge")  # the losses of its Table 1
# The value of the prox layer is that of the Lovász hinge; it differs in its gradient.
JUDGES = [loss for loss in losses.BINARY if loss != "prox_lovasz_hinge"]


class Task(NamedTuple):
    """What came out for one foreground: by the loss trained with, of every seed."""

    data: str
    counts: dict[str, list[Any]]  # (images, 2, 2)
    losses: dict[str, list[Any]]  # (images, losses)

    def judged(self, trained: str, judge: str) -> list[Any]:
        """The loss of every image."""
        column = list(losses.BINARY).index(judge)
        return [one[:, column] for one in self.losses[trained]]

    def more(self, index: Index, ours: str, theirs: str) -> Interval:
        return results.compared(index, self.counts[ours], self.counts[theirs])

    def saved(self, judge: str, ours: str, theirs: str) -> Interval:
        """Of a loss, by training with ours."""
        return results.compared(mean, self.judged(theirs, judge), self.judged(ours, judge))


def jobs(lab: Lab) -> list[Job]:
    return [
        Final(way, seed, lab.plan.batch)
        for seed in lab.plan.seeds
        for ways in WAYS.values()
        for way in ways
    ]


def task(lab: Lab, data: str) -> Task:
    read = {way.loss: results.read(lab, way, "test.npz") for way in WAYS[data]}
    return Task(
        data,
        {loss: [one["confusion"] for one in of] for loss, of in read.items()},
        {loss: [one["losses"] for one in of] for loss, of in read.items()},
    )


def section(lab: Lab) -> Section:
    tasks = [task(lab, data) for data in WAYS]
    less = {of.data: against_base(of) for of in tasks}
    return Section(
        "Binary: losses against losses",
        texts(lab, tasks, less),
        [
            *(scores(lab, of) for of in tasks),
            *differences(less),
            *(raw(lab, of) for of in tasks),
        ],
        figures(tasks, less),
        claims(lab, tasks),
    )


def against_base(of: Task) -> dict[str, dict[str, Interval]]:
    """By index, by loss trained with."""
    return {
        name: {loss: of.more(index, loss, BASE) for loss in of.counts if loss != BASE}
        for name, index in INDICES.items()
    }


def texts(
    lab: Lab, tasks: list[Task], less: dict[str, dict[str, dict[str, Interval]]]
) -> list[str]:
    said = [
        "The pre-trained network gets one score, foreground against the rest, and is fine-tuned "
        "with each loss, at the learning rate that is best for it on val. Losses are of single "
        "images at full resolution. The IoU of an image without foreground is 1 if none is "
        "predicted, else 0. The prox layer's value is the Lovász hinge's: it has no column."
    ]
    named = {" of ".join(reversed(name.split(": "))): of for name, of in by_panel(less).items()}
    said += [words.shown("cross-entropy", named), words.power(named)]
    for of in tasks:
        picked = {words.LOSSES[way.loss]: way.rate(lab) for way in WAYS[of.data]}
        said += words.at_the_edge(f"{words.TASKS[of.data]}, learning rates", lab.plan.rates, picked)
    said += [text for of in tasks for text in nothing_found(of)]
    for of in tasks:
        best = [judge for judge in JUDGES if lowest(of, judge) == judge]
        said.append(
            f"{words.TASKS[of.data]}: trained with itself, {len(best)} of {len(JUDGES)} losses are "
            f"lowest on test: {words.listed([words.LOSSES[loss] for loss in best])}."
        )
    return said


def nothing_found(of: Task) -> list[str]:
    """Says which losses left the foreground out altogether."""
    empty = [loss for loss, every in of.counts.items() if not any(x[:, :, 1].any() for x in every)]
    if not empty:
        return []
    names = words.listed([words.LOSSES[loss] for loss in empty])
    return [
        f"{words.TASKS[of.data]}: after training with {names}, no pixel of test is foreground, "
        "with any seed. Their image-IoU is the share of the images where there is none."
    ]


def lowest(of: Task, judge: str) -> str:
    """The loss that trains best for a judge; the prox layer is a way of training with the Lovász
    hinge."""
    means = {loss: np.mean([np.mean(one) for one in of.judged(loss, judge)]) for loss in of.losses}
    best = min(means, key=lambda loss: means[loss])
    return "lovasz_hinge" if best == "prox_lovasz_hinge" else best


def columns(of: Task) -> list[tables.Column]:
    judged = [
        tables.Column(
            words.LOSSES[judge],
            [[float(one.mean()) for one in of.judged(loss, judge)] for loss in of.losses],
            scale=1.0,
            digits=3,
            rising=False,
        )
        for judge in JUDGES
    ]
    indices = [
        tables.Column(name, [results.each(index, counts) for counts in of.counts.values()])
        for name, index in INDICES.items()
    ]
    return judged + indices


def rows(lab: Lab, of: Task) -> list[list[str]]:
    return [[words.LOSSES[way.loss], f"{way.rate(lab):g}"] for way in WAYS[of.data]]


def scores(lab: Lab, of: Task) -> Table:
    name = of.data.replace("camvid-", "binary_")
    caption = f"{words.TASKS[of.data]}: losses and IoU (in %) on test."
    return tables.scored(name, caption, rows(lab, of), ["trained with", "rate"], columns(of))


def raw(lab: Lab, of: Task) -> Table:
    name = of.data.replace("camvid-", "binary_") + "_seeds"
    heads = ["trained with", "rate"]
    caption = f"{words.TASKS[of.data]}: scores on test of every seed."
    return tables.raw(name, caption, rows(lab, of), heads, columns(of), lab.plan.seeds)


def differences(less: dict[str, dict[str, dict[str, Interval]]]) -> list[Table]:
    caption = (
        "Less cross-entropy's, in percentage points, with 95 % intervals: paired by seed and image."
    )
    return tables.differences("binary_differences", caption, "trained with", by_panel(less))


def by_panel(less: dict[str, dict[str, dict[str, Interval]]]) -> dict[str, dict[str, Interval]]:
    """By task and index, then by the title of the loss."""
    return {
        f"{words.TASKS[data]}: {index}": {words.LOSSES[loss]: one for loss, one in found.items()}
        for data, of_task in less.items()
        for index, found in of_task.items()
    }


def figures(tasks: list[Task], less: dict[str, dict[str, dict[str, Interval]]]) -> list[Figure]:
    return [
        Figure(
            "binary_differences",
            "Each loss against cross-entropy: mean over the seeds and 95 % interval, paired by "
            "seed and test image.",
            partial(drawing.forest, by_panel(less), "cross-entropy", 2),
        ),
        Figure(
            "binary_losses",
            "Each loss (columns) on test after training with each (rows), as a multiple of the "
            "smallest in its column. Framed: trained with the loss that judges.",
            partial(draw_losses, tasks),
        ),
    ]


def draw_losses(tasks: list[Task]) -> Any:
    from matplotlib.patches import Rectangle

    figure, [axes] = drawing.new(11, 4.4, 1, len(tasks), sharey=True)
    for axis, of in zip(axes, tasks):
        means = np.array(
            [
                [np.mean([x.mean() for x in of.judged(loss, j)]) for j in JUDGES]
                for loss in of.losses
            ]
        )
        ratios = means / means.min(0)
        texts = [[f"{x:.2f}" for x in row] for row in ratios]
        names = [words.LOSSES[loss] for loss in of.losses]
        judges = [words.LOSSES[judge] for judge in JUDGES]
        drawn = drawing.heat(axis, np.log2(ratios), texts, names, judges, "Oranges", (0.0, 2.0))
        for y, loss in enumerate(of.losses):
            own = "lovasz_hinge" if loss == "prox_lovasz_hinge" else loss
            corner = (JUDGES.index(own) - 0.48, y - 0.48)
            axis.add_patch(Rectangle(corner, 0.96, 0.96, fill=False, ec="black", lw=2))
        axis.set_title(words.TASKS[of.data], fontsize=drawing.SIZE + 1)
        axis.set_xlabel("loss on test")
    axes[0].set_ylabel("trained with")
    bar = figure.colorbar(drawn, ax=list(axes), label="times the smallest", pad=0.01)
    bar.set_ticks([0, 1, 2], labels=["1", "2", "4 or more"])
    return figure


def claims(lab: Lab, tasks: list[Task]) -> list[Claim]:
    data = f"{results.where(lab, len(tasks[0].counts[BASE][0]))}, car and people"
    own = [
        of.saved(judge, judge, other)
        for of in tasks
        for judge in PAPER
        for other in PAPER
        if other != judge
    ]
    better = sum(one.verdict == "better" for one in own)
    worse = sum(one.verdict == "worse" for one in own)
    over_base, over_hinge, over_rahman = (
        [of.more(image_iou, "lovasz_hinge", other) for of in tasks]
        for other in (BASE, "hinge", "rahman_wang")
    )
    return [
        Claim(
            "Table 1: training with a particular loss leads generally to a better value of this "
            "loss (cross-entropy, hinge, Lovász hinge)",
            f"of {len(own)} comparisons with the other two, better in {better}, worse in {worse}, "
            f"not shown in {len(own) - better - worse}",
            verdicts.mostly(better, worse, len(own)), data,
        ),
        Claim(
            "Table 1: the Lovász hinge gives a better image-IoU than cross-entropy (80.5 against "
            "77.1 %)",
            by_task(tasks, over_base, BASE), verdicts.rises(over_base), data,
        ),
        Claim(
            "Table 1: and than the hinge (80.5 against 75.8 %)",
            by_task(tasks, over_hinge, "hinge"), verdicts.rises(over_hinge), data,
        ),
        Claim(
            "Supplement A: the loss of Rahman and Wang does not reach the Lovász hinge (image-IoU)",
            by_task(tasks, over_rahman, "rahman_wang"), verdicts.rises(over_rahman), data,
        ),
    ]  # fmt: skip


def by_task(tasks: list[Task], found: list[Interval], other: str) -> str:
    """The Lovász hinge less another."""
    return "; ".join(
        f"{words.TASKS[of.data]} {words.points(one)} points, "
        + results.in_seeds(image_iou, of.counts["lovasz_hinge"], of.counts[other])
        for of, one in zip(tasks, found)
    )
