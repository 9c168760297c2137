"""Writes docs/experiments.md and its figures from the CSV files.

    python -m experiments.page DOCS_DIR [--cache CACHE_DIR] [--ended]

Reads DOCS_DIR/experiments/*.csv and page.md beside this file. Nothing is written until A is
complete, or the series is ended by decision: --ended takes the seeds that there are. The figure of
segmentations needs the features and weights in CACHE_DIR; without it, that figure is kept.
"""

from __future__ import annotations

import argparse
from collections.abc import Iterable, Sequence
from pathlib import Path
from string import Template
from typing import Any

import numpy as np
import pandas as pd
import torch
from matplotlib import pyplot as plt
from matplotlib.colors import to_rgb
from matplotlib.patches import Patch

from . import analysis, scores, table
from .analysis import Claim, Estimate, Group, Outcome, Results
from .decoder import forward
from .features import CLASSES
from .scores import dataset_miou, image_miou
from .storage import Lab

NAMES = {
    "cross_entropy": "cross-entropy", "weighted_cross_entropy": "weighted cross-entropy",
    "lovasz": "Lovász-Softmax", "lovasz_image_all": "Lovász per image",
    "lovasz+cross_entropy": "Lovász + cross-entropy", "soft_jaccard": "soft Jaccard",
    "hinge": "hinge", "lovasz_hinge": "Lovász hinge", "rahman_wang": "Rahman and Wang",
    "lovasz_sigmoid": "Lovász-Sigmoid", "argmax": "argmax",
    "nowozin_raw": "Nowozin, raw", "nowozin_calibrated": "Nowozin, calibrated",
    "exact_raw": "exact, raw", "exact_calibrated": "exact, calibrated",
    "gradient": "gradient", "momentum": "momentum", "adam": "Adam", "prox": "exact prox",
    "algorithm2": "Algorithm 2", "momentum+prox": "momentum + exact prox",
}  # fmt: skip
DECISIONS = ("argmax", "nowozin_raw", "nowozin_calibrated", "exact_raw", "exact_calibrated")
MISSING = "not run"
Row = tuple[list[str], Group, Group]  # titles, runs, and the runs that they are compared with


def interval(found: Estimate | None, form: str = "+.2f") -> str:
    if found is None:
        return MISSING
    mean, low, high = (format(x, form) for x in (found.mean, found.low, found.high))
    return f"{mean} [{low}, {high}]"


def factor(found: Estimate | None) -> str:
    """F's logarithms as factors."""
    return interval(found and Estimate(found.n, *(10.0**x for x in found[1:])), ".2g")


def number(x: float, form: str = ".1f") -> str:
    return MISSING if np.isnan(x) else format(x, form)


def markdown(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def scored(r: Results) -> list[Row]:
    """A: each loss and cross-entropy, at best rates, at the common rate, and from scratch."""
    of = {"best": r.main, "common": lambda loss: r.main(loss, common=True), "scratch": r.scratch}
    losses = {"best": table.LOSSES, "common": table.LOSSES, "scratch": table.SCRATCH}
    return [
        ([NAMES[loss], rate], of[rate](loss), of[rate]("cross_entropy"))
        for rate in of
        for loss in losses[rate]
    ]


def compared(r: Results, head: list[str], rows: list[Row], outcomes: dict[str, Outcome]) -> str:
    """Mean of each outcome over the seeds, and its difference."""
    lines = []
    for titles, group, base in rows:
        means = [number(r.mean(group, outcome)) for outcome in outcomes.values()]
        less = [
            "" if group and group == base else interval(r.less(group, base, outcome))
            for outcome in outcomes.values()
        ]
        lines.append([*titles, *means, *less])
    return markdown([*head, *outcomes, *(f"difference in {name}" for name in outcomes)], lines)


def tables(r: Results, found: list[Claim]) -> dict[str, str]:
    ce, drives = r.main("cross_entropy"), sorted(set(r.images.drive))
    dataset: dict[str, Outcome] = {"dataset-mIoU": dataset_miou}
    both = {**dataset, "image-mIoU": image_miou}
    shown = ("lovasz", "lovasz_image_all")
    by_class = [
        [name, *(interval(r.less(r.main(loss), ce, analysis.class_iou(name)), "+.1f")
                 for loss in shown)]
        for name in CLASSES
    ]  # fmt: skip
    by_drive = [
        [f"{NAMES[loss]}, {index}", *(interval(r.less(r.main(loss), ce, of, d)) for d in drives)]
        for loss in (*shown, "lovasz+cross_entropy")
        for index, of in both.items()
    ]
    lengths: list[Row] = [
        ([str(times * table.STEPS), number(r.mean(r.length("cross_entropy", times), dataset_miou))],
         r.length("lovasz", times), r.length("cross_entropy", times))
        for times in (1, *table.LENGTHS)
    ]  # fmt: skip
    groups: list[Row] = [
        ([str(n or "per_image=True")], r.select("C", group=n), r.select("C", group=1))
        for n in (*table.GROUPS, 0)
    ]
    decisions: list[Row] = [
        ([NAMES[loss], NAMES[how]], r.decided(loss, how), r.decided(loss, "argmax"))
        for loss in table.TESTED
        for how in DECISIONS
    ]
    scales: list[Row] = [
        ([NAMES[loss]], r.decided(loss, "multiscale"), r.decided(loss)) for loss in table.TESTED
    ]
    return {
        "claims_table": claims_table(found),
        "scores_table": compared(r, ["loss", "rate"], scored(r), both),
        "classes_table": markdown(["class", *(NAMES[loss] for loss in shown)], by_class),
        "drives_table": markdown(["less cross-entropy", *drives], by_drive),
        "length_table": compared(r, ["steps", "cross-entropy"], lengths, {"Lovász": dataset_miou}),
        "groups_table": compared(r, ["images"], groups, both),
        "decisions_table": compared(r, ["network", "by"], decisions, {"batch-mIoU": r.batch_miou}),
        "scales_table": compared(r, ["multi-scale"], scales, dataset),
        "binary_table": binary_table(r),
        "optimisers_table": optimisers_table(r),
        "rates_table": rates_table(r),
        "ibsr_table": ibsr_table(r.folder),
    }


def claims_table(found: list[Claim]) -> str:
    rows = [
        [c.name, c.text, c.outcome, "<>"[c.sign > 0] + " 0", str(c.found.n), interval(c.found),
         f"± {(c.found.seeds_high - c.found.seeds_low) / 2:.2f}", f"{c.adjusted:.1g}", c.verdict]
        for c in found if c.found
    ]  # fmt: skip
    head = ["", "difference", "outcome", "claim", "seeds", "found", "over seeds alone",
            "adjusted p", "verdict"]  # fmt: skip
    return markdown(head, rows)


def binary_table(r: Results) -> str:
    rows = []
    for loss in table.BINARY:
        groups = [r.select("D", loss=loss, target=target) for target in table.TARGETS]
        less = "" if loss == "cross_entropy" else interval(r.binary(loss, "cross_entropy"))
        rows.append([NAMES[loss], *(number(r.mean(of, image_miou)) for of in groups), less])
    return markdown(["loss", *table.TARGETS, "less cross-entropy"], rows)


def optimisers_table(r: Results) -> str:
    rows = []
    for name in table.OPTIMISERS:
        own = r.optimised(name)
        if len(own):
            left, iou = 10 ** -own.val.astype(float).mean(), own.val_iou.astype(float).mean()
            reach = own.loss.iloc[0].partition("@")[2]
            cells = [f"{own.rate.iloc[0]:g}", reach, f"{left:.1e}", f"{iou:.2f}"]
            rows.append([NAMES[name], *cells])
    head = ["optimiser", "step size", "reach", "J - J*, geometric mean", "validation Jaccard, %"]
    return markdown(head, rows)


def rates_table(r: Results) -> str:
    """Tuning scores of every rate; the best one is bold."""
    tried = r.where("tune", arithmetic="fast")
    tried = tried[tried.experiment != "F"]
    rows = []
    for (experiment, start, loss), own in tried.groupby(
        ["experiment", "start", "loss"], sort=False
    ):
        means = own.val.astype(float).groupby(own.rate).mean().reindex(table.RATES)
        cells = [f"**{x:.2f}**" if x == means.max() else number(x, ".2f") for x in means]
        rows.append([experiment, NAMES[loss] + ("" if start else " from scratch"), *cells])
    return markdown(["", "loss", *(f"{rate:g}" for rate in table.RATES)], rows)


def ibsr_table(folder: Path) -> str:
    """Jaccard and Dice of whole volumes. Dice is computed head by head and tissue by tissue."""
    heads = pd.read_csv(folder / "ibsr_heads.csv").set_index(["model", "loss"])
    known = pd.read_csv(folder / "ibsr_intervals.csv").set_index(["model", "loss"])
    known = known[(known.index_of == "volume") & (known.structure == "mean")]
    jaccard = heads[[f"volume_{name}" for name in ("CSF", "grey_matter", "white_matter")]] / 100
    less = {of: f"{x.difference:+.2f} [{x.low:+.2f}, {x.high:+.2f}]" for of, x in known.iterrows()}
    rows = []
    for key, own in jaccard.groupby(["model", "loss"], sort=False):
        shown = [f"{100 * of.mean(axis=None):.1f}" for of in (own, 2 * own / (1 + own))]
        rows.append([key[0], NAMES[key[1]], *shown, less.get(key, "")])
    return markdown(["model", "loss", "Jaccard", "Dice", "Jaccard less cross-entropy"], rows)


def values(r: Results, found: list[Claim]) -> dict[str, str]:
    """Everything that page.md names."""
    known = {claim.name: interval(claim.found) for claim in found}
    known |= {f"{claim.name}_verdict": claim.verdict for claim in found}
    known |= {f"{claim.name}_factor": factor(claim.found) for claim in found}
    missing = sorted({claim.name[0] for claim in found if not claim.found})
    verdicts = [claim.verdict for claim in found if claim.found]
    pretrained = r.where("pretrain", experiment="A").set_index("seed").val.astype(float)
    gaps, errors = r.where("pretrain", experiment="F").gap, r.optimised("algorithm2").error
    fitted = r.where("evaluate", experiment="E").groupby("loss").temperature
    known |= {
        "missing": f"Not all runs are done: of {', '.join(missing)}." if missing else "",
        "tally": f"Of {len(verdicts)} claims, {verdicts.count('undecided')} are undecided.",
        "baseline": number(pretrained[~pretrained.index.isin(table.TUNING)].mean()),
        "common_rate": number(table.best_rate(r.rows, experiment="A", start=r.start), "g"),
        "control": interval(analysis.control(r)),
        "certified": f"{gaps.astype(float).max():.1g}" if len(gaps) else MISSING,
        "algorithm2_error": f"{errors.astype(float).median():.2g}" if len(errors) else MISSING,
        "temperatures": "; ".join(
            f"{NAMES[loss]} {of.min():.2f} to {of.max():.2f}" for loss, of in fitted
        ) or MISSING,
    }  # fmt: skip
    return {**known, **tables(r, found)}


def differences_figure(r: Results, found: list[Claim], file: Path) -> None:
    """Primary claims above, secondary differences below; F has its own unit and is left out."""
    shown = [
        (f"{c.name}  {c.text} ({c.outcome})", c.found, True) for c in found if c.name[0] != "F"
    ]
    for title, group, base in scored(r):
        for index, outcome in (("dataset", dataset_miou), ("image", image_miou)):
            if group != base:
                name = f"{', '.join(title)} ({index}-mIoU)"
                shown.append((name, r.less(group, base, outcome), False))
    shown.append(("C  groups of one less per_image=True (control)", analysis.control(r), False))
    known = [(title, one, primary) for title, one, primary in shown if one]
    figure, axes = plt.subplots(figsize=(9, 1 + 0.24 * len(known)), layout="constrained")
    axes.axvspan(-table.MARGIN, table.MARGIN, color="0.92")
    axes.axvline(0, color="0.4", linewidth=0.8)
    for k, (_, one, primary) in enumerate(known):
        colour = "tab:blue" if primary else "0.45"
        axes.hlines(k, one.low, one.high, colour, linewidth=1)
        axes.hlines(k, one.seeds_low, one.seeds_high, colour, linewidth=3.5, alpha=0.6)
        axes.plot(one.mean, k, "o", color=colour, markerfacecolor=colour if primary else "white")
    axes.set_yticks(range(len(known)), [title for title, _, _ in known], fontsize=8)
    axes.set_ylim(max(len(known), 1) - 0.5, -0.5)
    axes.set_xlabel("points")
    axes.spines[["top", "right"]].set_visible(False)
    save(figure, file)


def parse(curve: str) -> pd.Series[float]:
    pairs = (part.split(":") for part in str(curve).split())
    return pd.Series({int(k): float(v) for k, v in pairs})


def curves_figure(r: Results, file: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.4), layout="constrained")
    for curve in r.where("pretrain", experiment="A").curve:
        left.plot(parse(curve), color="0.6", linewidth=0.8)
    left.set(title="pre-training", xlabel="step", ylabel="validation dataset-mIoU, %")
    for loss, colour in zip(table.TESTED, ("tab:orange", "tab:blue")):
        for times in (1, *table.LENGTHS):
            own = [parse(r.rows.loc[key, "curve"]) for key in r.length(loss, times).values()]
            mean = pd.DataFrame(own).mean()
            title = NAMES[loss] if times == 1 and own else None
            right.plot(mean, ".-", color=colour, linewidth=1, label=title)
    ends = [times * table.STEPS for times in (1, *table.LENGTHS)]
    right.set(title="fine-tuning", xlabel="step", xscale="log")
    right.set_xticks(ends, [str(end) for end in ends])
    right.minorticks_off()
    save(figure, file)


def last_layer_figure(r: Results, file: Path) -> None:
    figure, (left, right) = plt.subplots(1, 2, figsize=(9, 3.6), layout="constrained")
    minima = r.where("pretrain", experiment="F").set_index("seed")
    for name in table.OPTIMISERS:
        own = r.optimised(name)
        if not len(own):
            continue
        bound, gap = (minima[of].astype(float)[own.index] for of in ("bound", "gap"))
        above = pd.DataFrame([parse(curve) for curve in own.curve], own.index).sub(bound, axis=0)
        left.semilogy(above.clip(lower=gap, axis=0).median(), label=NAMES[name])
        right.plot(pd.DataFrame([parse(curve) for curve in own.iou_curve]).median())
    left.set(xlabel="passes", ylabel="J - J*")
    right.set(xlabel="passes", ylabel="validation Jaccard index, %")
    save(figure, file)


def chosen_images(r: Results, pair: Sequence[str]) -> list[int]:
    """Test images where the mIoU of present classes rises most, by the median, and falls most."""
    ious = [np.where(r.truth > 0, scores.iou(r.counts(key)), np.nan) for key in pair]
    order = np.nanmean(ious[1] - ious[0], 1).argsort()
    return [int(order[k]) for k in (-1, len(order) // 2, 0)]


def segmentations_figure(r: Results, cache: Path, file: Path) -> None:
    """Shows predictions only: CamVid's images and labels must not be published."""
    pair = [r.main(loss)[table.SEEDS[0]] for loss in table.TESTED]
    lab = Lab(cache, r.folder)
    test, nets = lab.split("test"), [lab.network(key) for key in pair]
    colours = np.array(plt.get_cmap("tab20").colors[: len(CLASSES)])  # type: ignore[attr-defined]
    figure, axes = plt.subplots(3, 3, figsize=(9, 8.2), layout="constrained")
    for row, k in zip(axes, chosen_images(r, pair)):
        truth = test.labels[k].numpy()
        with torch.no_grad():
            found = [forward(n, test, torch.tensor([k]), "reference", truth.shape) for n in nets]
        maps = [s[0].argmax(0).numpy() for s in found]
        only = np.full((*truth.shape, 3), 0.93)
        for colour, (ours, theirs) in {"tab:orange": maps, "tab:blue": maps[::-1]}.items():
            only[(ours == truth) & (theirs != truth)] = to_rgb(colour)
        for one, panel in zip(row, (colours[maps[0]], colours[maps[1]], only)):
            one.imshow(panel)
            one.set_axis_off()
    for one, head in zip(axes[0], (*(NAMES[loss] for loss in table.TESTED), "only one is right")):
        one.set_title(head)
    handles = [Patch(color=colour) for colour in colours]
    figure.legend(handles, CLASSES, loc="outside lower center", ncols=6, fontsize=8)
    save(figure, file)


def save(figure: Any, file: Path) -> None:
    for axes in figure.axes:
        if axes.get_legend_handles_labels()[0]:
            axes.legend(frameon=False, fontsize=8)
    file.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(file, dpi=110, metadata={"Software": None})
    plt.close(figure)


def write(r: Results, out: Path, cache: Path | None = None) -> str:
    """Returns the page."""
    found, img = analysis.claims(r), out / "img"
    differences_figure(r, found, img / "experiments_differences.png")
    curves_figure(r, img / "experiments_curves.png")
    last_layer_figure(r, img / "experiments_last_layer.png")
    if cache:
        segmentations_figure(r, cache, img / "experiments_segmentations.png")
    text = Template((Path(__file__).parent / "page.md").read_text()).substitute(values(r, found))
    (out / "experiments.md").write_text(text)
    return text


def main() -> None:
    parser = argparse.ArgumentParser(prog="experiments.page", description=__doc__)
    parser.add_argument("docs", type=Path)
    parser.add_argument("--cache", type=Path)
    parser.add_argument("--ended", action="store_true")
    options = parser.parse_args()
    r = Results(options.docs / "experiments", options.ended)
    if not all(r.main(loss) for loss in table.LOSSES):
        raise SystemExit("A is not complete: the page stays as it is, and test scores unread")
    write(r, options.docs, options.cache)


if __name__ == "__main__":
    main()
