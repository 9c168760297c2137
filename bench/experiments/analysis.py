"""Differences between runs, their intervals and verdicts, by the rules of PLAN.md.

A difference is a sum of terms, each a coefficient times an outcome of a group of runs; a group has
a run for each seed. Results that are missing give no difference, and none of its claims.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import stats
from statsmodels.regression.mixed_linear_model import MixedLM
from statsmodels.stats.multitest import multipletests

from . import scores, table, test_time
from .features import CLASSES
from .scores import Numbers, dataset_miou, image_miou
from .storage import read

RESAMPLES, BLOCK = 4000, 10  # frames in a block
LEVEL = 0.05
RARE = ("bicyclist", "pedestrian", "pole", "fence", "sign")
FACTOR = np.log10(1.1)  # equivalence margin of F
Group = dict[int, str]  # seed -> key of a run's counts
Outcome = Callable[[npt.NDArray[Any], Numbers], Numbers]  # counts, image weights -> per weighting


def class_iou(name: str) -> Outcome:
    return lambda counts, weights: scores.dataset_iou(counts, weights)[:, CLASSES.index(name)]


def rare_gain(counts: npt.NDArray[Any], weights: Numbers) -> Numbers:
    """Mean IoU of the rare classes less that of the others."""
    found, rare = scores.dataset_iou(counts, weights), np.isin(CLASSES, RARE)
    return found[:, rare].mean(1) - found[:, ~rare].mean(1)


class Estimate(NamedTuple):
    """In points; in F, of log10 (J - J*)."""

    n: int  # seeds or draws
    mean: float
    low: float  # 95 %, which decides
    high: float
    seeds_low: float  # 95 %, over seeds alone
    seeds_high: float
    p: float


def student(mean: float, error: float, freedom: int) -> tuple[float, float, float]:
    """95 % interval and two-sided p."""
    reach = float(stats.t.ppf(1 - LEVEL / 2, freedom)) * error
    t = abs(mean) / error if error > 0 else np.inf * (mean != 0)
    return mean - reach, mean + reach, float(2 * stats.t.sf(t, freedom))


def over_seeds(values: Numbers) -> Estimate:
    """Student's t over the values of seeds or draws."""
    mean, error = float(values.mean()), float(stats.sem(values))
    low, high, p = student(mean, error, len(values) - 1)
    return Estimate(len(values), mean, low, high, low, high, p)


class Results:
    """The CSV files of a folder. A series that ended early counts with the seeds that it has."""

    def __init__(self, folder: Path, ended: bool = False) -> None:
        self.folder, self.rows, self.ended = folder, read(folder), ended
        self.outcomes: dict[Any, Numbers] = {}

    @cached_property
    def images(self) -> pd.DataFrame:
        return pd.read_csv(self.folder / "test_images.csv")

    @cached_property
    def truth(self) -> npt.NDArray[np.int64]:
        return self.images[list(CLASSES)].to_numpy()

    @cached_property
    def encoded(self) -> pd.Series[str]:
        files = sorted(self.folder.glob("?_counts.csv"))
        found = pd.concat([pd.read_csv(file, index_col="key").counts for file in files])
        return found[~found.index.duplicated()]

    def counts(self, key: str) -> scores.Counts:
        """In E, a batch's images follow those of the batch before."""
        truth = self.truth
        if "/" in key:
            chosen = slice(None) if key.endswith("/multiscale") else self.batches.ravel()
            return scores.decode(self.encoded[key], truth[chosen])
        target = self.rows.loc[key, "target"]
        if target:
            truth = truth[:, [CLASSES.index(target)]]
        return scores.decode(self.encoded[key], truth)

    @cached_property
    def batches(self) -> npt.NDArray[np.int64]:
        return test_time.batches(self.truth)

    def batch_miou(self, counts: npt.NDArray[Any], weights: Numbers) -> Numbers:
        """Mean over the batches of E of their mIoU. A batch has its own counts."""
        each = counts.reshape(*self.batches.shape, *counts.shape[1:])
        found = [dataset_miou(own, weights[:, of]) for own, of in zip(each, self.batches)]
        return np.mean(found, 0)

    def blocks(self) -> npt.NDArray[np.int64]:
        """Number of each test image's block of neighbouring frames of a drive."""
        order = self.images.sort_values("name").groupby("drive").cumcount().sort_index()
        return pd.factorize(self.images.drive + "/" + (order // BLOCK).astype(str))[0]

    @cached_property
    def weights(self) -> Numbers:
        """(RESAMPLES, images): how often each image is drawn, with its block."""
        blocks = self.blocks()
        n = blocks.max() + 1
        drawn = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES)
        return drawn[:, blocks].astype(float)

    # Groups of runs

    def where(self, role: str, **settings: Any) -> pd.DataFrame:
        return table.where(self.rows, role=role, **settings)

    def select(self, experiment: str, **settings: Any) -> Group:
        """Evaluated runs with these settings by seed, or none if a seed is missing."""
        wanted = {
            "A": table.SEEDS if settings.get("start") else table.SCRATCH_SEEDS,
            "B": table.LENGTH_SEEDS, "C": table.GROUP_SEEDS, "D": table.BINARY_SEEDS,
            "E": table.TEST_TIME_SEEDS,
        }[experiment]  # fmt: skip
        rows = self.where("evaluate", experiment=experiment, **settings)
        found = dict(zip(rows.seed.astype(int), rows.index))
        return found if self.ended or set(wanted) <= set(found) else {}

    @cached_property
    def start(self) -> int:
        """Pre-training steps of the fine-tuned networks."""
        rows = self.where("tune", experiment="A")
        return int(rows.start.max()) if len(rows) else 0

    def main(self, loss: str, common: bool = False) -> Group:
        """A's fine-tuning at the loss's best rate, or at the common one."""
        tuned: Any = {"experiment": "A", "start": self.start}
        rate = table.best_rate(self.rows, **tuned, **({} if common else {"loss": loss}))
        return self.select(**tuned, loss=loss, rate=rate)

    def scratch(self, loss: str) -> Group:
        return self.select("A", start=0, loss=loss)

    def length(self, loss: str, times: int) -> Group:
        steps = times * table.STEPS
        found = self.main(loss) if times == 1 else self.select("B", loss=loss, steps=steps)
        return {seed: key for seed, key in found.items() if seed in table.LENGTH_SEEDS}

    def decided(self, loss: str, decision: str = "") -> Group:
        """E; without a decision, A's runs on E's seeds."""
        runs = self.select("E", loss=loss)
        if not decision:
            return {seed: key.replace("E", "A", 1) for seed, key in runs.items()}
        return {seed: f"{key}/{decision}" for seed, key in runs.items()}

    # Estimates

    def outcome(self, key: str, outcome: Outcome, drive: str = "") -> Numbers:
        """Of a run: with all images of the drive, or of all drives, first; then resampled."""
        known = self.outcomes.get((key, outcome, drive))
        if known is None:
            inside = (self.images.drive == drive).to_numpy() if drive else np.ones(len(self.truth))
            weights = np.concatenate([np.ones((1, len(self.truth))), self.weights]) * inside
            weights = weights[weights.sum(1) > 0]
            known = self.outcomes[key, outcome, drive] = outcome(self.counts(key), weights)
        return known

    def mean(self, group: Group, outcome: Outcome, drive: str = "") -> float:
        """Over the seeds; NaN without results."""
        found = [self.outcome(key, outcome, drive)[0] for key in group.values()]
        return float(np.mean(found)) if found else np.nan

    def crossed(self, terms: Sequence[tuple[float, Group, Outcome]], drive: str = "") -> Any:
        """The difference over the seeds that all terms have, and over seeds and images; None if
        results are missing."""
        seeds = sorted(set.intersection(*(set(group) for _, group, _ in terms)))
        if len(seeds) < 2:
            return None
        n, outcome = len(seeds), self.outcome
        values = np.array(
            [sum(c * outcome(of[s], index, drive) for c, of, index in terms) for s in seeds]
        )
        drawn = np.random.default_rng(1).multinomial(n, np.full(n, 1 / n), values.shape[1] - 1) / n
        resampled = np.einsum("rs,sr->r", drawn, values[:, 1:])
        plain = over_seeds(values[:, 0])
        error = float(resampled.std(ddof=1) * np.sqrt(n / (n - 1)))
        low, high, p = student(plain.mean, error, n - 1)
        return plain._replace(low=low, high=high, p=p)

    def less(self, first: Group, second: Group, outcome: Outcome, drive: str = "") -> Any:
        return self.crossed([(1, first, outcome), (-1, second, outcome)], drive)

    def binary(self, first: str, second: str) -> Any:
        """D: mixed model of the paired differences with a random intercept by class."""
        found = []
        for target in table.TARGETS:
            pair = [self.select("D", loss=loss, target=target) for loss in (first, second)]
            for seed in set.intersection(*map(set, pair)):
                one, other = (self.outcome(of[seed], image_miou)[0] for of in pair)
                found.append((target, seed, one - other))
        frame = pd.DataFrame(found, columns=["target", "seed", "difference"])
        return mixed(frame) if set(frame.target) == set(table.TARGETS) else None

    def optimised(self, name: str) -> pd.DataFrame:
        """F: rows of an optimiser by draw, or none if a draw is missing."""
        rows = self.where("evaluate", experiment="F")
        rows = rows[rows.loss.isin(table.settings(name))].set_index("seed").sort_index()
        return rows if self.ended or set(table.DRAWS) <= set(rows.index) else rows[:0]

    def last_layer(self, first: str, second: str) -> Any:
        """Difference in log10 (J - J*) at the end, which is -val."""
        one, other = (self.optimised(name).val.astype(float) for name in (first, second))
        less = (other - one).dropna()
        return over_seeds(less.to_numpy()) if len(less) > 1 else None


def mixed(frame: pd.DataFrame) -> Estimate:
    """Intercept of a mixed model; Student's quantile with a degree of freedom less than classes."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a variance of 0 between classes is a valid estimate
        model = MixedLM(frame.difference, np.ones((len(frame), 1)), groups=frame.target)
        fitted = model.fit(reml=True, method="powell")  # L-BFGS may end far off
    mean, error = float(fitted.fe_params.iloc[0]), float(fitted.bse_fe.iloc[0])
    low, high, p = student(mean, error, frame.target.nunique() - 1)
    plain = over_seeds(frame.groupby("seed").difference.mean().to_numpy())
    return plain._replace(mean=mean, low=low, high=high, p=p)


@dataclass
class Claim:
    """A primary claim of PLAN.md: the sign that it predicts, and what came out."""

    name: str
    text: str
    sign: int
    outcome: str
    found: Estimate | None
    adjusted: float = np.nan  # p by Holm, over the claims that were run

    @property
    def verdict(self) -> str:
        if self.found is None:
            return "not run"
        if self.adjusted < LEVEL:
            return "holds" if self.found.mean * self.sign > 0 else "reversed"
        margin = FACTOR if self.name.startswith("F") else table.MARGIN
        inside = max(abs(self.found.low), abs(self.found.high)) < margin
        return "equivalent" if inside else "undecided"


def claims(results: Results) -> list[Claim]:
    """The plan's claims with their estimates."""
    plan = (Path(__file__).parent / "PLAN.md").read_text()
    rows = re.findall(r"^\| ([A-F]\d) \| (.+?),? ([<>]) 0 \| (.+) \|$", plan, re.MULTILINE)
    known = estimates(results)
    found = [Claim(a, text, 1 - 2 * (sign == "<"), of, known[a]) for a, text, sign, of in rows]
    run = [claim for claim in found if claim.found]
    p = [claim.found.p for claim in run if claim.found]
    for claim, adjusted in zip(run, multipletests(p, method="holm")[1] if p else []):
        claim.adjusted = float(adjusted)
    return found


def estimates(r: Results) -> dict[str, Any]:
    """By the claim's name in PLAN.md; None if runs are missing."""
    less, main, decided = r.less, r.main, r.decided
    ce, lovasz, per_image = main("cross_entropy"), main("lovasz"), main("lovasz_image_all")
    longer = [
        (sign * of, r.length(loss, times), dataset_miou)
        for sign, times in ((1, max(table.LENGTHS)), (-1, 1))
        for of, loss in ((1, "lovasz"), (-1, "cross_entropy"))
    ]
    plain, raw, calibrated, scaled = (
        decided("cross_entropy", how)
        for how in ("argmax", "nowozin_raw", "nowozin_calibrated", "multiscale")
    )
    return {
        "A1": less(lovasz, ce, dataset_miou),
        "A2": less(main("lovasz+cross_entropy"), ce, dataset_miou),
        "A3": less(lovasz, main("weighted_cross_entropy"), dataset_miou),
        "A4": less(lovasz, main("soft_jaccard"), dataset_miou),
        "A5": less(per_image, ce, image_miou),
        "A6": less(per_image, lovasz, dataset_miou),
        "A7": less(per_image, lovasz, image_miou),
        "A8": less(lovasz, ce, rare_gain),
        "A9": less(r.scratch("lovasz"), r.scratch("cross_entropy"), dataset_miou),
        "B1": r.crossed(longer),
        "C1": less(r.select("C", group=max(table.GROUPS)), r.select("C", group=1), dataset_miou),
        "D1": r.binary("lovasz_hinge", "cross_entropy"),
        "D2": r.binary("lovasz_hinge", "hinge"),
        "D3": r.binary("rahman_wang", "lovasz_hinge"),
        "E1": less(raw, plain, r.batch_miou),
        "E2": less(decided("lovasz", "argmax"), calibrated, r.batch_miou),
        "E3": less(scaled, decided("cross_entropy"), dataset_miou),
        "F1": r.last_layer("prox", "gradient"),
        "F2": r.last_layer("algorithm2", "gradient"),
        "F3": r.last_layer("momentum+prox", "momentum"),
    }


def control(r: Results) -> Any:
    """The negative control: groups of one image less per_image=True are the same function."""
    return r.less(r.select("C", group=1), r.select("C", group=0), dataset_miou)
