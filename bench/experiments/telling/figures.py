"""Figures as PNG files: the same bytes from the same numbers."""

from __future__ import annotations

from pathlib import Path

import matplotlib

matplotlib.use("agg")

import matplotlib.pyplot as plt

from .section import Figure

DPI = 130


def write_png(figure: Figure, file: Path) -> None:
    with plt.rc_context():
        drawn = figure.draw()
        # Without the version of matplotlib, which is there otherwise.
        drawn.savefig(file, dpi=DPI, metadata={"Software": None})
        plt.close(drawn)


def emptied(folder: Path, old: str) -> None:
    """A folder for files, without those of an earlier report that match."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.glob(old):
        file.unlink()
