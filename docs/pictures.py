"""Makes the pictures of docs/tutorial.md.

    python docs/pictures.py [--curves FILE --masks FILE]

Needs submod, PyTorch, Pillow and gnuplot, and the minutes that examples/train_unet.py takes, unless
what it wrote by --csv and --pictures is given.
"""

import argparse
import csv
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
EXAMPLES, IMAGES = HERE.parent / "examples", HERE / "img"
COLOURS = ["#777777", "#d55e00", "#0072b2", "#009e73"]


def run_example(name, *arguments):
    subprocess.run([sys.executable, EXAMPLES / name, *arguments], check=True)


def plot(png, data, commands):
    """gnuplot with `data` as the block $data."""
    head = f"set terminal pngcairo size 800,420 font 'sans,11'\nset output '{png}'\nset border 3\n"
    script = f"{head}set tics nomirror\n$data << EOD\n{data}\nEOD\n{commands}\n"
    subprocess.run(["gnuplot", "-"], input=script, text=True, check=True)
    print(f"wrote {png}")


def prox_path(work):
    """The prox against lambda. Thin foreground above thick background: ties show both."""
    file = work / "prox.csv"
    run_example("prox_path.py", "--csv", file)
    with open(file, newline="", encoding="utf-8") as opened:
        rows = list(csv.reader(opened))[1:]
    sys.path.insert(0, str(EXAMPLES))
    from prox_path import MASK

    data = "\n".join(" ".join([row[0], *row[2:]]) for row in rows)
    shown, named = [], set()
    for foreground, i in sorted((bool(inside), i) for i, inside in enumerate(MASK)):
        colour, width = (COLOURS[1], 1.5) if foreground else ("#8cc6ec", 5)
        title = "foreground pixels" if foreground else "background pixels"
        legend = "notitle" if foreground in named else f"title '{title}'"
        named.add(foreground)
        shown.append(f"$data using 1:{i + 2} with lines lw {width} lc rgb '{colour}' {legend}")
    commands = (
        "set logscale x\nset xlabel 'lambda (log scale)'\nset ylabel 'entries of prox(x)'\n"
        f"set xrange [{rows[0][0]}:{rows[-1][0]}]\nset key outside top center horizontal\n"
        "plot " + ", \\\n".join(shown)
    )
    plot(IMAGES / "prox_path.png", data, commands)


def learning_curves(file):
    """Dataset-mIoU on the validation images against steps: the first part, then its branches."""
    with open(file, newline="", encoding="utf-8") as opened:
        rows = list(csv.DictReader(opened))
    parts = list(dict.fromkeys(row["part"] for row in rows))
    first = [row for row in rows if row["part"] == parts[0]]
    blocks, shown = [], []
    for number, part in enumerate(parts):
        begin = 0 if number == 0 else int(first[-1]["step"])
        points = [] if number == 0 else [f"{begin} {first[-1]['dataset_miou']}"]
        points += [
            f"{begin + int(row['step'])} {row['dataset_miou']}"
            for row in rows
            if row["part"] == part
        ]
        blocks.append("\n".join(points))
        shown.append(
            f"$data index {number} using 1:(100*$2) with linespoints pt 7 ps 0.7 lw 2 "
            f"lc rgb '{COLOURS[number % len(COLOURS)]}' title '{part}'"
        )
    commands = (
        "set xlabel 'steps'\nset ylabel 'dataset-mIoU, %'\nset key bottom right\nset grid y\n"
        "plot " + ", \\\n".join(shown)
    )
    plot(IMAGES / "learning_curves.png", "\n\n\n".join(blocks), commands)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", type=Path, metavar="FILE")
    parser.add_argument("--masks", type=Path, metavar="FILE")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        curves, masks = chosen.curves, chosen.masks
        if curves is None or masks is None:
            curves, masks = work / "curves.csv", work / "masks.png"
            run_example(
                "train_unet.py", "--fine-tune", "ce", "ce+lovasz", "dataset",
                "--evaluate-every", "100", "--csv", curves, "--pictures", masks,
            )  # fmt: skip
        prox_path(work)
        learning_curves(curves)
        shutil.copy(masks, IMAGES / "masks.png")


if __name__ == "__main__":
    main()
