"""The path of a prox: what happens to the margins of a small image as lambda falls.

    python examples/prox_path.py [--csv FILE]

u(lambda) = argmin over u of f(max(u, 0)) + lambda/2 |u - x|^2 for the Jaccard loss f of five
margins: the prox of the Lovász hinge. From the left to the right 1 / lambda grows, and the path is
straight between its corners: margins sink, meet and go on together, part again, and end at 0. It is
computed by the exact method, certified by its gaps and held against Fujishige-Wolfe. Algorithm 2 of
the paper's supplement (the greedy path) follows it too, but never parts what has met.
"""

import argparse
import csv
import warnings

import numpy as np

import submod

MASK = np.array([False, True, False, True, False])
MARGINS = np.array([0.95, 0.8, 0.6, 0.45, 0.3])
STEPS = 0.05 * np.arange(1, 73)  # 1 / lambda


def draw(path, height=16):
    """The entries of u against 1 / lambda, as letters: capitals are foreground."""
    high = MARGINS.max()
    rows = [[" "] * len(STEPS) for _ in range(height)]
    for i, name in enumerate("ABCDE"):
        for k, u in enumerate(path[:, i]):
            rows[round((high - u) / high * (height - 1))][k] = name if MASK[i] else name.lower()
    for number, row in enumerate(rows):
        height_here = {0: f"{high:6.2f}", height - 1: f"{0:6.2f}"}.get(number, " " * 6)
        print(f"{height_here} |" + "".join(row))
    print("        " + f"{STEPS[0]:g}".ljust(len(STEPS) - 4) + f"{STEPS[-1]:g}  1 / lambda")


def ties(path, above, below):
    """Where two pixels are together above 0."""
    return (abs(path[:, above] - path[:, below]) < 1e-9) & (path[:, below] > 1e-9)


def by_algorithm_2(f):
    """It tells by its status that it is not optimal, which is no surprise here."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", submod.AccuracyWarning)
        return [f.prox(MARGINS, 1 / step, "algorithm_2", hinge=True) for step in STEPS]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument(
        "--csv", metavar="FILE", help="lambda, gap, all entries, by Algorithm 2 too"
    )
    options = parser.parse_args()

    f = submod.Function.jaccard(MASK)
    results = [f.prox(MARGINS, 1 / step, hinge=True) for step in STEPS]
    path = np.array([result.u for result in results])
    print(f"{len(MASK)} pixels, {MASK.sum()} foreground (capitals); method {results[0].method}")
    draw(path)

    print(f"largest gap {max(result.gap for result in results):.1e}")
    wolfe = [f.prox(MARGINS, 1 / step, "min_norm", hinge=True).u for step in STEPS]
    print(f"largest difference to Fujishige-Wolfe {abs(np.array(wolfe) - path).max():.1e}")
    greedy = by_algorithm_2(f)
    excess = max(g.primal - result.primal for g, result in zip(greedy, results))
    print(f"largest excess of Algorithm 2's objective {excess:.1e}")
    greedy = np.array([g.u for g in greedy])
    for name, u in (("the prox", path), ("Algorithm 2", greedy)):
        together = STEPS[ties(u, 3, 4)]
        print(f"D and e are together from {together[0]:.2f} to {together[-1]:.2f} by {name}")

    if options.csv:
        columns = [f"{kind}{i}" for kind in "ua" for i in range(len(MASK))]
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            table = csv.writer(file)
            table.writerow(["lambda", "gap", *columns])
            for step, result, other in zip(STEPS, results, greedy):
                table.writerow([1 / step, result.gap, *result.u, *other])


if __name__ == "__main__":
    main()
