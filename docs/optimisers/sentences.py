"""Sentences of docs/optimisers.md that have numbers in them, as the results make them."""

import math
import statistics

from results import (
    PAIRS,
    SIZES,
    SOLVED,
    WHOLE,
    at_size,
    family_of,
    is_whole,
    log_ratios,
    number,
    numbers,
    quartiles,
    read_csv,
    settings_of,
    tally,
)
from tables import best_of_three, median_calls, solved

BEGIN, END = "<!-- {}: made by docs/optimisers.py -->", "<!-- end of {} -->"


def sentences(results, text):
    """What the page has to say, word by word but for its line breaks."""
    return [
        *(
            part
            for make_part in (helps, hurts, long_steps, what_bounds_cost)
            for part in make_part(results)
        ),
        *at_full_size(text),
    ]


def named(results, start):
    """The problem that is called so for short."""
    (name,) = (name for name in results.names if results.short(name) == start)
    return name


def fall(results, problem, pair):
    plain, prox = (results.accuracy(named(results, problem), who) for who in pair)
    return f"from {number(plain)} to {'solved' if prox <= SOLVED else number(prox)}"


def helps(results):
    gd = ("gd", "prox")
    falls = {
        name: fall(results, name, gd)
        for name in (
            "worst_case, dimension 60",
            "total_variation, 6 by 6, condition 100",
            "max_affine, condition 100, dimension 20",
        )
    }
    first, second, third = falls.values()
    gains = {
        (name, pair): results.accuracy(name, pair[0]) / results.accuracy(name, pair[1])
        for name in results.names
        for pair in PAIRS
        if is_whole(name) and family_of(name) != "nu"
    }
    (name, pair), least = min(gains.items(), key=lambda item: item[1])
    others = min(gain for key, gain in gains.items() if key != (name, pair))
    said = tally(results, True)
    crossed = {
        who: {
            c
            for name in results.names
            if family_of(name) == "nu"
            for c in crossings(results, name, who)
        }
        for pair in PAIRS
        for who in pair
    }
    assert all(crossed[plain] == {1.0} and crossed[prox] == {0.0} for plain, prox in PAIRS)
    return [
        f"gradient descent goes {first}, on `total_variation` with weights {second}, "
        f"on `max_affine` with 20 variables {third}.",
        f"The least is {number(least)} times, {PAIRS[pair]} on `{family_of(name)}` with condition "
        f"{settings_of(name)['condition']}; all others are {floor_of(others)} times and more.",
        f"better in all {said['better']} comparisons that seeds can judge, and lower in all "
        f"{said['lower']} single runs.",
        "cross the ridge once, with the prox direction none of them does",
    ]


def crossings(results, problem, optimiser):
    return numbers(results.places[problem, optimiser]["crossings"])


def floor_of(value):
    """One digit, rounded down."""
    unit = 10 ** math.floor(math.log10(value))
    return f"{math.floor(value / unit) * unit:.0f}"


def hurts(results):
    said = tally(results, False)
    judged = said["worse"] + said["not shown"]
    ratios = sorted(
        10 ** statistics.mean(log_ratios(results, name, pair))
        for name in results.names
        for pair in PAIRS
        if not is_whole(name)
    )
    low, middle, high = map(number, quartiles(ratios))
    gd, adam = (
        fall(results, "lovasz_hinge, minibatches", pair)
        for pair in (("gd", "prox"), ("adam", "prox-adam"))
    )
    short = {
        number(statistics.median(at_size(results, who, 0.001, False))) for who in ("gd", "prox")
    }
    assert len(short) == 1 and set(said) == {"worse", "not shown"}
    return [
        f"In {judged} comparisons (twelve problems, three rules) it is "
        f"worse in {said['worse']} and not shown to differ in {said['not shown']}; it is "
        "better in none.",
        f"Half of the ratios are between {low} and {high}, their median is {middle}:",
        f"gradient descent goes {gd}, Adam {adam}.",
        "at size 0.001 the median accuracies of gradient descent with and without prox are both "
        f"{short.pop()}.",
    ]


def long_steps(results):
    medians, better = {}, {}
    for pair in PAIRS:
        plain, prox = (at_size(results, who, SIZES[-1], False) for who in pair)
        medians[pair[0]] = [number(statistics.median(values)) for values in (plain, prox)]
        better[pair[0]] = sum(new < old for old, new in zip(plain, prox))
    most = sum(
        float(row["size"]) == SIZES[-1]
        for (_, who), row in results.places.items()
        if who == "fista"
    )
    of = sum(who == "fista" for _, who in results.places)
    return [
        f"{medians['momentum'][0]} (no progress at all) for momentum and "
        f"{medians['momentum'][1]} with the prox direction, which is the better one in "
        f"{better['momentum']} of {len(plain)}; for gradient descent and Adam it is in "
        f"{better['gd']} and {better['adam']}.",
        f"FISTA takes the largest size on {most} of {of} problems",
    ]


def what_bounds_cost(results, target="0.0001"):
    def found(who, names=results.names):
        calls = {name: median_calls(results, name, who, target) for name in names}
        return {name: count for name, count in calls.items() if count is not None}

    bundle, bcfw = found("bundle"), found("bcfw")
    there = [count for count in bundle.values() if count < math.inf]
    rules = [family_of(n) for n in results.names if best_of_three(results, n, target) < math.inf]
    passes = {family_of(name): number(count) for name, count in bcfw.items() if count < math.inf}
    hard = [name for name in results.names if family_of(name) == "worst_case"]
    split, prox = ([*found(who, hard).values()] for who in ("primal-dual", "prox"))
    share = f"{100 * solved(results, 'primal-dual', '0.01'):.0f} %"
    assert sorted(rules) == ["logdet", "logistic", "logistic", "nu", "nu"]
    assert set(passes) == {"logdet", "logistic"} and split == prox
    assert max(split) < min(found("bundle", hard).values())
    return [
        f"The proximal bundle method needs {number(min(there))} to {number(max(there))} calls to "
        "an accuracy of 1e-4",
        f"with minibatches of `logdet` ({passes['logdet']} passes) and `logistic` "
        f"({passes['logistic']})",
        "Primal-dual is the fastest of those with bounds on `worst_case` "
        f"({' and '.join(map(number, split))} calls, as many as the prox direction, which has "
        "none)",
        f"To 0.01 it gets on {share} of its problems and seeds.",
    ]


# ---- of tables whose results are not here ----


def rows_in(text, name):
    """The cells of a table that stands on the page."""
    _, _, rest = text.partition(BEGIN.format(name))
    lines = rest.partition(END.format(name))[0].strip().splitlines()
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def at_full_size(text):
    cells = [
        (row[0], rule, cell.rpartition(", ")[2].strip("*"))
        for row in rows_in(text, "large")
        for rule, cell in zip(PAIRS.values(), row[2:])
    ]
    whole = [
        said for name, _, said in cells if name.split(",")[0] in WHOLE and said != "both solve it"
    ]
    scores = [cell for cell in cells if cell[0].split(",")[0] not in WHOLE]
    alike = [(name, rule) for name, rule, said in scores if said == "alike"]
    higher = sum(said == "higher" for *_, said in scores)
    moved = sum(rule == "momentum" for _, rule in alike)
    assert set(whole) == {"lower"} and higher + len(alike) == len(scores)
    assert all("minibatches" in name for name, _ in alike)
    share = {row[0]: row[4] for row in rows_in(text, "large_everyone")}
    minima = read_csv("large_problems")
    proved = [float(row["gap"]) for row in minima if row["proved"] == "yes"]
    rest = {family_of(row["problem"]) for row in minima if row["proved"] == "no"}
    assert rest == {"lovasz_softmax"} and {row["seed"] for row in minima} == {"1"}
    return [
        f"proved up to {number(max(proved))} of f₀ - f\\* on {len(proved)} of {len(minima)} "
        "members",
        f"it ends lower in all {len(whole)} comparisons outside `nu`",
        f"it ends more than twice as high in {higher} of {len(scores)}, alike in {len(alike)}, all "
        f"with minibatches and {WORDS[moved]} of them with momentum, and lower in none.",
        f"to 0.01 Adam on {share['Adam, 1/√k']} instead of {share['Adam']}, momentum on "
        f"{share['momentum, 1/√k']} instead of {share['momentum']}, gradient descent on "
        f"{share['gradient descent, 1/√k']} (1/√k) and {share['gradient descent, 1/k']} (1/k) "
        f"instead of {share['gradient descent']}.",
    ]


WORDS = ("none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")
