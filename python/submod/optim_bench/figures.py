"""Pictures, by matplotlib. Thirty lines in one panel tell nothing: each group of optimisers has a
panel of its own, where the others are grey."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Callable

import numpy as np

from .interfaces import Vector
from .profiles import Table, performance_ratios, share_within, times
from .records import TARGETS, Record, median_final
from .summary import Place, Summary
from .task import SOLVED

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLES = ("-", "--", ":")
COLOURS = 7  # of the map, then the next style begins
SHOWN = 8  # curves of a problem
TIGHT = {"fontsize": 7, "frameon": False, "handlelength": 2.4, "labelspacing": 0.25}


def look(k: int) -> dict[str, Any]:
    """The k-th line of a panel."""
    return {"color": f"C{k % COLOURS}", "linestyle": STYLES[k // COLOURS % len(STYLES)]}


# ---- a panel for each group ----

Line = tuple[Vector, Vector]


def _by_group(
    axes: Sequence[Any], summary: Summary, line: Callable[[str], Line | None], kind: str
) -> None:
    """The same lines in all panels, those of its group in colours. kind: plot or step."""
    for axis, group in zip(axes, summary.groups):
        shown = 0
        for optimiser in sorted(summary.optimisers, key=lambda one: one.group == group):
            found = line(optimiser.name)
            extra: dict[str, Any] = {"where": "post"} if kind == "step" else {}
            if found is None:
                continue
            if optimiser.group == group:
                extra |= look(shown) | {"label": optimiser.title, "linewidth": 1.6}
                shown += 1
            else:
                extra |= {"color": "0.85", "linewidth": 0.7}
            getattr(axis, kind)(*found, **extra)


def _panels(summary: Summary, rows: int, height: float) -> tuple[Figure, Any]:
    from matplotlib.figure import Figure

    columns = len(summary.groups)
    figure = Figure(figsize=(3.1 * columns + 0.4, height * rows + 2.0), layout="constrained")
    axes = figure.subplots(rows, columns, sharex=True, sharey=True, squeeze=False)
    for axis, group in zip(axes[0], summary.groups):
        axis.set_title(group, fontsize=10)
    return figure, axes


def _legends(axes: Sequence[Any]) -> None:
    """Below the panels, where they hide nothing."""
    for axis in axes:
        if axis.get_legend_handles_labels()[0]:
            axis.legend(loc="upper center", bbox_to_anchor=(0.5, -0.22), **TIGHT)


# ---- profiles ----


def performance_profiles(summary: Summary, runs: Sequence[Record]) -> Figure:
    limits = np.geomspace(1, 100, 200)
    return _profiles(summary, runs, limits, performance_ratios, "calls / calls of the fastest")


def data_profiles(summary: Summary, runs: Sequence[Record]) -> Figure:
    limits = np.geomspace(1, max(2.0, *(float(run.calls[-1]) for run in runs)), 200)
    return _profiles(summary, runs, limits, lambda table: table, "calls")


def _profiles(
    summary: Summary,
    runs: Sequence[Record],
    limits: Vector,
    of: Callable[[Table], Table],
    name: str,
) -> Figure:
    figure, axes = _panels(summary, len(TARGETS), 2.4)
    names = [optimiser.name for optimiser in summary.optimisers]
    for row, target in zip(axes, TARGETS):
        shares = share_within(of(times(runs, names, target)), limits)
        lines = {name: (limits, shares[:, k]) for k, name in enumerate(names)}
        _by_group(row, summary, lines.get, "step")
        row[0].set_ylabel(f"share solved to {target:g}")
    axes[0, 0].set(xscale="log", ylim=(-0.03, 1.03), xlim=(limits[0], limits[-1]))
    for axis in axes[-1]:
        axis.set_xlabel(name)
    _legends(axes[-1])
    return figure


# ---- sizes ----


def sensitivity(summary: Summary) -> Figure:
    """The median over all problems, around each one's best size."""
    figure, axes = _panels(summary, 1, 3.0)
    lines = {one.name: _around_best(summary.of(one.name)) for one in summary.optimisers}
    _by_group(axes[0], summary, lines.get, "plot")
    axes[0, 0].set(xscale="log", yscale="log", ylabel="accuracy / best accuracy", ylim=(0.8, 1e4))
    for axis in axes[0]:
        axis.set_xlabel("size / best size")
        axis.axhline(10, color="0.5", linewidth=0.6, linestyle=":")
    _legends(axes[0])
    return figure


def _around_best(places: Sequence[Place]) -> Line | None:
    """Where at least half of the problems have a run."""
    found: dict[float, list[float]] = {}
    for place in places:
        if place.basin is not None:
            least = median_final(place.best)
            for size, runs in place.sizes.items():
                ratio = round(float(np.log10(size / place.best_size)), 6)
                found.setdefault(ratio, []).append(median_final(runs) / least)
    ratios = sorted(ratio for ratio, values in found.items() if 2 * len(values) >= len(places))
    if not ratios:
        return None
    medians = [float(np.median(found[ratio])) for ratio in ratios]
    return 10.0 ** np.array(ratios), np.array(medians)


# ---- one problem ----


def _shown(summary: Summary, where: str) -> list[Place]:
    """The best, the best of each group, and the user's own."""
    known = summary.outcome.catalogue.optimisers
    shown: list[Place] = []
    groups: set[str] = set()
    for place in summary.at(where):
        group = known[place.optimiser].group
        if len(shown) < SHOWN or group not in groups or group == "yours":
            shown.append(place)
        groups.add(group)
    return shown


def problem(summary: Summary, where: str) -> Figure:
    """Accuracy against calls, seconds and size."""
    from matplotlib.figure import Figure

    known = summary.outcome.catalogue.optimisers
    figure = Figure(figsize=(12.5, 3.5))
    figure.subplots_adjust(left=0.06, right=0.82, bottom=0.14, top=0.97, wspace=0.06)
    calls, seconds, sizes = figure.subplots(1, 3, sharey=True)
    for k, place in enumerate(_shown(summary, where)):
        style = look(k) | {"label": known[place.optimiser].title, "linewidth": 1.5}
        _band(calls, place.best, "calls", style)
        _band(seconds, place.best, "seconds", style)
        if place.basin is not None:
            grid = sorted(place.sizes)
            sizes.plot(grid, [median_final(place.sizes[s]) for s in grid], marker=".", **style)
    calls.set(
        yscale="log",
        ylim=(SOLVED / 2, 2.0),
        xlabel="calls",
        ylabel="accuracy: (f - f*) / (f₀ - f*)",
    )
    seconds.set(xscale="log", xlabel="seconds")
    sizes.set(xscale="log", xlabel="size, as a multiple of the natural one")
    handles = calls.get_legend_handles_labels()
    sizes.legend(*handles, loc="center left", bbox_to_anchor=(1.02, 0.5), **TIGHT)
    return figure


def _band(axis: Any, runs: Sequence[Record], clock: str, style: dict[str, Any]) -> None:
    """Median and quartiles over the seeds."""
    clocks = [getattr(run, clock) for run in runs]
    at = _common(clocks, logarithmic=clock == "seconds")
    values = np.array([_value_at(run, ticks, at) for run, ticks in zip(runs, clocks)])
    low, median, high = np.percentile(values, (25, 50, 75), axis=0, method="nearest")
    axis.plot(at, median, **style)
    axis.fill_between(at, low, high, color=style["color"], alpha=0.15, linewidth=0)


def _common(clocks: Sequence[Vector], logarithmic: bool) -> Vector:
    """Ticks for all: a run that has ended stays where it is."""
    last = max(float(ticks[-1]) for ticks in clocks)
    if not logarithmic or last <= 0:
        return np.linspace(0, last, 150)
    first = min((float(ticks[ticks > 0][0]) for ticks in clocks if (ticks > 0).any()), default=last)
    return np.geomspace(first, last, 150)


def _value_at(run: Record, ticks: Vector, at: Vector) -> Vector:
    return np.asarray(run.accuracy[np.searchsorted(ticks, at, side="right").clip(1) - 1])
