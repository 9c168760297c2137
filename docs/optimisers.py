"""Makes the tables and pictures of docs/optimisers.md from docs/optimisers/*.csv, and these from
the results of the bench of optimisers.

    submod-optim-bench --quick --seeds 5
    python docs/optimisers.py --take [FOLDER]    the .csv; FOLDER: out/optim_bench, the bench's
    python docs/optimisers.py                    tables and pictures; needs matplotlib
    python docs/optimisers.py --check            do tables and sentences say what the .csv say?
    python docs/optimisers.py --large [FOLDER]             directions of a run without --quick
    python docs/optimisers.py --large-everyone [FOLDER]    all optimisers of such a run
    python docs/optimisers.py --large-minima [FOLDER]      gaps of f* of such a run, as .csv
"""

import argparse
import re
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "optimisers"))

import drawing  # noqa: E402
import tables  # noqa: E402
from results import from_bench, from_csv, take, take_minima  # noqa: E402
from sentences import BEGIN, END, sentences  # noqa: E402

PAGE, IMAGES = HERE / "optimisers.md", HERE / "img"
TABLES = (tables.problems, tables.directions, tables.everyone, tables.bounds)


def put_into(page, name, text):
    begin, end = BEGIN.format(name), END.format(name)
    head, _, rest = page.read_text(encoding="utf-8").partition(begin)
    _, found, tail = rest.partition(end)
    if not found:
        raise SystemExit(f"{page} has no lines '{begin}' and '{end}'")
    page.write_text(f"{head}{begin}\n\n{text}\n\n{end}{tail}", encoding="utf-8")


def picture(name, draw, results, size):
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    draw(results, figure)
    figure.savefig(IMAGES / f"optimisers_{name}.png", dpi=110, metadata={"Software": None})
    print(f"wrote docs/img/optimisers_{name}.png")


def make(results):
    for make_table in TABLES:
        put_into(PAGE, make_table.__name__, make_table(results))
    picture("directions", drawing.draw_directions, results, (8, 1.5 + 0.38 * len(results.names)))
    picture("profiles", drawing.draw_profiles, results, (7, 4.5))
    picture("performance", drawing.draw_performance, results, (12, 5))
    picture("curves", drawing.draw_curves, results, (11, 6.8))
    picture("sizes", drawing.draw_sizes, results, (11, 6))


def check(results):
    """What the page says and the .csv do not."""
    text = PAGE.read_text(encoding="utf-8")
    wrong = [f"the table {one.__name__}" for one in TABLES if one(results) not in text]
    wrong += [f"no test {test}, as there is none" for test in unknown_tests(text)]
    plain = " ".join(text.split())
    return wrong + [f'"{said}"' for said in sentences(results, text) if said not in plain]


def unknown_tests(text):
    """Tests that the table of theorems names and tests/optim/ has not."""
    theorems = text.partition("## What theory says")[2]
    for cells in re.findall(r"^\|(.*)\|$", theorems, re.MULTILINE):
        if (file := re.search(r"`(test_\w+\.c)`", cells)) is not None:
            code = (HERE.parent / "tests" / "optim" / file[1]).read_text(encoding="utf-8")
            names = re.findall(r"(?<!`)\b[a-z]+_[a-z_]+\b(?!\.c)", cells.split("|")[2])
            yield from (name for name in names if f"START_TEST({name})" not in code)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", nargs="?", type=Path, default=HERE.parent / "out" / "optim_bench")
    for option in ("take", "check", "large", "large-everyone", "large-minima"):
        parser.add_argument(f"--{option}", action="store_true")
    asked = parser.parse_args()
    if asked.take:
        take(asked.folder)
    elif asked.large:
        put_into(PAGE, "large", tables.large(from_bench(asked.folder)))
    elif asked.large_everyone:
        put_into(PAGE, "large_everyone", tables.everyone(from_bench(asked.folder)))
    elif asked.large_minima:
        take_minima(asked.folder)
    elif asked.check:
        wrong = check(from_csv())
        if wrong:
            raise SystemExit("docs/optimisers.md should have\n  " + "\n  ".join(wrong))
    else:
        make(from_csv())
        for missing in check(from_csv()):
            print(f"docs/optimisers.md should have {missing}")


if __name__ == "__main__":
    main()
