"""The path of a prox: what happens to the scores of a small image as lambda falls.

    python examples/prox_path.py [--csv FILE]

u(lambda) = argmin over u of f(u) + lambda/2 |u - x|^2 for the Jaccard loss f of one image's errors.
From the right to the left the errors sink, meet and go on together. The path is computed at many
lambdas by the exact method, certified by its gaps, held against Fujishige-Wolfe, and against the
greedy path of the paper's supplement, which is off where a tie should dissolve.
"""

import argparse
import csv

import numpy as np

import submod

PIXELS = 12
LAMBDAS = np.geomspace(0.3, 20, 60)


def draw(x, path, height=16):
    """The entries of u against log(lambda), as letters: capitals are foreground."""
    low, high = path.min(), x.max()
    rows = [[" "] * len(LAMBDAS) for _ in range(height)]
    names = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    for i in range(PIXELS):
        for k, u in enumerate(path[:, i]):
            row = round((high - u) / (high - low) * (height - 1))
            rows[row][k] = names[i] if MASK[i] else names[i].lower()
    print(f"{high:6.2f} |" + "".join(rows[0]))
    for row in rows[1:-1]:
        print("       |" + "".join(row))
    print(f"{low:6.2f} |" + "".join(rows[-1]))
    print("        " + f"{LAMBDAS[0]:g}".ljust(len(LAMBDAS) - 4) + f"{LAMBDAS[-1]:g}  lambda")


RNG = np.random.default_rng(4)
MASK = RNG.random(PIXELS) < 0.4


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--csv", metavar="FILE", help="lambda, gap and all entries")
    options = parser.parse_args()

    x = RNG.uniform(-0.2, 1, size=PIXELS)
    f = submod.Function.jaccard(MASK)
    results = [f.prox(x, lam) for lam in LAMBDAS]
    path = np.array([result.u for result in results])
    print(f"{PIXELS} pixels, {MASK.sum()} in the foreground (capitals); method {results[0].method}")
    draw(x, path)

    print(f"largest gap {max(result.gap for result in results):.1e}")
    wolfe = np.array([f.prox(x, lam, "min_norm").u for lam in LAMBDAS])
    print(f"largest difference to Fujishige-Wolfe {abs(wolfe - path).max():.1e}")
    pieces = [len(np.unique(u.round(9))) for u in path]
    print(f"distinct values along the path: {pieces[-1]} at the right, {pieces[0]} at the left")
    print(f"largest excess of the greedy path's objective: {greedy_excess(f, x, results):.1e}")

    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["lambda", "gap", *(f"u{i}" for i in range(PIXELS))])
            for lam, result in zip(LAMBDAS, results):
                table.writerow([lam, result.gap, *result.u])


def greedy_excess(f, x, results):
    """The greedy path tells by its status that it is not optimal, which is no surprise here."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", submod.AccuracyWarning)
        greedy = [f.prox(x, lam, "greedy_path").primal for lam in LAMBDAS]
    return max(g - result.primal for g, result in zip(greedy, results))


if __name__ == "__main__":
    main()
