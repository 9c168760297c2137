"""results.json, results.csv and curves.csv. Names of numbers that differ from run to run begin with
"seconds"; all others are the same whenever the bench is run with the same seeds."""

from __future__ import annotations

import csv
import json
import math
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from .. import __version__
from .bench import Outcome, Plan
from .cache import Result
from .oscillation import MEASURES
from .records import TARGETS, Record
from .summary import Summary

Row = dict[str, Any]

PROVED = 1e-6  # a certified gap above this share of the fall proves nothing


def write(folder: Path, plan: Plan, summary: Summary) -> None:
    runs = [run_row(record) for record in summary.records]
    _write_json(folder / "results.json", content(plan, summary, runs))
    _write_csv(folder / "results.csv", runs)
    _write_csv(folder / "curves.csv", _curve_rows(summary))


def content(plan: Plan, summary: Summary, runs: list[Row]) -> Row:
    return {
        "bench": {"version": __version__, "quick": plan.quick, "seeds": list(plan.all_seeds)},
        "problems": problem_rows(summary.outcome),
        "optimisers": [optimiser_row(summary, one.name) for one in summary.optimisers],
        "places": _place_rows(summary),
        "skipped": [vars(skipped) for skipped in summary.outcome.skipped],
        "runs": runs,
    }


def run_row(record: Record) -> Row:
    row: Row = {
        "problem": record.where,
        "seed": record.seed,
        "optimiser": record.optimiser,
        "size": record.size,
        "status": record.status,
        "accuracy": record.final,
        "calls": float(record.calls[-1]),
        "seconds": float(record.seconds[-1]),
    }
    for target in TARGETS:
        row[f"calls to {target:g}"] = record.to_reach(target)
        row[f"seconds to {target:g}"] = record.to_reach(target, "seconds")
    return row | {name: record.oscillation.get(name, math.nan) for name in MEASURES}


def problem_rows(outcome: Outcome) -> list[Row]:
    return [
        {
            "problem": str(member),
            "seed": member.seed,
            "variables": found["n"],
            "minibatches": found["batches"],
            "J at the start": found["first"],
            "f*": found["f_star"],
            "lower bound": found["lower_bound"],
            "certified gap": found["f_star"] - found["lower_bound"],
            "proved": is_proved(found),
        }
        for member, found in outcome.minima.items()
    ]


def is_proved(found: Result) -> bool:
    """Whether f* is known: up to PROVED of what J falls by."""
    gap = found["f_star"] - found["lower_bound"]
    return bool(gap <= PROVED * (found["first"] - found["f_star"]))


def optimiser_row(summary: Summary, name: str) -> Row:
    optimiser = summary.outcome.catalogue.optimisers[name]
    basins = summary.basins(name)
    row: Row = {"name": name, "title": optimiser.title, "group": optimiser.group}
    row["problems"] = len(summary.of(name))
    row |= {f"solved to {t:g}": share for t, share in zip(TARGETS, summary.solved(name))}
    row["basin in decades"] = vars(basins) if basins else None
    for minibatches, title in ((False, "oscillation"), (True, "oscillation by passes")):
        found = summary.oscillation(name, minibatches)
        row[title] = {key: vars(one) for key, one in found.items()}
    return row


def _place_rows(summary: Summary) -> list[Row]:
    return [
        {
            "problem": place.where,
            "optimiser": place.optimiser,
            "best size": place.best_size,
            "accuracy": vars(place.accuracy),
            "basin in decades": place.basin.decades if place.basin else None,
            "basin leaves the grid": place.basin.open if place.basin else None,
        }
        for place in summary.places
    ]


def _curve_rows(summary: Summary) -> Iterable[Row]:
    """Of the tuned runs."""
    for run in summary.tuned:
        head = {
            "problem": run.where,
            "seed": run.seed,
            "optimiser": run.optimiser,
            "size": run.size,
        }
        for calls, seconds, accuracy in zip(run.calls, run.seconds, run.accuracy):
            yield head | {"calls": calls, "seconds": seconds, "accuracy": accuracy}


def _strict(value: Any) -> Any:
    """JSON knows neither inf nor NaN."""
    if isinstance(value, dict):
        return {key: _strict(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_strict(inner) for inner in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _write_json(path: Path, value: Row) -> None:
    path.write_text(json.dumps(_strict(value), indent=1, allow_nan=False), encoding="utf-8")


def _write_csv(path: Path, rows: Iterable[Row]) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = None
        for row in rows:
            if writer is None:
                writer = csv.DictWriter(file, list(row))
                writer.writeheader()
            writer.writerow({name: _cell(value) for name, value in row.items()})


def _cell(value: Any) -> Any:
    return format(value, ".12g") if isinstance(value, float) else value
