"""The optimisers of the last layer in one picture: a column for each step rule, a colour for each
direction; medians and, as bands, the least and the most of all draws."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from .layer_methods import ALGORITHM_2, PROX, RULES, SUBGRADIENT, Method
from .layer_results import Curves

COLOURS = {SUBGRADIENT: "#d55e00", PROX: "#0072b2", ALGORITHM_2: "#009e73"}
DASHES = {SUBGRADIENT: "-", PROX: "--", ALGORITHM_2: ":"}
LABELS = {
    SUBGRADIENT: "subgradients",
    PROX: "directions of the exact prox",
    ALGORITHM_2: "directions of Algorithm 2",
}
BUNDLE = "bundle method (all images at once)"


def draw(methods: Mapping[Method, Curves], bundle: Curves) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, len(RULES), figsize=(11, 6.4), sharex=True, sharey="row", layout="constrained"
    )
    for (above, under), rule in zip(axes.T, RULES):
        above.set_title(f"steps by {rule}" if rule == "Adam" else f"{rule} steps")
        for axis, key in ((above, "left"), (under, "iou")):
            line(axis, getattr(bundle, key), "#777777", "-", BUNDLE)
            for method, found in methods.items():
                if method.rule == rule:
                    kind = method.direction
                    band(axis, getattr(found, key), COLOURS[kind])
                    line(axis, getattr(found, key), COLOURS[kind], DASHES[kind], LABELS[kind])
            axis.grid(alpha=0.3)
        above.set_yscale("log")
        under.set_xlabel("passes over the images")
    axes[0, 0].set_ylabel("J - J*, training images")
    axes[1, 0].set_ylabel("mean IoU, validation images, %")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def flat(values: Any) -> Any:
    return values.reshape(-1, values.shape[-1])


def line(axis: Any, values: Any, colour: str, dashes: str, label: str) -> None:
    axis.plot(np.median(flat(values), 0), dashes, color=colour, label=label, linewidth=1.8)


def band(axis: Any, values: Any, colour: str) -> None:
    all_draws = flat(values)
    passes = np.arange(all_draws.shape[-1])
    axis.fill_between(passes, all_draws.min(0), all_draws.max(0), color=colour, alpha=0.18, lw=0)
