#!/usr/bin/env python3
"""Draws docs/img/architecture.svg: the rooms of src/, and who includes whom, from the sources.

    architecture.py            writes the picture
    architecture.py --check    fails if the picture is not what the sources say

Where a room stands, and the words in it, are given below. Arrows and headers are read: an arrow
means that a file of the one room includes a header of the other, private, or public and implemented
there. Arrows into base would come from everywhere and are a sentence instead.
"""

from __future__ import annotations

import sys
from html import escape
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT / "scripts"))

from check_house import folder_of, includes, public_headers, sources  # noqa: E402

PICTURE = ROOT / "docs" / "img" / "architecture.svg"


class Place(NamedTuple):
    row: int
    column: int
    words: list[str]


ROOMS = {
    "optim": Place(0, 1, ["step rules, schedules,", "FISTA, bundle method"]),
    "prox": Place(2, 1, ["one entry, a table of methods,", "minimum norm, minimisation"]),
    "gpu": Place(2, 3, ["the losses and the", "Jaccard prox on CUDA"]),
    "mpi": Place(0, 3, ["ranks of MPI: a library", "of its own"]),
    "dist": Place(1, 3, ["losses and counts", "over ranks"]),
    "loss": Place(3, 1, ["Lovász losses by two engines,", "baselines, dataset"]),
    "metrics": Place(3, 2, ["counts, IoU, scores,", "equibatch"]),
    "metrics/decisions": Place(3, 3, ["the best expected IoU", "or Dice, from probabilities"]),
    "submod": Place(4, 0, ["set functions and their sums,", "Lovász extension, checker"]),
    "loss/tensors": Place(4, 1, ["views of labels", "and scores"]),
    "base": Place(
        5, 0, ["errors, memory, threads, cancelling, instruction sets, sorting, random numbers"]
    ),
}
# First and last row, first and last column.
LAYERS = {
    "optim": (0, 0, 0, 2),
    "prox": (1, 2, 0, 2),
    "submod": (3, 4, 0, 3),
    "gpu": (2, 2, 3, 3),
    "dist": (0, 1, 3, 3),
}

LEGEND = [
    "An arrow: some file of this room includes a header of that one. Arrows point downwards, or to"
    " a room of the same layer. A check holds this.",
    "In blue: the public headers that a room implements. They are all that python/, examples/,"
    " bench/ and tools/ include.",
]

# Pixels.
WIDTH, GAP, LEFT, TOP = 250, 70, 20, 56
HEIGHT, ROW = 112, 184
PALETTE = {
    "optim": "#fdf0d5",
    "dist": "#fdf0d5",
    "prox": "#e3f1e5",
    "submod": "#e2ecf9",
    "gpu": "#f3e6f5",
    "base": "#ececec",
}


def arrows(headers: dict[str, list[str]]) -> set[tuple[str, str]]:
    """Pairs of rooms: the first includes something of the second."""
    found = set()
    for path in sources("src"):
        room = folder_of(path)
        for _, bracket, name in includes(path):
            if bracket == '"':
                found.add((room, Path(name).parent.as_posix()))
            elif name.startswith("submod/") and room not in headers[Path(name).name]:
                found.add((room, headers[Path(name).name][0]))
    return {(a, b) for a, b in found if a != b}


# ---- drawing ----


def corner(room: str) -> tuple[int, int]:
    place = ROOMS[room]
    return LEFT + 20 + place.column * (WIDTH + GAP), TOP + place.row * ROW


def text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" class="{style}">{escape(words)}</text>'


def box(room: str, headers: list[str]) -> list[str]:
    x, y = corner(room)
    width = 4 * WIDTH + 3 * GAP if room == "base" else WIDTH
    out = [f'<rect x="{x}" y="{y}" width="{width}" height="{HEIGHT}" rx="6" class="room"/>']
    out.append(text(x + 12, y + 25, f"src/{room}/", "name"))
    lines = [*((words, "words") for words in ROOMS[room].words)]
    half = (len(headers) + 1) // 2 if len(headers) > 2 and room != "base" else len(headers)
    for part in (headers[:half], headers[half:]):
        if part:
            lines.append((" ".join(part), "header"))
    return out + [
        text(x + 12, y + 46 + 18.5 * i, words, style) for i, (words, style) in enumerate(lines)
    ]


def layer(name: str) -> str:
    row, last_row, first, last = LAYERS[name]
    rows = last_row - row + 1
    x = LEFT + first * (WIDTH + GAP)
    y = TOP + row * ROW - 36
    width = (last - first) * (WIDTH + GAP) + WIDTH + 40
    height = rows * ROW - (ROW - HEIGHT) + 56
    frame = (
        f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="10" fill="{PALETTE[name]}"/>'
    )
    return frame + text(x + width - 20, y + 24, name, "layer")


def ports(pairs: list[tuple[str, str]]) -> dict[tuple[str, str], tuple[float, float]]:
    """Where each downward arrow leaves its room and enters the other: spread over the edges."""
    leave: dict[str, list[str]] = {}
    enter: dict[str, list[str]] = {}
    for a, b in pairs:
        leave.setdefault(a, []).append(b)
        enter.setdefault(b, []).append(a)
    # A long arrow goes down beside a room of the row between, and is sorted as if it ended there.
    for a, below in leave.items():
        below.sort(key=lambda b: (via(a, b), ROOMS[b].row))
    for b, above in enter.items():
        above.sort(key=lambda a: (via(b, a), -ROOMS[a].row))
    found = {}
    for a, b in pairs:
        xa = corner(a)[0] + WIDTH * (leave[a].index(b) + 1) / (len(leave[a]) + 1)
        xb = corner(b)[0] + WIDTH * (enter[b].index(a) + 1) / (len(enter[b]) + 1)
        found[a, b] = (xa, xb)
    return found


def via(a: str, b: str) -> float:
    """The column by which an arrow from a reaches b: that of b, or the gap that it goes through."""
    if abs(ROOMS[a].row - ROOMS[b].row) < 2:
        return ROOMS[b].column
    upper, lower = sorted((ROOMS[a], ROOMS[b]))
    return lower.column + 0.5 if upper.column > lower.column else max(lower.column - 0.5, 0.5)


def curve(points: list[tuple[float, float]]) -> str:
    """A line that leaves and enters each point straight down."""
    out = f"M{points[0][0]:g} {points[0][1]:g}"
    for (x0, y0), (x1, y1) in zip(points, points[1:]):
        bend = (y1 - y0) / 2
        out += f" C{x0:g} {y0 + bend:g} {x1:g} {y1 - bend:g} {x1:g} {y1:g}"
    return out


def downward(a: str, b: str, xa: float, xb: float, shift: float) -> str:
    start, end = (xa, corner(a)[1] + HEIGHT), (xb, corner(b)[1] - 7)
    points = [start, end]
    if ROOMS[b].row - ROOMS[a].row > 1:
        x = LEFT + 20 + (via(a, b) + 0.5) * (WIDTH + GAP) - GAP / 2 + shift
        first, last = TOP + (ROOMS[a].row + 1) * ROW, TOP + (ROOMS[b].row - 1) * ROW
        points = [start, (x, first - 6), (x, last + HEIGHT + 6), end]
    return f'<path d="{curve(points)}" class="arrow" marker-end="url(#head)"/>'


def sideward(a: str, b: str, mutual: bool) -> str:
    right = ROOMS[b].column > ROOMS[a].column
    y = corner(a)[1] + HEIGHT / 2
    x0 = corner(a)[0] + (WIDTH if right else 0)
    x1 = corner(b)[0] + (0 if right else WIDTH)
    tip = 7 if right else -7
    start = ' marker-start="url(#head)"' if mutual else ""
    line = f"M{x0 + (tip if mutual else 0):g} {y:g} L{x1 - tip:g} {y:g}"
    return f'<path d="{line}" class="arrow" marker-end="url(#head)"{start}/>'


def draw_arrows(pairs: set[tuple[str, str]]) -> list[str]:
    drawn = sorted((a, b) for a, b in pairs if b != "base")
    down = [(a, b) for a, b in drawn if ROOMS[a].row < ROOMS[b].row]
    upward = [(a, b) for a, b in drawn if ROOMS[a].row > ROOMS[b].row]
    across = [
        (a, b)
        for a, b in drawn
        if ROOMS[a].row == ROOMS[b].row and abs(ROOMS[a].column - ROOMS[b].column) > 1
    ]
    if upward or across:
        sys.exit(
            f"architecture: move rooms: arrows go upwards {upward}, over another room {across}"
        )
    where = ports(down)
    long = [pair for pair in down if ROOMS[pair[1]].row - ROOMS[pair[0]].row > 1]
    out = []
    for a, b in down:
        beside = [p for p in long if via(*p) == via(a, b)]
        shift = 12.0 * (beside.index((a, b)) - (len(beside) - 1) / 2) if (a, b) in beside else 0.0
        out.append(downward(a, b, *where[a, b], shift))
    for a, b in drawn:
        mutual = (b, a) in pairs
        if ROOMS[a].row == ROOMS[b].row and not (mutual and a > b):
            out.append(sideward(a, b, mutual))
    return out


STYLE = """
text { font-family: "DejaVu Sans", Verdana, sans-serif; fill: #222 }
.layer { font-size: 17px; font-weight: bold; fill: #555; text-anchor: end }
.name { font-size: 16px; font-weight: bold }
.words { font-size: 14.5px }
.header { font-size: 13px; font-family: "DejaVu Sans Mono", monospace; fill: #1a4f8b }
.room { fill: white; stroke: #666 }
.arrow { fill: none; stroke: #444; stroke-width: 1.6 }
"""


def picture() -> str:
    headers = public_headers()
    pairs = arrows(headers)
    rooms = {folder_of(path) for path in sources("src")}
    if rooms != set(ROOMS):
        sys.exit(f"docs/architecture.py: rooms to draw, or to drop: {rooms ^ set(ROOMS)}")
    width = 2 * LEFT + 4 * WIDTH + 3 * GAP + 40
    height = TOP + 5 * ROW + HEIGHT + 34 + 22 * len(LEGEND)
    users = {a for a, b in pairs if b == "base"}
    everyone = "every room above" if users == rooms - {"base"} else ", ".join(sorted(users))
    ROOMS["base"].words.append(f"Used by {everyone}.")
    out = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}"'
        f' width="{width}" height="{height}">',
        f"<style>{STYLE}</style>",
        '<defs><marker id="head" viewBox="0 0 8 8" refX="1" refY="4" markerWidth="8"'
        ' markerHeight="8" markerUnits="userSpaceOnUse" orient="auto-start-reverse">'
        '<path d="M0 0 L8 4 L0 8 z" fill="#444"/></marker></defs>',
        f'<rect width="{width}" height="{height}" fill="white"/>',
        *(layer(name) for name in LAYERS),
    ]
    frame = TOP + 5 * ROW - 14
    out.append(
        f'<rect x="{LEFT}" y="{frame}" width="{width - 2 * LEFT}" height="{HEIGHT + 28}" rx="10"'
        f' fill="{PALETTE["base"]}"/>'
    )
    for room in ROOMS:
        out += box(room, [name for name, where in headers.items() if room in where])
    out += draw_arrows(pairs)
    x, y = LEFT + 20, TOP + 5 * ROW + HEIGHT + 38
    out += [text(x, y + 22 * i, words, "words") for i, words in enumerate(LEGEND)]
    return "\n".join(out) + "\n</svg>\n"


def main() -> None:
    drawn = picture()
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(drawn, encoding="utf-8")
    elif not PICTURE.exists() or PICTURE.read_text(encoding="utf-8") != drawn:
        sys.exit("docs/img/architecture.svg is not what the sources say; run docs/architecture.py")


if __name__ == "__main__":
    main()
