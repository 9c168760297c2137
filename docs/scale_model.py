"""The model of docs/scale.md: time of a loss call over ranks, and its picture.

    python docs/scale_model.py            prints the table
    python docs/scale_model.py --plot     and writes docs/img/scale.png; needs gnuplot

Seconds of one call with p ranks, each with its own pixels n:

    local    GAMMA n C                   two passes over the scores: count, write the gradient
    counts   SIGMA 2 C K                 every rank clears, collects and solves for all of them
    gather   log2(p) a + 192 (p - 1) b   facts of all ranks (Bruck's algorithm)
    sum      2 log2(p) a + q m (2 b + d)   halving and doubling (Rabenseifner)
             2 (p - 1) a + q m (2 b + d)   ring
             log2(p) (a + m b + m d)       doubling of all counts
                                           the best of these; an MPI chooses by m and p
    q        (p - 1) / p
    m        4 (2 C K + 2 C + 2) bytes

with a the latency of a message, b the time per byte of a link, d that of adding up a byte.
"""

import math
import subprocess
import sys
from pathlib import Path

PNG = Path(__file__).resolve().parent / "img" / "scale.png"
CLASSES, BINS, PIXELS = 21, 4096, 2 * 512 * 512
GAMMA = 3.1e-9  # measured: docs/scale.md
SIGMA = 5.5e-9  # measured, too
ADD = 1 / 4e9  # d: 4 GB/s, one core
# Latency, seconds per byte.
NETS = {
    "100 Gb/s, 2 µs": (2e-6, 1 / 12.5e9),
    "10 Gb/s, 30 µs": (30e-6, 1 / 1.25e9),
}
RANKS = [2**k for k in range(11)]


def message():
    return 4 * (2 * CLASSES * BINS + 2 * CLASSES + 2)


def local():
    return GAMMA * PIXELS * CLASSES


def counts():
    return SIGMA * 2 * CLASSES * BINS


def ways(p, net):
    """Seconds of the sum, by algorithm."""
    a, b = NETS[net]
    m, steps = message(), math.log2(p)
    bulk = (p - 1) / p * m * (2 * b + ADD)
    return {
        "halving and doubling": 2 * steps * a + bulk,
        "ring": 2 * (p - 1) * a + bulk,
        "doubling": steps * (a + m * b + m * ADD),
    }


def talk(p, net):
    a, b = NETS[net]
    if p == 1:
        return 0.0
    return math.log2(p) * a + 192 * (p - 1) * b + min(ways(p, net).values())


def table():
    own = local() + counts()
    print(f"local {1e3 * local():.1f} ms, counts {1e3 * counts():.2f} ms, {message()} bytes\n")
    print("| ranks | " + " | ".join(f"{net}: talk, ms | share of the call" for net in NETS) + " |")
    print("|" + "--:|" * (1 + 2 * len(NETS)))
    for p in RANKS[::2]:
        times = [talk(p, net) for net in NETS]
        cells = [f"{1e3 * t:.2f} | {100 * t / (own + t):.1f} %" for t in times]
        print(f"| {p:,} | " + " | ".join(cells) + " |")


def plot():
    fast, slow = NETS
    lines = "\n".join(
        f"{p} {1e3 * (local() + counts())} " + " ".join(f"{1e3 * talk(p, net)}" for net in NETS)
        for p in RANKS[1:]
    )
    script = f"""
set terminal pngcairo size 800,420 font 'sans,11'
set output '{PNG}'
set border 3
set tics nomirror
set logscale xy
set logscale x 2
set xrange [2:1024]
set yrange [0.1:100]
set xlabel 'ranks, each with 2 images of 512 x 512 pixels, 21 classes, 4096 bins'
set ylabel 'ms of one call'
set key outside top center horizontal
$data << EOD
{lines}
EOD
plot $data using 1:2 with lines lw 3 lc rgb '#777777' title 'local: passes and counts', \\
     $data using 1:4 with linespoints lw 2 pt 7 lc rgb '#d55e00' title 'talk: {slow}', \\
     $data using 1:3 with linespoints lw 2 pt 7 lc rgb '#0072b2' title 'talk: {fast}'
"""
    subprocess.run(["gnuplot", "-"], input=script, text=True, check=True)
    print(f"wrote {PNG}")


if __name__ == "__main__":
    table()
    if "--plot" in sys.argv[1:]:
        plot()
