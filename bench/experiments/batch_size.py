"""Images in a batch: the loss of a batch, of its images, of the dataset (the paper's figure on
image- against dataset-mIoU)."""

from __future__ import annotations

from .jobs import Final, Job, Way
from .lab import Lab

NAME = "batch_size"
WAYS = (
    Way("camvid", "lovasz"),
    Way("camvid", "lovasz_per_image"),
    Way("camvid", "lovasz", "equibatch"),
    Way("camvid", "dataset_lovasz"),
)


def jobs(lab: Lab) -> list[Job]:
    return [
        Final(way, seed, batch)
        for seed in lab.plan.seeds
        for batch in lab.plan.batches
        for way in WAYS
    ]
