#!/usr/bin/env python3
"""The tables of docs/reliability.md, made of what scripts have found.

    docs/reliability.py row NAME --what .. --cases .. --found .. --remains .. --command ..
                                   a script leaves its row: out/reliability/NAME.json, dated today
    docs/reliability.py note NAME TEXT
                                   what has to be said of a run by hand, which no script can know
    docs/reliability.py            takes the rows and stress.tsv of out/reliability/ into
                                   docs/reliability/, which is in the repository, and makes the
                                   tables anew of all of them
    docs/reliability.py --check    are the tables those of docs/reliability/?

A row is a JSON object of texts: what was tried, how many cases, what was found, what remains, the
command that does it again, the date, YYYY-MM-DD, and perhaps a note. A later run replaces the row
of the same name, and its note.
"""

from __future__ import annotations

import argparse
import csv
import datetime
import json
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "reliability.md"
ROWS = ROOT / "docs" / "reliability"
NEW = ROOT / "out" / "reliability"
FIELDS = ("what", "cases", "found", "remains", "command")
STRESS = "stress.tsv"


def read(path: Path) -> dict[str, str]:
    row: dict[str, str] = json.loads(path.read_text(encoding="utf-8"))
    wanted = {*FIELDS, "date"}
    if {*row} - {"note"} != wanted or not all(isinstance(t, str) and t for t in row.values()):
        raise SystemExit(f"{path}: a row has the texts {', '.join(sorted(wanted))}, none empty")
    datetime.date.fromisoformat(row["date"])
    return row


def cell(text: str) -> str:
    return " ".join(text.replace("|", "\\|").split())


def table() -> str:
    lines = ["| what was tried | cases | found | remains | by | on |", "|---|---|---|---|---|---|"]
    for path in sorted(ROWS.glob("*.json")):
        row = read(path)
        remains = row["remains"] + (f" *({row['note']})*" if "note" in row else "")
        texts = [row["what"], row["cases"], row["found"], remains, f"`{row['command']}`"]
        lines.append("| " + " | ".join(cell(text) for text in [*texts, row["date"]]) + " |")
    return "\n".join(lines)


def stress_table() -> str:
    """What scripts/stress.sh counted: a row for each kind of call, a column for each of numbers."""
    with (ROWS / STRESS).open(encoding="utf-8", newline="") as file:
        cases = list(csv.DictReader(file, delimiter="\t"))
    numbers = list(dict.fromkeys(case["numbers"] for case in cases))
    lines = ["| | " + " | ".join(numbers) + " |", "|---" * (len(numbers) + 1) + "|"]
    for what in dict.fromkeys(case["what"] for case in cases):
        cells = []
        for case in (case for case in cases if case["what"] == what):
            others = {"status says so": "not proved", "refused": "refused", "wrong": "WRONG"}
            parts = [f"{case[name]} {word}" for name, word in others.items() if case[name] != "0"]
            cells.append(", ".join([case["certificate holds"], *parts]))
        lines.append(f"| {what} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def page() -> str:
    """The document with the tables of what is there."""
    text = PAGE.read_text(encoding="utf-8")
    for name, made in (("table", table()), ("stress", stress_table())):
        begin, end = f"<!-- {name}: made by docs/reliability.py -->", f"<!-- end of {name} -->"
        before, rest = text.split(begin)
        text = f"{before}{begin}\n\n{made}\n\n{end}{rest.split(end)[1]}"
    return text


def leave(name: str, texts: dict[str, str]) -> None:
    NEW.mkdir(parents=True, exist_ok=True)
    row = {**texts, "date": datetime.date.today().isoformat()}
    path = NEW / f"{name}.json"
    path.write_text(json.dumps(row, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    read(path)


def collect() -> None:
    ROWS.mkdir(exist_ok=True)
    for path in sorted(NEW.glob("*.json")):
        read(path)
        (ROWS / path.name).write_bytes(path.read_bytes())
    if (NEW / STRESS).exists():
        (ROWS / STRESS).write_bytes((NEW / STRESS).read_bytes())
    PAGE.write_text(page(), encoding="utf-8")


def write_note(name: str, text: str) -> None:
    path = ROWS / f"{name}.json"
    if not path.exists():
        sys.exit(f"reliability: there is no row {name} yet; docs/reliability.py takes new ones in")
    row = {**read(path), "note": text}
    path.write_text(json.dumps(row, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--check", action="store_true")
    actions = parser.add_subparsers(dest="action")
    note = actions.add_parser("note")
    note.add_argument("name")
    note.add_argument("text")
    row = actions.add_parser("row")
    row.add_argument("name")
    for field in FIELDS:
        row.add_argument(f"--{field}", required=True)
    options = parser.parse_args()
    if options.action == "row":
        leave(options.name, {field: getattr(options, field) for field in FIELDS})
    elif options.action == "note":
        write_note(options.name, options.text)
    elif not options.check:
        collect()
    elif page() != PAGE.read_text(encoding="utf-8"):
        print(f"{PAGE.name} is out of date: run docs/reliability.py", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
