"""How it was done, in words, with the numbers of the plan."""

from __future__ import annotations

from collections.abc import Sequence

from .. import intervals
from ..jobs import TUNED_WITH
from ..plan import Plan
from ..street import camvid
from ..training import POWER, new_network
from .section import Section, Table

JUDGED = (
    "How a difference is judged. Two ways of training are compared by the same seeds on the same "
    "test images, so that both results are known of each seed and each image. The difference is "
    "the mean over the seeds, and its 95 % interval allows for other images and for other seeds. "
    f"Images are drawn anew {intervals.RESAMPLES} times, with replacement, neighbouring frames of "
    "a video together, and the index is computed anew each time. Seeds are too few to be drawn "
    "from; what Student's t says about the mean of so few is added. `better` or `worse` is written "
    "only where the interval leaves out 0, and `not shown` otherwise. Of twenty comparisons of "
    "equals, one leaves out 0 by chance.",
    "Three intervals are made in other ways. Boundary IoU and calibration error are known for the "
    "whole test set only: their intervals allow for other seeds, not for other images. On IBSR the "
    "heads of a fold share their networks, so folds count, by Student's t. For the last layer "
    "networks count, in the same way. An earlier state of this page took heads and draws for "
    "independent, and more seemed to be shown.",
)
KEPT_APART = (
    "The parts of the data. Networks learn from `train`. Every choice, the learning rate of each "
    "loss among them, is made on `val`. `test` is looked at once with this plan, with the networks "
    "that are in the tables. A shorter plan came before and was scored on `test`: pre-training on "
    "14720 images, after which cross-entropy never predicted the five rarest classes, and three "
    "rates, of which most losses took the largest or the smallest. So pre-training and grid were "
    "extended, for all losses alike.",
    "0/0 counts as 1, as in the paper: a class that is neither in an image nor predicted there is "
    "right. Void pixels count nowhere.",
)


def section(plan: Plan) -> Section:
    text = (*JUDGED, power(plan), *KEPT_APART)
    return Section("How it was done", text, [Table("plan", PLAN, COLUMNS, rows(plan))])


def power(plan: Plan) -> str:
    return (
        "What could have been shown. `not shown` is not `equal`: a difference smaller than half "
        "the width of its interval can hardly be shown, and the sections say how wide these "
        f"are. And fine-tuning on CamVid is short, {plan.images // plan.batch} steps of "
        f"{plan.batch} images: what a loss gains in longer training cannot be seen here."
    )


PLAN = "The plan of the experiments on CamVid; those on IBSR have their own, which stands there."
COLUMNS = ("what", "how much")


def rows(plan: Plan) -> list[tuple[str, str]]:
    network = new_network(len(camvid.CLASSES), plan.width, 0)
    parameters = sum(p.numel() for p in network.parameters())
    crop, (least, most) = camvid.CROP, camvid.ZOOM
    return [
        ("seeds", listed(plan.seeds)),
        ("network", f"U-Net of 4 levels with {plan.width} channels at the first, batch "
            f"normalisation, {parameters} parameters"),
        ("images", f"shown to the network at {camvid.SEEN:g} of their height and width; scores are "
            "interpolated, and judged at the size of the labels"),
        ("augmentation", f"random crops of {crop / most:.2f} to {crop / least:.2f} of height and "
            f"width, shown at {crop:.2f} of the size of images; mirroring; each colour times "
            f"{camvid.LIGHT[0]:g} to {camvid.LIGHT[1]:g}"),
        ("pre-training", f"cross-entropy from scratch, once for each seed: "
            f"{plan.pretraining_images} images in batches of {plan.pretraining_batch}, learning "
            f"rate {plan.pretraining_rate:g}"),
        ("fine-tuning", f"from there with each loss: {plan.images} images in batches of "
            f"{plan.batch}, {plan.images // plan.batch} steps"),
        ("optimiser", f"Adam; the rate falls as (1 - step / steps)^{POWER:g}"),
        ("learning rate of a loss", f"the best of {listed(plan.rates)} on `val`, with seed "
            f"{TUNED_WITH}, for batches of {plan.batch}: by the dataset-mIoU, of two classes by "
            "the dataset-IoU of the foreground"),
        ("batch sizes compared", f"{listed(plan.batches)}, for as many images and with the rate "
            f"that was picked for {plan.batch}"),
    ]  # fmt: skip


def listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{x:g}" for x in numbers)
