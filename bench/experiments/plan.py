"""How much is done: everything that costs time is decided here."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Effort:
    """Of the trainings of one model on one fold of IBSR."""

    size: int  # of the model: hidden units, or channels of the U-Net's first level
    seeds: tuple[int, ...]
    batch: int  # voxels or slices
    pretraining_steps: int
    pretraining_rate: float
    steps: int  # of a fine-tuning
    rates: tuple[float, ...]  # one of them is picked for each loss, on the validation heads


@dataclass(frozen=True)
class Plan:
    """The whole experiment. Images count as often as they are shown to a network."""

    seeds: tuple[int, ...] = (0, 1, 2)
    rates: tuple[float, ...] = (
        3e-3,
        1e-3,
        3e-4,
        1e-4,
    )  # one of them is picked for each loss, on val
    batch: int = 8
    batches: tuple[int, ...] = (1, 2, 4, 8, 16)
    pretraining_images: int = 36700  # 100 times CamVid's training images
    pretraining_batch: int = 4
    pretraining_rate: float = 2e-3
    images: int = 552  # of a fine-tuning: 1.5 times CamVid's training images
    width: int = 8  # channels of the U-Net's first level
    checkpoint_seconds: float = 30.0  # between two; decides nothing but what a kill costs
    folds: int = 5  # of IBSR's heads
    linear: Effort = Effort(
        0, (0, 1, 2), 16384, 800, 3e-1, 200, (1.0, 3e-1, 1e-1, 3e-2, 1e-2, 3e-3)
    )
    hidden: Effort = Effort(32, (0, 1, 2), 16384, 800, 3e-2, 200, (3e-1, 1e-1, 3e-2, 1e-2, 3e-3))
    unet: Effort = Effort(8, (0, 1, 2), 8, 1000, 3e-3, 100, (3e-3, 1e-3, 3e-4))
    # Of experiment last_layer: draws of each network, beside the one that steps are picked with.
    layer_draws: int = 3
    layer_images: int = 32
    layer_pixels: int = 1024  # of each image
    layer_epochs: int = 60


# For tests: the same path in seconds, on a few small images.
QUICK = Plan(
    seeds=(0, 1),
    rates=(1e-2,),
    batch=4,
    batches=(1, 4),
    pretraining_images=32,
    pretraining_batch=4,
    pretraining_rate=1e-2,
    images=8,
    width=2,
    folds=3,
    linear=Effort(0, (0, 1), 256, 2, 3e-2, 1, (3e-2,)),
    hidden=Effort(4, (0,), 256, 2, 1e-2, 1, (1e-2,)),
    unet=Effort(2, (0,), 2, 2, 1e-2, 1, (1e-2,)),
    layer_draws=1,
    layer_images=8,
    layer_pixels=64,
    layer_epochs=2,
)
