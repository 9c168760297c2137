"""submod-optim-bench: compares optimisers on problems."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryFile

from . import report, tables
from .bench import Plan, compare
from .catalogue import Extras, load
from .mistakes import Mistake
from .summary import Summary

ABOUT = """Tunes every optimiser on every problem on the same grid of sizes, with the same budget
and seeds, and writes results.json, results.csv, curves.csv and report.html. Results are cached in
OUT/cache by their content: the same command again, with one optimiser more, runs that one only."""


def main(arguments: Sequence[str] | None = None) -> int:
    given = _parser().parse_args(arguments)
    extras = Extras(tuple(given.files), given.npz, tuple(given.libraries))
    try:
        if given.list:
            return _list(extras)
        return _compare(given, extras)
    except Mistake as error:
        print(f"submod-optim-bench: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("\nsubmod-optim-bench: stopped; the same command goes on from here", file=sys.stderr)
        return 130


def _compare(given: argparse.Namespace, extras: Extras) -> int:
    plan = Plan(
        quick=given.quick,
        problems=given.problems,
        optimisers=given.optimisers,
        extras=extras,
        seed=given.seed,
        seeds=given.seeds,
        processes=given.jobs,
    )
    out = _writable(Path(given.out))
    outcome = compare(plan, out / "cache")
    summary = Summary(outcome)
    tables.write(out, plan, summary)
    print(f"{len(outcome.runs)} jobs, {outcome.new_jobs} of them new; tables are in {out}")
    print(report.write(out, plan, summary))
    return 0


def _writable(folder: Path) -> Path:
    """The folder, made if it is not there; refused before anything has been computed."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with TemporaryFile(dir=folder):
            return folder
    except OSError as error:
        words = (
            f"results cannot be written to {folder} ({error.strerror}); --out names another folder"
        )
        raise Mistake(words) from error


def _list(extras: Extras) -> int:
    found = load(extras)
    for what, members in (("problems", found.problems), ("optimisers", found.optimisers)):
        print(f"{what}:")
        for member in members.values():
            print(f"  {member.name:22} {member.title}")
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("submod-optim-bench", description=ABOUT)
    add = parser.add_argument
    add("--quick", action="store_true", help="smaller problems, budgets and grids")
    add("--problems", type=_names, metavar="A,B", help="these only; see --list")
    add("--optimisers", type=_names, metavar="X,Y", help="these only; see --list")
    add("--with", action="append", default=[], dest="files", metavar="FILE.py", help=WITH)
    add("--npz", metavar="FILE.npz", help="a problem with your features and labels")
    add(
        "--problem-library",
        action="append",
        default=[],
        dest="libraries",
        metavar="LIB.so:make",
        help="a problem in C: make(submod_problem *) fills its table",
    )
    add("--out", default="out/optim_bench", metavar="DIR", help="out/optim_bench unless given")
    add("--seed", type=_seed, default=1, metavar="N", help="the first seed (1)")
    add("--seeds", type=_count, metavar="N", help="how many (5, quick: 1)")
    add("--jobs", type=_count, default=os.cpu_count() or 1, metavar="N", help="processes")
    add("--list", action="store_true", help="says who there is")
    return parser


WITH = "a file with problems and optimisers of yours, which then take part"


def _names(text: str) -> tuple[str, ...]:
    return tuple(name.strip() for name in text.split(",") if name.strip())


def _count(text: str) -> int:
    return _whole(text, 1)


def _seed(text: str) -> int:
    return _whole(text, 0)


def _whole(text: str, least: int) -> int:
    if not text.isdecimal() or int(text) < least:
        raise argparse.ArgumentTypeError(f"{text!r}; it must be a whole number, {least} or more")
    return int(text)
