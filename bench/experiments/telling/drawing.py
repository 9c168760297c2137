"""Figures that several experiments draw: differences with their intervals, and tables in
colours."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from ..intervals import Interval

VERDICTS = {"better": "#0072b2", "worse": "#d55e00", "not shown": "#8a8a8a"}
LINES = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
SIZE = 10


def new(width: float, height: float, rows: int = 1, columns: int = 1, **settings: Any) -> Any:
    """A figure and its panels (rows, columns)."""
    import matplotlib as mpl
    from matplotlib.figure import Figure

    with mpl.rc_context({"font.size": SIZE, "axes.spines.top": False, "axes.spines.right": False}):
        figure = Figure(figsize=(width, height), dpi=130, layout="constrained")
        return figure, figure.subplots(rows, columns, squeeze=False, **settings)


def forest(panels: Mapping[str, Mapping[str, Interval]], against: str, across: int = 3) -> Any:
    """A panel for each index, so many of them across: by name, the difference to what it is
    against, and its interval."""
    names = list(next(iter(panels.values())))
    across = min(across, len(panels))
    rows = -(-len(panels) // across)
    height = rows * (0.9 + 0.3 * len(names)) + 0.4
    figure, axes = new(
        2.6 + (2.7 if across > 2 else 3.2) * across, height, rows, across, sharey=True
    )
    for axis, (title, found) in zip(axes.flat, panels.items()):
        for k, name in enumerate(names):
            value, low, high = (100 * x for x in found[name])
            colour = VERDICTS[found[name].verdict]
            axis.plot([low, high], [k, k], color=colour, lw=2.5, solid_capstyle="butt")
            axis.plot(value, k, "o", color=colour, ms=6)
        axis.axvline(0, color="black", lw=0.8)
        axis.set_title(title, fontsize=SIZE + 1)
        axis.set_xlabel(f"points more than {against}")
        axis.grid(axis="x", color="#dddddd", lw=0.6)
        axis.set_axisbelow(True)
        axis.locator_params(axis="x", nbins=6)
    axes[0][0].set_yticks(range(len(names)), names)
    axes[0][0].set_ylim(len(names) - 0.5, -0.5)
    verdict_legend(figure)
    return figure


def verdict_legend(figure: Any) -> None:
    from matplotlib.lines import Line2D

    marks = [Line2D([], [], color=colour, marker="o", lw=2.5) for colour in VERDICTS.values()]
    figure.legend(marks, list(VERDICTS), loc="outside lower center", ncols=3, frameon=False)


def heat(
    axis: Any, values: npt.NDArray[Any], texts: Sequence[Sequence[str]], rows: Sequence[str],
    columns: Sequence[str], colours: str, limits: tuple[float, float],
) -> Any:  # fmt: skip
    """A table in colours, with the text of each field in it."""
    drawn = axis.imshow(values, cmap=colours, vmin=limits[0], vmax=limits[1], aspect="auto")
    axis.set_xticks(range(len(columns)), columns, rotation=35, ha="right", rotation_mode="anchor")
    axis.set_yticks(range(len(rows)), rows)
    axis.tick_params(length=0)
    axis.spines[:].set_visible(False)
    for y, x in np.ndindex(values.shape):
        red, green, blue, _ = drawn.cmap(drawn.norm(values[y, x]))
        dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
        colour = "white" if dark else "black"
        axis.text(x, y, texts[y][x], ha="center", va="center", color=colour, fontsize=SIZE - 1.5)
    return drawn
