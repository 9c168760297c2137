"""report.html: one file with all figures and tables in it, which needs no network."""

from __future__ import annotations

import base64
import html
import io
import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from .. import __version__
from . import words
from .bench import Plan
from .oscillation import MEASURES
from .records import TARGETS
from .summary import Place, Summary
from .tables import problem_rows

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def write(folder: Path, plan: Plan, summary: Summary) -> str:
    """Says where the report is, or why there is none."""
    try:
        import matplotlib  # noqa: F401
    except ImportError:
        return "no report: its figures need matplotlib (pip install 'submod[bench]')"
    if not summary.places:
        return "no report: no optimiser could run on any of these problems"
    target = folder / "report.html"
    target.write_text(page(plan, summary), encoding="utf-8")
    return f"report: {target}"


def page(plan: Plan, summary: Summary) -> str:
    from . import figures

    performance = figures.performance_profiles
    problems = "".join(
        f"<h3>{_text(where)}</h3>{_figure(figures.problem(summary, where))}"
        + _ranking(summary, where)
        for where in summary.wheres
    )
    sections = (
        ("What was compared", _told(plan, summary) + _overview(summary)),
        ("Performance profiles", words.PERFORMANCE, performance(summary, summary.tuned)),
        ("Data profiles", words.DATA, figures.data_profiles(summary, summary.tuned)),
        ("One size for all problems", words.UNTUNED, performance(summary, summary.untuned)),
        ("How well must the size be known?", words.SIZES, figures.sensitivity(summary)),
        ("Basins", words.BASINS + _basins(summary)),
        ("Problem by problem", words.PROBLEMS + problems),
        ("Oscillation", words.OSCILLATION + _oscillation(summary)),
        ("Minima", words.MINIMA + _minima(summary)),
        ("Who was skipped", _skipped(summary)),
    )
    return words.PAGE.format(title="Optimisers compared", body="".join(map(_section, sections)))


def _section(parts: Sequence[Any]) -> str:
    title, *rest = parts
    shown = (part if isinstance(part, str) else _figure(part) for part in rest)
    return f"<section><h2>{_text(title)}</h2>{''.join(shown)}</section>\n"


def _figure(figure: Figure) -> str:
    """Without matplotlib's version in it."""
    picture = io.BytesIO()
    figure.savefig(picture, format="png", dpi=110, metadata={"Software": None})
    data = base64.b64encode(picture.getvalue()).decode("ascii")
    return f'<figure><img alt="figure" src="data:image/png;base64,{data}"></figure>\n'


# ---- tables ----


def _text(value: Any) -> str:
    if isinstance(value, float):
        value = f"{value:.3g}" if math.isfinite(value) else words.NONE
    return html.escape(str(value))


def _table(head: Sequence[str], rows: Sequence[Sequence[Any]]) -> str:
    top = "".join(f"<th>{_text(name)}</th>" for name in head)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(value)}</td>" for value in row) + "</tr>\n" for row in rows
    )
    return f'<div class="wide"><table><tr>{top}</tr>\n{body}</table></div>\n'


def _folded(title: str, text: str) -> str:
    return f"<details><summary>{_text(title)}</summary>{text}</details>\n"


def _told(plan: Plan, summary: Summary) -> str:
    seeds = ", ".join(map(str, plan.all_seeds))
    return (
        f"<p>{len(summary.optimisers)} optimisers on {len(summary.wheres)} problems, "
        f"seeds {seeds}; libsubmod {__version__}{', quick' if plan.quick else ''}. "
        f"{words.METHOD}</p>\n"
    )


def _overview(summary: Summary) -> str:
    head = ["optimiser", "group", "problems", *(f"solved to {target:g}" for target in TARGETS)]
    rows = []
    for one in summary.optimisers:
        shares = summary.solved(one.name)
        basins = summary.basins(one.name) or "no size"
        told = [f"{share:.0%}" for share in shares]
        rows.append((shares, [one.title, one.group, len(summary.of(one.name)), *told, basins]))
    rows.sort(key=lambda row: row[0][::-1], reverse=True)
    return words.OVERVIEW + _table([*head, "basin, decades"], [row for _, row in rows])


def _ranking(summary: Summary, where: str) -> str:
    known = summary.outcome.catalogue.optimisers
    rows = [
        [
            known[place.optimiser].title,
            place.accuracy,
            _size(place),
            *(_calls(place, target) for target in TARGETS),
        ]
        for place in summary.at(where)
    ]
    head = ["optimiser", "accuracy: median [quartiles]", "best size"]
    head += [f"calls to {target:g}" for target in TARGETS]
    return _folded("all optimisers on this problem", _table(head, rows))


def _size(place: Place) -> str:
    return words.NONE if place.basin is None else f"{place.best_size:.3g}"


def _calls(place: Place, target: float) -> str:
    """The median run."""
    needed = sorted(run.to_reach(target) for run in place.best)
    middle = needed[len(needed) // 2]
    return f"{middle:.0f}" if math.isfinite(middle) else words.NONE


def _basins(summary: Summary) -> str:
    """The widest first; and problem by problem, "+" where the grid ends before the basin does."""
    found = [(summary.basins(one.name), one) for one in summary.optimisers]
    ranked = sorted(
        ((basins, one) for basins, one in found if basins is not None),
        key=lambda pair: -pair[0].median,
    )
    rows = []
    for basins, one in ranked:
        of = {place.where: place.basin for place in summary.of(one.name)}
        cells = [of.get(where) for where in summary.wheres]
        told = [f"{b.decades:.1f}{'+' if b.open else ''}" if b else "" for b in cells]
        rows.append([one.title, basins, *told])
    return _table(["optimiser", "median [quartiles]", *summary.wheres], rows)


def _oscillation(summary: Summary) -> str:
    meaning = "".join(f"<li>{name}: {_text(what)}</li>" for name, what in MEASURES.items())
    told = f"<ul>{meaning}</ul>"
    for minibatches, title in ((False, words.BY_STEPS), (True, words.BY_PASSES)):
        rows = []
        for one in summary.optimisers:
            found = summary.oscillation(one.name, minibatches)
            if found:
                rows.append([one.title, *(found.get(name, words.NONE) for name in MEASURES)])
        if rows:
            told += title + _table(["optimiser", *MEASURES], rows)
    return told


def _minima(summary: Summary) -> str:
    found = problem_rows(summary.outcome)
    rows = [[*row.values()][:-1] + ["yes" if row["proved"] else "best known"] for row in found]
    return _folded(f"{len(rows)} minima", _table([*found[0]], rows))


def _skipped(summary: Summary) -> str:
    rows = [(one.problem, one.optimiser or "all", one.why) for one in summary.outcome.skipped]
    if not rows:
        return "<p>Nobody.</p>"
    return _folded(f"{len(rows)} pairs", _table(["problem", "optimiser", "why"], rows))
