"""Proximal operators side by side with public codes that solve the same problem.

    scripts/bench.sh --prox             makes everything and runs this
    .venv-bench-prox/bin/python bench/prox_peers/compare.py [--quick] [--json FILE] [--library FILE]

1. F(A) = sqrt|A|: the prox is an isotonic regression along the order of x. scikit-learn has the
   regression; NumPy sorts for it. libsubmod's time includes its own sort and its certificate (the
   gap of what it returns, another sort), the peer's has no counterpart of the latter.
2. Total variation on a chain, min 1/2 |u - x|^2 + sum of w_i |u_i - u_i+1|: proxTV's taut string
   against that of libsubmod with its certificate, for one weight, random weights and values that
   tie; and against its decomposition, which is made for any graph. One thread each.
3. Cuts of square grids (grids.py): the minimum of cut - x, without and with a base that proves it,
   against PyMaxflow, both with the construction of the network; and the prox, which is total
   variation in two dimensions, against proxTV.

Each line: seconds of both (the best of some runs), the largest difference of the two results, and
by how much the objective of ours is above theirs (negative: ours is lower), relative.
"""

import argparse
import importlib.metadata
import json
import statistics
import sys
import time
from pathlib import Path

try:
    import numpy as np
    import prox_tv
    import sklearn
    from sklearn.isotonic import isotonic_regression
except ImportError as error:
    sys.exit(f"compare: {error}. scripts/bench.sh --prox makes an environment that has it.")

sys.path.append(str(Path(__file__).resolve().parents[1]))
import c_calls
import grids

SEED = 1
CASES = {
    "sqrt": [10**4, 10**5, 10**6],
    "tv": [10**3, 10**4, 10**5, 10**6],
    "grid": [128**2, 512**2],
}
QUICK = {"sqrt": [10**3], "tv": [10**3], "grid": [32**2]}


def timed(call, least=0.3, most=7):
    """(result, best seconds, median seconds) over a few runs."""
    seconds, result = [], None
    while not seconds or (len(seconds) < most and sum(seconds) < least):
        start = time.perf_counter()
        result = call()
        seconds.append(time.perf_counter() - start)
    return result, min(seconds), statistics.median(seconds)


def signal(n, rng):
    """A noisy staircase."""
    steps = np.repeat(rng.normal(size=n // 100 + 1), 100)[:n]
    return np.ascontiguousarray(steps + 0.3 * rng.normal(size=n))


def sqrt_by_scikit_learn(x, lam):
    order = np.argsort(-x, kind="stable")
    k = np.arange(x.size)
    gains = 1 / (np.sqrt(k + 1) + np.sqrt(k))
    u = np.empty_like(x)
    u[order] = isotonic_regression(x[order] - gains / lam, increasing=False)
    return u


def sqrt_objective(u, x, lam):
    k = np.arange(u.size)
    gains = 1 / (np.sqrt(k + 1) + np.sqrt(k))
    return float(np.sort(u)[::-1] @ gains + lam / 2 * np.sum((u - x) ** 2))


def tv_objective(u, x, weight):
    return float(np.sum(weight * np.abs(np.diff(u))) + np.sum((u - x) ** 2) / 2)


def line(name, n, ours, theirs, objective):
    (u, info), best, median = ours
    v, peer_best, peer_median = theirs
    mine, other = objective(u), objective(v)
    return {
        "problem": name,
        "n": n,
        "method": info.method,
        "seconds": best,
        "seconds_median": median,
        "peer_seconds": peer_best,
        "peer_seconds_median": peer_median,
        "difference": float(np.max(np.abs(u - v))),
        "objective_above": (mine - other) / abs(other),
        "gap": info.gap / abs(info.primal),
    }


def sqrt_line(lib, work, n, rng):
    x, lam = signal(n, rng), 10 / np.sqrt(n)
    fn = lib.submod.Function.sqrt(n)
    ours = timed(lambda: lib.prox(fn, x, lam, "auto", work))
    theirs = timed(lambda: sqrt_by_scikit_learn(x, lam))
    return line("sqrt / scikit-learn", n, ours, theirs, lambda u: sqrt_objective(u, x, lam))


def tv_line(lib, work, n, rng, kind="", method="auto", name=None):
    """kind: "weighted", "tied", both or neither."""
    x = signal(n, rng)
    x = np.round(4 * x) / 4 if "tied" in kind else x
    weight = rng.uniform(0.2, 1.8, n - 1) if "weighted" in kind else np.ones(n - 1)
    vertices = np.arange(n, dtype=np.int32)
    edges = np.stack([vertices[:-1], vertices[1:]], 1)
    fn = lib.submod.Function.cut(n, edges, weight)
    ours = timed(lambda: lib.prox(fn, x, 1.0, method, work))
    peer = prox_tv.tv1w_1d if "weighted" in kind else prox_tv.tv1_1d
    theirs = timed(lambda: peer(x, weight if "weighted" in kind else 1.0))
    label = name or f"1-D TV / proxTV {kind}".strip()
    return line(label, n, ours, theirs, lambda u: tv_objective(u, x, weight))


def weighted_line(lib, work, n, rng):
    return tv_line(lib, work, n, rng, "weighted")


def tied_line(lib, work, n, rng):
    return tv_line(lib, work, n, rng, "tied")


def weighted_tied_line(lib, work, n, rng):
    return tv_line(lib, work, n, rng, "weighted tied")


def decomposed_line(lib, work, n, rng):
    return tv_line(lib, work, n, rng, method="decomposition", name="  by decomposition")


CHAINS = (tv_line, weighted_line, tied_line, weighted_tied_line, decomposed_line)
LINES = [("sqrt", sqrt_line), *(("tv", make) for make in CHAINS)]


def grid_lines(lib, work, n, rng):
    """The minimum, the minimum with a base, and the prox."""
    grid = grids.Grid(round(n**0.5), rng)
    fn, shifted = grid.function(lib), grid.function(lib) + -grid.x
    theirs = timed(grid.minimize_by_pymaxflow)
    for name, base in (("grid minimum / PyMaxflow", False), ("  with base", True)):
        ours = timed(lambda base=base: grid.minimize(lib, shifted, base, work))
        yield line(name, n, ours, theirs, grid.energy)
    ours = timed(lambda: lib.prox(fn, grid.x, 1.0, "decomposition", work))
    theirs = timed(grid.prox_by_proxtv)
    yield line("grid prox / proxTV", n, ours, theirs, grid.objective)


def one_line(make):
    return lambda *arguments: [make(*arguments)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="tiny sizes")
    parser.add_argument("--json", help="the measurements also to this file")
    parser.add_argument("--library", help="libsubmod.so; default: build/libsubmod.so")
    options = parser.parse_args()
    lib = c_calls.Library(options.library)
    work = lib.work()
    rng = np.random.default_rng(SEED)
    cases = QUICK if options.quick else CASES
    version = importlib.metadata.version("prox_tv")
    print(f"libsubmod {lib.submod.version()}, scikit-learn {sklearn.__version__}, proxTV {version}")
    print(f"{'problem':30}{'n':>9}{'ours s':>11}{'peer s':>11}{'ratio':>8}", end="")
    print(f"{'max |diff|':>12}{'objective':>11}{'gap':>10}")
    lines = []
    groups = [(kind, one_line(make)) for kind, make in LINES] + [("grid", grid_lines)]
    for kind, make in groups:
        for r in (r for n in cases[kind] for r in make(lib, work, n, rng)):
            lines.append(r)
            ratio = r["seconds"] / r["peer_seconds"]
            print(f"{r['problem']:30}{r['n']:>9}{r['seconds']:>11.5f}", end="")
            print(f"{r['peer_seconds']:>11.5f}", end="")
            print(f"{ratio:>8.2f}{r['difference']:>12.1e}{r['objective_above']:>11.1e}", end="")
            print(f"{r['gap']:>10.1e}")
    if options.json:
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(lines, file, indent=1)
    wrong = [r for r in lines if not r["objective_above"] <= 1e-9]
    if wrong:
        sys.exit(f"compare: the results differ: {wrong}")


if __name__ == "__main__":
    main()
