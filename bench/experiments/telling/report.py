"""report.html: everything in one file that needs no network, with tables as CSV and figures as PNG
files beside it."""

from __future__ import annotations

import base64
import html
import re
from pathlib import Path

from . import cells
from .figures import emptied, write_png
from .section import Figure, Section, Table
from .story import Story

CSS = Path(__file__).parents[2] / "report" / "page.css"
MORE_CSS = "td.number, th.number { text-align: right; } figcaption, caption { text-align: left; }\n"
LONG_TABLE = 30  # rows from which on a table is folded away
COLOURED = {"held": "good", "better": "good", "not held": "bad", "worse": "bad"}
TITLE = "libsubmod: experiments on real images"


def write(story: Story, out: Path) -> Path:
    for folder, old in ((out / "tables", "*.csv"), (out / "figures", "*.png")):
        emptied(folder, old)
    for table in story.tables():
        cells.write_csv(table, out / "tables")
    for part in story.sections.values():
        for figure in part.figures:
            write_png(figure, out / "figures" / f"{figure.name}.png")
    file = out / "report.html"
    file.write_text(page(story, out / "figures"), encoding="utf-8")
    return file


def page(story: Story, drawn: Path) -> str:
    parts = {"claims": claims(story), "method": story.method, **story.sections}
    contents = "".join(
        f'<li><a href="#{n}">{escaped(p.title)}</a></li>\n' for n, p in parts.items()
    )
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{TITLE}</title>\n<style>\n{CSS.read_text(encoding='utf-8')}{MORE_CSS}</style>\n"
        f"</head>\n<body>\n<h1>{TITLE}</h1>\n<nav><ul>\n{contents}</ul></nav>\n"
        + "".join(section(name, part, drawn) for name, part in parts.items())
        + "</body>\n</html>\n"
    )


def claims(story: Story) -> Section:
    text = [f"Made on: {'; '.join(story.machines)}."]
    if story.missing:
        text.append(f"Not run yet: {', '.join(story.missing)}.")
    return Section("Claims of the paper", text, [story.claims()])


def section(name: str, part: Section, drawn: Path) -> str:
    return (
        f'<section id="{name}">\n<h2>{escaped(part.title)}</h2>\n'
        + "".join(f"<p>{marked(text)}</p>\n" for text in part.text)
        + "".join(figure(one, drawn) for one in part.figures)
        + "".join(table(one) for one in part.tables if one.shown)
        + "".join(in_csv(one) for one in part.tables if not one.shown)
        + "</section>\n"
    )


def figure(one: Figure, drawn: Path) -> str:
    data = base64.b64encode((drawn / f"{one.name}.png").read_bytes()).decode("ascii")
    label = escaped(one.name.replace("_", " "))
    image = f'<img alt="{label}" src="data:image/png;base64,{data}">'
    return f"<figure>{image}<figcaption>{marked(one.caption)}</figcaption></figure>\n"


def table(one: Table) -> str:
    numeric = [cells.is_numeric(column) for column in cells.columns_of(one)]
    head = "".join(tagged("th", name, number) for name, number in zip(one.columns, numeric))
    body = "".join(
        "<tr>"
        + "".join(tagged("td", text, number) for text, number in zip(row, numeric))
        + "</tr>\n"
        for row in cells.shown(one)
    )
    whole = (
        f'<div class="wide"><table><caption>{marked(one.caption)}</caption>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n"
    )
    if len(one.rows) > LONG_TABLE and one.name != "claims":
        summary = f"{escaped(one.name)}, {len(one.rows)} rows"
        return f"<details><summary>{summary}</summary>{whole}</details>\n"
    return whole


def tagged(tag: str, text: str, number: bool) -> str:
    kind = COLOURED.get(text, "number" if number else "text")
    return f'<{tag} class="{kind}">{marked(text)}</{tag}>'


def in_csv(one: Table) -> str:
    return f'<p><a href="tables/{one.name}.csv">{one.name}.csv</a>: {marked(one.caption)}</p>\n'


def escaped(text: str) -> str:
    return html.escape(text)


def marked(text: str) -> str:
    """With `code`, the only markup that texts have."""
    return re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))
