"""What float32 differencing does to the weights of the Jaccard extension, and what we do.

    scripts/bench.sh                    makes everything and runs this too
    .venv-bench/bin/python bench/torch/weights.py [--quick] [--json FILE] [--library FILE]

Algorithm 1 takes differences of 1 - I/U, numbers near 1 whose float32 neighbours are 6e-8 apart,
while a weight is about 1/pixels. Errors are in random order here (a random permutation, so that
there are no ties), some share of the pixels is foreground. The truth: with P foreground pixels,
of which a, and b background pixels, are ranked before a pixel, its weight is
    1 / (P + b)   in the foreground,    (P - a) / ((P + b) (P + b + 1))   in the background,
evaluated in extended precision from integers; on a sample of positions these formulas themselves
are held against the differences in exact rational arithmetic. Weights add up to 1.
"""

import argparse
import json
import sys
from fractions import Fraction
from pathlib import Path

try:
    import numpy as np
    import torch
except ImportError as error:
    sys.exit(f"weights: {error}. scripts/bench.sh makes a virtual environment that has it.")

import reference
import report

sys.path.append(str(Path(__file__).resolve().parents[1]))
import c_calls

SEED = 1
THREADS = 2
SAMPLE = 2000

# pixels, share of foreground, what docs/mathematics.md says: (which number, its value)
CASES = [
    (10**6, 0.02, ("zero", 0.40)),
    (2**24, 0.50, ("L1 error", 0.34)),
]
QUICK = [(10**4, 0.02, None), (2**14, 0.50, None)]


class Ranking:
    """Foreground indicators in the order of decreasing errors."""

    def __init__(self, pixels, share):
        rng = np.random.default_rng(SEED)
        self.pixels = pixels
        foreground = np.zeros(pixels, dtype=np.uint8)
        foreground[rng.permutation(pixels)[: round(share * pixels)]] = 1
        self.foreground = foreground
        self.positives = int(foreground.sum())
        self.pixel_at = rng.permutation(pixels).astype(np.int32)  # the pixel ranked i-th
        before = np.cumsum(foreground, dtype=np.int64) - foreground
        self.a = before
        self.b = np.arange(pixels, dtype=np.int64) - before

    def truth(self):
        """Extended precision: integers are exact in it up to 2^63, products here stay below."""
        p, a, b = (np.asarray(v, dtype=np.longdouble) for v in (self.positives, self.a, self.b))
        union = p + b
        return np.where(self.foreground, 1 / union, (p - a) / (union * (union + 1)))

    def rational(self, i):
        """Weight i as the difference F({..i}) - F({..i-1}) of Algorithm 1, exactly."""
        p, a, b, fg = self.positives, int(self.a[i]), int(self.b[i]), int(self.foreground[i])

        def one_minus_jaccard(wrong_fg, wrong_bg):
            return 1 - Fraction(p - wrong_fg, p + wrong_bg)

        return one_minus_jaccard(a + fg, b + 1 - fg) - one_minus_jaccard(a, b)


def chain_weights(submod, ranking):
    """submod_fn_chain: the greedy gains in double."""
    by_pixel = np.empty_like(ranking.foreground)
    by_pixel[ranking.pixel_at] = ranking.foreground
    return submod.Function.jaccard(by_pixel).chain(ranking.pixel_at)


def loss_weights(submod, ranking):
    """The gradient of submod_lovasz_sigmoid from probabilities, float32: errors k/2^24 are exact,
    different from each other, and so is 1 - k/2^24."""
    n = ranking.pixels
    errors = (np.arange(n, 0, -1, dtype=np.float64) / 2**24).astype(np.float32)
    probability = np.where(ranking.foreground, np.float32(1) - errors, errors)
    scores = np.empty((1, 1, n), dtype=np.float32)
    labels = np.empty((1, 1, n), dtype=np.uint8)
    scores[0, 0, ranking.pixel_at] = probability
    labels[0, 0, ranking.pixel_at] = ranking.foreground
    _, gradient = submod.lovasz_sigmoid(scores, labels, from_logits=False, return_grad=True)
    return np.abs(gradient[0, 0, ranking.pixel_at])


def algorithm_1(ranking, dtype):
    return reference.jaccard_weights(torch.from_numpy(ranking.foreground).to(dtype)).numpy()


def judge(name, weights, truth, sample, exact):
    """All the numbers of one row."""
    wide = weights.astype(np.longdouble)
    nonzero = truth > 0
    relative = np.abs(wide[nonzero] / truth[nonzero] - 1)
    worst = max(
        (abs(Fraction(float(weights[i])) / e - 1) for i, e in zip(sample, exact) if e),
        default=Fraction(0),
    )
    return {
        "who": name,
        "zero": float(np.mean((weights == 0) & nonzero)),
        "negative": float(np.mean(weights < 0)),
        "L1 error": float(np.abs(wide - truth).sum() / truth.sum()),
        "worst relative": float(relative.max()),
        "worst vs rational": float(worst),
        "sum - 1": float(wide.sum() - 1),
    }


def examine(submod, pixels, share):
    report.progress(f"{pixels} pixels: exact weights")
    ranking = Ranking(pixels, share)
    truth = ranking.truth()
    rng = np.random.default_rng(SEED + 1)
    sample = np.unique(np.concatenate([[0, 1, pixels - 1], rng.integers(pixels, size=SAMPLE)]))
    exact = [ranking.rational(int(i)) for i in sample]
    formula = max(
        (abs(Fraction(*truth[i].as_integer_ratio()) / e - 1) for i, e in zip(sample, exact) if e),
        default=Fraction(0),
    )
    rows = []
    for name, make in {
        "Algorithm 1, float32": lambda: algorithm_1(ranking, torch.float32),
        "Algorithm 1, float64": lambda: algorithm_1(ranking, torch.float64),
        "libsubmod loss (float32)": lambda: loss_weights(submod, ranking),
        "libsubmod chain (float64)": lambda: chain_weights(submod, ranking),
    }.items():
        report.progress(f"{pixels} pixels: {name}")
        rows.append(judge(name, make(), truth, sample, exact))
    report.progress("")
    return rows, float(formula), len(sample)


def print_case(pixels, share, claim, rows, formula, sampled):
    report.heading(f"{pixels} pixels, {share:.0%} foreground")
    columns = list(rows[0])
    lines = []
    for row in rows:
        shares = [f"{row[c]:.2%}" for c in ("zero", "negative")]
        errors = [f"{row[c]:.1e}" for c in columns[3:]]
        lines.append([row["who"], *shares, *errors])
    report.table(columns, lines)
    print(f"extended precision against rational numbers at {sampled} positions: {formula:.1e}")
    if claim:
        what, said = claim
        got = rows[0][what]
        holds = "holds within a point" if abs(got - said) <= 0.01 else "DOES NOT HOLD"
        where = "docs/mathematics.md, section 3,"
        print(f"{where} says {said:.0%} for float32 ({what}); here {got:.1%}: {holds}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes, to see that it runs")
    parser.add_argument("--json", metavar="FILE", help="all numbers, for programs")
    parser.add_argument("--library", metavar="FILE", help="default: build/libsubmod.so")
    options = parser.parse_args()
    submod = c_calls.import_submod(options.library)
    submod.set_num_threads(THREADS)
    torch.set_num_threads(THREADS)

    print("Weights of the Jaccard extension: differences of 1 - I/U against closed forms")
    print("reproduce: scripts/bench.sh" + (" --quick" if options.quick else ""))
    print(f"CPU: {report.cpu_model()}; libsubmod {submod.version()}, torch {torch.__version__}")
    print("zero, negative: share of the pixels whose weight is so, but is positive in truth;")
    print("L1 error: sum |weight - truth| (the weights sum to 1); worst: largest relative error")
    results = []
    for pixels, share, claim in QUICK if options.quick else CASES:
        rows, formula, sampled = examine(submod, pixels, share)
        print_case(pixels, share, claim, rows, formula, sampled)
        results.append({"pixels": pixels, "foreground": share, "rows": rows})
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(results, file, indent=1)


if __name__ == "__main__":
    main()
