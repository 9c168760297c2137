"""CamVid in the split and the 11 classes of the SegNet tutorial, or any folder of that shape:
train, val and test with images, trainannot .. with label maps, train.txt .. with their names."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor

CLASSES = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian",
    "bicyclist",
)  # fmt: skip
VOID = 11
IGNORE = 255
SEEN = 1 / 2  # networks see images at half the size of the labels, and are scored at their size
CROP = 2 / 3  # of an image's height and width, in training
ZOOM = (1.0, 1.5)  # of what a crop shows, in training
MEAN, SPREAD = (0.41, 0.42, 0.43), (0.30, 0.31, 0.30)


class Split(NamedTuple):
    names: list[str]
    images: Tensor  # (n, 3, height, width), uint8
    labels: Tensor  # (n, height, width), uint8: a class or IGNORE


def read(root: Path, part: str) -> Split:
    from PIL import Image

    listing = root / f"{part}.txt"
    if not listing.is_file():
        raise FileNotFoundError(
            f"there is no {listing}: CamVid as the SegNet tutorial has it is needed, folders "
            "train, trainannot, .. and lists train.txt, .."
        )
    files = [Path(line.split()[0]) for line in listing.read_text().splitlines() if line.strip()]
    images, labels = [], []
    for file in files:
        [image] = sorted((root / part).glob(f"{file.stem}.*"))
        with Image.open(image) as pixels:
            images.append(torch.from_numpy(np.array(pixels.convert("RGB"))).permute(2, 0, 1))
        with Image.open(root / f"{part}annot" / f"{file.stem}.png") as pixels:
            labels.append(torch.from_numpy(np.array(pixels)))
    truth = torch.stack(labels)
    truth[truth == VOID] = IGNORE
    return Split([file.stem for file in files], torch.stack(images), truth)


def normalised(images: Tensor) -> Tensor:
    """As networks take them."""
    mean, spread = (torch.tensor(x).view(3, 1, 1) for x in (MEAN, SPREAD))
    return (images.float() / 255 - mean) / spread


def part_of(shape: Sequence[int], fraction: float) -> tuple[int, int]:
    """Of height and width."""
    return round(shape[-2] * fraction), round(shape[-1] * fraction)


def resized(images: Tensor, size: tuple[int, int]) -> Tensor:
    return F.interpolate(images, size, mode="bilinear", antialias=True)


def batch(split: Split, chosen: npt.NDArray[np.int64], rng: np.random.Generator) -> Any:
    """Images and labels under random crops, mirroring and light."""
    pairs = [augmented(split.images[i], split.labels[i], rng) for i in chosen]
    images, labels = zip(*pairs)
    return normalised(torch.stack(images)), torch.stack(labels).long()


def augmented(image: Tensor, labels: Tensor, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    height, width = labels.shape
    h, w = part_of(labels.shape, CROP / rng.uniform(*ZOOM))
    top, left = rng.integers(height - h + 1), rng.integers(width - w + 1)
    there = (..., slice(top, top + h), slice(left, left + w))
    size = part_of(labels.shape, CROP * SEEN)
    seen = resized(image[there][None].float(), size)[0]
    truth = F.interpolate(labels[there][None, None].float(), size, mode="nearest-exact")[0, 0]
    if rng.random() < 0.5:
        seen, truth = seen.flip(-1), truth.flip(-1)
    light = torch.from_numpy(rng.uniform(0.8, 1.2, 3)).float().view(3, 1, 1)
    return seen * light, truth
