"""What the user sees: progress, tables, label maps."""

from __future__ import annotations

import csv
import importlib.util
import os
import sys
import time
from collections.abc import Sequence
from math import isnan
from pathlib import Path
from typing import Any

import numpy as np

from . import UserError

BAR = 24


class Progress:
    """A bar on stderr, where that is a terminal; else nothing."""

    def __init__(self, name: str, steps: int) -> None:
        self.name, self.steps = name, steps
        self.begin = self.shown = time.monotonic()
        self.on = sys.stderr.isatty()

    def show(self, step: int, words: str) -> None:
        now = time.monotonic()
        if not self.on or (now - self.shown < 0.2 and step < self.steps):
            return
        self.shown = now
        full = BAR * step // self.steps
        left = (now - self.begin) * (self.steps - step) / step
        bar = "#" * full + "." * (BAR - full)
        text = f"{self.name} [{bar}] {step}/{self.steps}  {words}  {left:.0f} s left"
        sys.stderr.write("\r" + text[:100].ljust(100))
        sys.stderr.flush()

    def done(self) -> None:
        if self.on:
            sys.stderr.write("\r" + " " * 100 + "\r")


def print_classes(names: Sequence[str], results: dict[str, Any]) -> None:
    """IoU per class and training; "-" for a class that is neither there nor predicted."""
    wide = max(len(name) for name in names)
    columns = list(results)
    print(f"\nIoU per class (%)\n{'':{wide}}  " + "  ".join(c.rjust(5) for c in columns))
    for number, name in enumerate(names):
        values = (results[column].per_class[number] for column in columns)
        texts = ("-" if isnan(value) else f"{100 * value:.1f}" for value in values)
        cells = (text.rjust(max(len(c), 5)) for text, c in zip(texts, columns))
        print(f"{name:{wide}}  " + "  ".join(cells))


def need_place(option: str, file: Path) -> None:
    """Before the training rather than after it."""
    if file.is_dir() or not os.access(file if file.exists() else file.parent, os.W_OK):
        raise UserError(f"{option} {file}: no file can be written there")


def need_pillow() -> None:
    if importlib.util.find_spec("PIL") is None:
        raise UserError("--pictures needs Pillow: pip install pillow")


def write_curves(file: Path, parts: Sequence[Any]) -> None:
    fields = ["part", "step", "loss", "image_miou", "dataset_miou"]
    with open(file, "w", newline="", encoding="utf-8") as out:
        table = csv.DictWriter(out, fields)
        table.writeheader()
        for part in parts:
            for row in part.curve:
                table.writerow({"part": part.name, **row})


# ---- label maps as a picture -------------------------------------------------------------------

# Colours that stay apart, the background dark; more classes than colours begin again.
COLOURS = np.array(
    [
        (40, 40, 44), (230, 159, 0), (86, 180, 233), (0, 158, 115), (240, 228, 66), (0, 114, 178),
        (213, 94, 0), (204, 121, 167), (250, 190, 190), (140, 86, 75), (150, 220, 130),
        (170, 130, 255),
    ],
    np.uint8,
)  # fmt: skip
VOID, ZOOM, GAP, TITLE = (120, 120, 120), 2, 6, 18


def label_colours(labels: Any, classes: int) -> Any:
    colours = COLOURS[1 + (np.arange(256) - 1) % (len(COLOURS) - 1)]
    colours[0] = COLOURS[0]
    colours[classes:] = VOID
    return colours[np.asarray(labels)]


def save_rows(file: Path, titles: list[str], rows: list[tuple[Any, ...]], classes: int) -> None:
    """One row per image: the grey or colour image (channels, height, width), then label maps."""
    from PIL import Image, ImageDraw

    height, width = (ZOOM * side for side in rows[0][1].shape)
    size = (len(titles) * (width + GAP) + GAP, TITLE + len(rows) * (height + GAP))
    sheet = Image.new("RGB", size, "white")
    text = ImageDraw.Draw(sheet)
    for column, title in enumerate(titles):
        left = GAP + column * (width + GAP)
        text.text((left, 3), title, fill="black")
        for number, row in enumerate(rows):
            shown = grey(row[0]) if column == 0 else label_colours(row[column], classes)
            picture = Image.fromarray(shown).resize((width, height), Image.Resampling.NEAREST)
            sheet.paste(picture, (left, TITLE + number * (height + GAP)))
    sheet.save(file, "PNG")


def grey(image: Any) -> Any:
    """All channels into the range of a picture."""
    image = np.asarray(image)
    low, high = np.percentile(image, (1, 99))
    image = np.clip((image - low) / max(high - low, 1e-6), 0, 1)
    return (255 * np.broadcast_to(image, (3, *image.shape[1:])).transpose(1, 2, 0)).astype(np.uint8)
