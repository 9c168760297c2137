"""What the experiment on IBSR says in words."""

from __future__ import annotations

from ..intervals import Interval
from ..telling.section import Claim
from .results import COLUMNS, SHOWN, Results, in_words
from .runs import VALIDATED

WORDS = {"better": "held", "worse": "not held", "not shown": "not shown"}


def text(results: Results) -> list[str]:
    plan, heads = results.lab.plan, len(results.heads)
    seeds = ", ".join(f"{SHOWN[name]} {len(getattr(plan, name).seeds)}" for name in SHOWN)
    return [
        f"{heads} T1 volumes of heads without their skulls, with CSF, grey and white matter "
        "labelled; the eight structures of the paper's table are not labelled in them, so its "
        f"numbers cannot be compared with these. {plan.folds} folds: every head is tested once, by "
        "networks that saw neither it nor the heads of the next fold, which choose the rates "
        f"(by every {VALIDATED}th slice). Seeds of each model: {seeds}.",
        "The linear model and the hidden layer take the 29 features of study `brain` (here in "
        "Python, with lengths in millimetres, places in the box of the image instead of that of "
        "the labels, and intensities standardised within each head); their batches are voxels "
        "drawn at random from all training heads. The U-Net takes coronal slices with their two "
        "neighbours as channels. All are pre-trained with cross-entropy, then fine-tuned with each "
        "loss for the same number of steps. All four classes, background among them, are in the "
        "loss; the three tissues are in the indices. Every voxel of the volume counts.",
        "Heads of a fold share their networks, and folds share most of their training heads. The "
        "intervals take heads for independent, so they are somewhat too narrow. With one seed, "
        "an interval says nothing of other trainings of that model.",
        "The grids of rates of the linear model and the hidden layer were moved up once, after "
        "trials on the first fold: its validation heads, which the second fold tests, had picked "
        "the linear model's largest rate for every loss. No test score was looked at.",
        *remarks(results),
    ]


def remarks(results: Results) -> list[str]:
    """Where whole volumes and single slices disagree."""
    verdicts = {
        (one.model, one.loss, one.level): one.found[-1].verdict for one in results.differences
    }
    pairs = {(model, loss) for model, loss, _ in verdicts}
    same = sum(verdicts[(*pair, "volume")] == verdicts[(*pair, "slice")] for pair in pairs)
    return [
        "Whole volumes and single slices: the verdicts on the mean index agree in "
        f"{same} of {len(pairs)} comparisons."
    ]


def claims(results: Results) -> list[Claim]:
    return [claim for model in SHOWN for claim in claims_of(results, model)]


def claims_of(results: Results, model: str) -> list[Claim]:
    wanted = (model, "lovasz", "volume")
    [found] = [one.found for one in results.differences if one[:3] == wanted]
    seeds = len(getattr(results.lab.plan, model).seeds)
    data = f"IBSR, {len(results.heads)} heads in {results.lab.plan.folds} folds, " + (
        f"{seeds} seeds" if seeds > 1 else "1 seed"
    )
    each = "; ".join(f"{name} {in_words(one)}" for name, one in zip(COLUMNS, found[:-1]))
    return [
        Claim(
            "Lovász-Softmax has a higher mean Jaccard index than cross-entropy (supplement B)",
            f"{SHOWN[model]}: {in_words(found[-1])}, percentage points",
            WORDS[found[-1].verdict],
            data,
        ),
        Claim(
            "and the index of every structure is higher (supplement B)",
            f"{SHOWN[model]}: {each}",
            of_all(found[:-1]),
            data,
        ),
    ]


def of_all(found: list[Interval]) -> str:
    verdicts = {one.verdict for one in found}
    if "worse" in verdicts:
        return "not held"
    return "held" if verdicts == {"better"} else "not shown"
