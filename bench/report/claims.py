"""One table over all studies: claim, what was measured, verdict, on which data.

The rows are those of table_claims.csv of each study; what the data are is the paragraph of its
notes.md that begins with "Data: ".
"""

import csv
import pathlib
import re
from typing import NamedTuple

BEGIN, END = "<!-- claims: made by bench/report/report.py -->", "<!-- end of claims -->"


class Claim(NamedTuple):
    study: str
    text: str
    measured: str
    verdict: str  # held, not shown, not held
    data: str


def data_of(folder: pathlib.Path) -> str:
    notes = (folder / "notes.md").read_text(encoding="utf-8")
    found = re.search(r"^Data: (.*?)\s*(\n\n|\Z)", notes, re.MULTILINE | re.DOTALL)
    return " ".join(found[1].split()).rstrip(".") if found else ""


def claims_of(folder: pathlib.Path) -> list[Claim]:
    """None for a study that judges none."""
    file = folder / "table_claims.csv"
    if not file.exists():
        return []
    with file.open(encoding="utf-8", newline="") as opened:
        rows = [row for row in csv.reader(opened) if row][1:]
    return [Claim(folder.name, *row, data_of(folder)) for row in rows]


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
