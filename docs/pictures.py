"""Makes the pictures of docs/tutorial.md.

    python docs/pictures.py [--curves FILE --masks FILE]
    python docs/pictures.py --measures
    python docs/pictures.py --prox-path

Needs submod, PyTorch, Pillow and gnuplot, and the minutes that examples/train_unet.py takes, unless
what it wrote by --csv and --pictures is given. With --measures or --prox-path that picture alone.
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
# The losses of examples/train_unet.py.
NAMES = {
    "ce": "cross-entropy",
    "ce+lovasz": "cross-entropy + Lovász",
    "lovasz": "Lovász",
    "dataset": "cross-entropy + Lovász of the dataset",
}


def run_example(name, *arguments):
    subprocess.run([sys.executable, EXAMPLES / name, *arguments], check=True)


def plot(png, data, commands, size="800,420"):
    """gnuplot with `data` as the block $data."""
    head = f"set terminal pngcairo size {size} font 'sans,11'\nset output '{png}'\nset border 3\n"
    script = f"{head}set tics nomirror\n$data << EOD\n{data}\nEOD\n{commands}\n"
    subprocess.run(["gnuplot", "-"], input=script, text=True, check=True)
    print(f"wrote {png}")


PROX_PATH_STYLE = """
set multiplot layout 1,2 margins 0.06,0.985,0.13,0.77 spacing 0.05
set label 100 'The prox parts again what has met. Algorithm 2 never does.' at screen 0.5,0.955 \
center font ',16'
set label 101 'two foreground pixels' at screen 0.5,0.9 right offset -2,0 tc rgb '#d55e00'
set label 102 'three background pixels' at screen 0.5,0.9 left offset 2,0 tc rgb '#2f8fc7'
unset key
set xrange [0:3.6]
set yrange [-0.03:1]
set grid y lc rgb '#e4e4e4'
set style line 1 lw 2.5 lc rgb '#d55e00'
set style line 2 lw 8 lc rgb '#9ed2f2'
set xlabel 'how far the prox may go: 1/λ'
"""
PROX_PANEL = """
set title 'Exact prox of the Lovász hinge' font ',13'
set ylabel 'margins of the pixels' offset 1,0
set object 1 circle at 0.6,0.3 size 0.05 front fc rgb 'black' fs solid
set object 2 circle at 1,0.25 size 0.05 front fc rgb 'white' fs solid border rgb 'black'
set label 1 'meet' at 0.55,0.24 center front
set label 2 'part again:' at 0.08,0.13 left front
set label 3 'foreground falls through' at 0.08,0.08 left front
"""
GREEDY_PANEL = """
set title 'Algorithm 2 of the supplement, repaired' font ',13'
unset ylabel
unset object 2
unset label 100
unset label 101
unset label 102
set label 2 'tied for good' at 0.72,0.33 left front
set label 3 'dashed: where' at 0.08,0.13 left front
set label 4 'the two should be' at 0.08,0.08 left front
"""


def prox_path():
    """The prox and Algorithm 2 against 1 / lambda. Thin foreground above thick background: ties
    show both."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "prox.csv"
        run_example("prox_path.py", "--csv", file)
        with open(file, newline="", encoding="utf-8") as opened:
            rows = list(csv.reader(opened))[1:]
    sys.path.insert(0, str(EXAMPLES))
    from prox_path import MARGINS, MASK

    start = " ".join(["0", *(str(x) for x in (*MARGINS, *MARGINS))])
    data = "\n".join([start, *(" ".join([str(1 / float(r[0])), *r[2:]]) for r in rows)])
    backwards = sorted(range(len(MASK)), key=lambda i: MASK[i])  # background first, below

    def lines(first):
        return [f"$data using 1:{i + first} with lines ls {1 if MASK[i] else 2}" for i in backwards]

    parted = [
        f"$data using 1:{i + 2} with lines lw 2.5 dt (6,5) lc rgb '{colour}'"
        for i, colour in ((3, "#d55e00"), (4, "#2f8fc7"))
    ]
    plots = [
        PROX_PATH_STYLE, PROX_PANEL, "plot " + ", ".join(lines(2)),
        GREEDY_PANEL, "plot " + ", ".join([*lines(2 + len(MASK)), *parted]),
    ]  # fmt: skip
    plot(IMAGES / "prox_path.png", data, "\n".join([*plots, "unset multiplot"]), "1100,470")


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
        loss = part.removeprefix("ce, then ")
        title = NAMES[loss] if loss == part else f"then {NAMES[loss]}"
        shown.append(
            f"$data index {number} using 1:(100*$2) with linespoints pt 7 ps 0.7 lw 2 "
            f"lc rgb '{COLOURS[number % len(COLOURS)]}' title '{title}'"
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
    parser.add_argument("--prox-path", action="store_true", help="that picture alone")
    chosen = parser.parse_args()
    if chosen.measures or not chosen.prox_path:
        measures()
    if chosen.prox_path or not chosen.measures:
        prox_path()
    if chosen.measures or chosen.prox_path:
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
        learning_curves(curves)
        shutil.copy(masks, IMAGES / "masks.png")


if __name__ == "__main__":
    main()
