#!/usr/bin/env python3
"""Makes OUT/report.html from whatever studies are in OUT: one file, no network needed.

    report.py [OUT] [--claims FILE]          OUT: out

With --claims it also rewrites the table of claims in FILE, which is docs/studies.md; it refuses the
verdicts of quick runs.

What it takes from each folder of OUT:
    notes.md            the title after "# " in the first line, then paragraphs, separated by empty
                        lines, with `code` in backquotes; a folder without notes.md is left out.
                        The page begins with the "Run: .." paragraphs, which give version, seed
                        and date, and mark quick runs
    NAME.svg            figures, in alphabetical order, the one named like the study first
    table*.csv          tables; a column called "verdict" is coloured; the column "run" is left
                        out, since the notes contain it
The page begins with the claims of all studies in one table: claims.py says where they are from.
A report OUT/optim_bench/report.html is linked.
The order is that of bench/studies/studies.list. A study whose folder in bench/studies holds
figure.html and figure.js gets this interactive figure besides.
"""

import argparse
import base64
import csv
import html
import pathlib
import re

from claims import claims_of, is_quick, paragraph, put_into, refuse_quick

HERE = pathlib.Path(__file__).resolve().parent
STUDIES = HERE.parent / "studies"
LONG_TABLE = 30  # rows from which on a table is folded away
LARGEST_SVG = 3_000_000  # bytes; the PNG beside it is taken from there on


def read(path):
    return path.read_text(encoding="utf-8") if path.exists() else ""


def figure(path):
    """An image inside the page. As data, so that the names inside two drawings do not collide."""
    kind = "svg+xml"
    png = path.with_suffix(".png")
    if path.stat().st_size > LARGEST_SVG and png.exists():
        path, kind = png, "png"
    data = base64.b64encode(path.read_bytes()).decode("ascii")
    label = html.escape(path.stem.replace("_", " "))
    return f'<figure><img alt="{label}" src="data:image/{kind};base64,{data}"></figure>\n'


VERDICTS = {"held": "good", "not shown": "open"}


def cell(text, column):
    verdict = f' class="{VERDICTS.get(text, "bad")}"' if column == "verdict" else ""
    return f"<td{verdict}>{html.escape(text)}</td>"


def markup(rows):
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join("<tr>" + "".join(map(cell, row, rows[0])) + "</tr>\n" for row in rows[1:])
    table = f"<table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table>"
    return f'<div class="wide">{table}</div>\n'


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        return ""
    shown = [i for i, name in enumerate(rows[0]) if name != "run"]
    text = markup([[row[i] for i in shown] for row in rows])
    if len(rows) > LONG_TABLE:
        summary = f"{html.escape(path.name)}, {len(rows) - 1} rows"
        return f"<details><summary>{summary}</summary>{text}</details>\n"
    return text


def title_and_text(folder):
    """The two parts of notes.md."""
    title, _, text = read(folder / "notes.md").partition("\n")
    return title.removeprefix("#").strip(), text


def paragraphs(text):
    text = re.sub("`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return "".join(f"<p>{part.strip()}</p>\n" for part in text.split("\n\n") if part.strip())


def section(folder):
    name = folder.name
    title, text = title_and_text(folder)
    figures = sorted(folder.glob("*.svg"), key=lambda path: (path.stem != name, path.stem))
    parts = [f'<section id="{html.escape(name)}">\n<h2>{html.escape(title)}</h2>\n']
    parts.append(read(STUDIES / name / "figure.html"))  # says what the notes are about
    parts.append(paragraphs(text))
    parts += [figure(path) for path in figures]
    parts += [table(path) for path in sorted(folder.glob("table*.csv"))]
    parts.append("</section>\n")
    return "".join(parts)


def studies(out):
    folders = [path for path in out.iterdir() if (path / "notes.md").exists()]
    rank = {name: i for i, name in enumerate(read(STUDIES / "studies.list").split())}
    return sorted(folders, key=lambda path: (rank.get(path.name, len(rank)), path.name))


def all_claims(out):
    return [claim for folder in studies(out) for claim in claims_of(folder)]


def runs(folders):
    """Returns the stamp of each run, with the names of its studies if there are several runs."""
    studies_of = {}
    for folder in folders:
        studies_of.setdefault(paragraph(folder, "Run"), []).append(folder)
    studies_of.pop("", None)
    lines = []
    for run, of_run in studies_of.items():
        kind = "quick" if is_quick(of_run[0]) else "hint"
        names = ", ".join(folder.name for folder in of_run) + ": " if len(studies_of) > 1 else ""
        lines.append(f'<p class="{kind}">{html.escape(names + run)}</p>\n')
    return "".join(lines)


def overview(out):
    rows = [["study", "claim", "measured here", "verdict", "data"], *all_claims(out)]
    return f'<h2 id="claims">Claims</h2>\n{markup(rows)}' if len(rows) > 1 else ""


def link_to_optimisers(out):
    """To what submod-optim-bench has left."""
    report = pathlib.Path("optim_bench", "report.html")
    if not (out / report).exists():
        return ""
    return f'<li><a href="{report.as_posix()}">Optimisers compared</a></li>\n'


def page(out):
    folders = studies(out)
    contents = "".join(
        f'<li><a href="#{html.escape(f.name)}">{html.escape(title_and_text(f)[0])}</a></li>\n'
        for f in folders
    )
    scripts = [read(STUDIES / f.name / "figure.js") for f in folders]
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<title>libsubmod: studies</title>\n"
        f"<style>\n{read(HERE / 'page.css')}</style>\n</head>\n<body>\n"
        f"<h1>libsubmod: studies</h1>\n{runs(folders)}"
        f"<nav><ul>\n{contents}{link_to_optimisers(out)}</ul></nav>\n"
        + overview(out)
        + "".join(map(section, folders))
        + "".join(f"<script>\n{script}</script>\n" for script in scripts if script)
        + "</body>\n</html>\n"
    )


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("out", nargs="?", type=pathlib.Path, default="out", metavar="OUT")
    parser.add_argument("--claims", type=pathlib.Path, metavar="FILE")
    chosen = parser.parse_args()
    if not chosen.out.is_dir():
        raise SystemExit(f"report: there is no folder {chosen.out}")
    target = chosen.out / "report.html"
    target.write_text(page(chosen.out), encoding="utf-8")
    print(f"report: {target}")
    if chosen.claims:
        refuse_quick(studies(chosen.out))
        put_into(chosen.claims, all_claims(chosen.out))


if __name__ == "__main__":
    main()
