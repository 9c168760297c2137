"""A tiny folder of IBSR's shape, for tests: balls of white matter in grey matter, with a hole."""

from __future__ import annotations

import gzip
import struct
from pathlib import Path

import numpy as np
import numpy.typing as npt

HEADS = 3
SHAPE = (24, 12, 24)
LIGHT = (0.0, 40.0, 70.0, 100.0)  # of background, CSF, grey and white matter


def ibsr(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for k in range(HEADS):
        rng = np.random.default_rng(k)
        centre = np.array(SHAPE) / 2 + rng.uniform(-1, 1, 3)
        away = (np.indices(SHAPE).T - centre) / SHAPE
        distance = np.sqrt(np.square(away).sum(-1)).T
        tissue = np.select([distance < 0.08, distance < 0.25, distance < 0.36], [1, 3, 2]).astype(
            "i2"
        )
        noise = rng.normal(0, 8, SHAPE)
        image = np.where(tissue > 0, np.take(LIGHT, tissue) + noise, 0).clip(0).astype("i2")
        write(folder / f"IBSR_{k + 1:02}.nii.gz", image)
        write(folder / f"IBSR_{k + 1:02}_seg.nii.gz", tissue)


def write(file: Path, voxels: npt.NDArray[np.int16]) -> None:
    """As NIfTI-1, with what readers need of its header."""
    header = bytearray(352)
    struct.pack_into("<i", header, 0, 348)
    struct.pack_into("<8h", header, 40, 3, *voxels.shape, 1, 1, 1, 1)
    struct.pack_into("<2h", header, 70, 4, 16)
    struct.pack_into("<3f", header, 108, 352, 1, 0)
    header[344:348] = b"n+1\0"
    file.write_bytes(gzip.compress(bytes(header) + voxels.astype("<i2").tobytes("F"), mtime=0))
