"""Figures of the experiment on IBSR: differences head by head, and a slice of a typical head."""

from __future__ import annotations

from typing import Any

import numpy as np

from .heads import TISSUES
from .results import BASE, CALLED, COLUMNS, COMPARED, SHOWN, Results
from .runs import TUNED_WITH, Case, jaccard

COLOURS = {"lovasz": "#0072b2", "lovasz+cross_entropy": "#d55e00"}
TINTS = ("#000000", "#e69f00", "#8a8a8a", "#ffffff")  # of the tissues


def draw_differences(results: Results) -> Any:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(11, 4.2), layout="constrained")
    for axes, model in zip(figure.subplots(1, len(SHOWN)), SHOWN):
        axes.axhline(0, color="black", linewidth=0.8)
        for side, loss in zip((-0.17, 0.17), COMPARED):
            draw_loss(axes, results, model, loss, side)
        axes.set_title(SHOWN[model])
        axes.set_xticks(range(len(COLUMNS)), [name.replace(" ", "\n") for name in COLUMNS])
        axes.grid(axis="y", alpha=0.3)
    first = figure.axes[0]
    first.set_ylabel("Jaccard index less cross-entropy's,\npercentage points")
    figure.legend(*first.get_legend_handles_labels(), loc="outside lower center", ncols=2)
    return figure


def draw_loss(axes: Any, results: Results, model: str, loss: str, side: float) -> None:
    """A dot for every head; the mean and its interval beside them."""
    gains = results.gains(model, loss, "volume").mean(0)
    wanted = (model, loss, "volume")
    [found] = [one.found for one in results.differences if one[:3] == wanted]
    colour = COLOURS[loss]
    for k, (of_heads, (value, low, high)) in enumerate(zip(gains.T, found)):
        spread = np.linspace(-0.08, 0.0, len(of_heads))
        axes.plot(k + side + spread, of_heads, "o", color=colour, alpha=0.35, markersize=3.5)
        label = f"{CALLED[loss]}: heads, mean, 95 % interval" if k == 0 else None
        errors = [[max(0, value - low)], [max(0, high - value)]]
        axes.errorbar(
            k + side + 0.07,
            value,
            errors,
            fmt="D",
            color=colour,
            markersize=5,
            capsize=3,
            label=label,
        )


def typical(results: Results) -> tuple[int, int]:
    """The head at which Lovász-Softmax gains the median of all heads; of its slices that show all
    structures, the one with the median gain. Of the U-Net, the first seed, in the mean index."""
    ours, theirs = (results.counts["unet", loss][0] for loss in ("lovasz", BASE))
    head = median_at((jaccard(ours.sum(1)) - jaccard(theirs.sum(1))).mean(-1))
    shows = np.nonzero((ours[head, :, 1:].sum(-1) > 0).all(-1))[0]
    gains = (jaccard(ours[head, shows]) - jaccard(theirs[head, shows])).mean(-1)
    return head, int(shows[median_at(gains)])


def median_at(values: Any) -> int:
    """Where the median is; of an even number of values, the lower one."""
    return int(np.argsort(values, kind="stable")[(len(values) - 1) // 2])


def draw_slice(results: Results) -> Any:
    from matplotlib.colors import ListedColormap
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    k, y = typical(results)
    case = Case(results.lab, "unet", results.fold[k])
    head = case.head(results.heads[k])
    shown = (BASE, *COMPARED)
    networks = [case.network(case.final(loss, TUNED_WITH)) for loss in shown]
    maps = [head.tissue[:, y], *case.model.predict(networks, head, [y])[:, 0]]
    names = ["truth", *(CALLED[loss] for loss in shown)]
    under = ["", *(indices(results.counts["unet", loss][0][k, y]) for loss in shown)]
    figure = Figure(figsize=(12, 4.2), layout="constrained")
    first, *others = figure.subplots(1, 1 + len(maps))
    first.imshow(head.image[:, y].T, cmap="gray", origin="lower")
    first.set_title("T1")
    for axes, tissue, name, text in zip(others, maps, names, under):
        axes.imshow(
            tissue.T,
            ListedColormap(TINTS),
            origin="lower",
            vmin=0,
            vmax=len(TINTS) - 1,
            interpolation="nearest",
        )
        axes.set_title(name.replace(" + ", "\n+ "))
        axes.set_xlabel(text)
    for axes in (first, *others):
        axes.set_xticks([])
        axes.set_yticks([])
    patches = [
        Patch(facecolor=tint, edgecolor="black", label=name) for tint, name in zip(TINTS, TISSUES)
    ]
    figure.legend(handles=patches, loc="outside lower center", ncols=len(patches))
    return figure


def indices(counts: Any) -> str:
    """Under a panel."""
    found = 100 * jaccard(counts)
    lines = [f"{name} {value:.1f} %" for name, value in zip(TISSUES[1:], found)]
    return "\n".join([*lines, f"mean {found.mean():.1f} %"])
