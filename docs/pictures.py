"""Makes the pictures of docs/tutorial.md.

    python docs/pictures.py [--curves FILE --masks FILE]
    python docs/pictures.py --measures

Needs submod, PyTorch, Pillow and gnuplot, and the minutes that examples/train_unet.py takes, unless
what it wrote by --csv and --pictures is given. With --measures the picture of measures alone.
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


def plot(png, data, commands, size="800,420"):
    """gnuplot with `data` as the block $data."""
    head = f"set terminal pngcairo size {size} font 'sans,11'\nset output '{png}'\nset border 3\n"
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


MEASURES_STYLE = """
set multiplot layout 2,4 title 'Lovász hinge by the margins of a background (r_1) and a foreground \
pixel (r_2), as surface and by level lines; red: the measure itself' font ',14'
unset key
unset colorbox
set palette defined (0 '#f7fbff', 0.5 '#6baed6', 1 '#08306b')
set pm3d scansautomatic border lc rgb '#40606060' lw 0.3
set border 31 lw 0.7
set xyplane 0
set xrange [0:1.5]
set yrange [0:1.5]
set zrange [0:1.5]
set cbrange [0:1.5]
set xtics 0.5
set ytics 0.5
set ztics 0.5, 0.5
"""
SURFACE_STYLE = """
set view 58, 325, 1.05
set xlabel 'r_1' offset 0,-0.5
set ylabel 'r_2' offset 0,-0.5
set tics offset 0,-0.3
"""
LEVELS_STYLE = """
unset title
set view map
set size ratio -1
set border 15
set xlabel 'r_1' offset 0,0.5
set ylabel 'r_2' offset 0.5,0
set tics offset 0,0
unset pm3d
set contour base
set palette defined (0 '#9ecae1', 1 '#08306b')
set style textbox opaque noborder
set cntrparam levels incremental 0.1, 0.1, 1.5
set cntrparam bspline order 2
"""


def measures():
    """The Lovász hinge of a background and a foreground pixel by their margins, for four measures,
    as surfaces and by their level lines; dots: the measure, of each set of wrong pixels."""
    import numpy as np
    from PIL import Image

    import submod

    shown = {
        "Jaccard": "jaccard",
        "Hamming": "hamming",
        "Tversky(alpha=0.3, beta=1.7)": submod.Tversky(alpha=0.3, beta=1.7),
        "a measure of your own: sqrt of Jaccard": lambda a, b, P, N: np.sqrt((a + b) / (P + b)),
    }
    blocks, surfaces, levels = [], [], []
    for title, measure in shown.items():
        for points in (np.linspace(0, 1.5, 31), (0, 1)):
            rows = [
                "\n".join(f"{x} {y} {_hinge(x, y, measure):.6f}" for y in points) for x in points
            ]
            blocks.append("\n\n".join(rows))
        grid, dots = f"$data index {len(blocks) - 2}", f"$data index {len(blocks) - 1}"
        points = "with points pt 7 ps 1.3 lc rgb '#d62728'"
        surfaces.append(
            f"set title '{title}'\n"
            f"splot {grid} every 2:2 using 1:2:3 with pm3d, {dots} using 1:2:($3 + 0.01) {points}"
        )
        levels.append(
            f"splot {grid} using 1:2:3 with lines lw 1.3 lc palette nosurface, "
            f"{dots} using 1:2:3 {points} nocontour, "
            f"{dots} using 1:2:3:(sprintf('%.2f', $3)) with labels offset 0.6,0.7 left boxed "
            "tc rgb '#d62728' nocontour"
        )
    parts = [MEASURES_STYLE, SURFACE_STYLE, *surfaces, LEVELS_STYLE, *levels, "unset multiplot"]
    png = IMAGES / "measures.png"
    plot(png, "\n\n\n".join(blocks), "\n".join(parts), "1400,760")
    Image.open(png).quantize(64).save(png, optimize=True)  # a quarter of the size


def _hinge(r_1, r_2, measure):
    """Of a background and a foreground pixel with these margins."""
    import submod

    return submod.lovasz_hinge([r_1 - 1, 1 - r_2], [0, 1], measure=measure)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--curves", type=Path, metavar="FILE")
    parser.add_argument("--masks", type=Path, metavar="FILE")
    parser.add_argument("--measures", action="store_true", help="that picture alone")
    chosen = parser.parse_args()
    measures()
    if chosen.measures:
        return
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
