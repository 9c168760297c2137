"""The tables of docs/optimisers.md."""

import math
import statistics

from results import CERTIFY, PAIRS, TARGETS, number, quartiles, verdict


def problems(results):
    """Each with its worst gap over the seeds, as a share of the fall from the start."""
    rows = []
    for name in results.names:
        mine = results.of(name)
        proved = all(row["proved"] == "yes" for row in mine)
        gap = number(max(float(row["gap"]) for row in mine)) if proved else "**not proved**"
        rows.append([name, mine[0]["variables"], mine[0]["minibatches"], gap])
    return table(["problem", "variables", "minibatches", "gap of f\\*"], rows)


def directions(results):
    rows = [
        [results.short(name), *(compared(results, name, pair) for pair in PAIRS)]
        for name in results.names
    ]
    return table(["problem", *PAIRS.values()], rows)


def compared(results, problem, pair):
    plain, prox = (results.accuracy(problem, name) for name in pair)
    if plain is None or prox is None:
        return ""
    said = verdict(results, problem, pair)
    said = f"**{said}**" if said in ("worse", "higher") else said
    one = " (one run)" if results.is_single(problem) and len(results.of(problem)) > 1 else ""
    return f"{number(plain)} → {number(prox)}, {said}{one}"


def large(results):
    """The directions once more, with what the bundle method reaches with the same calls."""
    rows = []
    for name in results.names:
        cells = [compared(results, name, pair) for pair in PAIRS]
        bundle = results.accuracy(name, "bundle")
        last = "" if bundle is None else number(bundle)
        rows.append([results.short(name), str(results.of(name)[0]["variables"]), *cells, last])
    return table(["problem", "variables", *PAIRS.values(), "proximal bundle"], rows)


def solved(results, optimiser, target):
    """The share of the problems and seeds in which it takes part."""
    found = [c < math.inf for n in results.names for c in results.calls(n, optimiser, target)]
    return statistics.mean(found)


def everyone(results):
    """All optimisers, by what they solve to 0.01."""
    rows = []
    for one in results.optimisers:
        places = [row for (_, name), row in results.places.items() if name == one["name"]]
        shares = {target: solved(results, one["name"], target) for target in TARGETS}
        basins = [float(row["basin"]) for row in places if row["basin"]]
        told = "{1:.1f} ({0:.1f} to {2:.1f})".format(*quartiles(basins)) if basins else ""
        cells = [one["title"], one["group"], str(len(places))]
        cells += [f"{100 * share:.0f} %" for share in shares.values()]
        rows.append((-shares["0.01"], one["title"], [*cells, told]))
    head = ["optimiser", "driven by", "problems", *(f"solved to {target}" for target in TARGETS)]
    return table([*head, "basin, in decades"], [cells for *_, cells in sorted(rows)])


def bounds(results, target="0.0001"):
    """Calls of the median seed to the target."""
    rows = []
    for name in results.names:
        others = [median_calls(results, name, who, target) for who in CERTIFY]
        best = best_of_three(results, name, target)
        rows.append([results.short(name), *map(as_calls, [best, *others])])
    return table(["problem", "best of gd, momentum, Adam", *CERTIFY.values()], rows)


def best_of_three(results, problem, target):
    return min(median_calls(results, problem, who, target) for who, _ in PAIRS)


def median_calls(results, problem, optimiser, target):
    found = results.calls(problem, optimiser, target)
    return statistics.median(found) if found else None


def as_calls(calls):
    if calls is None:
        return ""
    return "not reached" if calls == float("inf") else number(calls)


def table(head, rows):
    lines = ["| " + " | ".join(row) + " |" for row in (head, *rows)]
    return "\n".join([lines[0], "|" + "---|" * len(head), *lines[1:]])
