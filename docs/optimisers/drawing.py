"""The pictures of docs/optimisers.md, by matplotlib."""

import math
import statistics

from results import (
    CURVES,
    PAIRS,
    SIZES,
    SOLVED,
    at_size,
    interval,
    is_whole,
    log_ratios,
    quartiles,
    read_csv,
)

COLOURS = ["#0072b2", "#009e73", "#d55e00"]
GROUPS = ("subgradients", "averages", "proxes", "solvers")
MOST_CALLS = 200  # of any problem, when quick


def draw_directions(results, figure):
    """Means over the seeds with intervals, and a line between both kinds of prox."""
    axes = figure.subplots()
    names = [name for name in results.names if not all_solve(results, name)]
    for place, name in enumerate(reversed(names)):
        for k, pair in enumerate(PAIRS):
            values, at = log_ratios(results, name, pair), place + 0.22 - 0.22 * k
            hollow = {"markerfacecolor": "white"} if results.is_single(name) else {}
            if not hollow:
                low, _, high = (10**value for value in interval(values))
                axes.plot([low, high], [at, at], linewidth=2.5, color=COLOURS[k], alpha=0.45)
            middle = 10 ** statistics.mean(values)
            axes.plot(middle, at, "o", markersize=5, color=COLOURS[k], **hollow)
    for colour, title in zip(COLOURS, PAIRS.values()):
        axes.plot([], [], "o", color=colour, label=title)
    axes.plot([], [], "o", color="0.4", markerfacecolor="white", label="a single run")
    border(axes, sum(not is_whole(name) for name in names) - 0.5)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="accuracy by the prox direction / by subgradients: < 1 is better")
    axes.set_yticks(range(len(names)), map(results.short, reversed(names)), fontsize=9)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(axis="x", color="0.9")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=4, frameon=False, fontsize=9)


def border(axes, at):
    axes.axhline(at, color="0.3", linewidth=0.8, linestyle="--")
    where = {"transform": axes.get_yaxis_transform(), "fontsize": 8, "color": "0.3"}
    axes.text(
        0.99, at + 0.06, "above: the prox of J or of a part", va="bottom", ha="right", **where
    )
    axes.text(0.01, at - 0.06, "below: the prox of a loss of scores", va="top", **where)


def all_solve(results, name):
    found = [results.accuracy(name, who) for pair in PAIRS for who in pair]
    return all(median is None or median <= SOLVED for median in found)


def lines_of_rules():
    """Name -> title and look: dashed by subgradients, solid by the prox direction."""
    lines = {"bundle": ("proximal bundle", {"color": "black"})}
    for colour, ((plain, prox), title) in zip(COLOURS, PAIRS.items()):
        lines[plain] = title, {"color": colour, "linestyle": "--"}
        lines[prox] = f"{title}, prox direction", {"color": colour}
    return lines


def draw_profiles(results, figure, target="0.01"):
    """The share solved within so many calls, of the problems and seeds where all take part."""
    axes, lines = figure.subplots(), lines_of_rules()
    common = [n for n in results.names if all((n, who) in results.places for who in lines)]
    for who, (title, style) in lines.items():
        calls = [c for name in common for c in results.calls(name, who, target)]
        staircase(axes, calls, MOST_CALLS, label=title, **style)
    axes.set(xscale="log", xlabel="calls", ylabel=f"share solved to {target}", ylim=(0, 1.02))
    axes.set_xlim(0.8, MOST_CALLS)
    axes.grid(color="0.92")
    axes.legend(fontsize=8, frameon=False, loc="upper left")


def staircase(axes, values, last, **style):
    """The share of the values that are at most x."""
    there = sorted(value for value in values if value <= last)
    shares = [(k + 1) / len(values) for k in range(len(there))]
    ends = [*there, last], [*shares, len(there) / len(values)]
    axes.step(*([first, *rest] for first, rest in zip((1e-9, 0), ends)), where="post", **style)


def draw_performance(results, figure, target="0.01", last=100):
    """Dolan and Moré: a panel for each group, where the others are grey."""
    panels = figure.subplots(1, len(GROUPS), sharex=True, sharey=True)
    ratios = performance_ratios(results, target)
    for axes, group in zip(panels, GROUPS):
        shown = 0
        for one in sorted(results.optimisers, key=lambda one: one["group"] == group):
            style = {"color": "0.85", "linewidth": 0.7}
            if one["group"] == group:
                style = {"color": f"C{shown % 7}", "linestyle": ("-", "--")[shown // 7]}
                style |= {"label": one["title"], "linewidth": 1.6}
                shown += 1
            staircase(axes, ratios[one["name"]], last, **style)
        axes.set_title(group, fontsize=10)
        axes.set(
            xscale="log", xlim=(1, last), ylim=(0, 1.02), xlabel="calls / calls of the fastest"
        )
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.2), fontsize=7, frameon=False)
        axes.grid(color="0.95")
    panels[0].set_ylabel(f"share solved to {target}")


def performance_ratios(results, target):
    """Of each optimiser on each problem and seed, its calls / those of the fastest. Who does not
    take part, or does not get there: inf."""
    ratios = {one["name"]: [] for one in results.optimisers}
    for problem in results.names:
        count = len(results.of(problem))
        calls = {who: results.calls(problem, who, target) for who in ratios}
        for k in range(count):
            row = {who: found[k] if found else math.inf for who, found in calls.items()}
            best = min(row.values())
            for who, found in row.items():
                ratios[who].append(found / best if found < math.inf else math.inf)
    return ratios


def draw_curves(results, figure):
    """Accuracy against calls: medians over the seeds, quartiles as bands."""
    rows, panels = read_csv("curves"), figure.subplots(2, 3, sharey=True)
    for axes, problem in zip(panels.flat, CURVES):
        for who, (title, style) in lines_of_rules().items():
            mine = [r for r in rows if (r["problem"], r["optimiser"]) == (problem, who)]
            calls, low, median, high = (
                [float(row[key]) for row in mine] for key in ("calls", "low", "median", "high")
            )
            axes.plot(calls, median, linewidth=1.5, label=title, **style)
            axes.fill_between(calls, low, high, color=style["color"], alpha=0.12, linewidth=0)
        axes.set_title(results.short(problem), fontsize=9)
        axes.set(yscale="log", ylim=(5e-11, 2), xlabel="calls")
        axes.grid(color="0.93")
    for axes in panels[:, 0]:
        axes.set_ylabel("(f - f*) / (f₀ - f*)")
    handles = panels[0, 0].get_legend_handles_labels()
    figure.legend(*handles, loc="outside lower center", ncols=4, fontsize=8, frameon=False)


def draw_sizes(results, figure):
    """Accuracy against size: medians over problems, quartiles as bands."""
    panels = figure.subplots(2, len(PAIRS), sharex=True, sharey="row")
    kinds = ((True, "prox of J or of a part"), (False, "prox of a loss of scores"))
    for row, (whole, kind) in zip(panels, kinds):
        for axes, colour, (pair, title) in zip(row, COLOURS, PAIRS.items()):
            looks = (("--", "by subgradients", 0.1), ("-", "by the prox direction", 0.2))
            for who, (line, label, alpha) in zip(pair, looks):
                found = [at_size(results, who, size, whole) for size in SIZES]
                low, _, high = zip(*map(quartiles, found))
                median = [statistics.median(values) for values in found]
                axes.plot(SIZES, median, line, marker=".", color=colour, label=label)
                axes.fill_between(SIZES, low, high, color=colour, alpha=alpha, linewidth=0)
            axes.set_title(f"{title}: {kind}", fontsize=9)
            axes.set(xscale="log", yscale="log")
            axes.grid(color="0.93")
            axes.legend(fontsize=8, frameon=False, loc="lower left")
        row[0].set_ylabel("accuracy")
    for axes in panels[-1]:
        axes.set_xlabel("size, as a multiple of the natural one")
