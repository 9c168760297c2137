"""The work of scripts/mutate_ptx.sh, which says what it does and with which options."""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import subprocess
import sys
import tempfile
from collections import Counter
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Callable

from verdicts import KNOWN, Verdicts, known, score

ROOT = Path(__file__).resolve().parents[1]
TESTS_OF_PTX = ROOT / "tests" / "gpu" / "ptx"
SURVIVORS = TESTS_OF_PTX / "survivors.tsv"

# A pattern of an instruction, and what may stand there instead.
CHANGES: list[tuple[str, str | Callable[[re.Match[str]], str]]] = [
    (r"\badd\.(?=[suf]|rn)", "sub."),
    (r"\bsub\.(?=[suf]|rn)", "add."),
    (r"\bmul\.rn\.", "add.rn."),
    (r"\bdiv\.rn\.", "mul.rn."),
    (r"\bfma\.rn\.(f\d\d)\s+(\S+), (\S+), (\S+), (\S+);", r"fma.rn.\1 \2, \3, \5, \4;"),
    (r"\bmul\.lo\.", "add."),
    (r"\bmax\.", "min."),
    (r"\bmin\.", "max."),
    (r"\bsetp\.lt\.", "setp.le."),
    (r"\bsetp\.le\.", "setp.lt."),
    (r"\bsetp\.gt\.", "setp.ge."),
    (r"\bsetp\.ge\.", "setp.gt."),
    (r"\bsetp\.eq\.", "setp.ne."),
    (r"\bsetp\.ne\.", "setp.eq."),
    (r"\bsetp\.leu\.", "setp.geu."),
    (r"\bsetp\.geu\.", "setp.leu."),
    (r"\band\.(?=b\d|pred)", "or."),
    (r"\bor\.(?=b\d|pred)", "and."),
    (r"\bshr\.[us](?=\d)", "shl.b"),  # not another shr: most numbers have no sign
    (r"\bselp\.(\w+)\s+(\S+), (\S+), (\S+), (\S+);", r"selp.\1 \2, \4, \3, \5;"),
    (r"^(\s*)@%", r"\1@!%"),
    (r"^(\s*)@!%", r"\1@%"),
    (r"^(\s*)bar\.sync\s+0;", r"\1"),
    (r"^(\s*)st\.[^;]*;", r"\1"),
    (r"\batom\.(shared|global)\.add\.", r"atom.\1.max."),
    (r"\bshfl\.sync\.up\.", "shfl.sync.down."),
    (r"\bshfl\.sync\.down\.", "shfl.sync.up."),
    (r"\bcvt\.rni\.", "cvt.rmi."),
    (r", (\d+);", lambda m: f", {int(m[1]) + 1};"),
    (r"(\[%\w+)\+(\d+)\]", lambda m: f"{m[1]}+{int(m[2]) + 8}]"),
]

SKIPPED = 77  # the exit status of a test that is

# Which tests look at a kernel, after those of races.
OTHERWISE = ["views", "gpu", "weights", "dataset", "prox", "hinge", "global"]
TESTS = {
    "prox": ["prox", "views", "hinge"],
    "hinge": ["hinge", "views"],
    "dataset": ["dataset"],
    "global": ["global"],
}


@dataclass
class Mutant:
    kernel: str
    line: int
    before: str
    after: str
    place: str
    make: Callable[[], str]  # the PTX of the whole kernel, changed
    is_control: bool = False  # nothing is changed

    def __str__(self) -> str:
        return f"{self.kernel}, {self.place}, line {self.line}: {self.before} -> {self.after}"


def kernels_of(ptx: str) -> tuple[str, str, list[tuple[str, int, str]]]:
    """What stands before and after the kernels, and each of ours: name, first line, text."""
    head = re.search(r"^\.version.*?^\.address_size \d+$", ptx, re.S | re.M)
    files = "\n".join(re.findall(r"^\s*\.file\s.*$", ptx, re.M))
    if not head:
        raise SystemExit("this is no PTX")
    shared = "\n".join(re.findall(r"^\.extern \.shared.*$", ptx, re.M))
    found = []
    for m in re.finditer(
        r"^(?:\.visible )?\.entry \w*submodi_gpu_global_(\w+?)E\w*\(.*?^}$", ptx, re.S | re.M
    ):
        found.append((m[1], 1 + ptx.count("\n", 0, m.start()), m[0]))
    return f"{head[0]}\n{shared}\n", files, found


def changed_kernel(head: str, files: str, lines: list[str], i: int, changed: str) -> str:
    mutated = "\n".join([*lines[:i], changed, *lines[i + 1 :]])
    return f"{head}{mutated}\n{files}\n"


def unchanged(ptx: str) -> Mutant:
    """All kernels as they are. What the tests notice there is wrong with the harness."""
    head, files, kernels = kernels_of(ptx)
    lines = "\n".join(text for _, _, text in kernels).split("\n")
    make = partial(changed_kernel, head, files, lines, 0, lines[0])
    return Mutant("all kernels", 0, "as they are", "the same", "", make, is_control=True)


def mutants_of(ptx: str) -> list[Mutant]:
    head, files, kernels = kernels_of(ptx)
    names = {int(m[1]): Path(m[2]).name for m in re.finditer(r'\.file\s+(\d+)\s+"([^"]*)"', files)}
    found = []
    for name, first, text in kernels:
        lines = text.split("\n")
        place = ""
        for i, line in enumerate(lines):
            at = re.match(r"\s*\.loc\s+(\d+) (\d+)", line)
            if at:
                place = f"{names.get(int(at[1]), '')}:{at[2]}"
            if not re.match(r"\s+(@!?%\w+\s+)?[a-z]", line):
                continue
            for pattern, new in CHANGES:
                changed = re.sub(pattern, new, line, count=1)
                if changed != line:
                    before, after = " ".join(line.split()), " ".join(changed.split())
                    make = partial(changed_kernel, head, files, lines, i, changed)
                    found.append(Mutant(name, first + i, before, after, place, make))
    return found


def limit() -> None:
    """A test that takes longer has noticed: it takes a few seconds otherwise."""
    resource.setrlimit(resource.RLIMIT_CPU, (90, 90))


def compile_mutant(mutant: Mutant, folder: Path, *options: str) -> Path | None:
    """A library with the changed kernel; None where the translator or the compiler refuses it.
    A function that is not declared is one that no program has: the library would not load, and the
    tests would take that for a fault that they noticed."""
    (folder / "m.ptx").write_text(mutant.make())
    translate = [sys.executable, "-B", str(TESTS_OF_PTX / "translate.py"), str(folder / "m.ptx")]
    translate += [str(folder / "m.c"), "--name", "ptx_mutant"]
    done = subprocess.run(translate, capture_output=True, check=False)
    if done.returncode:
        return None
    folders = (TESTS_OF_PTX, TESTS_OF_PTX.parent, ROOT / "src", ROOT / "include")
    includes = [f"-I{d}" for d in folders]
    command = ["cc", "-std=c11", "-O1", "-ffp-contract=off", "-shared", "-fPIC", *includes]
    command += [
        "-Werror=implicit-function-declaration",
        "-DPTX_WATCH_ACCESSES",
        *options,
        str(folder / "m.c"),
        "-o",
        str(folder / "m.so"),
    ]
    done = subprocess.run(command, capture_output=True, check=False)
    return None if done.returncode else folder / "m.so"


def tests_of(mutant: Mutant) -> list[str]:
    if mutant.is_control:
        every = ["races", *OTHERWISE, *(test for tests in TESTS.values() for test in tests)]
        return list(dict.fromkeys(every))
    return ["races", *TESTS.get(mutant.kernel.split("_")[0], OTHERWISE)]


def run_test(name: str, a: argparse.Namespace, **environment: str) -> int:
    """Its exit status."""
    return subprocess.run(
        [a.build / "tests" / "gpu" / "ptx" / f"test_gpu_ptx_{a.arch}_{name}"],
        env={**os.environ, "CK_TIMEOUT_MULTIPLIER": "20", **environment},
        preexec_fn=limit,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        check=False,
    ).returncode


def judge(mutant: Mutant, a: argparse.Namespace) -> str:
    """Who noticed; empty: nobody; "-": it is no program."""
    with tempfile.TemporaryDirectory() as name:
        library = compile_mutant(mutant, Path(name))
        if library is None:
            return "-"
        for test in tests_of(mutant):
            status = run_test(test, a, SUBMOD_PTX_MUTANT=str(library))
            if status == SKIPPED and mutant.is_control:
                return f"{test} was skipped, so it cannot notice anything"
            if status not in (0, SKIPPED):
                return test
    return ""


def short_name(mangled: str) -> str:
    return re.sub(r".*submodi_gpu_global_(\w+?)E.*", r"\1", mangled)


def tell_unreached(ptx: str, a: argparse.Namespace) -> None:
    """Counts instructions that no test runs, and prints them."""
    check_harness(ptx, a)
    with tempfile.TemporaryDirectory() as name:
        everything = unchanged(ptx)
        library = compile_mutant(everything, Path(name), "-DPTX_WATCH_INSTRUCTIONS")
        reached = Path(name) / "reached"
        files = {"SUBMOD_PTX_MUTANT": str(library), "SUBMOD_PTX_REACHED": str(reached)}
        for test in tests_of(everything):
            if run_test(test, a, **files):
                raise SystemExit(f"mutate: {test} fails when it is watched")
        has_run = reached.read_bytes()
        names = Path(f"{reached}.names").read_text().splitlines()
    rows = [row.split("\t") for row, run in zip(names, has_run) if not run]
    for kernel, place, text in rows:
        print(short_name(kernel), place, text, sep="\t")
    kernels = {short_name(row.split("\t")[0]) for row in names}
    share = 100 * (1 - len(rows) / len(names))
    print(f"{len(names)} instructions, {len(rows)} of them run by no test: {share:.1f} % are run")
    texts = {
        "what": f"instructions of nvcc's PTX for compute_{a.arch} that the tests of PTX run",
        "cases": f"{len(names)} instructions of {len(kernels)} kernels",
        "found": f"{share:.1f} % are run",
        "remains": f"{len(rows)}, which the script prints; CUB's kernels",
        "command": f"scripts/mutate_ptx.sh --unreached --arch {a.arch}",
    }
    leave_row("reached_ptx", texts)


def leave_row(name: str, texts: dict[str, str]) -> None:
    """A row of docs/reliability.md."""
    words = [word for key, text in texts.items() for word in (f"--{key}", text)]
    subprocess.run([ROOT / "docs" / "reliability.py", "row", name, *words], check=True)


def leave_row_of_mutants(counts: Counter[str], a: argparse.Namespace) -> None:
    texts = {
        "what": f"small mistakes in nvcc's PTX for compute_{a.arch}, one instruction at a time: "
        "do the tests of PTX notice?",
        "cases": f"{sum(counts.values())} changes, drawn with seed {a.seed}",
        "found": score(counts),
        "remains": "what tests/gpu/ptx/survivors.tsv names; other changes; CUB's kernels",
        "command": f"scripts/mutate_ptx.sh --number {a.number} --seed {a.seed} --arch {a.arch}"
        + (" --again" if a.again else ""),
    }
    leave_row("mutate_ptx", texts)


def check_harness(ptx: str, a: argparse.Namespace) -> None:
    """Else a compiler that is not there, or programs of another version, would score 100 %."""
    who = judge(unchanged(ptx), a)
    if who:
        why = "they do not compile" if who == "-" else f"noticed by {who}"
        raise SystemExit(f"mutate: the kernels are as they are, and yet {why}; build the tests")
    print("the kernels as they are: nobody notices anything", flush=True)


def try_all(mutants: list[Mutant], a: argparse.Namespace) -> Counter[str]:
    """As many as are asked for: where one does not translate, or none can notice it, the next is
    taken."""
    counts: Counter[str] = Counter()
    left, reasons = iter(mutants), known(SURVIVORS)

    def why_unnoticed(mutant: Mutant) -> str:
        return reasons.get((mutant.kernel, mutant.place, mutant.before, mutant.after), "")

    verdicts = Verdicts(f"ptx_{a.arch}_{a.seed}_{a.kernels}", a.again)

    def judge_once(mutant: Mutant) -> str:
        before = verdicts[mutant]
        if before is None or (before == "" and not why_unnoticed(mutant)):
            return judge(mutant, a)
        return before

    with ThreadPoolExecutor(a.jobs) as pool:

        def start(number: int) -> dict[Future[str], Mutant]:
            return {pool.submit(judge_once, m): m for m in islice(left, number)}

        running = start(a.number)
        while running:
            done = next(as_completed(running))
            mutant, who = running.pop(done), done.result()
            verdicts.add(mutant, who)
            if who == "-":
                running |= start(1)
                continue
            why = why_unnoticed(mutant)
            counts["killed" if who else KNOWN if why else "survived"] += 1
            told = f"noticed by {who}" if who else f"survived, as {why}" if why else "SURVIVED"
            print(f"{sum(counts.values())}: {told}: {mutant}", flush=True)
            if not who and why:
                running |= start(1)
    return counts


def main() -> int:
    p = argparse.ArgumentParser()
    p.add_argument("--number", type=int, default=200)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--arch", default="80")
    p.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    p.add_argument("--build", type=Path, default=ROOT / "build")
    p.add_argument("--kernels", default="", help="regular expression")
    p.add_argument("--again", action="store_true")
    p.add_argument("--unreached", action="store_true")
    p.add_argument("--list", action="store_true")
    a = p.parse_args()
    ptx = (a.build / "tests" / "gpu" / "ptx" / a.arch / "cuda.ptx").read_text()
    mutants = [m for m in mutants_of(ptx) if re.search(a.kernels, m.kernel)]
    random.Random(a.seed).shuffle(mutants)
    if a.list:
        print(*mutants[: a.number], sep="\n")
        return 0
    if a.unreached:
        tell_unreached(ptx, a)
        return 0
    check_harness(ptx, a)
    counts = try_all(mutants, a)
    print(score(counts))
    if counts and not a.kernels:
        leave_row_of_mutants(counts, a)
    return 0


if __name__ == "__main__":
    sys.exit(main())
