"""Makes the tables and pictures of docs/optimisers.md from the results of the bench of optimisers.

    submod-optim-bench --quick --seeds 5 --optimisers NAMES
    python docs/optimisers.py [FOLDER]          FOLDER: out/optim_bench, where the bench wrote
    python docs/optimisers.py --everyone [FOLDER]   the table of all optimisers alone

NAMES are those of PAIRS and CERTIFY below. Needs matplotlib.
"""

import argparse
import json
import statistics
from pathlib import Path

HERE = Path(__file__).resolve().parent
PAGE, IMAGES = HERE / "optimisers.md", HERE / "img"
BEGIN, END = "<!-- {}: made by docs/optimisers.py -->", "<!-- end of {} -->"
# What is driven by subgradients, and the same rule driven by the prox direction.
PAIRS = {
    ("gd", "prox"): "gradient descent",
    ("momentum", "prox-momentum"): "momentum",
    ("adam", "prox-adam"): "Adam",
}
COLOURS = ["#0072b2", "#009e73", "#d55e00"]
# Families with the prox of J itself, or of its part; in the others it is that of a loss of scores.
WHOLE = ("nu", "max_affine", "worst_case", "total_variation")
CERTIFY = {"bundle": "proximal bundle", "bcfw": "BCFW", "primal-dual": "primal-dual"}
MOST_CALLS = 200  # of any problem, when quick
SOLVED = 1e-10  # where the bench ends a run
PROVED = 1e-6  # gaps of f*, as a share of its fall, up to which it counts as known


class Results:
    """results.json. A place is a problem and an optimiser."""

    def __init__(self, folder):
        with open(Path(folder) / "results.json", encoding="utf-8") as opened:
            found = json.load(opened)
        self.problems, self.optimisers = found["problems"], found["optimisers"]
        self.places = {(row["problem"], row["optimiser"]): row for row in found["places"]}
        self.runs = {}
        for run in found["runs"]:
            if run["size"] == self.places[run["problem"], run["optimiser"]]["best size"]:
                self.runs.setdefault((run["problem"], run["optimiser"]), []).append(run)
        names = dict.fromkeys(problem for problem, _ in self.places)
        self.names = sorted(names, key=lambda name: not is_whole(name))

    def accuracy(self, problem, optimiser):
        """Its quartiles; None: it did not take part."""
        place = self.places.get((problem, optimiser))
        return place and place["accuracy"]

    def calls(self, problem, optimiser, target):
        """Of each tuned run; inf: it did not get there."""
        found = [run[f"calls to {target}"] for run in self.runs.get((problem, optimiser), [])]
        return [float("inf") if calls is None else calls for calls in found]


def is_whole(name):
    return name.split(" ")[0] in WHOLE


def short(name):
    """With what tells a family's members apart, as far as it has that."""
    family, _, rest = name.rstrip(")").partition(" (")
    told = dict(part.split(" = ") for part in rest.split(", ") if part)
    words = [told[key] for key in ("shape",) if key in told]
    words += [f"{key} {told[key]}" for key in ("nu", "dimension", "condition") if key in told]
    if told.get("batches", "1") != "1":
        words.append("minibatches")
    return ", ".join([family, *words])


def number(value):
    """Two digits."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}"


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])


# ---- tables ----


def problems(results):
    """Each with its worst gap over the seeds, as a share of the fall from the start."""
    rows = []
    for name in results.names:
        mine = [row for row in results.problems if row["problem"] == name]
        gap = max(row["certified gap"] / (row["J at the start"] - row["f*"]) for row in mine)
        proved = number(max(gap, 0)) if gap <= PROVED else "**not proved**"
        rows.append([name, str(mine[0]["variables"]), str(mine[0]["minibatches"]), proved])
    return table(["problem", "variables", "minibatches", "gap of f\\*"], rows)


def directions(results):
    rows = [
        [short(name), *(compared(results, name, pair) for pair in PAIRS)] for name in results.names
    ]
    return table(["problem", *PAIRS.values()], rows)


def compared(results, problem, pair):
    plain, prox = (results.accuracy(problem, name) for name in pair)
    if not plain or not prox:
        return ""
    return f"{number(plain['median'])} → {number(prox['median'])}, {verdict(plain, prox)}"


def verdict(plain, prox):
    """By quartiles over the seeds that do not overlap."""
    if max(plain["median"], prox["median"]) <= SOLVED:
        return "both solve it"
    if prox["high"] < plain["low"]:
        return "better"
    if prox["low"] > plain["high"]:
        return "**worse**"
    return "not shown"


def sizes(results):
    rows = [row for row in results.optimisers if row["basin in decades"]]
    rows.sort(key=lambda row: -row["basin in decades"]["median"])
    shares = [key for key in rows[0] if key.startswith("solved to")]
    lines = [
        [
            row["title"],
            str(row["problems"]),
            *(f"{100 * row[key]:.0f} %" for key in shares),
            "{median:.1f} ({low:.1f} to {high:.1f})".format(**row["basin in decades"]),
        ]
        for row in rows
    ]
    return table(["optimiser", "problems", *shares, "basin, in decades"], lines)


def everyone(results):
    """All optimisers, by what they solve to 0.01."""
    rows = sorted(results.optimisers, key=lambda row: (-row["solved to 0.01"], row["title"]))
    shares = [key for key in rows[0] if key.startswith("solved to")]
    lines = [
        [
            row["title"],
            row["group"],
            str(row["problems"]),
            *(f"{100 * row[key]:.0f} %" for key in shares),
            "{median:.1f}".format(**row["basin in decades"]) if row["basin in decades"] else "",
        ]
        for row in rows
    ]
    return table(["optimiser", "driven by", "problems", *shares, "basin, in decades"], lines)


def bounds(results, target="0.0001"):
    """Calls of the median seed to the target."""
    rows = []
    for name in results.names:
        plain = [median_calls(results, name, who, target) for who, _ in PAIRS]
        others = [median_calls(results, name, who, target) for who in CERTIFY]
        best = min((calls for calls in plain if calls is not None), default=None)
        rows.append([short(name), *map(as_calls, [best, *others])])
    return table(["problem", "best of gd, momentum, Adam", *CERTIFY.values()], rows)


def median_calls(results, problem, optimiser, target):
    found = results.calls(problem, optimiser, target)
    return statistics.median(found) if found else None


def as_calls(calls):
    if calls is None:
        return ""
    return "not reached" if calls == float("inf") else number(calls)


# ---- pictures ----


def draw_directions(results, axes):
    """Median and quartiles over the seeds, and a line between both kinds of prox."""
    names = [name for name in results.names if not all_solve(results, name)]
    for place, name in enumerate(reversed(names)):
        for k, pair in enumerate(PAIRS):
            if ratios := seed_ratios(results, name, pair):
                at = place + 0.22 - 0.22 * k
                low, middle, high = quartiles(ratios)
                axes.plot([low, high], [at, at], linewidth=2.5, color=COLOURS[k], alpha=0.45)
                axes.plot(middle, at, "o", markersize=5, color=COLOURS[k])
    for colour, title in zip(COLOURS, PAIRS.values()):
        axes.plot([], [], "o", color=colour, label=title)
    border(axes, sum(not is_whole(name) for name in names) - 0.5)
    axes.axvline(1, color="black", linewidth=0.8)
    axes.set(xscale="log", xlabel="accuracy by the prox direction / by subgradients: < 1 is better")
    axes.set_yticks(range(len(names)), map(short, reversed(names)), fontsize=9)
    axes.set_ylim(-0.6, len(names) - 0.4)
    axes.grid(axis="x", color="0.9")
    axes.legend(loc="lower center", bbox_to_anchor=(0.4, 1.0), ncols=3, frameon=False, fontsize=9)


def border(axes, at):
    axes.axhline(at, color="0.3", linewidth=0.8, linestyle="--")
    where = {"transform": axes.get_yaxis_transform(), "fontsize": 8, "color": "0.3"}
    axes.text(
        0.99, at + 0.06, "above: the prox of J or of a part", va="bottom", ha="right", **where
    )
    axes.text(0.01, at - 0.06, "below: the prox of a loss of scores", va="top", **where)


def all_solve(results, name):
    found = [results.accuracy(name, who) for pair in PAIRS for who in pair]
    return all(row is None or row["median"] <= SOLVED for row in found)


def seed_ratios(results, problem, pair):
    plain, prox = (
        {run["seed"]: run["accuracy"] for run in results.runs.get((problem, name), [])}
        for name in pair
    )
    return sorted(prox[seed] / plain[seed] for seed in plain if seed in prox)


def quartiles(values):
    """By values that were found, as the bench takes them."""
    return [values[round(share * (len(values) - 1))] for share in (0.25, 0.5, 0.75)]


def draw_profiles(results, axes, target="0.01"):
    """The share solved within so many calls, of the problems and seeds where all take part."""
    lines = {"bundle": ("proximal bundle", {"color": "black"})}
    for colour, ((plain, prox), title) in zip(COLOURS, PAIRS.items()):
        lines[plain] = title, {"color": colour, "linestyle": "--"}
        lines[prox] = f"{title}, prox direction", {"color": colour}
    common = [n for n in results.names if all((n, who) in results.places for who in lines)]
    for who, (title, style) in lines.items():
        calls = [c for name in common for c in results.calls(name, who, target)]
        reached = sorted(c for c in calls if c < float("inf"))
        shares = [(k + 1) / len(calls) for k in range(len(reached))]
        axes.step(
            [*reached, MOST_CALLS],
            [*shares, len(reached) / len(calls)],
            where="post",
            label=title,
            **style,
        )
    axes.set(xscale="log", xlabel="calls", ylabel=f"share solved to {target}", ylim=(0, 1.02))
    axes.set_xlim(0.8, MOST_CALLS)
    axes.grid(color="0.92")
    axes.legend(fontsize=8, frameon=False, loc="upper left")


# ---- files ----


def put_into(page, name, text):
    begin, end = BEGIN.format(name), END.format(name)
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f"{page} has no lines '{begin}' and '{end}'")
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")


def picture(name, draw, results, size):
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(results, figure.subplots())
    figure.savefig(IMAGES / f"optimisers_{name}.png", dpi=110)
    print(f"wrote docs/img/optimisers_{name}.png")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("folder", nargs="?", default=HERE.parent / "out" / "optim_bench")
    parser.add_argument("--everyone", action="store_true")
    asked = parser.parse_args()
    results = Results(asked.folder)
    if asked.everyone:
        put_into(PAGE, "everyone", everyone(results))
        return
    for make in (problems, directions, sizes, bounds):
        put_into(PAGE, make.__name__, make(results))
    picture("directions", draw_directions, results, (8, 1.5 + 0.38 * len(results.names)))
    picture("profiles", draw_profiles, results, (7, 4.5))


if __name__ == "__main__":
    main()
