"""What the user sees: progress and tables. Label maps are in sheet.py."""

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
