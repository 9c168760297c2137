"""libsubmod against PyTorch, segmentation-models-pytorch and kornia: speed and values.

    scripts/bench.sh                    makes everything, then runs this; options are handed on
    .venv-bench/bin/python bench/torch/compare.py [--quick] [--json FILE] [--library FILE]

All implementations work on the same seeded data in the same run with the same number of threads.
They take turns, so that what else the machine does hits all of them. PyTorch and libsubmod share
one OpenMP runtime and its threads: PyTorch's, loaded first, has the name that libsubmod asks for.
malloc is told to keep memory, which is kindest to PyTorch; what says "as it comes" was measured
before that. A call is forward and backward, from float32 logits and int64 labels to the gradient
of the logits. Data: random (standard normal scores, labels at random), trained (labels in blocks
of 32 x 32 pixels, whose scores are lifted by 3), confident (the same, by 12). bench-losses has the
same kinds of data, and the limits of the machine.
"""

import argparse
import json
import operator
import statistics
import sys
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable

try:
    import kornia
    import segmentation_models_pytorch as smp
    import torch
    import torch.nn.functional as F
except ImportError as error:
    sys.exit(f"compare: {error}. scripts/bench.sh makes a virtual environment that has it.")

import reference
import report
from malloc import keep_memory

sys.path.append(str(Path(__file__).resolve().parents[1]))
import c_calls

THREADS = 2
SEED = 1
DELTA = 2.0**-13
BLOCK = 32  # pixels with the same label: BLOCK x BLOCK
FORMULA, ENTROPY = "PyTorch formula", "PyTorch cross_entropy"
EXACT, HISTOGRAM = "libsubmod exact", "libsubmod histogram"
QUIET = 0.05  # share of the machine that other processes may take


@dataclass
class Sizes:
    shape: tuple = (4, 21, 512, 512)
    hinge_side: int = 2048
    rounds: int = 5
    fast_per_round: int = 3


QUICK = Sizes(shape=(2, 5, 64, 64), hinge_side=64, rounds=2, fast_per_round=2)


# ---- implementations and their measurement ------------------------------------------------------


@dataclass
class Contender:
    name: str
    call: Callable  # () -> (loss, gradient)
    fast: bool = False  # measured several times per round
    semantics: str = "batch, present"
    scores: int = 1
    times: list = field(default_factory=list)
    loss: float = 0.0
    loss_error: float = 0.0
    gradient_error: float = 0.0

    def median(self):
        return 1e3 * statistics.median(self.times)

    def best(self):
        return 1e3 * min(self.times)

    def ns(self):
        """Median time per score."""
        return 1e6 * self.median() / self.scores

    def judge(self, loss, gradient, yardsticks):
        """Keeps the loss, its error, and the largest error of the gradient relative to the largest
        gradient, against float64 results: yardsticks[semantics] = (loss, gradient)."""
        self.loss = loss
        self.scores = gradient.numel()
        if self.semantics in yardsticks:
            true_loss, exact = yardsticks[self.semantics]
            self.loss_error = abs(loss - true_loss)
            difference = gradient.double().sub_(exact).abs_().max()
            self.gradient_error = (difference / exact.abs().max()).item()

    def run(self):
        """One measured call."""
        start = time.perf_counter()
        result = self.call()
        self.times.append(time.perf_counter() - start)
        return result


def autograd(loss_function, scores):
    """A contender's call: forward and backward by PyTorch. Its gradient is a new tensor."""
    leaf = scores.detach().clone().requires_grad_(True)

    def call():
        leaf.grad = None
        loss = loss_function(leaf)
        loss.backward()
        return loss.item(), leaf.grad

    return call


def measure(contenders, sizes, title, yardsticks=None):
    """In turns; the first call of each is not counted but judged."""
    for contender in contenders:
        report.progress(f"{title}: {contender.name}, first call")
        contender.judge(*contender.call(), yardsticks or {})
    for i in range(sizes.rounds):
        report.progress(f"{title}: round {i + 1} of {sizes.rounds}")
        for contender in contenders:
            if not contender.fast:
                contender.run()
        for _ in range(sizes.fast_per_round):
            for contender in contenders:
                if contender.fast:
                    contender.run()
    report.progress("")


# ---- data ---------------------------------------------------------------------------------------


def random_case(shape):
    generator = torch.Generator().manual_seed(SEED)
    batch, classes, *image = shape
    logits = torch.randn(shape, generator=generator)
    return logits, torch.randint(classes, (batch, *image), generator=generator)


def lifted_case(shape, lift):
    """Labels in blocks, and logits that know them."""
    generator = torch.Generator().manual_seed(SEED)
    batch, classes, height, width = shape
    blocks = torch.randint(classes, (batch, height // BLOCK, width // BLOCK), generator=generator)
    labels = blocks.repeat_interleave(BLOCK, 1).repeat_interleave(BLOCK, 2)
    logits = torch.randn(shape, generator=generator)
    logits.scatter_add_(1, labels.unsqueeze(1), torch.full_like(logits[:, :1], lift))
    return logits, labels


CASES = {
    "random": random_case,
    "trained": lambda shape: lifted_case(shape, 3),
    "confident": lambda shape: lifted_case(shape, 12),
}


def hinge_case(pixels):
    """20 % foreground; normal scores around 0.5 on it and around -0.5 elsewhere."""
    generator = torch.Generator().manual_seed(SEED + 2)
    labels = (torch.rand(pixels, generator=generator) < 0.2).long()
    scores = torch.randn(pixels, generator=generator) + (labels.float() - 0.5)
    return scores, labels


# ---- the cases ----------------------------------------------------------------------------------


def softmax_contenders(lib, logits, labels, infos):
    work = lib.work()
    gradient = torch.empty_like(logits)

    def ours(name, **settings):
        chosen = lib.settings(**settings)

        def call():
            loss, info = lib.lovasz_softmax(logits, labels, gradient, chosen, work)
            infos[name] = info
            return loss, gradient

        return call

    histogram = {"engine": "histogram", "delta": DELTA}
    like_kornia = {"per_image": True, "classes": "all"}
    other_way = "image, all"
    smp_loss = smp.losses.LovaszLoss("multiclass", per_image=False)

    def torch_way(function):
        return autograd(lambda leaf: function(leaf, labels), logits)

    return [
        Contender(FORMULA, torch_way(reference.lovasz_softmax)),
        Contender("PyTorch, all classes in one sort", torch_way(reference.lovasz_softmax_batched)),
        Contender("segmentation-models-pytorch", torch_way(smp_loss)),
        Contender("kornia", torch_way(kornia.losses.lovasz_softmax_loss), False, other_way),
        Contender(ENTROPY, torch_way(F.cross_entropy), True, "another loss"),
        Contender(EXACT, ours("exact"), True),
        Contender(HISTOGRAM, ours("histogram", **histogram), True),
        Contender("libsubmod exact as kornia", ours("kornia", **like_kornia), True, other_way),
    ]


def softmax_yardsticks(logits, labels):
    double = logits.double()
    whole = autograd(lambda leaf: reference.lovasz_softmax(leaf, labels), double)()

    def per_image_all(leaf):
        """Mean over images and all classes; absent ones count with their largest probability."""
        probability = torch.softmax(leaf, dim=1).flatten(2)
        names = torch.arange(leaf.shape[1]).unsqueeze(1)
        images = []
        for p, y in zip(probability, labels.flatten(1)):
            foreground = (y.unsqueeze(0) == names).to(leaf.dtype)
            images.append(reference.extension((foreground - p).abs(), foreground).mean())
        return torch.stack(images).mean()

    return {"batch, present": whole, "image, all": autograd(per_image_all, double)()}


def hinge_contenders(lib, scores, labels):
    work = lib.work()
    side = round(scores.numel() ** 0.5)
    image, truth = scores.view(1, 1, side, side), labels.view(1, side, side)
    gradient = torch.empty_like(image)
    smp_loss = smp.losses.LovaszLoss("binary", per_image=False)

    def ours(**settings):
        chosen = lib.settings(**settings)

        def call():
            loss, _ = lib.lovasz_hinge(image, truth, gradient, chosen, work)
            return loss, gradient

        return call

    def torch_way(function):
        return autograd(lambda leaf: function(leaf, truth), image)

    histogram = ours(engine="histogram", delta=DELTA)
    return [
        Contender(FORMULA, torch_way(reference.lovasz_hinge)),
        Contender("segmentation-models-pytorch", torch_way(smp_loss)),
        Contender("kornia", torch_way(kornia.losses.lovasz_hinge_loss)),
        Contender(EXACT, ours(), True),
        Contender(HISTOGRAM, histogram, True),
    ]


def hinge_yardstick(scores, labels):
    side = round(scores.numel() ** 0.5)
    image = scores.view(1, 1, side, side).double()
    return {"batch, present": autograd(lambda x: reference.lovasz_hinge(x, labels), image)()}


def as_it_comes(lib, sizes):
    """What new memory costs, to be measured before keep_memory(): PyTorch makes a new gradient each
    time, and so does the histogram engine here. {case: contenders}"""
    work, settings = lib.work(), lib.settings(engine="histogram", delta=DELTA)
    found = {}
    for case, make in CASES.items():
        logits, labels = make(sizes.shape)

        def ours(logits=logits, labels=labels):
            gradient = torch.empty_like(logits)
            return lib.lovasz_softmax(logits, labels, gradient, settings, work)[0], gradient

        theirs = autograd(lambda leaf, labels=labels: F.cross_entropy(leaf, labels), logits)
        found[case] = [
            Contender("PyTorch cross_entropy, as it comes", theirs, True, "another loss"),
            Contender("libsubmod histogram, as it comes", ours, True),
        ]
        measure(found[case], sizes, f"memory as it comes, {case}")
        forget_calls(found[case])
    return found


def forget_calls(contenders):
    """Lets go of their memory."""
    for contender in contenders:
        contender.call = None


def measure_softmax(lib, sizes, infos):
    """{case: contenders}; rows as it comes stand beside those with memory kept."""
    found = as_it_comes(lib, sizes)
    if not keep_memory():
        print("this malloc cannot be told to keep memory: all rows are as it comes")
    for case, make in CASES.items():
        logits, labels = make(sizes.shape)
        contenders = softmax_contenders(lib, logits, labels, infos)
        measure(contenders, sizes, case, softmax_yardsticks(logits, labels))
        forget_calls(contenders)
        found[case] = contenders + found[case]
    return found


def measure_hinge(lib, sizes):
    scores, labels = hinge_case(sizes.hinge_side**2)
    contenders = hinge_contenders(lib, scores, labels)
    measure(contenders, sizes, "hinge", hinge_yardstick(scores, labels))
    forget_calls(contenders)
    return contenders


# ---- what is printed ----------------------------------------------------------------------------


def find(contenders, name):
    return next(c for c in contenders if c.name == name)


def verdict(value, bar, moonshot, reached):
    if moonshot is not None and reached(value, moonshot):
        return "moonshot"
    if bar is None:
        return "not yet"
    return "yes" if reached(value, bar) else "NO"


def bar_row(work, theirs, ours, bar, moonshot=None, share=False):
    """How many times faster, or the share of their time; bar or moonshot may be None."""
    ratio = ours.median() / theirs.median() if share else theirs.median() / ours.median()
    sign = "<=" if share else ">="

    def goal(value):
        return "" if value is None else f"{sign} {value:g}x"

    return {
        "work": work,
        "theirs ms": f"{theirs.median():.1f}",
        "ours ms": f"{ours.median():.1f}",
        "ratio": f"{ratio:.2f}x",
        "bar": goal(bar),
        "moonshot": goal(moonshot),
        "met?": verdict(ratio, bar, moonshot, operator.le if share else operator.ge),
    }


# Histogram against the formula, against cross-entropy; exact against the formula.
BARS = {"random": (110, 0.45, 60), "trained": (100, 0.5, 40), "confident": (120, 0.4, 25)}


def bar_rows(softmax, hinge):
    rows = []
    for case, contenders in softmax.items():
        formula, entropy = find(contenders, FORMULA), find(contenders, ENTROPY)
        exact, histogram = find(contenders, EXACT), find(contenders, HISTOGRAM)
        times, share, exact_times = BARS[case]
        rows += [
            bar_row(f"histogram against the formula, {case}", formula, histogram, times),
            bar_row(
                f"histogram against cross_entropy, {case}", entropy, histogram, share, 0.3, True
            ),
            bar_row(f"exact against the formula, {case}", formula, exact, exact_times),
        ]
        if case == "trained":
            rows.append(
                bar_row(f"exact against cross_entropy, {case}", entropy, exact, None, 1, True)
            )
    formula = find(hinge, FORMULA)
    rows.append(bar_row("hinge, exact against the formula", formula, find(hinge, EXACT), 15))
    rows.append(
        bar_row("hinge, histogram against the formula", formula, find(hinge, HISTOGRAM), 35)
    )
    return rows


def print_bars(rows):
    report.heading("Bars (medians)")
    columns = list(rows[0])
    report.table(columns, [[row[c] for c in columns] for row in rows])
    print("ratio: theirs / ours; where the goal has <=, ours / theirs. The medians are those below")


def print_neighbours(others):
    """Threads that wait for each other suffer most from company, and short calls most of all."""
    if others is None:
        return
    print(f"other processes took {others:.0%} of the machine while this was measured")
    if others > QUIET:
        print("NOT QUIET: neither the times nor the verdicts above can be relied on; run it again")


def print_times(title, contenders):
    exact, histogram = find(contenders, EXACT), find(contenders, HISTOGRAM)
    report.heading(f"{title}: times, fwd+bwd; ratios of medians")
    rows = [
        [
            c.name,
            str(len(c.times)),
            f"{c.median():.1f}",
            f"{c.best():.1f}",
            f"{c.ns():.2f}",
            f"{c.median() / histogram.median():.2f}x",
            f"{c.median() / exact.median():.2f}x",
        ]
        for c in contenders
    ]
    against = ["/ histogram", "/ exact"]
    report.table(["who", "runs", "median ms", "best ms", "ns per score", *against], rows)


def print_values(title, contenders):
    report.heading(f"{title}: values, against the formula in float64")
    rows = []
    for c in contenders:
        if "as it comes" in c.name:
            continue
        measured = c.semantics != "another loss"
        rows.append(
            [
                c.name,
                c.semantics,
                f"{c.loss:.9f}",
                f"{c.loss_error:.1e}" if measured else "",
                f"{c.gradient_error:.1e}" if measured else "",
            ]
        )
    report.table(["who", "mean over", "loss", "loss error", "gradient error"], rows)


def print_header(lib, sizes, quick):
    print("libsubmod against PyTorch and the libraries built on it")
    print("reproduce: scripts/bench.sh" + (" --quick" if quick else ""))
    print(f"CPU: {report.cpu_model()}; {THREADS} threads each")
    print(
        f"libsubmod {lib.submod.version()}, torch {torch.__version__}, "
        f"segmentation-models-pytorch {smp.__version__}, kornia {kornia.__version__}"
    )
    shape = "x".join(map(str, sizes.shape))
    print(f"Lovász-Softmax on {shape}; hinge on {sizes.hinge_side**2} pixels; seed {SEED}")
    if quick:
        print("quick: these sizes only show that everything runs; the bars are for full sizes")


def as_json(contenders):
    return [
        {
            "name": c.name,
            "semantics": c.semantics,
            "seconds": c.times,
            "loss": c.loss,
            "loss_error": c.loss_error,
            "gradient_error": c.gradient_error,
        }
        for c in contenders
    ]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", metavar="FILE", help="all measurements, for programs")
    parser.add_argument("--library", metavar="FILE", help="default: build/libsubmod.so")
    options = parser.parse_args()
    sizes = QUICK if options.quick else Sizes()

    lib = c_calls.Library(options.library)
    lib.submod.set_num_threads(THREADS)
    torch.set_num_threads(THREADS)
    print_header(lib, sizes, options.quick)

    neighbours, infos = report.Neighbours(), {}
    softmax = measure_softmax(lib, sizes, infos)
    hinge = measure_hinge(lib, sizes)
    others = neighbours.share()

    rows = bar_rows(softmax, hinge)
    print_bars(rows)
    print_neighbours(others)
    histogram = infos["histogram"]
    print(
        f"histogram: {histogram.bins} bins, delta {histogram.delta:.2e} guaranteed; scratch memory "
        f"{histogram.workspace / 2**20:.2f} MiB, exact {infos['exact'].workspace / 2**20:.2f} MiB"
    )
    for case, contenders in softmax.items():
        print_times(f"Lovász-Softmax, {case}", contenders)
        print_values(f"Lovász-Softmax, {case}", contenders)
    print_times("Lovász hinge", hinge)
    print_values("Lovász hinge", hinge)

    if options.json:
        result = {
            "cpu": report.cpu_model(),
            "threads": THREADS,
            "versions": {
                "libsubmod": lib.submod.version(),
                "torch": torch.__version__,
                "segmentation-models-pytorch": smp.__version__,
                "kornia": kornia.__version__,
            },
            "sizes": vars(sizes),
            "taken_by_others": others,
            "table": rows,
            "info": {
                name: {f: getattr(info, f) for f, _ in info._fields_}
                for name, info in infos.items()
            },
            "softmax": {case: as_json(contenders) for case, contenders in softmax.items()},
            "hinge": as_json(hinge),
        }
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
