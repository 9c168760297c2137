"""Coronal slices of a head, each with its neighbours as channels (2.5-D), and a U-Net."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .. import training
from . import heads as ibsr

CROP = 112  # voxels each way, in training
LIGHT = (0.9, 1.1)  # what intensities are multiplied by, in training
AT_ONCE = 8  # slices


def seen(head: ibsr.Head, y: int) -> npt.NDArray[np.float32]:
    """A slice between its neighbours (3, x, z)."""
    last = head.image.shape[1] - 1
    return head.image[:, [max(y - 1, 0), y, min(y + 1, last)]].transpose(1, 0, 2)


def cropped(head: ibsr.Head, y: int, rng: np.random.Generator) -> tuple[Tensor, Tensor]:
    """A part of a slice, as often as not with left and right exchanged."""
    image, tissue = seen(head, y), head.tissue[:, y]
    missing = [max(0, CROP - length) for length in tissue.shape]
    around = [(0, length) for length in missing]
    image = np.pad(image, [(0, 0), *around], mode="edge")
    tissue = np.pad(tissue, around)
    left, bottom = (rng.integers(length - CROP + 1) for length in tissue.shape)
    there = (..., slice(left, left + CROP), slice(bottom, bottom + CROP))
    image, tissue = image[there], tissue[there]
    if rng.random() < 0.5:
        image, tissue = image[:, ::-1], tissue[::-1]
    light = np.float32(rng.uniform(*LIGHT))
    return torch.from_numpy(image * light), torch.from_numpy(tissue.copy()).long()


@dataclass(frozen=True)
class Slices:
    """A U-Net. A batch is so many slices of all heads."""

    width: int  # channels of its first level

    @property
    def size(self) -> int:
        return self.width

    def network(self, seed: int) -> nn.Module:
        return training.new_network(len(ibsr.TISSUES), self.width, seed)

    def batches(
        self, root: Path, names: Sequence[str], seed: int, batch: int
    ) -> Callable[[int], tuple[Tensor, Tensor]]:
        heads = [ibsr.read(root, name) for name in names]
        places = [(head, int(y)) for head in heads for y in head.slices]

        def batch_at(step: int) -> tuple[Tensor, Tensor]:
            rng = np.random.default_rng((seed, 2, step))
            chosen = training.chosen_at(seed, step, len(places), batch)
            images, tissues = zip(*(cropped(*places[k], rng) for k in chosen))
            return torch.stack(images), torch.stack(tissues)

        return batch_at

    @torch.no_grad()
    def predict(
        self, networks: Sequence[nn.Module], head: ibsr.Head, slices: Sequence[int]
    ) -> npt.NDArray[np.uint8]:
        """The tissues (networks, slices, x, z)."""
        found: list[list[Tensor]] = [[] for _ in networks]
        for first in range(0, len(slices), AT_ONCE):
            images = np.stack([seen(head, y) for y in slices[first : first + AT_ONCE]])
            batch = torch.from_numpy(images).to(memory_format=training.LAYOUT)
            for network, predictions in zip(networks, found):
                predictions.append(network(batch).argmax(1).to(torch.uint8))
        return np.stack([torch.cat(predictions).numpy() for predictions in found])
