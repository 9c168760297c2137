"""Trains, evaluates, tabulates and draws. What is done is not done again: the same command goes on
where it was ended."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path

from . import folders
from .experiments import READS
from .trouble import Trouble


def arguments(words: Sequence[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/experiments.sh", description=__doc__)
    add = parser.add_argument
    add("data", type=Path, metavar="DATA_DIR", help="with folders camvid and ibsr")
    add("--only", choices=list(READS), action="append", metavar="NAME", help=", ".join(READS))
    add("--quick", action="store_true", help="the whole path, but hardly any training")
    add("--out", type=Path, metavar="FOLDER", help="of the results, out/experiments by default")
    add("--jobs", type=int, default=os.cpu_count() or 1, help="processes; 0: none but this one")
    add("--report", action="store_true", help="trains nothing, and reports what is done")
    add("--document", type=Path, metavar="DOCS", help="writes DOCS/experiments.md too")
    add("--studies", type=Path, metavar="FOLDER", help="of scripts/study.sh, for their claims")
    add("--check", action="store_true", help="only looks whether the data is there")
    asked = parser.parse_args(words)
    if asked.jobs < 0:
        parser.error("--jobs must be 0 or more")
    asked.out = asked.out or Path("out/experiments-quick" if asked.quick else "out/experiments")
    return asked


def main(words: Sequence[str] | None = None) -> int:
    """The exit status: 2 for what the user can put right, 1 for a job that failed."""
    asked = arguments(words)
    try:
        folders.check(asked.data, asked.only or READS)
        if not asked.check:
            from . import command

            print(f"report: {command.run(asked)}")
    except Trouble as trouble:
        return said(str(trouble), trouble.status)
    except KeyboardInterrupt:
        return said("ended; the same command goes on from here", 130)
    return 0


def said(words: str, status: int) -> int:
    print(f"experiments: {words}", file=sys.stderr)
    return status


if __name__ == "__main__":
    sys.exit(main())
