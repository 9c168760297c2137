"""One table over all studies: claim, what was measured, verdict, on which data.

The rows come from each study's table_claims.csv. Two paragraphs of its notes.md add the rest:
"Data: .." fills the data column, and "Run: .." is the run stamp with version, seed and date.
"""

import csv
import pathlib
import re
from collections.abc import Iterable
from typing import NamedTuple

BEGIN, END = "<!-- claims: made by bench/report/report.py -->", "<!-- end of claims -->"


class Claim(NamedTuple):
    study: str
    text: str
    measured: str
    verdict: str  # held, not shown, not held
    data: str


def paragraph(folder: pathlib.Path, name: str) -> str:
    """Returns the paragraph of notes.md that begins with "NAME: ", or "" if there is none."""
    file = folder / "notes.md"
    notes = file.read_text(encoding="utf-8") if file.exists() else ""
    found = re.search(rf"^{name}: (.*?)\s*(\n\n|\Z)", notes, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()).rstrip(".") if found else ""


def is_quick(folder: pathlib.Path) -> bool:
    """Returns whether the study was run with --quick, so that its verdicts are not meaningful."""
    return paragraph(folder, "Run").startswith("quick run")


def refuse_quick(folders: Iterable[pathlib.Path]) -> None:
    """Ends the program if any study is from a quick run, because documents only use full runs."""
    quick = [folder.name for folder in folders if is_quick(folder)]
    if quick:
        raise SystemExit(
            f"report: verdicts of a quick run are not meaningful; run scripts/study.sh without "
            f"--quick first ({', '.join(quick)})"
        )


def claims_of(folder: pathlib.Path) -> list[Claim]:
    """None for a study that judges none."""
    file = folder / "table_claims.csv"
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as opened:
        rows = [row for row in csv.reader(opened) if row][1:]
    data = paragraph(folder, "Data")
    return [Claim(folder.name, text, seen, verdict, data) for text, seen, verdict, *_ in rows]


def markdown(claims: list[Claim]) -> str:
    lines = ["| Study | Claim | Measured here | Verdict | Data |", "|---|---|---|---|---|"]
    for claim in claims:
        cells = (text.replace("|", "\\|") for text in claim)
        study, text, measured, verdict, data = cells
        shown = verdict if verdict == "held" else f"**{verdict}**"
        lines.append(f"| {study} | {text} | {measured} | {shown} | {data} |")
    return "\n".join(lines)


def put_into(file: pathlib.Path, claims: list[Claim]) -> None:
    """Rewrites the table between the two marks."""
    text = file.read_text(encoding="utf-8")
    head, begin, rest = text.partition(BEGIN)
    _, end, tail = rest.partition(END)
    if not begin or not end:
        raise SystemExit(f"report: {file} lacks the line {BEGIN if not begin else END}")
    file.write_text(f"{head}{BEGIN}\n\n{markdown(claims)}\n\n{END}{tail}", encoding="utf-8")
