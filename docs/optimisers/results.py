"""Results of the bench of optimisers: from what it wrote to .csv files, and from these to numbers
and verdicts."""

import csv
import json
import math
import statistics
from pathlib import Path

DATA = Path(__file__).resolve().parent
# What is driven by subgradients, and the same rule driven by the prox direction.
PAIRS = {
    ("gd", "prox"): "gradient descent",
    ("momentum", "prox-momentum"): "momentum",
    ("adam", "prox-adam"): "Adam",
}
# Families with the prox of J itself, or of its part; in the others it is that of a loss of scores.
WHOLE = ("nu", "max_affine", "worst_case", "total_variation")
CERTIFY = {
    "bundle": "proximal bundle",
    "bcfw": "BCFW",
    "primal-dual": "primal-dual",
}
TARGETS = ("0.1", "0.01", "0.0001")
SIZES = (0.001, 0.01, 0.1, 1.0, 10.0)  # when quick
SOLVED = 1e-10  # where the bench ends a run
APART = 2.0  # accuracies of one run that differ by less are called alike
# The 97.5 % quantile of Student's t, for 1, 2, .. degrees of freedom.
STUDENT = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262)
# Problems and optimisers whose curves are drawn.
CURVES = (
    "max_affine (condition = 100, dimension = 20)",
    "total_variation (columns = 6, condition = 100, rows = 6)",
    "logistic (batches = 1, features = 8, images = 4, side = 6)",
    "lovasz_hinge (batches = 1, features = 8, images = 4, side = 6)",
    "lovasz_hinge (batches = 4, features = 8, images = 4, side = 6)",
    "lovasz_softmax (batches = 4, features = 8, images = 4, side = 6)",
)
DRAWN = ("gd", "prox", "momentum", "prox-momentum", "adam", "prox-adam", "bundle")


# ---- from the bench's results to .csv ----


def places_of(found):
    """A row for each optimiser on each problem. Cells of many numbers have one for each seed."""
    runs = {}
    for run in found["runs"]:
        key = run["problem"], run["optimiser"], run["size"]
        runs.setdefault(key, []).append(run)
    rows = []
    for place in found["places"]:
        key, best = (place["problem"], place["optimiser"]), place["best size"]
        of = {size: runs[(*key, size)] for *there, size in runs if tuple(there) == key}
        row = {"problem": key[0], "optimiser": key[1], "size": f"{best:g}"}
        width = place["basin in decades"]
        row["basin"] = "" if width is None else f"{width:.5g}"
        row["seeds"] = " ".join(str(run["seed"]) for run in of[best])
        for size in sorted(of):
            row[f"accuracy {size:.3g}"] = joined(of[size], "accuracy")
        for target in TARGETS:
            row[f"calls to {target}"] = joined(of[best], f"calls to {target}")
        row["crossings"] = joined(of[best], "crossings").strip(" -")
        rows.append(row)
    return rows


def joined(runs, what):
    return " ".join(told(run[what]) or "-" for run in runs)


def told(value):
    return "" if value is None else f"{value:.3g}"


def problems_of(found):
    keys = ("problem", "seed", "variables", "minibatches")
    rows = []
    for problem in found["problems"]:
        row = {key: problem[key] for key in keys}
        row["f*"] = f"{problem['f*']:.6g}"
        row["J at the start"] = f"{problem['J at the start']:.6g}"
        fall = problem["J at the start"] - problem["f*"]
        row["gap"] = f"{max(problem['certified gap'], 0) / fall:.2g}"
        row["proved"] = "yes" if problem["proved"] else "no"
        rows.append(row)
    return rows


def optimisers_of(found):
    return [{key: row[key] for key in ("name", "title", "group")} for row in found["optimisers"]]


def curves_of(folder):
    """Of CURVES and DRAWN: at each whole call, the accuracy's quartiles over the seeds."""
    runs = {}
    with open(folder / "curves.csv", encoding="utf-8", newline="") as opened:
        for row in csv.DictReader(opened):
            if row["problem"] in CURVES and row["optimiser"] in DRAWN:
                run = runs.setdefault((row["problem"], row["optimiser"]), {})
                line = float(row["calls"]), float(row["accuracy"])
                run.setdefault(row["seed"], []).append(line)
    rows = []
    for (problem, optimiser), seeds in runs.items():
        last = max(calls for lines in seeds.values() for calls, _ in lines)
        for calls in sorted({round(last ** (k / 40)) for k in range(41)} | {0}):
            at = sorted(reached(lines, calls) for lines in seeds.values())
            row = dict(zip(("low", "median", "high"), (f"{q:.2g}" for q in quartiles(at))))
            rows.append({"problem": problem, "optimiser": optimiser, "calls": calls} | row)
    return rows


def reached(lines, calls):
    return min(accuracy for at, accuracy in lines if at <= max(calls, lines[0][0]))


def write_csv(name, rows):
    DATA.mkdir(exist_ok=True)
    head = list(dict.fromkeys(key for row in rows for key in row))
    with open(DATA / f"{name}.csv", "w", encoding="utf-8", newline="") as opened:
        writer = csv.DictWriter(opened, head, restval="", lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    print(f"wrote docs/optimisers/{name}.csv, {len(rows)} rows")


def read_csv(name):
    with open(DATA / f"{name}.csv", encoding="utf-8", newline="") as opened:
        return list(csv.DictReader(opened))


def take_minima(folder):
    """Of a run without --quick."""
    write_csv("large_problems", problems_of(results_of(folder)))


def results_of(folder):
    with open(Path(folder) / "results.json", encoding="utf-8") as opened:
        return json.load(opened)


def take(folder):
    found = results_of(folder)
    write_csv("problems", problems_of(found))
    write_csv("optimisers", optimisers_of(found))
    write_csv("places", places_of(found))
    write_csv("curves", curves_of(folder))


# ---- results ----


def numbers(cell):
    return [math.inf if part == "-" else float(part) for part in cell.split()]


class Results:
    """A place is a problem and an optimiser."""

    def __init__(self, places, problems, optimisers):
        self.problems, self.optimisers = problems, optimisers
        self.places = {(row["problem"], row["optimiser"]): row for row in places}
        names = dict.fromkeys(problem for problem, _ in self.places)
        self.names = sorted(names, key=lambda name: not is_whole(name))
        self.varying = {family_of(name): set() for name in names}
        for name in names:
            others = [settings_of(other) for other in names if family_of(other) == family_of(name)]
            mine = settings_of(name)
            self.varying[family_of(name)] |= {
                key for key in mine if any(other.get(key) != mine[key] for other in others)
            }

    def short(self, name):
        """With what tells a family's members apart."""
        told = {
            key: value
            for key, value in settings_of(name).items()
            if key in self.varying[family_of(name)]
        }
        batches = told.pop("batches", "1")
        words = [told.pop("shape")] if "shape" in told else []
        if "columns" in told:
            words.append(f"{settings_of(name)['rows']} by {told['columns']}")
        words += [f"{key} {told[key]}" for key in told if key not in ("rows", "columns")]
        return ", ".join([family_of(name), *words, *(["minibatches"] if batches != "1" else [])])

    def of(self, problem):
        """A row for each seed."""
        return [row for row in self.problems if row["problem"] == problem]

    def is_single(self, problem):
        """Whether the seed draws nothing, neither a problem nor the order of minibatches."""
        rows = self.of(problem)
        same = len({(row["J at the start"], row["f*"]) for row in rows}) == 1
        return same and int(rows[0]["minibatches"]) == 1

    def by_seed(self, problem, optimiser, size=None):
        """Accuracies with this size, or the best one. Empty: it did not take part."""
        place = self.places.get((problem, optimiser))
        if place is None:
            return {}
        cell = place[f"accuracy {size or float(place['size']):.3g}"]
        return dict(zip(place["seeds"].split(), numbers(cell)))

    def accuracy(self, problem, optimiser, size=None):
        """The median; None: it did not take part."""
        found = self.by_seed(problem, optimiser, size)
        return statistics.median(found.values()) if found else None

    def calls(self, problem, optimiser, target):
        """Of each tuned run; inf: it did not get there."""
        place = self.places.get((problem, optimiser))
        return numbers(place[f"calls to {target}"]) if place else []


def from_bench(folder):
    found = results_of(folder)
    return Results(places_of(found), problems_of(found), optimisers_of(found))


def from_csv():
    return Results(read_csv("places"), read_csv("problems"), read_csv("optimisers"))


def family_of(name):
    return name.split(" ")[0]


def is_whole(name):
    return family_of(name) in WHOLE


def settings_of(name):
    rest = name.rstrip(")").partition(" (")[2]
    return dict(part.split(" = ") for part in rest.split(", ") if part)


def number(value):
    """Two digits."""
    if value == 0 or 0.01 <= abs(value) < 1000:
        return f"{value:.2g}" if abs(value) < 10 else f"{value:.0f}"
    mantissa, power = f"{value:.0e}".split("e")
    return f"{mantissa}e{int(power)}"


def quartiles(values):
    """By values that were found, as the bench takes them."""
    values = sorted(values)
    return [values[round(share * (len(values) - 1))] for share in (0.25, 0.5, 0.75)]


# ---- prox direction against subgradients ----


def log_ratios(results, problem, pair):
    """Of each seed, log10 of accuracy by the prox direction / by subgradients."""
    plain, prox = (results.by_seed(problem, name) for name in pair)
    return [math.log10(prox[seed] / plain[seed]) for seed in plain if seed in prox]


def interval(values):
    """Mean and 95 % interval by Student's t. None: one value has none."""
    middle, n = statistics.mean(values), len(values)
    if n < 2:
        return None
    reach = STUDENT[n - 2] * statistics.stdev(values) / math.sqrt(n)
    return middle - reach, middle, middle + reach


def verdict(results, problem, pair):
    """What the interval says: "better", "worse" or "not shown". Of a single run: "lower", "higher"
    or "alike". Before all: "both solve it"."""
    plain, prox = (results.accuracy(problem, name) for name in pair)
    if max(plain, prox) <= SOLVED:
        return "both solve it"
    values = log_ratios(results, problem, pair)
    if len(values) < 2 or results.is_single(problem):
        ratio = prox / plain
        return "lower" if ratio < 1 / APART else "higher" if ratio > APART else "alike"
    low, _, high = interval(values)
    return "better" if high < 0 else "worse" if low > 0 else "not shown"


def tally(results, whole):
    """How often each verdict is passed, over problems and rules."""
    found = {}
    for name in results.names:
        for pair in PAIRS if is_whole(name) == whole else ():
            said = verdict(results, name, pair)
            found[said] = found.get(said, 0) + 1
    return found


def at_size(results, optimiser, size, whole):
    """Median accuracies with this size on all problems of a kind; not on nu, where all solve it."""
    return [
        results.accuracy(name, optimiser, size)
        for name in results.names
        if is_whole(name) == whole and family_of(name) != "nu"
    ]
