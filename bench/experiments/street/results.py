"""What finished runs have found, for tables: the scores on test of a way of training, seed by
seed, and differences between two ways."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from .. import intervals
from ..intervals import Index, Interval
from ..jobs import Way
from ..lab import Lab
from ..runs import Folder

NEIGHBOURS = 10  # frames of CamVid, a second apart, that are drawn together


def folder(lab: Lab, way: Way, seed: int, batch: int | None = None) -> Folder:
    return lab.folder(way.final(lab, seed, lab.plan.batch if batch is None else batch))


def read(lab: Lab, way: Way, file: str, batch: int | None = None) -> list[dict[str, Any]]:
    """Of every seed."""
    found = []
    for seed in lab.plan.seeds:
        of = folder(lab, way, seed, batch)
        if not of.has(file):
            raise RuntimeError(f"{of.path.name} has no {file}: its jobs must be done first")
        found.append(of.read_arrays(file))
    return found


def counts(lab: Lab, way: Way, batch: int | None = None) -> list[npt.NDArray[Any]]:
    """Confusion counts on test, (images, truth, prediction), of every seed."""
    return [one["confusion"] for one in read(lab, way, "test.npz", batch)]


def each(index: Index, found: Sequence[npt.NDArray[Any]]) -> list[float]:
    """Of every seed."""
    return [index(one) for one in found]


def compared(
    index: Index, ours: Sequence[npt.NDArray[Any]], theirs: Sequence[npt.NDArray[Any]]
) -> Interval:
    return intervals.paired(index, ours, theirs, NEIGHBOURS)


def in_seeds(
    index: Index, ours: Sequence[npt.NDArray[Any]], theirs: Sequence[npt.NDArray[Any]]
) -> str:
    """How often ours is higher."""
    pairs = zip(each(index, ours), each(index, theirs))
    return f"higher in {sum(one > other for one, other in pairs)} of {len(ours)} seeds"


def where(lab: Lab, images: int) -> str:
    """On which data something was found."""
    return f"CamVid test, {images} images, {len(lab.plan.seeds)} seeds"


def spread(values: Sequence[float]) -> float:
    """Half of what lies between the smallest and the largest."""
    return float(np.ptp(values) / 2)
