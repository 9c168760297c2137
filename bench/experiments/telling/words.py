"""What ways of training are called in tables and figures, and how numbers are written."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

import numpy as np

from ..intervals import Interval
from ..jobs import Way
from ..street.results import spread

LOSSES = {
    "cross_entropy": "cross-entropy",
    "weighted_cross_entropy": "weighted cross-entropy",
    "lovasz": "Lovász-Softmax",
    "lovasz_all": "Lovász-Softmax (all classes)",
    "lovasz_per_image": "Lovász-Softmax (per image)",
    "lovasz_tversky": "Lovász-Softmax (Tversky 0.5, 2)",
    "lovasz+cross_entropy": "Lovász + cross-entropy",
    "dataset_lovasz": "dataset-level Lovász",
    "soft_jaccard": "soft Jaccard",
    "soft_dice": "soft Dice",
    "hinge": "hinge",
    "lovasz_hinge": "Lovász hinge",
    "prox_lovasz_hinge": "Lovász hinge (prox layer)",
    "lovasz_sigmoid": "Lovász-Sigmoid",
    "rahman_wang": "Rahman–Wang",  # noqa: RUF001
}
DECIMALS = 3  # at most
NOTHING = 1e-9  # what is smaller is 0 but for rounding
CHANCE = 0.05  # of comparisons of equals are shown
TASKS = {"camvid-car": "car", "camvid-people": "pedestrian + bicyclist"}


def title(way: Way) -> str:
    name = LOSSES[way.loss]
    return name if way.sampling == "shuffled" else f"{name} ({way.sampling})"


def mean_and_spread(values: Sequence[float], scale: float = 100.0, digits: int = 1) -> str:
    middle, half = scale * float(np.mean(values)), scale * spread(values)
    return f"{middle:.{digits}f} ± {half:.{digits}f}"


def points(found: Interval) -> str:
    """A difference in percentage points."""
    value, low, high = in_digits([100 * x for x in found], 1)
    return f"{value} [{low}, {high}]"


def in_digits(found: Sequence[float], digits: int) -> list[str]:
    """A difference and the ends of its interval, with so many decimals, or more where an end would
    be rounded to 0: one sees on which side of 0 it is."""
    while digits < DECIMALS and any(is_hidden(end, digits) for end in found[1:]):
        digits += 1
    return [signed(x, digits) for x in found]


def is_hidden(x: float, digits: int) -> bool:
    return abs(x) > NOTHING and round(x, digits) == 0


def signed(x: float, digits: int) -> str:
    """What is not 0 keeps its sign when it is rounded to 0: it says on which side it is."""
    text = f"{x:+.{digits}f}"
    return text if abs(x) > NOTHING else text[1:]


def points_and_verdict(found: Interval) -> str:
    return f"{points(found)} {found.verdict}"


def listed(names: Sequence[str]) -> str:
    if len(names) < 2:
        return "".join(names) or "none"
    return f"{', '.join(names[:-1])} and {names[-1]}"


def at_the_edge(what: str, grid: Sequence[float], picked: Mapping[str, float]) -> Iterator[str]:
    """picked: by name, from the grid; at its edge, something outside of it might be better."""
    yield from at_the_edge_in_folds(what, grid, {name: [one] for name, one in picked.items()})


def at_the_edge_in_folds(
    what: str, grid: Sequence[float], picked: Mapping[str, Sequence[float]]
) -> Iterator[str]:
    """The same where each fold picks: then with the number of the folds that are at the edge."""
    for word, edge in (("largest", max(grid)), ("smallest", min(grid))):
        often = {name: list(of).count(edge) for name, of in picked.items()}
        names = [
            name if len(picked[name]) == 1 else f"{name} in {times} of {len(picked[name])} folds"
            for name, times in often.items()
            if times
        ]
        if names and len(grid) > 1:
            yield f"{what}: the {word} of the grid is best for {listed(names)}."


def shown(against: str, found: Mapping[str, Mapping[str, Interval]]) -> str:
    """Which comparisons show something, by index; and how many would by chance."""
    every = [one for of in found.values() for one in of.values()]
    seen = sum(one.verdict != "not shown" for one in every)
    told = "; ".join(f"{name}: {verdicts_in(of) or 'nothing'}" for name, of in found.items())
    return (
        f"A difference is shown in {seen} of {len(every)} comparisons with {against}; if all were "
        f"equal, it would be in about {CHANCE * len(every):.0f}, by chance. By index: {told}."
    )


def verdicts_in(found: Mapping[str, Interval]) -> str:
    """Who is better and who is worse."""
    names = {
        word: [name for name, one in found.items() if one.verdict == word]
        for word in ("better", "worse")
    }
    return ", ".join(f"{listed(of)} {word}" for word, of in names.items() if of)


def power(found: Mapping[str, Mapping[str, Interval]], what: str = "these intervals") -> str:
    """What could have been shown: half of the width of the intervals, by index."""
    halves = {name: [half_width(one) for one in of.values()] for name, of in found.items()}
    told = listed([f"{100 * np.median(of):.1f} in {name}" for name, of in halves.items()])
    return (
        f"Half the width of {what} is, in the median and in points, {told}: smaller "
        "differences could hardly be shown."
    )


def half_width(found: Interval) -> float:
    return (found.high - found.low) / 2
