"""The pieces of work of experiment last_layer. A draw's folder holds

data.npz          features and labels, and the start
bundle.npz        the minimum, and how the bundle method got there
tried-METHOD.json what every step of the grid came to; of draws that steps are picked with
run-METHOD.npz    the method with the step that was picked; of the others
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from ..jobs import Job, Pretrain
from ..lab import Lab
from ..runs import Folder
from . import methods as layer_methods
from .data import Data, Draw, collect
from .methods import Method


def draws(lab: Lab, tuning: bool) -> list[Draw]:
    """Steps are picked with one draw of each network, which is then not looked at again."""
    plan = lab.plan
    numbers = [0] if tuning else range(1, 1 + plan.layer_draws)
    return [
        Draw(
            number,
            network,
            lab.pretraining(network).name,
            plan.layer_images,
            plan.layer_pixels,
            plan.layer_epochs,
        )
        for network in plan.seeds
        for number in numbers
    ]


def folder_of(lab: Lab, draw: Draw) -> Folder:
    return Folder(lab.out / "last_layer", draw)


def tried(lab: Lab, method: Method) -> npt.NDArray[np.float64]:
    """Steps, looks, and the log10 of J - J* at the end, in the mean over the draws for that."""
    files = [
        folder_of(lab, draw).read_json(f"tried-{method.file}.json") for draw in draws(lab, True)
    ]
    rows = np.array(files)
    found: npt.NDArray[np.float64] = rows[0].copy()
    found[:, 2] = rows[:, :, 2].mean(0)  # not of the others: a mean of equals may be rounded
    return found


def picked(lab: Lab, method: Method) -> tuple[float, float]:
    """The best step and look."""
    rows = tried(lab, method)
    step, look, _ = rows[np.argmin(rows[:, 2])]
    return float(step), float(look)


@dataclass(frozen=True)
class Collect(Job):
    """A draw and its minimum."""

    draw: Draw

    def needs(self, lab: Lab) -> list[Job]:
        return [Pretrain(self.draw.network)]

    def cost(self, lab: Lab) -> float:
        return self.draw.images

    def done(self, lab: Lab) -> bool:
        return folder_of(lab, self.draw).has("bundle.npz")

    def run(self, lab: Lab) -> None:
        folder = folder_of(lab, self.draw)
        data = collect(lab, self.draw)
        folder.write_arrays("data.npz", vars(data))
        folder.write_arrays("bundle.npz", layer_methods.minimum(data))


@dataclass(frozen=True)
class TryAll(Job):
    """Every step of the grid."""

    method: Method
    draw: Draw

    def needs(self, lab: Lab) -> list[Job]:
        return [Collect(self.draw)]

    def cost(self, lab: Lab) -> float:
        return 0.05 * self.draw.images * self.draw.epochs

    def done(self, lab: Lab) -> bool:
        return folder_of(lab, self.draw).has(f"tried-{self.method.file}.json")

    def run(self, lab: Lab) -> None:
        folder = folder_of(lab, self.draw)
        bound = float(folder.read_arrays("bundle.npz")["bound"])
        data = Data(**folder.read_arrays("data.npz"))
        draw = self.draw
        rows = layer_methods.tried(self.method, data, draw.epochs, draw.seed, bound)
        folder.write_json(f"tried-{self.method.file}.json", rows)


@dataclass(frozen=True)
class Run(Job):
    """With the step that was picked."""

    method: Method
    draw: Draw

    def needs(self, lab: Lab) -> list[Job]:
        return [Collect(self.draw), *(TryAll(self.method, draw) for draw in draws(lab, True))]

    def cost(self, lab: Lab) -> float:
        return 0.005 * self.draw.images * self.draw.epochs

    def done(self, lab: Lab) -> bool:
        return folder_of(lab, self.draw).has(f"run-{self.method.file}.npz")

    def run(self, lab: Lab) -> None:
        folder = folder_of(lab, self.draw)
        data = Data(**folder.read_arrays("data.npz"))
        step, look = picked(lab, self.method)
        draw = self.draw
        found = layer_methods.run(self.method, data, draw.epochs, step, look, draw.seed)
        folder.write_arrays(f"run-{self.method.file}.npz", found)
