"""How much is done: everything that costs time is decided here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Plan:
    """The whole experiment. Images count as often as they are shown to a network."""

    seeds: tuple[int, ...] = (0, 1, 2)
    rates: tuple[float, ...] = (3e-3, 1e-3, 3e-4)  # one of them is picked for each loss, on val
    batch: int = 8
    batches: tuple[int, ...] = (1, 2, 4, 8, 16)
    pretraining_images: int = 14720  # 40 times CamVid's training images
    pretraining_rate: float = 2e-3
    images: int = 736  # of a fine-tuning: twice CamVid's training images
    width: int = 8  # channels of the U-Net's first level


# For tests: the same path in seconds, on a few small images.
QUICK = Plan(
    seeds=(0, 1),
    rates=(1e-2, 1e-3),
    batch=4,
    batches=(1, 4),
    pretraining_images=32,
    pretraining_rate=1e-2,
    images=8,
    width=2,
)
