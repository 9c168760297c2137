"""The Internet Brain Segmentation Repository, or any folder of its shape: NAME.nii.gz, a T1 volume
of a head without its skull, and NAME_seg.nii.gz, the tissue of each of its voxels.

Axes are left-right, back-front and bottom-top, so that coronal slices, in which IBSR was acquired,
are [:, y, :]. Only what lies outside the head is cut away, within the slices."""

from __future__ import annotations

import sys
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from ..trouble import Trouble

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
from unet.brain import read_nifti

TISSUES = ("background", "CSF", "grey matter", "white matter")
SPACING = (0.9375, 1.5, 0.9375)  # of voxels, in millimetres
MARGIN = 4  # voxels kept around the head


class Head(NamedTuple):
    name: str
    image: npt.NDArray[np.float32]  # (x, y, z): mean 0 and deviation 1 inside the head
    tissue: npt.NDArray[np.uint8]  # (x, y, z)
    low: npt.NDArray[np.int64]  # the box of the head: its first voxel ..
    high: npt.NDArray[np.int64]  # .. and the one past its last, by axis
    beyond: npt.NDArray[np.int64]  # (slices, tissues): voxels that were cut away

    @property
    def slices(self) -> npt.NDArray[np.int64]:
        """Those that show the head."""
        return np.arange(self.low[1], self.high[1])


class Fold(NamedTuple):
    train: list[str]
    val: list[str]
    test: list[str]


def names_in(root: Path) -> list[str]:
    ending = "_seg.nii.gz"
    found = sorted(file.name[: -len(ending)] for file in root.glob(f"*{ending}"))
    if not found:
        raise Trouble(
            f"there is no NAME{ending} in {root}: IBSR's volumes NAME.nii.gz and their tissues "
            "NAME_seg.nii.gz are needed"
        )
    return found


def fold_of(names: list[str], folds: int, fold: int) -> Fold:
    """Every so-manieth head is tested; the heads of the next fold choose the rates."""
    parts = [names[first::folds] for first in range(folds)]
    val = parts[(fold + 1) % folds]
    train = [name for name in names if name not in (*parts[fold], *val)]
    return Fold(train, val, parts[fold])


@lru_cache(maxsize=15)  # 15 MB each
def read(root: Path, name: str) -> Head:
    image = np.asarray(read_nifti(root / f"{name}.nii.gz"), np.float32)
    tissue = np.asarray(read_nifti(root / f"{name}_seg.nii.gz")).astype(np.uint8)
    if image.shape != tissue.shape or tissue.max() >= len(TISSUES):
        raise Trouble(f"{name}: image and tissues must have one size, and tissues be 0 .. 3")
    head = image > 0
    low, high = np.array([extent(head, axis) for axis in range(3)]).T
    cut = low - MARGIN
    cut[1] = 0
    cut = cut.clip(0)
    box = tuple(slice(cut[a], None if a == 1 else high[a] + MARGIN) for a in range(3))
    image = (image - image[head].mean()) / image[head].std()
    kept = tissue[box]
    beyond = by_slice(tissue) - by_slice(kept)
    return Head(name, image[box].copy(), kept.copy(), low - cut, high - cut, beyond)


def extent(head: npt.NDArray[np.bool_], axis: int) -> tuple[int, int]:
    others = tuple(other for other in range(3) if other != axis)
    [there] = np.nonzero(head.any(others))
    return int(there[0]), int(there[-1]) + 1


def by_slice(tissue: npt.NDArray[np.uint8]) -> Any:
    """Voxels of each tissue (slices, tissues)."""
    kinds = range(len(TISSUES))
    return np.stack([(tissue == kind).sum((0, 2), dtype=np.int64) for kind in kinds], 1)
