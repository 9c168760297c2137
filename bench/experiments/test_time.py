"""What is gained after training: mirrored and scaled images, and the decision with the best
expected IoU (Nowozin 2014) from cross-entropy's probabilities, against a network that was trained
with Lovász (the paper's Table 2 and its comparison in Sec. 4.3)."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import nn

from . import predictions
from .intervals import dataset_miou
from .jobs import TUNED_WITH, Final, Job, Way
from .lab import BINARY, Lab
from .runs import Folder

NAME = "test_time"
AVERAGED = (Way("camvid", "cross_entropy"), Way("camvid", "lovasz"))
DECIDED = tuple(Way(data, "cross_entropy") for data in ("camvid", *BINARY))
RIVALS = ("lovasz_hinge", "lovasz_sigmoid")  # of the binary decisions
# Decisions: how many images are decided as one, and whether their probabilities are calibrated.
DECISIONS = {
    "decided": (1, False),
    "decided, calibrated": (1, True),
    "decided in batches": (predictions.TOGETHER, False),
    "decided in batches, calibrated": (predictions.TOGETHER, True),
}


@dataclass(frozen=True)
class AfterFinal(Job):
    """Something of a finished network, in a file of its folder."""

    way: Way
    seed: int
    file: ClassVar[str]

    def final(self, lab: Lab) -> Final:
        return Final(self.way, self.seed, lab.plan.batch)

    def needs(self, lab: Lab) -> list[Job]:
        return [self.final(lab)]

    def cost(self, lab: Lab) -> float:
        return lab.plan.images

    def folder(self, lab: Lab) -> Folder:
        return lab.folder(self.way.final(lab, self.seed, lab.plan.batch))

    def done(self, lab: Lab) -> bool:
        ready = all(need.done(lab) for need in self.needs(lab))
        return ready and self.folder(lab).has(self.file)

    def run(self, lab: Lab) -> None:
        folder = self.folder(lab)
        folder.write_arrays(self.file, self.found(lab, lab.trained(folder.run)))

    @abstractmethod
    def found(self, lab: Lab, network: nn.Module) -> dict[str, Any]: ...


class PickScales(AfterFinal):
    """What scales are worth on val."""

    file = "scales.npz"

    def found(self, lab: Lab, network: nn.Module) -> dict[str, Any]:
        return predictions.scaled(network, lab.split(self.way.data, "val"))

    def best(self, lab: Lab) -> str:
        counts = self.folder(lab).read_arrays(self.file)
        return max(predictions.SCALES, key=lambda name: dataset_miou(counts[name]))


class Average(AfterFinal):
    """Mirrored, scaled, both."""

    file = "averaged.npz"

    def picked(self) -> PickScales:
        return PickScales(self.way, TUNED_WITH)

    def needs(self, lab: Lab) -> list[Job]:
        return [self.final(lab), self.picked()]

    def found(self, lab: Lab, network: nn.Module) -> dict[str, Any]:
        scales = predictions.SCALES[self.picked().best(lab)]
        return dict(predictions.averaged(network, lab.split(self.way.data, "test"), scales))


class Decide(AfterFinal):
    """Decisions, with a temperature from val where they are calibrated."""

    file = "decided.npz"

    def found(self, lab: Lab, network: nn.Module) -> dict[str, Any]:
        data = self.way.data
        fitted = predictions.temperature(network, lab.split(data, "val"))
        found: dict[str, Any] = {
            name: predictions.decided(
                network, lab.split(data, "test"), together, fitted if calibrated else 1.0
            )
            for name, (together, calibrated) in DECISIONS.items()
        }
        return {**found, "temperature": np.array(fitted)}


def jobs(lab: Lab) -> list[Job]:
    averages: list[Job] = [Average(way, seed) for seed in lab.plan.seeds for way in AVERAGED]
    decisions: list[Job] = [Decide(way, seed) for seed in lab.plan.seeds for way in DECIDED]
    rivals: list[Job] = [
        Final(Way(data, loss), seed, lab.plan.batch)
        for seed in lab.plan.seeds
        for data in BINARY
        for loss in RIVALS
    ]
    return averages + decisions + rivals
