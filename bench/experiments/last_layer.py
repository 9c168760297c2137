"""Optimisers of a last layer under the Lovász hinge, on the features of pre-trained networks (the
supplement's figure on optimisation methods)."""

from __future__ import annotations

from .jobs import Job
from .lab import Lab
from .layer_jobs import Run, draws
from .layer_methods import METHODS

NAME = "last_layer"


def jobs(lab: Lab) -> list[Job]:
    return [Run(method, draw) for draw in draws(lab, False) for method in METHODS]
