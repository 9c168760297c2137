"""How it was done, in words, with the numbers of the plan."""

from __future__ import annotations

from collections.abc import Sequence

from . import camvid, intervals
from .jobs import TUNED_WITH
from .plan import Plan
from .section import Section, Table
from .training import POWER, new_network

JUDGED = (
    "How a difference is judged. Two ways of training are compared by the same seeds on the same "
    "test images: of each seed and each image both results are known. The difference is the mean "
    f"over the seeds. {intervals.RESAMPLES} times, seeds and images are drawn with replacement, the "
    "same for both ways, and the index is computed anew; between the 2.5 % and the 97.5 % "
    "percentile of these differences is the 95 % interval. `better` or `worse` is written only "
    "where the interval leaves out 0, and `not shown` otherwise. With so few seeds the intervals "
    "are rather too short than too long, and of twenty comparisons of equals one leaves out 0 by "
    "chance.",
    "The parts of the data. Networks learn from `train`. Every choice, the learning rate of each "
    "loss among them, is made on `val`. `test` is looked at once, with the networks that are in the "
    "tables.",
    "0/0 counts as 1, as in the paper: a class that is neither in an image nor predicted there is "
    "right. Void pixels count nowhere.",
)


def section(plan: Plan) -> Section:
    return Section("How it was done", JUDGED, [Table("plan", PLAN, COLUMNS, rows(plan))])


PLAN = "The plan of the experiments on CamVid; those on IBSR have their own, which stands there."
COLUMNS = ("what", "how much")


def rows(plan: Plan) -> list[tuple[str, str]]:
    parameters = sum(
        p.numel() for p in new_network(len(camvid.CLASSES), plan.width, 0).parameters()
    )
    crop, (least, most) = camvid.CROP, camvid.ZOOM
    return [
        ("seeds", listed(plan.seeds)),
        (
            "network",
            f"U-Net of 4 levels with {plan.width} channels at the first, batch normalisation, "
            f"{parameters} parameters, one for each seed",
        ),
        (
            "images",
            f"shown to the network at {camvid.SEEN:g} of their height and width; scores are "
            "interpolated, and judged at the size of the labels",
        ),
        (
            "augmentation in training",
            f"random crops of {crop / most:.2f} to {crop / least:.2f} of height and width, scaled to "
            f"{crop:.2f} of the size at which images are shown; mirroring; each colour times 0.8 "
            "to 1.2",
        ),
        (
            "pre-training",
            f"cross-entropy from scratch, once for each seed: {plan.pretraining_images} images, "
            f"learning rate {plan.pretraining_rate:g}",
        ),
        (
            "fine-tuning",
            f"from there with each loss: {plan.images} images in batches of {plan.batch}, "
            f"{plan.images // plan.batch} steps",
        ),
        ("optimiser", f"Adam; the rate falls as (1 - step / steps)^{POWER:g}"),
        (
            "learning rate of a loss",
            f"the best of {listed(plan.rates)} on val, with seed {TUNED_WITH}, for batches of "
            f"{plan.batch}",
        ),
        ("batch sizes compared", f"{listed(plan.batches)}: as many images, so fewer steps of larger ones"),
    ]  # fmt: skip


def listed(numbers: Sequence[float]) -> str:
    return ", ".join(f"{x:g}" for x in numbers)
