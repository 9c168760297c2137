"""Pascal VOC and Cityscapes as they are when unpacked, or any folder of the same shape."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch

from . import UserError
from .data import IGNORE, Example, Segmentation

VOC = [
    "background",
    "aeroplane",
    "bicycle",
    "bird",
    "boat",
    "bottle",
    "bus",
    "car",
    "cat",
    "chair",
    "cow",
    "diningtable",
    "dog",
    "horse",
    "motorbike",
    "person",
    "pottedplant",
    "sheep",
    "sofa",
    "train",
    "tvmonitor",
]
CITYSCAPES = {  # name: label id; their order is that of the train ids
    "road": 7, "sidewalk": 8, "building": 11, "wall": 12, "fence": 13, "pole": 17,
    "traffic light": 19, "traffic sign": 20, "vegetation": 21, "terrain": 22, "sky": 23,
    "person": 24, "rider": 25, "car": 26, "truck": 27, "bus": 28, "train": 31,
    "motorcycle": 32, "bicycle": 33,
}  # fmt: skip
LABEL_IDS = 34
# Colours are shifted and scaled as the networks that were trained on ImageNet expect.
MEAN, SPREAD = (0.485, 0.456, 0.406), (0.229, 0.224, 0.225)


def voc(root: Path, train_list: str = "train", labels: str = "SegmentationClass") -> Segmentation:
    """root: the folder VOC2012. train_list: a list in ImageSets/Segmentation without its .txt, and
    labels: the folder of the label maps, for the extra images that the paper trains with."""
    need_folder(root, "JPEGImages", labels, "ImageSets/Segmentation")
    identity = np.arange(256)
    identity[len(VOC) : IGNORE] = -1

    def part(name: str) -> list[Any]:
        list_file = root / "ImageSets" / "Segmentation" / f"{name}.txt"
        if not list_file.is_file():
            raise UserError(f"there is no {list_file}")
        return [
            partial(
                read_pair,
                root / "JPEGImages" / f"{line}.jpg",
                root / labels / f"{line}.png",
                identity,
            )
            for line in list_file.read_text(encoding="utf-8").split()
        ]

    return checked(root, Segmentation(VOC, 3, part(train_list), part("val")))


def cityscapes(root: Path) -> Segmentation:
    """root: the folder that has leftImg8bit and gtFine in it."""
    need_folder(root, "leftImg8bit/train", "leftImg8bit/val", "gtFine/train", "gtFine/val")
    train_ids = np.full(256, -1)
    train_ids[:LABEL_IDS] = IGNORE
    train_ids[list(CITYSCAPES.values())] = range(len(CITYSCAPES))

    def part(name: str) -> list[Any]:
        images = sorted((root / "leftImg8bit" / name).glob("*/*_leftImg8bit.png"))
        return [partial(read_pair, image, label_file(root, image), train_ids) for image in images]

    return checked(root, Segmentation(list(CITYSCAPES), 3, part("train"), part("val")))


def label_file(root: Path, image: Path) -> Path:
    name = image.name.replace("_leftImg8bit.png", "_gtFine_labelIds.png")
    return root / "gtFine" / image.parent.parent.name / image.parent.name / name


def read_pair(image_file: Path, labels_file: Path, class_of: np.ndarray[Any, Any]) -> Example:
    """class_of: for each value in the label map its class, IGNORE, or -1 where it is an error."""
    pixels = read_image(image_file, "RGB").astype(np.float32) / 255
    values = read_image(labels_file, None)
    if values.ndim != 2 or values.dtype != np.uint8:
        raise UserError(f"{labels_file} is no label map: one byte per pixel is needed")
    if values.shape != pixels.shape[:2]:
        raise UserError(f"{labels_file} and {image_file} differ in size")
    labels = class_of[values]
    if labels.min() < 0:
        raise UserError(f"{labels_file} has the label {values[labels < 0][0]}, which is no class")
    pixels = (pixels - np.float32(MEAN)) / np.float32(SPREAD)
    return torch.from_numpy(pixels.transpose(2, 0, 1).copy()), torch.from_numpy(labels)


def read_image(file: Path, mode: str | None) -> np.ndarray[Any, Any]:
    try:
        from PIL import Image
    except ImportError:
        raise UserError("images are read by Pillow: pip install pillow") from None
    try:
        with Image.open(file) as image:
            return np.array(image if mode is None else image.convert(mode))
    except FileNotFoundError:
        raise UserError(f"there is no {file}") from None
    except OSError as error:
        raise UserError(f"{file} cannot be read: {error}") from None


def need_folder(root: Path, *parts: str) -> None:
    for folder in [root, *(root / part for part in parts)]:
        if not folder.is_dir():
            raise UserError(f"there is no folder {folder}")


def checked(root: Path, data: Segmentation) -> Segmentation:
    if not data.train or not data.val:
        which = "training" if not data.train else "validation"
        raise UserError(f"{root} has no {which} images")
    return data
