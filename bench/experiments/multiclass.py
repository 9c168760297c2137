"""Eleven classes of CamVid: cross-entropy, Lovász-Softmax in its variants, and other surrogates
(the paper's Tables 2 and 3)."""

from __future__ import annotations

from . import losses
from .jobs import Final, Job, Way
from .lab import Lab

NAME = "multiclass"
WAYS = (*(Way("camvid", loss) for loss in losses.MULTICLASS), Way("camvid", "lovasz", "equibatch"))


def jobs(lab: Lab) -> list[Job]:
    return [Final(way, seed, lab.plan.batch) for seed in lab.plan.seeds for way in WAYS]
