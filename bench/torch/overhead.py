"""What PyTorch costs on top of the C call: forward and backward through submod.torch against
submod_lovasz_softmax alone, same data, same threads.

    scripts/bench.sh                    makes everything and runs this too
    .venv-bench/bin/python bench/torch/overhead.py [--quick] [--json FILE] [--library FILE]

The C call writes to a gradient and works in memory that it has seen before; autograd makes a new
gradient each time, so malloc is told to keep memory, as in compare.py. Bar: within 10 %.
"""

import argparse
import json
import sys

try:
    import torch
except ImportError as error:
    sys.exit(f"overhead: {error}. scripts/bench.sh makes a virtual environment that has it.")

import compare
import report
from compare import c_calls

BAR = 1.10


def contenders(lib, logits, labels, engine):
    import submod.torch  # which lib has made known

    work, gradient = lib.work(), torch.empty_like(logits)
    settings = lib.settings(engine=engine, delta=compare.DELTA)

    def c_call():
        loss, _ = lib.lovasz_softmax(logits, labels, gradient, settings, work)
        return loss, gradient

    def loss(scale):
        def function(leaf):
            found = submod.torch.lovasz_softmax(leaf, labels, engine=engine, delta=compare.DELTA)
            return found if scale == 1 else scale * found

        return compare.autograd(function, logits)

    return [
        compare.Contender("C call", c_call, True),
        compare.Contender("submod.torch, fwd+bwd", loss(1), True),
        compare.Contender("the same of loss * 0.5", loss(0.5), True),
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", metavar="FILE", help="all measurements, for programs")
    parser.add_argument("--library", metavar="FILE", help="default: build/libsubmod.so")
    options = parser.parse_args()
    sizes = compare.QUICK if options.quick else compare.Sizes()

    lib = c_calls.Library(options.library)
    lib.submod.set_num_threads(compare.THREADS)
    torch.set_num_threads(compare.THREADS)
    compare.keep_memory()
    logits, labels = compare.random_case(sizes.shape)

    neighbours, rows, results = report.Neighbours(), [], {}
    for engine in ("exact", "histogram"):
        rivals = contenders(lib, logits, labels, engine)
        compare.measure(rivals, sizes, f"overhead, {engine}")
        base = rivals[0]
        for rival in rivals:
            ratio, best = rival.median() / base.median(), rival.best() / base.best()
            met = "" if rival is not rivals[1] else "yes" if ratio <= BAR else "NO"
            times = [f"{rival.median():.1f}", f"{rival.best():.1f}"]
            rows.append([f"{engine}: {rival.name}", *times, f"{ratio:.3f}x", f"{best:.3f}x", met])
        results[engine] = compare.as_json(rivals)
    shape = "x".join(map(str, sizes.shape))
    report.heading(f"Python overhead: Lovász-Softmax on {shape}, bar {BAR:.2f}x")
    report.table(["who", "median ms", "best ms", "/ C call", "by best", "met?"], rows)
    compare.print_neighbours(neighbours.share())
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
