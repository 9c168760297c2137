#!/usr/bin/env python3
"""Lines and branches of src/ that the tests run, and the error messages that none of them reaches.

    coverage.py FOLDER              a table, and the messages: fails if one is not reached
    coverage.py FOLDER --branches   and every line with a branch that is never taken

FOLDER is a build with --coverage in which the tests have run (scripts/coverage.sh).
tests/unreachable.tsv names what no test can reach, a line each: the file, the text of the line, and
why. Its messages do not count, and branches of its lines are counted by themselves.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
UNREACHABLE = ROOT / "tests" / "unreachable.tsv"
# What leaves an error message; the first two are in turn called with a text by others.
MESSAGE = re.compile(r"\b(submodi_fail|submodi_nomem|refuse\w*)\(")


class Line(NamedTuple):
    file: str
    number: int
    text: str
    count: int
    branches: list[int]  # how often each was taken


class Sums(NamedTuple):
    lines: int
    run: int
    branches: int
    taken: int
    unreachable: int  # branches


def gcov(folder: Path) -> Iterator[dict[str, Any]]:
    """What gcc's own tool says of each object file: the lines of each of its sources."""
    data = sorted(str(path.resolve()) for path in folder.rglob("*.gcda"))
    for start in range(0, len(data), 50):
        command = ["gcov", "--json-format", "--stdout", "--branch-probabilities"]
        run = subprocess.run(
            [*command, *data[start : start + 50]], cwd=folder, stdout=subprocess.PIPE, check=True
        )
        for text in run.stdout.decode().splitlines():
            told = json.loads(text)
            base = Path(told["current_working_directory"])
            for source in told["files"]:
                yield {**source, "path": (base / source["file"]).resolve()}


def read(folder: Path) -> list[Line]:
    """A line that is compiled several times counts as often as all of them were run."""
    merged: dict[tuple[str, int], Line] = {}
    texts: dict[str, list[str]] = {}
    for source in gcov(folder):
        path = source["path"]
        if not path.is_relative_to(ROOT / "src"):
            continue
        file = str(path.relative_to(ROOT))
        text = texts.setdefault(file, path.read_text(encoding="utf-8").splitlines())
        for line in source["lines"]:
            number = line["line_number"]
            words = text[number - 1].strip()
            ours = not words.startswith("#pragma")  # what OpenMP makes of one has its own branches
            branches = [b["count"] for b in line["branches"] if ours]
            here = Line(file, number, words, line["count"], branches)
            merged[file, number] = add(merged.get((file, number)), here)
    return [merged[key] for key in sorted(merged)]


def add(a: Line | None, b: Line) -> Line:
    """Branches add up where both have the same ones; else the line that has more of them counts."""
    if a is None:
        return b
    more, less = (a, b) if len(a.branches) >= len(b.branches) else (b, a)
    same = len(more.branches) == len(less.branches)
    pairs = zip(more.branches, less.branches)
    branches = [x + y for x, y in pairs] if same else more.branches
    return more._replace(count=a.count + b.count, branches=branches)


def unreachable() -> dict[tuple[str, str], str]:
    rows = UNREACHABLE.read_text(encoding="utf-8").splitlines()
    parts = [row.split("\t") for row in rows if row and not row.startswith("#")]
    for row in parts:
        if len(row) != 3 or not all(row):
            sys.exit(f"coverage: {UNREACHABLE.name}: a row is file, text, why: {row}")
    return {(file, text): why for file, text, why in parts}


def reached(message: Line, lines: dict[tuple[str, int], Line]) -> bool:
    """Whether a line of its statement was run: gcov may count it at another one than its first. A
    choice on the same line says by its branches which of both it was."""
    here, choice = message, "?" in message.text.split("submodi_")[0]
    count = here.count
    for number in range(message.number + 1, message.number + 5):
        if ";" in here.text:
            break
        here = lines.get((message.file, number), here._replace(text=""))
        count = max(count, here.count)
    return count > 0 and not (choice and 0 in message.branches)


def add_up(lines: list[Line], named: dict[tuple[str, str], str]) -> Sums:
    branches = sum(len(line.branches) for line in lines)
    taken = sum(count > 0 for line in lines for count in line.branches)
    beyond = [line for line in lines if (line.file, line.text) in named]
    never = sum(count == 0 for line in beyond for count in line.branches)
    return Sums(len(lines), sum(line.count > 0 for line in lines), branches, taken, never)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def row(name: str, sums: Sums) -> str:
    reachable = sums.branches - sums.unreachable
    cells = [name, sums.lines, percent(sums.run, sums.lines), sums.branches, sums.unreachable]
    return "\t".join(map(str, [*cells, percent(sums.taken, reachable)]))


def main() -> None:
    parser = argparse.ArgumentParser(description="what the tests run of src/")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--branches", action="store_true", help="name the lines")
    wanted = parser.parse_args()
    lines, named = read(wanted.folder), unreachable()
    files = sorted({line.file for line in lines})
    print("file\tlines\t% run\tbranches\tunreachable\t% of the others taken")
    for file in files:
        print(row(file, add_up([line for line in lines if line.file == file], named)))
    print(row("all", add_up(lines, named)))

    stale = set(named) - {(line.file, line.text) for line in lines}
    messages = [line for line in lines if MESSAGE.search(line.text)]
    places = {(line.file, line.number): line for line in lines}
    unseen = [m for m in messages if not reached(m, places)]
    missing = [m for m in unseen if (m.file, m.text) not in named]
    excused = len(unseen) - len(missing)
    print(f"messages\t{len(messages)}\treached by no test: {len(missing)}; unreachable: {excused}")
    for line in missing:
        print(f"{line.file}:{line.number}: no test reaches: {line.text}")
    for file, text in sorted(stale):
        print(f"{UNREACHABLE.name}: {file} has no such line: {text}")
    if wanted.branches:
        for line in lines:
            if line.count and 0 in line.branches and (line.file, line.text) not in named:
                never = line.branches.count(0)
                print(f"{line.file}:{line.number}: {never} of {len(line.branches)}: {line.text}")
    sys.exit(1 if missing or stale else 0)


main()
