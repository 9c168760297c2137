#!/usr/bin/env python3
"""Lines and branches of src/ that the tests run, and the error messages that none of them reaches.

    coverage.py FOLDER              a table by file, and the messages that no test reaches
    coverage.py FOLDER --branches   and every line with a branch that is never taken

FOLDER is a build with --coverage in which the tests have run (scripts/coverage.sh).
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).resolve().parent.parent
# Calls that leave an error message.
MESSAGE = re.compile(r"\b(submodi_fail|refuse\w*)\(")


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


def add_up(lines: list[Line]) -> Sums:
    branches = sum(len(line.branches) for line in lines)
    taken = sum(count > 0 for line in lines for count in line.branches)
    return Sums(len(lines), sum(line.count > 0 for line in lines), branches, taken)


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.1f}" if whole else "-"


def row(name: str, sums: Sums) -> str:
    cells = [name, sums.lines, percent(sums.run, sums.lines), sums.branches]
    return "\t".join(map(str, [*cells, percent(sums.taken, sums.branches)]))


def main() -> None:
    parser = argparse.ArgumentParser(description="what the tests run of src/")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--branches", action="store_true", help="name the lines")
    wanted = parser.parse_args()
    lines = read(wanted.folder)
    files = sorted({line.file for line in lines})
    print("file\tlines\t% run\tbranches\t% taken")
    for file in files:
        print(row(file, add_up([line for line in lines if line.file == file])))
    print(row("all", add_up(lines)))

    messages = [line for line in lines if MESSAGE.search(line.text)]
    places = {(line.file, line.number): line for line in lines}
    missing = [m for m in messages if not reached(m, places)]
    print(f"messages\t{len(messages)}\treached by no test: {len(missing)}")
    for line in missing:
        print(f"{line.file}:{line.number}: no test reaches: {line.text}")
    if wanted.branches:
        for line in lines:
            if line.count and 0 in line.branches:
                never = line.branches.count(0)
                print(f"{line.file}:{line.number}: {never} of {len(line.branches)}: {line.text}")


main()
