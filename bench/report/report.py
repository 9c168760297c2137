#!/usr/bin/env python3
"""Makes OUT/report.html from whatever studies are in OUT: one file, no network needed.

    report.py [OUT]          OUT: out

What it takes from each folder of OUT:
    about.txt           the title of the study
    notes.txt           paragraphs of text, separated by empty lines (optional)
    NAME.svg            figures, in alphabetical order, the one named like the study first
    table*.csv          tables; a column called "verdict" is coloured
The study nu gets an interactive figure besides.
"""

import base64
import csv
import html
import pathlib
import sys

HERE = pathlib.Path(__file__).resolve().parent
ORDER = ["nu", "last_layer", "bias", "surfaces", "dataset", "brain", "prox"]
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


def cell(text, column):
    verdict = f' class="{"good" if text == "held" else "bad"}"' if column == "verdict" else ""
    return f"<td{verdict}>{html.escape(text)}</td>"


def table(path):
    with path.open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.reader(file) if row]
    if not rows:
        return ""
    head = "".join(f"<th>{html.escape(name)}</th>" for name in rows[0])
    body = "".join(
        "<tr>" + "".join(map(cell, row, rows[0])) + "</tr>\n" for row in rows[1:]
    )
    text = f'<div class="wide"><table><thead><tr>{head}</tr></thead>\n<tbody>{body}</tbody></table></div>\n'
    if len(rows) > LONG_TABLE:
        return f"<details><summary>{html.escape(path.name)}, {len(rows) - 1} rows</summary>{text}</details>\n"
    return text


def paragraphs(text):
    return "".join(f"<p>{html.escape(part.strip())}</p>\n" for part in text.split("\n\n") if part.strip())


def section(folder):
    name = folder.name
    title = read(folder / "about.txt").strip() or name
    figures = sorted(folder.glob("*.svg"), key=lambda path: (path.stem != name, path.stem))
    parts = [f'<section id="{html.escape(name)}">\n<h2>{html.escape(title)}</h2>\n']
    if name == "nu":  # says what the notes are about
        parts.append(read(HERE / "nu.html"))
    parts.append(paragraphs(read(folder / "notes.txt")))
    parts += [figure(path) for path in figures]
    parts += [table(path) for path in sorted(folder.glob("table*.csv"))]
    parts.append("</section>\n")
    return "".join(parts)


def studies(out):
    folders = [path for path in out.iterdir() if path.is_dir() and (path / "about.txt").exists()]
    rank = {name: i for i, name in enumerate(ORDER)}
    return sorted(folders, key=lambda path: (rank.get(path.name, len(ORDER)), path.name))


def page(out):
    folders = studies(out)
    contents = "".join(
        f'<li><a href="#{html.escape(f.name)}">{html.escape(read(f / "about.txt").strip())}</a></li>\n'
        for f in folders
    )
    script = f"<script>\n{read(HERE / 'nu.js')}</script>\n" if any(f.name == "nu" for f in folders) else ""
    return (
        '<!DOCTYPE html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>libsubmod: studies</title>\n<style>\n{read(HERE / 'page.css')}</style>\n</head>\n<body>\n"
        f"<h1>libsubmod: studies</h1>\n<nav><ul>\n{contents}</ul></nav>\n"
        + "".join(map(section, folders))
        + script
        + "</body>\n</html>\n"
    )


def main():
    out = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "out")
    if not out.is_dir():
        sys.exit(f"report: there is no folder {out}")
    target = out / "report.html"
    target.write_text(page(out), encoding="utf-8")
    print(f"report: {target}")


if __name__ == "__main__":
    main()
