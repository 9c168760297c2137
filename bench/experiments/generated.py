"""Small folders of the shape of the real ones, for tests: python -m experiments.generated FOLDER"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import numpy.typing as npt
from PIL import Image

from .brain.generated import ibsr

SIZES = {"train": 8, "val": 3, "test": 5}  # images
BLOCK = 8  # pixels that have one label
SHAPE = (5, 6)  # of an image, in blocks


def camvid(folder: Path) -> None:
    """Images whose colours tell the class of each block, void among them."""
    rng = np.random.default_rng(0)
    for part, images in SIZES.items():
        for name in (part, f"{part}annot"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        names = [f"{part}_{i}" for i in range(images)]
        for name in names:
            labels = blocks(rng, 12)
            Image.fromarray(coloured(labels, rng)).save(folder / part / f"{name}.jpg")
            Image.fromarray(labels).save(folder / f"{part}annot" / f"{name}.png")
        lines = [f"/there/{part}/{name}.png /there/{part}annot/{name}.png\n" for name in names]
        (folder / f"{part}.txt").write_text("".join(lines), encoding="utf-8")


def blocks(rng: np.random.Generator, classes: int) -> npt.NDArray[np.uint8]:
    small = rng.integers(0, classes, SHAPE).astype(np.uint8)
    return small.repeat(BLOCK, 0).repeat(BLOCK, 1)


def coloured(labels: npt.NDArray[np.uint8], rng: np.random.Generator) -> npt.NDArray[np.uint8]:
    plain = np.stack([labels * 20, 255 - labels * 20, labels * 7], -1).astype(int)
    return (plain + rng.integers(-10, 10, plain.shape)).clip(0, 255).astype(np.uint8)


if __name__ == "__main__":
    camvid(Path(sys.argv[1]) / "camvid")
    ibsr(Path(sys.argv[1]) / "ibsr")
