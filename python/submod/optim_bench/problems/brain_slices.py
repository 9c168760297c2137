"""Slices of a T1 volume with features and labels, as in study brain: Debian's mricron-data."""

from __future__ import annotations

import gzip
from functools import lru_cache
from pathlib import Path

import numpy as np

from .linear import Array

FOLDER = Path("/usr/share/mricron/templates")
IMAGE, LABELS = FOLDER / "ch2.nii.gz", FOLDER / "aal.nii.gz"
# Thalamus, caudate, putamen, pallidum, left and right, as aal.nii.gz numbers them.
STRUCTURES = {77: 1, 78: 1, 71: 2, 72: 2, 73: 3, 74: 3, 75: 4, 76: 4}
CLASSES = 5
MARGIN, REACH = 12, 12  # voxels around the structures that are shown, and that filters need
SIGMAS = (1, 2, 4)
TYPES = {2: np.uint8, 4: np.int16, 8: np.int32, 16: np.float32, 64: np.float64, 512: np.uint16}


def missing() -> str | None:
    if IMAGE.exists() and LABELS.exists():
        return None
    return "the volumes of Debian's mricron-data are not here: apt-get install mricron-data"


def read_nifti(path: Path) -> Array:
    """The voxels of a .nii.gz file, [x, y, z], as stored: their scale does not matter."""
    data = gzip.decompress(path.read_bytes())
    size, shape = np.frombuffer(data, "<i4", 1)[0], np.frombuffer(data, "<i2", 8, 40)
    kind = int(np.frombuffer(data, "<i2", 1, 70)[0])
    if size != 348 or kind not in TYPES:
        raise ValueError(f"{path}: a NIfTI-1 file of real numbers in little-endian order is needed")
    first, count = int(np.frombuffer(data, "<f4", 1, 108)[0]), int(np.prod(shape[1:4]))
    return np.frombuffer(data, TYPES[kind], count, first).reshape(shape[1:4], order="F")


@lru_cache(None)
def slices(images: int, step: int) -> tuple[Array, Array]:
    """X (images, pixels, features) and labels 0..4 of axial slices, evenly spaced over those that
    show all structures; of every step-th pixel in both directions."""
    voxels, labels = _near_structures()
    features = _features(voxels)[REACH:-REACH, REACH:-REACH, REACH:-REACH]
    labels = labels[REACH:-REACH, REACH:-REACH, REACH:-REACH]
    full = [z for z in range(labels.shape[2]) if len(np.unique(labels[..., z])) == CLASSES]
    chosen = [full[k] for k in np.linspace(0, len(full) - 1, images).round().astype(int)]
    X = np.array([features[::step, ::step, z].reshape(-1, features.shape[-1]) for z in chosen])
    X = (X - X.mean((0, 1))) / X.std((0, 1))
    ones = np.ones((*X.shape[:2], 1))
    return np.concatenate([X, ones], 2), np.array(
        [labels[::step, ::step, z].ravel() for z in chosen]
    )


def _near_structures() -> tuple[Array, Array]:
    """The image and the classes in a box around the structures."""
    image, numbers = read_nifti(IMAGE), read_nifti(LABELS)
    labels = np.zeros(numbers.shape, np.int64)
    for number, c in STRUCTURES.items():
        labels[numbers == number] = c
    box = tuple(
        slice(max(0, at.min() - MARGIN - REACH), at.max() + MARGIN + REACH + 1)
        for at in np.nonzero(labels)
    )
    return image[box].astype(float), labels[box]


def _features(voxels: Array) -> Array:
    """Of a voxel: its surroundings at several scales, how steep they are, and its place."""
    scales = [_blur(voxels, sigma) for sigma in SIGMAS]
    slopes = [np.sqrt(sum(g**2 for g in np.gradient(scale))) for scale in scales]
    place = np.meshgrid(*(np.linspace(-1, 1, n) for n in voxels.shape), indexing="ij")
    squares = [place[a] * place[b] for a in range(3) for b in range(a, 3)]
    return np.stack([voxels, *scales, *slopes, *place, *squares, abs(place[0])], -1)


def _blur(voxels: Array, sigma: float) -> Array:
    """By a normal density along each axis; beyond an end, its voxel repeats."""
    reach = 3 * int(sigma)
    kernel = np.exp(-0.5 * (np.arange(-reach, reach + 1) / sigma) ** 2)
    kernel /= kernel.sum()
    for axis, size in enumerate(voxels.shape):
        around = [(reach, reach) if a == axis else (0, 0) for a in range(3)]
        wide = np.moveaxis(np.pad(voxels, around, "edge"), axis, 0)
        line = sum(weight * wide[k : k + size] for k, weight in enumerate(kernel))
        voxels = np.moveaxis(line, 0, axis)
    return voxels
