"""Jobs that take finished networks: averaged predictions, and decisions, on test."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from torch import nn

from ..jobs import Final, Job, Way
from ..lab import Lab
from ..runs import Folder
from . import predictions

DECISIONS = {"decided": 1, "decided in batches": predictions.TOGETHER}  # images that are one


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


class Average(AfterFinal):
    """Mirrored, scaled, both."""

    file = "averaged.npz"

    def found(self, lab: Lab, network: nn.Module) -> dict[str, Any]:
        return dict(predictions.averaged(network, lab.split(self.way.data, "test")))


class Decide(AfterFinal):
    """Decisions, from probabilities that are calibrated on val."""

    file = "decided.npz"

    def found(self, lab: Lab, network: nn.Module) -> dict[str, Any]:
        data = self.way.data
        fitted = predictions.temperature(network, lab.split(data, "val"))
        found: dict[str, Any] = {"temperature": np.array(fitted)}
        for name, together in DECISIONS.items():
            test = lab.split(data, "test")
            found[name] = predictions.decided(network, test, together, fitted)
        return found
