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

from ..trouble import Trouble

CLASSES = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian",
    "bicyclist",
)  # fmt: skip
VOID = 11
IGNORE = 255
SEEN = 1 / 2  # networks see images at half the size of the labels, and are scored at their size
CROP = 2 / 3  # of an image's height and width, in training
ZOOM = (1.0, 1.5)  # of what a crop shows, in training
LIGHT = (0.8, 1.2)  # what each colour is multiplied by, in training
MEAN, SPREAD = (0.41, 0.42, 0.43), (0.30, 0.31, 0.30)


class Split(NamedTuple):
    names: list[str]
    images: Tensor  # (n, 3, height, width), uint8
    labels: Tensor  # (n, height, width), uint8: a class or IGNORE


def read(root: Path, part: str) -> Split:
    """A part that is not as it should be is Trouble."""
    listing = root / f"{part}.txt"
    if not listing.is_file():
        raise Trouble(f"there is no {listing}, which lists the images of {root / part}")
    names = [
        Path(line.split()[0]).stem for line in listing.read_text().splitlines() if line.strip()
    ]
    if not names:
        raise Trouble(f"{listing} lists no images")
    images, labels = zip(*(read_pair(root, part, name) for name in names))
    sizes = {tuple(truth.shape) for truth in labels}
    if len(sizes) > 1:
        raise Trouble(f"the images of {root / part} must have one size, and have {len(sizes)}")
    truth = torch.stack(labels)
    truth[truth == VOID] = IGNORE
    return Split(names, torch.stack(images), truth)


def read_pair(root: Path, part: str, name: str) -> tuple[Tensor, Tensor]:
    """An image and its label map."""
    from PIL import Image

    [file, *_] = [*sorted((root / part).glob(f"{name}.*")), root / part / f"{name}.png"]
    label_file = root / f"{part}annot" / f"{name}.png"
    for needed in (file, label_file):
        if not needed.is_file():
            raise Trouble(f"there is no {needed}, though {part}.txt lists {name}")
    with Image.open(file) as pixels:
        image = np.array(pixels.convert("RGB"))
    with Image.open(label_file) as pixels:
        labels = np.array(pixels)
    if labels.shape != image.shape[:2]:
        sizes = [" x ".join(map(str, x.shape[1::-1])) for x in (labels, image)]
        raise Trouble(
            f"{label_file} is {sizes[0]}, its image {sizes[1]} pixels: both must have one size, "
            "and a label map one number a pixel"
        )
    if labels.max() > VOID:
        raise Trouble(f"{label_file} has label {labels.max()}; 0 to 10 are classes, {VOID} is void")
    return torch.from_numpy(image).permute(2, 0, 1), torch.from_numpy(labels)


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
    light = torch.from_numpy(rng.uniform(*LIGHT, 3)).float().view(3, 1, 1)
    return seen * light, truth
