#!/usr/bin/env python3
"""Checks that Make builds every generated file once, however many jobs it runs at a time.

    one_maker.py BUILD_DIRECTORY          configured with the generator Unix Makefiles

CMake writes the rule of a custom command into the makefile of every target that needs its output.
If two such targets do not depend on each other, `make -j` runs the command twice at the same time.
So one of the targets must be a dependency of all the others. Ninja's files contain each rule once
and cannot show the mistake. Exits with status 1 if a file has no such target.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

RULE = re.compile(r"^([^\s#.][^:=]*):(?!=)")
DEPENDENCY = re.compile(r"^(\S+\.dir)/all: (\S+\.dir)/all$")


def files_made(makefile: Path) -> set[str]:
    """Returns the left-hand sides of the rules that have commands."""
    made, rule = set(), ""
    for line in makefile.read_text(encoding="utf-8").splitlines():
        if line.startswith("\t"):
            made.add(rule)
        elif found := RULE.match(line):
            rule = found[1].strip()
    return made - {""}


def dependencies(makefile: Path) -> dict[str, set[str]]:
    """Returns the dependencies of each target, including indirect ones."""
    direct: dict[str, set[str]] = {}
    for line in makefile.read_text(encoding="utf-8").splitlines():
        if found := DEPENDENCY.match(line):
            direct.setdefault(found[1], set()).add(found[2])
    all_of: dict[str, set[str]] = {}

    def collect(target: str) -> set[str]:
        if target not in all_of:
            all_of[target] = set()
            for needed in direct.get(target, ()):
                all_of[target] |= {needed} | collect(needed)
        return all_of[target]

    for target in direct:
        collect(target)
    return all_of


def main(build: Path) -> int:
    makers: dict[str, list[str]] = {}
    for makefile in sorted(build.rglob("build.make")):
        target = makefile.parent.relative_to(build).as_posix()
        for made in files_made(makefile):
            makers.setdefault(made, []).append(target)
    if not makers:
        print(f"one_maker: {build} has no makefiles", file=sys.stderr)
        return 1
    needs = dependencies(build / "CMakeFiles" / "Makefile2")
    wrong = 0
    for made, targets in sorted(makers.items()):
        others = {owner: set(targets) - {owner} for owner in targets}
        if not any(all(owner in needs.get(t, ()) for t in rest) for owner, rest in others.items()):
            wrong += 1
            names = ", ".join(Path(t).stem for t in targets)
            print(f"one_maker: {made} is made by unordered targets: {names}", file=sys.stderr)
    print(f"one_maker: {len(makers)} files, {wrong} of them made by unordered targets")
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    sys.exit(main(Path(sys.argv[1])))
