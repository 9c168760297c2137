"""The work of mutate.sh, which says what it does and with which options."""

import argparse
import collections
import concurrent.futures
import json
import os
import pathlib
import queue
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

FILES = "src/**/*.c"
SURVIVORS = pathlib.Path("tests/survivors.tsv")
LIKELY = 8  # so many tests of a mutation are linked by themselves
QUIET = ("killed", "did not compile")  # the others are shown whole
KNOWN = "survived for a known reason"

# What is no code to change: comments, strings, preprocessor lines, messages.
HIDDEN = re.compile(
    r"""/\*.*?\*/ | //[^\n]* | "(?:\\.|[^"\\\n])*" | '(?:\\.|[^'\\\n])*'
      | ^[ \t]*\#(?:\\\n|[^\n])* | \bsubmodi_fail\([^;]*; | \bsubmodi_nomem\([^;]*;""",
    re.VERBOSE | re.MULTILINE | re.DOTALL,
)

# Pattern of a token, and what may stand there instead. clang-format puts spaces around binary
# operators and around no others.
CHANGES = [
    (r"(?<= )<(?= )", ["<=", ">"]),
    (r"(?<= )>(?= )", [">=", "<"]),
    (r"(?<= )<=(?= )", ["<"]),
    (r"(?<= )>=(?= )", [">"]),
    (r"(?<= )==(?= )", ["!="]),
    (r"(?<= )!=(?= )", ["=="]),
    (r"(?<= )\+(?= )", ["-"]),
    (r"(?<= )-(?= )", ["+"]),
    (r"(?<= )\*(?= )", ["/"]),
    (r"(?<= )/(?= )", ["*"]),
    (r"(?<= )%(?= )", ["/"]),
    (r"(?<= )<<(?= )", [">>"]),
    (r"(?<= )>>(?= )", ["<<"]),
    (r"(?<= )&(?= )", ["|"]),
    (r"(?<= )\|(?= )", ["&"]),
    (r"&&", ["||"]),
    (r"\|\|", ["&&"]),
    (r"\+=", ["-=", "="]),
    (r"-=", ["+=", "="]),
    (r"\*=", ["/=", "="]),
    (r"/=", ["*=", "="]),
    (r"\|=", ["&=", "="]),
    (r"&=", ["|=", "="]),
    (r"\+\+", ["--"]),
    (r"--", ["++"]),
    (r" [+-] 1\b(?![.x])", [""]),
    (r"(?<=[ (])-(?=[\w(])", [""]),
    (r"!(?=[\w(*])", [""]),
    (r"(?<![\w.])0\b(?![.x])", ["1"]),
    (r"(?<![\w.])1\b(?![.x])", ["0", "2"]),
    (r"(?<![\w.])[2-9]\b(?![.x])", ["1"]),
    (r"(?<![\w.])\d\d+\b(?![.x])", ["1"]),
    (r"(?<![\w.])\d+\.\d+F?\b", ["0.75F"]),
    (r"\btrue\b", ["false"]),
    (r"\bfalse\b", ["true"]),
    (r"\bfmin\b", ["fmax"]),
    (r"\bfmax\b", ["fmin"]),
    (r"\b(?:break|continue);", [";"]),
]


class Mutation:
    def __init__(self, path, text, start, end, new):
        self.path, self.start, self.end, self.new = path, start, end, new
        self.line = text.count("\n", 0, start) + 1
        self.mutated = text[:start] + new + text[end:]
        self.before = text.split("\n")[self.line - 1]
        self.after = self.mutated.split("\n")[self.line - 1]

    def __str__(self):
        return f"{self.path}:{self.line}\n  -{self.before}\n  +{self.after}"


def mutations_of(path):
    text = path.read_text()
    code = HIDDEN.sub(lambda found: re.sub(r"[^\n]", "\0", found[0]), text)
    return [
        Mutation(path, text, token.start(), token.end(), new)
        for pattern, replacements in CHANGES
        for token in re.finditer(pattern, code)
        for new in replacements
    ]


def chosen(options):
    if options.at:
        places = [place.rsplit(":", 1) for place in options.at]
        found = [(mutations_of(pathlib.Path(name)), int(line)) for name, line in places]
        return [mutation for some, line in found for mutation in some if mutation.line == line]
    files = sorted(pathlib.Path().glob(options.files))
    every = [m for f in files for m in mutations_of(f)]
    return random.Random(options.seed).sample(every, min(options.number, len(every)))


class Tree:
    """A copy of the project with a build of its library and tests."""

    def __init__(self, directory, options):
        self.source, self.build = directory, directory / "build"
        self.timeout = options.timeout
        self.memory = "unlimited" if options.sanitize else 1 << 34  # sanitizers map more
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(directory), CCACHE_NOHASHDIR="1")
        tracked = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
        for name in subprocess.check_output(tracked, text=True).split("\0"):
            if name and os.path.exists(name):
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(name, directory / name)
        flags = ["-DSUBMOD_CUDA=OFF", "-DBUILD_TESTING=ON"]
        flags += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1"]
        flags += ["-DSUBMOD_SANITIZE=ON"] if options.sanitize else []
        if not self.run("cmake", "-S", ".", "-B", "build", *flags) or not self.compile():
            sys.exit(f"{self.output}\nmutate: the tests do not compile as they are")

    def run(self, *command):
        """Whether it worked. Nothing it starts eats all memory, or computes for ever."""
        limits = [f"--cpu={60 * int(self.timeout)}", f"--as={self.memory}"]
        done = subprocess.run(
            ["prlimit", *limits, *command],
            cwd=self.source,
            env=self.environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
        )
        self.output = done.stdout
        return done.returncode == 0

    def compile(self, *targets):
        targets = ["--target", *targets] if targets else []
        return self.run("cmake", "--build", "build", *targets)

    def test(self, *how):
        return self.run("ctest", "--test-dir", "build", "--stop-on-failure", *how)

    def verdict(self, mutation, tests):
        """Links the likeliest tests one by one, as most mutations are noticed there; then all."""
        path = self.source / mutation.path
        original = path.read_text()
        path.write_text(mutation.mutated)
        try:
            if not self.compile("submod_static"):
                return "did not compile"
            for i, test in enumerate(tests.in_order(mutation)):
                linked = i > LIKELY or self.compile(*(test.targets if i < LIKELY else []))
                if not linked or not self.test(*test.how(self.timeout)):
                    tests.noticed(test, mutation)
                    return "killed"
            return "survived"
        finally:
            path.write_text(original)


class Test:
    def __init__(self, name, program, seconds):
        self.name, self.seconds = name, seconds
        self.targets = [program.name] if program.name.startswith(("test_", "fuzz_")) else []

    def how(self, timeout):
        """The other load of the machine may change: four times as long is not yet too long."""
        timeout = max(timeout, 4 * self.seconds)
        return "--timeout", f"{timeout:.0f}", "-R", f"^{re.escape(self.name)}$"


class Tests:
    """All tests, how long each takes, and which of them have noticed what."""

    def __init__(self, tree, with_gpu):
        # Nothing in src/ is about installation or documents. The simulated GPU is slow, and the
        # same tests under another instruction set would only say the same.
        skip = "^install$|^docs_|^isa_" + ("" if with_gpu else "|gpu|^fuzz_device$")
        jobs = ["--parallel", str(os.cpu_count() or 2)]
        if not tree.test("-E", skip, "--output-junit", "times.xml", *jobs):
            sys.exit(f"{tree.output}\nmutate: the tests fail as they are")
        cases = xml.etree.ElementTree.parse(tree.build / "times.xml").iter("testcase")
        seconds = {case.get("name"): float(case.get("time")) for case in cases}
        tree.run("ctest", "--test-dir", "build", "--show-only=json-v1")
        told = json.loads(tree.output[tree.output.index("{") :])["tests"]
        self.all = [
            Test(test["name"], pathlib.Path(test["command"][0]), seconds[test["name"]])
            for test in told
            if test["name"] in seconds
        ]
        self.kills = collections.Counter()

    def in_order(self, mutation):
        """First who noticed others in this file, has its name, noticed others in this folder."""
        path = mutation.path

        def key(test):
            in_file, in_folder = (self.kills[test.name, place] for place in (path, path.parent))
            words = set(test.name.split("_")) & set(path.stem.split("_"))
            return -in_file, -len(words), -in_folder, test.seconds

        of_gpu = "gpu" in mutation.path.parts
        return sorted((t for t in self.all if of_gpu or "gpu" not in t.name), key=key)

    def noticed(self, test, mutation):
        for place in (mutation.path, mutation.path.parent):
            self.kills[test.name, place] += 1


def known_survivors():
    """Reasons of the equivalent mutants, by file, line before and line after."""
    rows = [row.split("\t") for row in SURVIVORS.read_text().splitlines() if "\t" in row]
    return {tuple(row[:-1]): row[-1] for row in rows}


def score(counts):
    noticed, named, others = counts["killed"], counts[KNOWN], counts["survived"]
    tried = max(1, noticed + named + others)
    share = 100 * noticed / max(1, noticed + others)
    return (
        f"{noticed} noticed, {100 * noticed / tried:.1f} %, {share:.1f} % of what can be noticed; "
        f"{named} equivalent mutants in {SURVIVORS}; others: {others}; "
        f"{counts['did not compile']} did not compile"
    )


def try_all(mutations, directory, options, counts):
    trees = queue.Queue()
    for i in range(options.jobs):
        (directory / str(i)).mkdir()
        trees.put(Tree(directory / str(i), options))
    tests = Tests(trees.queue[0], any("gpu" in mutation.path.parts for mutation in mutations))
    reasons = known_survivors()

    def reason_of(mutation):
        texts = mutation.path, mutation.before.strip(), mutation.after.strip()
        return reasons.get(tuple(map(str, texts)))

    def judge(mutation):
        tree = trees.get()
        try:
            return tree.verdict(mutation, tests)
        finally:
            trees.put(tree)

    pool = concurrent.futures.ThreadPoolExecutor(options.jobs)
    try:
        judged = {pool.submit(judge, mutation): mutation for mutation in mutations}
        for i, done in enumerate(concurrent.futures.as_completed(judged), 1):
            mutation, verdict = judged[done], done.result()
            reason = reason_of(mutation)
            if verdict == "survived" and reason:
                verdict = KNOWN
            counts[verdict] += 1
            shown = f"{mutation.path}:{mutation.line}" if verdict in QUIET else mutation
            print(f"{i:3} {verdict}: {shown}", *([f"({reason})"] if reason else []), flush=True)
    finally:
        pool.shutdown(cancel_futures=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutate.sh")
    parser.add_argument("--number", type=int, default=200)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", default=FILES)
    parser.add_argument("--at", nargs="+", metavar="FILE:LINE")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2)
    parser.add_argument("--sanitize", action="store_true")
    parser.add_argument("--timeout", type=float, default=60)
    parser.add_argument("--list", action="store_true")
    options = parser.parse_args()
    mutations = chosen(options)
    if not mutations:
        sys.exit("mutate: there is nothing to change there")
    if options.list:
        print(*mutations, sep="\n")
        return
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # not without tidying up
    counts = collections.Counter()
    try:
        with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
            try_all(mutations, pathlib.Path(directory), options, counts)
    finally:  # also of a run that was stopped
        if counts:
            print(score(counts))


if __name__ == "__main__":
    main()
