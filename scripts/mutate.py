"""The work of mutate.sh, which says what it does and with which options."""

import argparse
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

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
        self.timeout, self.jobs = options.timeout, str(os.cpu_count() or 2)
        self.memory = resource.RLIM_INFINITY if options.sanitize else 1 << 34  # sanitizers map more
        self.environment = dict(os.environ, CCACHE_BASEDIR=str(directory), CCACHE_NOHASHDIR="1")
        tracked = ["git", "ls-files", "-z", "-co", "--exclude-standard"]
        for name in subprocess.check_output(tracked, text=True).split("\0"):
            if name and os.path.exists(name):
                (directory / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(name, directory / name)
        parts = ["CUDA", "BUILD_BENCH", "BUILD_EXAMPLES", "BUILD_TOOLS"]
        flags = [f"-DSUBMOD_{part}=OFF" for part in parts]
        flags += ["-DCMAKE_BUILD_TYPE=Release", "-DCMAKE_C_FLAGS_RELEASE=-O1"]
        flags += ["-DSUBMOD_SANITIZE=ON"] if options.sanitize else []
        self.run("cmake", "-S", ".", "-B", "build", *flags)

    def run(self, *command):
        """Whether it worked. Nothing it starts eats all memory, or computes for ever."""

        def limit():
            seconds = 60 * int(self.timeout)
            resource.setrlimit(resource.RLIMIT_CPU, (seconds, seconds))
            resource.setrlimit(resource.RLIMIT_AS, (self.memory, self.memory))

        done = subprocess.run(
            command,
            cwd=self.source,
            env=self.environment,
            preexec_fn=limit,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            errors="replace",
        )
        self.output = done.stdout
        return done.returncode == 0

    def compile(self):
        return self.run("cmake", "--build", "build", "--parallel", self.jobs)

    def test(self, *how):
        command = ["ctest", "--test-dir", "build", "--parallel", self.jobs, "--stop-on-failure"]
        return self.run(*command, *how)

    def start(self, with_gpu):
        """Builds what is not mutated, and learns how long each test takes."""
        # Nothing in src/ is about installation or documents. The simulated GPU is slow, and the
        # same tests under another instruction set would only say the same.
        skip = "^install$|^docs_|^isa_" + ("" if with_gpu else "|^gpu")
        if not self.compile() or not self.test("-E", skip, "--output-junit", "times.xml"):
            sys.exit(f"{self.output}\nmutate: the tests fail as they are")
        cases = xml.etree.ElementTree.parse(self.build / "times.xml").iter("testcase")
        self.seconds = {case.get("name"): float(case.get("time")) for case in cases}

    def passes(self, names):
        """The other load of the machine may change: four times as long is not yet too long."""
        timeout = max([self.timeout] + [4 * self.seconds[name] for name in names])
        which = "|".join(re.escape(name) for name in names)
        return not names or self.test("--timeout", f"{timeout:.0f}", "-R", f"^({which})$")

    def verdict(self, mutation):
        path = self.source / mutation.path
        original = path.read_text()
        path.write_text(mutation.mutated)
        try:
            if not self.compile():
                return "did not compile"
            of_gpu = "gpu" in mutation.path.parts
            names = [name for name in self.seconds if of_gpu or not name.startswith("gpu")]
            quick = [name for name in names if self.seconds[name] < 1]
            slow = [name for name in names if self.seconds[name] >= 1]
            return "survived" if self.passes(quick) and self.passes(slow) else "killed"
        finally:
            path.write_text(original)


def try_all(mutations, tree, counts):
    tree.start(any("gpu" in mutation.path.parts for mutation in mutations))
    for i, mutation in enumerate(mutations, 1):
        verdict = tree.verdict(mutation)
        counts[verdict] += 1
        shown = mutation if verdict == "survived" else f"{mutation.path}:{mutation.line}"
        print(f"{i:3} {verdict}: {shown}", flush=True)


def main():
    parser = argparse.ArgumentParser(prog="scripts/mutate.sh")
    parser.add_argument("--number", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--files", default="src/**/*.c")
    parser.add_argument("--at", nargs="+", metavar="FILE:LINE")
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
    counts = {"killed": 0, "survived": 0, "did not compile": 0}
    try:
        with tempfile.TemporaryDirectory(prefix="mutate-") as directory:
            try_all(mutations, Tree(pathlib.Path(directory), options), counts)
    finally:
        tried = max(1, counts["survived"] + counts["killed"])
        print(", ".join(f"{count} {verdict}" for verdict, count in counts.items()))
        print(f"killed: {100 * counts['killed'] / tried:.0f} %")


if __name__ == "__main__":
    main()
