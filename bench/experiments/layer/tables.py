"""The tables of experiment last_layer."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

import numpy as np

from ..lab import Lab
from ..telling import words
from ..telling.section import Table
from .jobs import draws, folder_of, tried
from .methods import ALGORITHM_2, LOOKS, METHODS, PROX, RULES, SUBGRADIENT, Method
from .results import NEAR, Curves, Values, iou_difference, ratio

BUNDLE = "bundle"
# Ours against theirs.
PAIRS = (
    *((Method(rule, PROX), Method(rule)) for rule in RULES),
    (Method("gradient", PROX), Method("momentum")),
    (Method("momentum"), Method("Adam")),
    (Method("gradient", ALGORITHM_2), Method("gradient")),
    (Method("gradient", ALGORITHM_2), Method("gradient", PROX)),
)


def methods_table(found: Mapping[Method, Curves], bundle: Curves) -> Table:
    rows = [row_of(method.name, curves) for method, curves in found.items()]
    return Table(
        "last_layer",
        "Optimisers of the last layer. Medians over the draws; in brackets the least and the most. "
        "J - J* is in thousandths.",
        (
            "optimiser", "step", "look", "J - J* at the end", f"passes until {NEAR:.0%} is left",
            "val IoU, %",
        ),
        [*rows, row_of(BUNDLE, bundle)],
    )  # fmt: skip


def row_of(name: str, found: Curves) -> list[Any]:
    return [
        name,
        f"{found.step:g}" if found.step else None,
        f"{found.look:g}" if found.look else None,
        spread(1000 * found.left[:, -1], two_digits),
        spread(found.passes_until_near(), "{:.0f}".format),
        spread(100 * found.iou[:, -1], "{:.1f}".format),
    ]


def two_digits(x: float) -> str:
    """That count."""
    return f"{float(f'{x:.2g}'):g}"


def spread(values: Values, text: Callable[[float], str]) -> str:
    found = (np.median(values), values.min(), values.max())
    middle, least, most = (text(x) if np.isfinite(x) else "never" for x in found)
    return f"{middle} ({least} .. {most})"


def pairs_table(found: Mapping[Method, Curves]) -> Table:
    return Table(
        "last_layer_pairs",
        "What is left of J - J* at the end, ours over theirs (geometric mean over the draws; below "
        "1, ours is nearer to the minimum), and the difference of the IoU on val in points. "
        "Intervals are over the networks.",
        (
            "ours", "theirs", "ratio of J - J*", "95 % of the ratio", "nearer to J*",
            "IoU, points", "95 % of the points", "higher IoU",
        ),
        [pair_row(ours, theirs, found) for ours, theirs in PAIRS],
    )  # fmt: skip


def pair_row(ours: Method, theirs: Method, found: Mapping[Method, Curves]) -> list[Any]:
    rate = ratio(found[ours], found[theirs])
    points = iou_difference(found[ours], found[theirs])
    value, low, high = words.in_digits(points, 2)
    nearer = "better" if rate.high < 1 else "worse" if rate.low > 1 else "not shown"
    return [
        ours.name,
        theirs.name,
        f"{rate.value:.3g}",
        f"{rate.low:.3g} .. {rate.high:.3g}",
        nearer,
        value,
        f"{low} .. {high}",
        points.verdict,
    ]


def curves_table(lab: Lab, found: Mapping[Method, Curves], bundle: Curves) -> Table:
    everything = [*((method.name, curves) for method, curves in found.items()), (BUNDLE, bundle)]
    return Table(
        "last_layer_curves",
        "Every curve of the figure.",
        ("optimiser", "network", "draw", "passes", "J - J*", "val IoU"),
        [row for name, curves in everything for row in curve_rows(lab, name, curves)],
        shown=False,
    )


def curve_rows(lab: Lab, name: str, found: Curves) -> Iterator[list[Any]]:
    for draw, left, iou in zip(draws(lab, False), found.left, found.iou):
        for k in range(len(left)):
            yield [name, draw.network, draw.number, k, float(left[k]), float(iou[k])]


def looks_table(lab: Lab) -> Table:
    """How much it matters how far prox looks: at the best step for each."""
    looks = (0.0, *sorted(LOOKS))
    rows = []
    for method in METHODS:
        if method.direction != SUBGRADIENT:
            found = {**best_of_looks(lab, Method(method.rule)), **best_of_looks(lab, method)}
            rows.append([method.name, *(two_digits(1000 * found[look]) for look in looks)])
    return Table(
        "last_layer_looks",
        "How far prox looks, compared with the step: J - J* at the end, in thousandths, with the "
        "best step for each look; geometric means over the draws that steps are picked with.",
        ("optimiser", "look 0: subgradients", *(f"look {look:g}" for look in looks[1:])),
        rows,
    )


def best_of_looks(lab: Lab, method: Method) -> dict[float, float]:
    """J - J* by look."""
    rows = tried(lab, method)
    return {look: 10 ** rows[rows[:, 1] == look, 2].min() for look in method.looks}


def steps_table(lab: Lab) -> Table:
    rows = []
    for method in METHODS:
        for draw in draws(lab, True):
            found = folder_of(lab, draw).read_json(f"tried-{method.file}.json")
            rows += [[method.name, draw.network, *values] for values in found]
    return Table(
        "last_layer_steps",
        "Every step that was tried.",
        ("optimiser", "network", "step", "look", "log10 of J - J* at the end"),
        rows,
        shown=False,
    )
