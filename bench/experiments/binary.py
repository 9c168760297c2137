"""One class of CamVid against the rest: each loss trains, each loss judges (the paper's Table 1,
supplement A)."""

from __future__ import annotations

from . import losses
from .jobs import Final, Job, Way
from .lab import BINARY, Lab

NAME = "binary"
WAYS = {data: [Way(data, loss) for loss in losses.BINARY] for data in BINARY}


def jobs(lab: Lab) -> list[Job]:
    return [
        Final(way, seed, lab.plan.batch)
        for seed in lab.plan.seeds
        for ways in WAYS.values()
        for way in ways
    ]
