"""The optimisers of the last layer in one picture: a column for each step rule, a colour for each
direction; medians and, as bands, the least and the most of all draws."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .methods import ALGORITHM_2, PROX, RULES, SUBGRADIENT, Method
from .results import Curves

TITLES = {"gradient": "gradient descent", "momentum": "momentum", "Adam": "Adam"}
# Colour, dashes and name.
STYLES = {
    SUBGRADIENT: ("#d55e00", "-", "subgradients"),
    PROX: ("#0072b2", "--", "directions of the exact prox"),
    ALGORITHM_2: ("#111111", ":", "directions of Algorithm 2"),
}
BUNDLE = "bundle method (all images at once)"


def draw(methods: Mapping[Method, Curves], bundle: Curves) -> Any:
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        2, len(RULES), figsize=(11, 6.4), sharex=True, sharey="row", layout="constrained"
    )
    for (above, under), rule in zip(axes.T, RULES):
        above.set_title(TITLES[rule])
        for method, found in methods.items():
            if method.rule == rule:
                style = STYLES[method.direction]
                curve(above, found.left, *style)
                curve(under, 100 * found.iou, *style)
        for axis, values in ((above, bundle.left), (under, 100 * bundle.iou)):
            axis.plot(np.median(values, 0), color="#777777", label=BUNDLE, linewidth=1.2)
            axis.grid(alpha=0.3)
        above.set_yscale("log")
        under.set_xlabel("passes over the images")
    bottom = floor(list(methods.values()))
    axes[1, 0].set_ylim(bottom=bottom)
    axes[0, 0].set_ylabel("J - J*, training images")
    axes[1, 0].set_ylabel(f"mean IoU, validation images, %\n(below {bottom}: cut off)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=len(labels), frameon=False)
    return figure


def curve(axis: Any, values: Any, colour: str, dashes: str, label: str) -> None:
    """Of all draws."""
    passes = np.arange(values.shape[1])
    axis.fill_between(passes, values.min(0), values.max(0), color=colour, alpha=0.18, linewidth=0)
    axis.plot(np.median(values, 0), dashes, color=colour, label=label, linewidth=1.8)


def floor(found: Sequence[Curves]) -> int:
    """Of the IoU, in percent: the first passes, which all begin at some chance, and draws that fall
    far for a moment may leave the picture."""
    later = found[0].iou.shape[1] // 5
    return round(min(100 * float(np.median(one.iou, 0)[later:].min()) for one in found) - 10)
