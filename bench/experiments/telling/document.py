"""experiments.md for the repository: the same as the report, with the command that makes it.
Figures go to img/experiments_NAME.png beside it, tables to experiments/NAME.csv. Figures that show
images or labels of the data are in the report alone."""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path

from . import cells
from .figures import emptied
from .section import Figure, Section, Table
from .story import Story

TITLE = "# Experiments on real images"
COMMAND = (
    "The paper's experiments, repeated on CamVid and IBSR, which everybody has to get by "
    "themselves:",
    "    scripts/experiments.sh DATA_DIR",
    "`DATA_DIR` has folders `camvid` (the split and the 11 classes of the SegNet tutorial) and "
    "`ibsr` (from NITRC); the command says what it misses, and where that is found. What is done "
    "is not done again: ended at any time, the same command goes on. Results are in "
    "`out/experiments/`: a folder for each run with its settings, log, scores and weights, and "
    "`report.html` over all of them. `scripts/experiments.sh DATA_DIR --document docs` writes this "
    "page from them, and the same weights give the same page.",
)


def write(story: Story, drawn: Path, docs: Path) -> None:
    """With the figures of the report, which are in the folder drawn. What an earlier page had, and
    this one has not, goes."""
    for folder, old in ((docs / "experiments", "*.csv"), (docs / "img", "experiments_*.png")):
        emptied(folder, old)
    for table in story.tables():
        cells.write_csv(table, docs / "experiments")
    for part in story.sections.values():
        for figure in published(part):
            shutil.copyfile(drawn / f"{figure.name}.png", docs / image(figure))
    (docs / "experiments.md").write_text(page(story), encoding="utf-8")


def published(part: Section) -> list[Figure]:
    return [figure for figure in part.figures if not figure.shows_data]


def image(figure: Figure) -> str:
    return f"img/experiments_{figure.name}.png"


def page(story: Story) -> str:
    made = f"This page was made on: {'; '.join(story.machines)}."
    parts = [TITLE, *COMMAND, made]
    if story.missing:
        parts.append(f"Not run yet: {', '.join(story.missing)}.")
    parts += ["## Claims of the paper", *table(story.claims()), *section(story.method)]
    for part in story.sections.values():
        parts += section(part)
    return "\n\n".join(parts) + "\n"


def section(part: Section) -> list[str]:
    """Its paragraphs."""
    paragraphs = [f"## {part.title}", *part.text]
    for figure in published(part):
        paragraphs += [f"![{figure.name.replace('_', ' ')}]({image(figure)})", figure.caption]
    for one in part.tables:
        paragraphs += table(one) if one.shown else [link(one)]
    return paragraphs


def link(one: Table) -> str:
    return f"[{one.name}.csv](experiments/{one.name}.csv): {one.caption}"


def table(one: Table) -> list[str]:
    numeric = [cells.is_numeric(column) for column in cells.columns_of(one)]
    lines = [line(one.columns), line(["---:" if number else "---" for number in numeric])]
    return [link(one), "\n".join([*lines, *map(line, cells.shown(one))])]


def line(cells: Sequence[str]) -> str:
    return "| " + " | ".join(text.replace("|", "\\|") for text in cells) + " |"
