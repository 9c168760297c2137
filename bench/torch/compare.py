"""libsubmod against PyTorch, segmentation-models-pytorch and kornia: speed and values.

    scripts/bench.sh                    makes everything, then runs this; options are handed on
    .venv-bench/bin/python bench/torch/compare.py [--quick] [--json FILE] [--library FILE]

All implementations work on the same seeded data in the same run with the same number of threads.
They take turns, so that what else the machine does hits all of them. PyTorch and libsubmod share
one OpenMP runtime and its threads: PyTorch's, loaded first, has the name that libsubmod asks for.
malloc is told to keep memory (the last table shows what that changes): the case kindest to PyTorch.
A call is forward and backward, from float32 logits and int64 labels to the gradient of the logits.
"""

import argparse
import ctypes
import json
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

sys.path.append(str(Path(__file__).resolve().parents[1]))
import c_calls

THREADS = 2
SEED = 1
DELTA = 2.0**-13
QUIET = 0.05  # share of the machine that other processes may take


@dataclass
class Sizes:
    shape: tuple = (4, 21, 512, 512)
    hinge_side: int = 2048
    growth: tuple = (18, 20, 22, 24)  # log2 of the pixels
    rounds: int = 5
    fast_per_round: int = 3


QUICK = Sizes(shape=(2, 5, 32, 32), hinge_side=64, growth=(10, 12), rounds=2, fast_per_round=2)


# ---- implementations and their measurement ------------------------------------------------------


@dataclass
class Contender:
    name: str
    call: Callable  # () -> (loss, gradient)
    fast: bool = False  # measured several times per round
    semantics: str = "batch, present"
    times: list = field(default_factory=list)
    loss: float = 0.0
    loss_error: float = 0.0
    gradient_error: float = 0.0

    def median(self):
        return 1e3 * statistics.median(self.times)

    def best(self):
        return 1e3 * min(self.times)

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


def measure(contenders, sizes, title):
    """In turns; the first call of each is not counted."""
    for contender in contenders:
        report.progress(f"{title}: {contender.name}, first call")
        contender.call()
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


def compare_values(contenders, yardsticks, title):
    """Losses, and the largest difference of the gradients relative to the largest gradient, from
    float64 results: yardsticks[semantics] = (loss, gradient)."""
    for contender in contenders:
        report.progress(f"{title}: values of {contender.name}")
        contender.loss, gradient = contender.call()
        if contender.semantics in yardsticks:
            loss, exact = yardsticks[contender.semantics]
            contender.loss_error = abs(contender.loss - loss)
            difference = gradient.double().sub_(exact).abs_().max()
            contender.gradient_error = (difference / exact.abs().max()).item()
    report.progress("")


# ---- data ---------------------------------------------------------------------------------------


def random_case(shape):
    generator = torch.Generator().manual_seed(SEED)
    batch, classes, *image = shape
    logits = torch.randn(shape, generator=generator)
    return logits, torch.randint(classes, (batch, *image), generator=generator)


def trained_case(shape):
    """Labels in 16 x 16 blocks per image; logits that mostly know them."""
    generator = torch.Generator().manual_seed(SEED + 1)
    batch, classes, height, width = shape
    blocks = torch.randint(classes, (batch, 16, 16), generator=generator)
    labels = blocks.repeat_interleave(height // 16, 1).repeat_interleave(width // 16, 2)
    logits = 2 * torch.randn(shape, generator=generator)
    logits.scatter_add_(1, labels.unsqueeze(1), torch.full_like(logits[:, :1], 8))
    return logits, labels


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
        Contender("PyTorch reference", torch_way(reference.lovasz_softmax)),
        Contender("PyTorch, all classes in one sort", torch_way(reference.lovasz_softmax_batched)),
        Contender("segmentation-models-pytorch", torch_way(smp_loss)),
        Contender("kornia", torch_way(kornia.losses.lovasz_softmax_loss), False, other_way),
        Contender("PyTorch cross_entropy", torch_way(F.cross_entropy), True, "another loss"),
        Contender("libsubmod exact", ours("exact"), True),
        Contender("libsubmod histogram", ours("histogram", **histogram), True),
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
        Contender("PyTorch reference", torch_way(reference.lovasz_hinge)),
        Contender("segmentation-models-pytorch", torch_way(smp_loss)),
        Contender("kornia", torch_way(kornia.losses.lovasz_hinge_loss)),
        Contender("libsubmod exact", ours(), True),
        Contender("libsubmod histogram", histogram, True),
    ]


def hinge_yardstick(scores, labels):
    side = round(scores.numel() ** 0.5)
    image = scores.view(1, 1, side, side).double()
    return {"batch, present": autograd(lambda x: reference.lovasz_hinge(x, labels), image)()}


def growth(lib, sizes):
    """Exact hinge on ever more pixels, in turns. [(log2 of the pixels, Contender, Contender)]"""
    rows = []
    for log2 in sizes.growth:
        scores, labels = hinge_case(2**log2)
        ours = hinge_call(lib, scores.view(1, 1, -1), labels.view(1, -1))
        theirs = autograd(lambda leaf, y=labels: reference.lovasz_hinge(leaf, y), scores)
        rows.append((log2, Contender("exact", ours, True), Contender("reference", theirs)))
    ours = [row[1] for row in rows]
    measure(ours, sizes, "growth of the exact engine")
    few = Sizes(rounds=2)
    measure([row[2] for row in rows], few, "growth of the PyTorch reference")
    return rows


def hinge_call(lib, scores, labels):
    work, gradient, settings = lib.work(), torch.empty_like(scores), lib.settings()
    return lambda: (lib.lovasz_hinge(scores, labels, gradient, settings, work)[0], gradient)


def keep_memory():
    """Makes glibc's malloc keep what is freed: PyTorch's new tensors are then pages already seen,
    not new ones that the kernel has to clear. False where malloc has no such switch."""
    m_trim_threshold, m_mmap_max = -1, -4  # malloc.h
    try:
        libc = ctypes.CDLL(None)
        return bool(libc.mallopt(m_mmap_max, 0) and libc.mallopt(m_trim_threshold, -1))
    except (AttributeError, OSError):
        return False


def memory_habits(lib, logits, labels, sizes):
    """PyTorch makes a new gradient each time; we write to one that is there. What that is worth:
    the histogram engine with a new array per call, and both before and after keep_memory(), which
    stays in force."""
    work, kept = lib.work(), torch.empty_like(logits)
    settings = lib.settings(engine="histogram", delta=DELTA)

    def ours(target):
        def call():
            gradient = target()
            return lib.lovasz_softmax(logits, labels, gradient, settings, work)[0], gradient

        return call

    calls = {
        "PyTorch cross_entropy": autograd(lambda leaf: F.cross_entropy(leaf, labels), logits),
        "libsubmod histogram, new gradient": ours(lambda: torch.empty_like(logits)),
        "libsubmod histogram, own gradient": ours(lambda: kept),
    }

    def phase(how):
        contenders = [Contender(f"{name}, {how}", call, True) for name, call in calls.items()]
        measure(contenders, sizes, "memory habits")
        return contenders

    default = phase("malloc as it comes")
    return default + phase("malloc keeps memory") if keep_memory() else default


# ---- what is printed ----------------------------------------------------------------------------


def find(contenders, name):
    return next(c for c in contenders if c.name == name)


def verdict(value, bar, moonshot, larger_is_better):
    def reached(goal):
        return value >= goal if larger_is_better else value <= goal

    if moonshot is not None and reached(moonshot):
        return "moonshot"
    return "yes" if reached(bar) else "NO"


def speed_row(work, theirs, ours, bar, moonshot):
    ratio = theirs.median() / ours.median()
    return {
        "work": work,
        "theirs ms": f"{theirs.median():.1f}",
        "ours ms": f"{ours.median():.1f}",
        "ratio": f"{ratio:.2f}x",
        "bar": f">= {bar}x",
        "moonshot": f">= {moonshot}x",
        "met?": verdict(ratio, bar, moonshot, True),
    }


def share_row(work, theirs, ours, bar, moonshot):
    share = ours.median() / theirs.median()
    return {
        "work": work,
        "theirs ms": f"{theirs.median():.1f}",
        "ours ms": f"{ours.median():.1f}",
        "ratio": f"{share:.2f}x",
        "bar": f"<= {bar}x",
        "moonshot": f"<= {moonshot}x",
        "met?": verdict(share, bar, moonshot, False),
    }


def issue_table(softmax, hinge, growth_rows, infos):
    rows = []
    for case, contenders in softmax.items():
        theirs = find(contenders, "PyTorch reference")
        exact, histogram = (find(contenders, f"libsubmod {e}") for e in ("exact", "histogram"))
        entropy = find(contenders, "PyTorch cross_entropy")
        rows += [
            speed_row(f"Lovász-Softmax exact, {case}", theirs, exact, 15, 30),
            speed_row(f"Lovász-Softmax histogram, {case}", theirs, histogram, 70, 120),
            share_row(f"histogram vs cross-entropy, {case}", entropy, histogram, 0.8, 0.4),
        ]
    theirs, exact = find(hinge, "PyTorch reference"), find(hinge, "libsubmod exact")
    rows.append(speed_row("Lovász hinge exact", theirs, exact, 8, 20))
    mib = infos["histogram"].workspace / THREADS / 2**20
    rows.append(
        {
            "work": "extra memory, histogram, per thread",
            "theirs ms": "",
            "ours ms": f"{mib:.2f} MiB",
            "ratio": "",
            "bar": "< 8 MiB",
            "moonshot": "",
            "met?": "yes" if mib < 8 else "NO",
        }
    )
    per_pixel = [row[1].median() / 2 ** row[0] for row in growth_rows]
    grown = per_pixel[-1] / per_pixel[0]
    rows.append(
        {
            "work": f"time per pixel, exact, 2^{growth_rows[0][0]} to 2^{growth_rows[-1][0]}",
            "theirs ms": "",
            "ours ms": "",
            "ratio": f"{grown:.2f}x",
            "bar": "<= 2x",
            "moonshot": "",
            "met?": verdict(grown, 2, None, False),
        }
    )
    return rows


def print_issue_table(rows):
    report.heading("The table of issue 4 (medians)")
    columns = list(rows[0])
    report.table(columns, [[row[c] for c in columns] for row in rows])


def print_neighbours(others):
    """Threads that wait for each other suffer most from company, and short calls most of all."""
    if others is None:
        return
    print(f"other processes took {others:.0%} of the machine while this was measured")
    if others > QUIET:
        print("NOT QUIET: neither the times nor the verdicts above can be relied on; run it again")


def print_times(title, contenders, ours_name="libsubmod exact"):
    ours = find(contenders, ours_name)
    report.heading(f"{title}: times, fwd+bwd")
    rows = [
        [
            c.name,
            str(len(c.times)),
            f"{c.median():.1f}",
            f"{c.best():.1f}",
            f"{c.median() / ours.median():.2f}x",
            f"{c.best() / ours.best():.2f}x",
        ]
        for c in contenders
    ]
    against = "/ ours exact"
    report.table(["who", "runs", "median ms", "best ms", against, "by best"], rows)


def print_values(title, contenders):
    report.heading(f"{title}: values, against the reference in float64")
    rows = []
    for c in contenders:
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


def print_growth(rows):
    report.heading("Growth: Lovász hinge, one class, exact, ns per pixel")
    base = rows[0][1].median() / 2 ** rows[0][0]
    lines = []
    for log2, ours, theirs in rows:
        ns, reference_ns = (1e6 * c.median() / 2**log2 for c in (ours, theirs))
        lines.append(
            [
                f"2^{log2}",
                f"{ns:.2f}",
                f"{1e6 * ours.best() / 2**log2:.2f}",
                f"{ns / (1e6 * base):.2f}x",
                f"{reference_ns:.2f}",
            ]
        )
    report.table(["pixels", "median", "best", "vs smallest", "PyTorch reference"], lines)


def print_habits(contenders):
    report.heading("What new memory costs (random case)")
    rows = [[c.name, f"{c.median():.1f}", f"{c.best():.1f}"] for c in contenders]
    report.table(["who", "median ms", "best ms"], rows)


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

    neighbours = report.Neighbours()
    habits = memory_habits(lib, *random_case(sizes.shape), sizes)
    softmax, infos = {}, {}
    for case, make in {"random": random_case, "trained-like": trained_case}.items():
        logits, labels = make(sizes.shape)
        contenders = softmax_contenders(lib, logits, labels, infos)
        measure(contenders, sizes, case)
        compare_values(contenders, softmax_yardsticks(logits, labels), case)
        softmax[case] = contenders
        for contender in contenders:
            contender.call = None  # lets go of its memory

    scores, labels = hinge_case(sizes.hinge_side**2)
    hinge = hinge_contenders(lib, scores, labels)
    measure(hinge, sizes, "hinge")
    compare_values(hinge, hinge_yardstick(scores, labels), "hinge")
    growth_rows = growth(lib, sizes)
    others = neighbours.share()

    rows = issue_table(softmax, hinge, growth_rows, infos)
    print_issue_table(rows)
    print_neighbours(others)
    histogram = infos["histogram"]
    print(
        f"histogram: {histogram.bins} bins, delta {histogram.delta:.2e} guaranteed, "
        f"{histogram.workspace / 2**20:.2f} MiB in all"
    )
    for case, contenders in softmax.items():
        print_times(f"Lovász-Softmax, {case}", contenders)
        print_values(f"Lovász-Softmax, {case}", contenders)
    print_times("Lovász hinge", hinge)
    print_values("Lovász hinge", hinge)
    print_growth(growth_rows)
    print_habits(habits)

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
                name: {field: getattr(info, field) for field, _ in info._fields_}
                for name, info in infos.items()
            },
            "softmax": {case: as_json(contenders) for case, contenders in softmax.items()},
            "hinge": as_json(hinge),
            "growth": [
                {"log2_pixels": log2, "ours": ours.times, "reference": theirs.times}
                for log2, ours, theirs in growth_rows
            ],
            "memory_habits": as_json(habits),
        }
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(result, file, indent=1)


if __name__ == "__main__":
    main()
