"""Axial slices of MRI volumes with eight labelled structures, as in the paper's supplement: the 18
volumes of the Internet Brain Segmentation Repository, for whoever has them."""

from __future__ import annotations

import gzip
import struct
import zlib
from functools import partial
from pathlib import Path
from typing import Any, Callable

import numpy as np
import torch

from . import UserError
from .data import Example, Segmentation

STRUCTURES = ("thalamus", "caudate", "putamen", "pallidum")
NAMES = [f"{side} {name}" for name in STRUCTURES for side in "LR"]
IBSR = [10, 49, 11, 50, 12, 51, 13, 52]
TYPES = {2: "u1", 4: "i2", 8: "i4", 16: "f4", 64: "f8", 256: "i1", 512: "u2", 768: "u4"}
Volume = np.ndarray  # (x, y, z); axial slices are [:, :, z]


def raw_nifti(file: Path) -> tuple[bytes, str]:
    """What a NIfTI-1 file holds, and its order of bytes."""
    try:
        raw = file.read_bytes()
        raw = gzip.decompress(raw) if file.suffix == ".gz" else raw
    except FileNotFoundError:
        raise UserError(f"there is no {file}") from None
    except (OSError, EOFError, zlib.error) as error:
        raise UserError(f"{file} cannot be read: {error}") from None
    order = "<" if raw[:4] == struct.pack("<i", 348) else ">"
    if len(raw) < 352 or struct.unpack_from(order + "i", raw)[0] != 348:
        raise UserError(f"{file} is no NIfTI-1 file")
    return raw, order


def read_nifti(file: Path) -> Volume:
    """The voxels of a NIfTI-1 file, times its slope: three dimensions, all that we need of it."""
    raw, order = raw_nifti(file)
    dims = struct.unpack_from(order + "8h", raw, 40)
    kind = TYPES.get(struct.unpack_from(order + "h", raw, 70)[0])
    start, slope, shift = struct.unpack_from(order + "3f", raw, 108)
    shape = dims[1:4]
    if kind is None or dims[0] < 3 or min(shape) < 1 or max((1, *dims[4 : dims[0] + 1])) > 1:
        raise UserError(f"{file} is no volume of numbers")
    dtype = np.dtype(order + kind)
    if len(raw) < start + np.prod(shape) * dtype.itemsize:
        raise UserError(f"{file} is shorter than its header says")
    voxels = np.frombuffer(raw, dtype, int(np.prod(shape)), int(start)).reshape(shape, order="F")
    return voxels * np.float32(slope) + np.float32(shift) if slope not in (0, 1) else voxels


def classes_in(values: Volume, ids: list[int]) -> Volume:
    labels = np.zeros(values.shape, np.uint8)
    for number, value in enumerate(ids, start=1):
        labels[np.round(values) == value] = number
    return labels


def read_slice(image: Volume, labels: Volume, z: int) -> Example:
    """Upright: rows from the front of the head to its back."""
    seen, truth = image[:, ::-1, z].T.copy(), labels[:, ::-1, z].T.copy()
    return torch.from_numpy(seen[None]), torch.from_numpy(truth).long()


def standardised(image: Any) -> Volume:
    image = np.asarray(image, np.float32)
    inside = image[image > image.mean()]
    return (image - inside.mean()) / max(float(inside.std()), 1e-6)


def ibsr(root: Path, fold: int = 0) -> Segmentation:
    """Files as in IBSR 2.0: NAME_ana.nii.gz with NAME_seg_ana.nii.gz. A third of the volumes, the
    fold's, is tested; the one after them is left for validation; slices without structures are not
    trained with."""
    truths = sorted(root.rglob("*_seg_ana.nii.gz")) if root.is_dir() else []
    if len(truths) < 3:
        raise UserError(f"{root} has {len(truths)} files *_seg_ana.nii.gz; 3 are needed at least")
    third = len(truths) // 3
    first = fold * third
    train: list[Callable[[], Example]] = []
    val: list[Callable[[], Example]] = []
    for number, truth in enumerate(truths):
        if len(truths) > 3 and number == (first + third) % len(truths):
            continue
        image = read_nifti(truth.with_name(truth.name.replace("_seg_ana", "_ana")))
        labels = classes_in(read_nifti(truth), IBSR)
        if image.shape != labels.shape:
            raise UserError(f"{truth} and its image differ in size")
        image = standardised(image)
        read = partial(read_slice, image, labels)
        slices = range(labels.shape[2])
        if first <= number < first + third:
            val += [partial(read, z) for z in slices]
        else:
            train += [partial(read, z) for z in slices if labels[:, :, z].any()]
    if not train:
        raise UserError(f"no slice under {root} has any of the labels {IBSR}")
    return Segmentation(["rest", *NAMES], 1, train, val, leave_out=0)
