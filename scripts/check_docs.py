#!/usr/bin/env python3
"""Checks what the documents name: files, links, scripts and their options, CMake's options. And the
files that comments in C name.

    files      `src/base/sort.c`, and `sort.c` beside it, are in the repository
    links      [text](path) leads to a file
    commands   lines indented by four: the script is there and knows its options, CMake its -D, and
               RUN_BY says which test or workflow runs the command

Code between fences is run by tests. Exit status 1 if anything is found.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from check_house import ROOT, sources

# Not the changelog: it names what is gone.
PATTERNS = [
    "README.md",
    "CONTRIBUTING.md",
    "SECURITY.md",
    "docs/*.md",
    "python/README.md",
    "bench/studies/README.md",
    "bench/experiments/README.md",
]
FOLDERS = "src|include|tests|bench|docs|examples|python|scripts|tools|cmake"
FILE = re.compile(rf"`((?:{FOLDERS})/[\w./-]*|[\w-]+\.(?:c|h|cu|py|sh))`")
IN_COMMENT = re.compile(r"(?<![\w/%\"}.-])([a-z]\w+\.[ch])\b")
PLACEHOLDER = re.compile(r"\b(?:NAME|LAYER)|_NAME")
LINK = re.compile(r"\]\(([^)#:]+)(?:#[^)]*)?\)")
SCRIPT = re.compile(r"(?:\./)?((?:scripts|examples|docs)/[\w/]+\.(?:sh|py))")
OPTION = re.compile(r" (--[a-z][a-z-]*)")
CMAKE = re.compile(r"-D(\w+)=")
# A line that begins so is a command.
COMMAND = re.compile(
    r"    ((?:\./)?(?:scripts|docs|build|examples|tests)/\S+|(?:cmake|ctest|cc|pip|python3?"
    r"|torchrun|mpirun|git|submod-[\w-]+)\b)"
)
# Who runs it, word by word or with smaller data. The first that fits counts.
RUN_BY = {
    r"(\./)?scripts/test\.sh": ".ci/run",
    r"(\./)?scripts/(lint|docs)\.sh": "scripts/test.sh",
    r"(\./)?scripts/(release|fuzz|study)\.sh": ".github/workflows/test.yml",
    r"scripts/(soak|stress|large|failures|mutate)\.sh": ".github/workflows/test.yml",
    r"scripts/(wheel|package)\.sh": "scripts/release.sh",
    r"scripts/experiments\.sh": "python/tests/test_experiments.py",
    r"submod-miou ": "tests/miou/run.sh",
    r"submod-optim-bench": "python/tests/test_docs.py",
    r"pip install (\.|'\.\[bench\]')": "scripts/test_python.sh",
    r"torchrun .*train_ddp": "python/tests/test_train_ddp.py",
    r"python examples/train_unet": "python/tests/test_train_unet.py",
    r"cc loss\.c .*submod_mpi": "tests/CMakeLists.txt",
    r"cmake|cc loss\.c": "tests/docs/first_steps.sh",
}
# By hand, since they take hours, another machine, or make what is committed.
BY_HAND = re.compile(
    r"scripts/(bench|gpu_check|coverage)\.sh"
    r"|(python )?docs/optimisers\.py|git tag"
)
# What documents name that is not in the repository: files of users and of others.
OTHERS = {"loss.c", "lovasz_losses.py", "mine.py", "omp.h"}


def named_files(line: str, folder: Path, names: set[str]) -> list[str]:
    wrong = []
    for name in FILE.findall(line):
        known = PLACEHOLDER.search(name) or ("/" not in name and (name in names or name in OTHERS))
        if not (known or (ROOT / name).exists() or (folder / name).exists()):
            wrong.append(f"`{name}` is not in the repository")
    return wrong


def links(line: str, folder: Path) -> list[str]:
    return [
        f"({name}) leads nowhere" for name in LINK.findall(line) if not (folder / name).exists()
    ]


def command(line: str, known: str) -> list[str]:
    """An indented line, up to a comment."""
    words = line.split(" #")[0]
    wrong = [
        f"-D{name} is no option of CMakeLists.txt"
        for name in CMAKE.findall(words)
        if name not in known
    ]
    script = SCRIPT.search(words)
    if script and not (ROOT / script[1]).exists():
        wrong.append(f"{script[1]} is not in the repository")
    elif script and script[1].startswith("scripts/"):
        text = (ROOT / script[1]).read_text(encoding="utf-8")
        wrong += [
            f"{script[1]} has no {name}" for name in OPTION.findall(words) if name not in text
        ]
    return wrong


def runner(line: str) -> list[str]:
    """Whether somebody runs the command, if the line is one."""
    if not COMMAND.match(line) or BY_HAND.match(line.strip()):
        return []
    who = next((test for words, test in RUN_BY.items() if re.match(words, line.strip())), None)
    if who is None:
        return [f"nothing runs '{line.strip()}'; scripts/check_docs.py has the list RUN_BY"]
    script = SCRIPT.search(line)
    named = (script[1] if script else "").removeprefix("scripts/")
    if not (ROOT / who).exists() or named not in (ROOT / who).read_text(encoding="utf-8"):
        return [f"'{line.strip()}' is run by {who}, which is not there or does not name it"]
    return []


def check(path: Path, names: set[str], known: str) -> list[str]:
    wrong = []
    fenced = False
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        if fenced:
            continue
        found = [*named_files(line, path.parent, names), *links(line, path.parent)]
        if line.startswith("    "):
            found += command(line, known) + runner(line)
        wrong += [f"{path.relative_to(ROOT)}:{number}: {words}" for words in found]
    return wrong


def check_comments(path: Path, names: set[str]) -> list[str]:
    wrong = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        for name in IN_COMMENT.findall(line):
            if not line.startswith("#") and name not in names | OTHERS:
                wrong.append(f"{path.relative_to(ROOT)}:{number}: {name} is not in the repository")
    return wrong


def main() -> int:
    folders = [ROOT / name for name in FOLDERS.split("|")]
    names = {path.name for folder in folders for path in folder.rglob("*") if path.is_file()}
    cmake = [ROOT / "CMakeLists.txt", *(ROOT / "cmake").glob("*.cmake")]
    known = "BUILD_TESTING CMAKE_CUDA_ARCHITECTURES"  # and our own
    known += "".join(path.read_text(encoding="utf-8") for path in cmake)
    documents = sorted(path for pattern in PATTERNS for path in ROOT.glob(pattern))
    wrong = [line for path in documents for line in check(path, names, known)]
    wrong += [line for path in sources(*FOLDERS.split("|")) for line in check_comments(path, names)]
    for line in wrong:
        print(line, file=sys.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
