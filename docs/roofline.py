"""Makes the picture of docs/performance.md: where the losses stand between the limits and before.

    build/bench/bench-losses --no-faces --json FILE
    python docs/roofline.py FILE

Needs gnuplot. docs/roofline_before.json is what the first command wrote at the commit that it
names, the last one before the engines were written anew; FILE is of today, and has the limits.
"""

import argparse
import json
import statistics
import subprocess
from pathlib import Path

HERE = Path(__file__).resolve().parent
PNG = HERE / "img" / "roofline.png"
BEFORE, AFTER = "#777777", "#d55e00"
LIMITS = {
    "traffic: read twice, write once": ("memory traffic", "#0072b2"),
    "hand-written cross-entropy": ("cross-entropy by hand", "#009e73"),
}
LOSSES = {
    "histogram": "Lovász, histogram",
    "exact": "Lovász, exact",
    "submod_cross_entropy": "cross-entropy",
}


def read(file):
    """The measurements, and {(kind, who): ns per score} with one thread."""
    with open(file, encoding="utf-8") as opened:
        found = json.load(opened)
    times = {
        (data["kind"], row["who"]): row["best_ns"]
        for data in found["engines"]
        for row in data["rows"]
        if row["threads"] == 1
    }
    return found, times


def limit_of(times, name):
    """They hardly depend on the data: the middle one."""
    return statistics.median(ns for (_, who), ns in times.items() if who == name)


def rows_of(before, after):
    """(place from below, label, ns before, ns after), a gap between the losses."""
    kinds = list(dict.fromkeys(kind for kind, _ in after))
    rows, place = [], 0.0
    for who, name in reversed(LOSSES.items()):
        for kind in reversed(kinds):
            rows.append((place, f"{name}, {kind}", before[kind, who], after[kind, who]))
            place += 1
        place += 0.6
    return rows


def digits(ns):
    """Two that count, three from 10 on."""
    return f"{ns:.{1 if ns >= 1 else 2}f}"


def limit_commands(times, top):
    """A line from the bottom to the top, and its name above, away from the other."""
    commands = []
    for side, (who, (name, colour)) in zip(("right", "left"), LIMITS.items()):
        ns = limit_of(times, who)
        commands.append(
            f"set arrow from {ns},-0.7 to {ns},{top} nohead lw 2 dt 2 lc rgb '{colour}'\n"
            f"set label '{name}, {ns:.2f}' at {ns},{top + 0.45} {side} tc rgb '{colour}'"
        )
    return "\n".join(commands)


def plot_commands(commit, rows, times):
    top = rows[-1][0] + 0.7
    names = ", ".join(f"'{label}' {place}" for place, label, _, _ in rows)
    return f"""
set logscale x
set xrange [0.05:20]
set yrange [-0.7:{top + 0.9}]
set xtics (0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 20)
set ytics ({names})
set grid xtics lt 1 lc rgb '#dddddd'
set xlabel 'ns per score, loss and gradient, one thread (log scale)'
set key tmargin right horizontal Left reverse
{limit_commands(times, top)}
plot $data using 2:1:($3-$2):(0) with vectors nohead lw 2 lc rgb '#cccccc' notitle, \\
     $data using 2:1 with points pt 6 ps 1.4 lw 2 lc rgb '{BEFORE}' title 'before ({commit})', \\
     $data using 3:1 with points pt 7 ps 1.4 lc rgb '{AFTER}' title 'now', \\
     $data using 2:1:4 with labels offset 0,0.75 font ',9' \\
         tc rgb '{BEFORE}' notitle, \\
     $data using 3:1:5 with labels offset 0,0.75 font ',9' notitle
"""


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("after", type=Path, metavar="FILE", help="written by bench-losses --json")
    chosen = parser.parse_args()
    found, before = read(HERE / "roofline_before.json")
    _, after = read(chosen.after)
    rows = rows_of(before, after)
    data = "\n".join(
        f"{place} {old} {new} {digits(old)} {digits(new)}" for place, _, old, new in rows
    )
    head = f"set terminal pngcairo size 800,460 font 'sans,11'\nset output '{PNG}'\nset border 3\n"
    script = f"{head}set tics nomirror\n$data << EOD\n{data}\nEOD\n"
    script += plot_commands(found["commit"], rows, after)
    subprocess.run(["gnuplot", "-"], input=script, text=True, check=True)
    print(f"wrote {PNG}")


if __name__ == "__main__":
    main()
