"""Measures, weights of pixels and the losses as tensor operations: forward and backward through
submod.torch, against Jaccard without weights, and against the formula of the paper.

    scripts/bench.sh                    makes everything and runs this too
    .venv-bench/bin/python bench/torch/measures.py [--quick] [--json FILE] [--library FILE]

All take turns on the same data. The first table is the library's engines; bars: Tversky within
1.1 x Jaccard's time, a measure in Python within 1.2 x, with weights within 1.5 x. The second is
what tensors of devices without kernels get, on the CPU here: PyTorch's operations of _anywhere.py,
against those that autograd differentiates in reference.py.
"""

import argparse
import json
import statistics
import sys
import time
from pathlib import Path

try:
    import torch
except ImportError as error:
    sys.exit(f"measures: {error}. scripts/bench.sh makes a virtual environment that has it.")

import reference
import report
from malloc import keep_memory

sys.path.append(str(Path(__file__).resolve().parents[1]))
import c_calls

SEED, THREADS = 1, 2
SHAPE, QUICK = (4, 21, 512, 512), (2, 5, 64, 64)
ENGINES = ("exact", "histogram")


def mine(a, b, P, N):
    return (2 * a + 0.5 * b) / (P + a + 0.5 * b)


def measure_rows(labels):
    """{name: (options, bar)}, the first being what the others are compared with."""
    import submod

    generator = torch.Generator().manual_seed(SEED)
    weights = torch.rand(labels.shape, generator=generator)
    return {
        "Jaccard": ({}, None),
        "Hamming": ({"measure": "hamming"}, 1.1),
        "Tversky(0.5, 2)": ({"measure": submod.Tversky(alpha=0.5, beta=2)}, 1.1),
        "the same as a Python function": ({"measure": mine}, 1.2),
        "Jaccard, weights of pixels": ({"pixel_weights": weights}, 1.5),
    }


def timed(calls, rounds):
    """{name: milliseconds of each round}, in turns; the first round is not counted."""
    times = {name: [] for name in calls}
    for i in range(rounds + 1):
        for name, call in calls.items():
            report.progress(f"round {i} of {rounds}: {name}")
            start = time.perf_counter()
            call()
            if i > 0:
                times[name].append(1e3 * (time.perf_counter() - start))
    report.progress("")
    return times


def both_ways(function, logits):
    leaf = logits.detach().clone().requires_grad_(True)

    def call():
        leaf.grad = None
        function(leaf).backward()

    return call


def by_operations(function):
    """The same with the library's kernels out of the way."""
    from submod.torch import _anywhere

    def call():
        _anywhere.FORCED = True
        try:
            function()
        finally:
            _anywhere.FORCED = False

    return call


def print_table(title, times, bars):
    base = next(iter(times))
    rows = []
    for name, each in times.items():
        median, best = statistics.median(each), min(each)
        ratio = median / statistics.median(times[base])
        bar = bars.get(name)
        met = "" if bar is None else f"{bar} {'yes' if ratio <= bar else 'NO'}"
        rows.append([name, f"{median:.1f}", f"{best:.1f}", f"{ratio:.2f}x", met])
    report.heading(title)
    report.table(["who", "median ms", "best ms", f"/ {base}", "bar"], rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", metavar="FILE", help="all measurements, for programs")
    parser.add_argument("--library", metavar="FILE", help="default: build/libsubmod.so")
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    lib = c_calls.Library(options.library)
    lib.submod.set_num_threads(THREADS)
    torch.set_num_threads(THREADS)
    keep_memory()  # each call makes a new gradient: of pages already seen, as in compare.py
    from submod.torch import lovasz_softmax

    shape = QUICK if options.quick else SHAPE
    generator = torch.Generator().manual_seed(SEED)
    logits = torch.randn(shape, generator=generator)
    labels = torch.randint(shape[1], (shape[0], *shape[2:]), generator=generator)

    def ours(engine, **settings):
        return both_ways(lambda x: lovasz_softmax(x, labels, engine=engine, **settings), logits)

    size, found = "x".join(map(str, shape)), {}
    for engine in ENGINES:
        rows = measure_rows(labels)
        calls = {name: ours(engine, **settings) for name, (settings, _) in rows.items()}
        found[engine] = timed(calls, options.rounds)
        bars = {name: bar for name, (_, bar) in rows.items()}
        print_table(f"Lovász-Softmax on {size}, {engine} engine", found[engine], bars)
    calls = {
        "formula": both_ways(lambda x: reference.lovasz_softmax(x, labels), logits),
        **{f"operations, {engine}": by_operations(ours(engine)) for engine in ENGINES},
        **{f"the library's kernels, {engine}": ours(engine) for engine in ENGINES},
    }
    found["operations"] = timed(calls, max(options.rounds // 2, 1))
    print_table(f"PyTorch's operations on {size}", found["operations"], {})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(found, file, indent=1)


if __name__ == "__main__":
    main()
