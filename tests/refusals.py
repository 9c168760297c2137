#!/usr/bin/env python3
"""Checks that the tests have seen every error message of a layer.

    refusals.py FILE FOLDER..

FILE holds the messages that the tests have seen, one a line (SUBMOD_REFUSALS in support/run.c).
Prints each message in the C files of the folders that is not among them, and fails if there is any.
Messages that only a failing system or another thread can bring about are listed below.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

FAIL = re.compile(r'submodi_fail\(\s*(?:SUBMOD_\w+|status),\s*((?:"(?:[^"\\]|\\.)*"\s*)+)', re.S)
FORMAT = re.compile(r"%[-+ 0#]*[\d.*]*(?:hh|h|ll|l|z|t|j)?[a-zA-Z]")
# Seen by other tests of calls/: memory; by chance: input that others change during a call.
ELSEWHERE = ("out of memory", "changed during the call")


def formats(folder: Path) -> list[tuple[Path, str]]:
    found = []
    for path in sorted(folder.rglob("*.[ch]")):
        for match in FAIL.finditer(path.read_text(encoding="utf-8")):
            text = "".join(re.findall(r'"((?:[^"\\]|\\.)*)"', match[1]))
            found.append((path, text))
    return found


def pattern(text: str) -> re.Pattern[str]:
    pieces = [re.escape(piece) for piece in FORMAT.split(text.replace("%%", "%"))]
    return re.compile(".*".join(pieces))


def main() -> int:
    seen = sorted(set(Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()))
    missing = 0
    for folder in sys.argv[2:]:
        for path, text in formats(Path(folder)):
            expected = pattern(text)
            if any(words in text for words in ELSEWHERE) or not text.replace("%s", "").strip(": "):
                continue
            if not any(expected.search(message) for message in seen):
                print(f"{path}: no test has seen the message {text!r}")
                missing += 1
    return missing > 0


sys.exit(main())
