"""Trainings on one fold of IBSR's heads and what they get right, by name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn

from .. import intervals, training
from ..lab import Lab
from ..plan import Effort
from ..runs import Folder, Training
from ..street import losses, scoring
from . import heads as ibsr
from .slices import Slices
from .voxels import Voxels

LOSSES = ("cross_entropy", "lovasz", "lovasz+cross_entropy")
STRUCTURES = slice(1, len(ibsr.TISSUES))
TUNED_WITH = 0  # the seed that rates are picked with
VALIDATED = 4  # every so-manieth slice of the validation heads


class Model(Protocol):
    @property
    def size(self) -> int: ...

    def network(self, seed: int) -> nn.Module: ...

    def batches(
        self, root: Path, names: Sequence[str], seed: int, batch: int
    ) -> Callable[[int], tuple[Tensor, Tensor]]: ...

    def predict(
        self, networks: Sequence[nn.Module], head: ibsr.Head, slices: Sequence[int]
    ) -> npt.NDArray[np.uint8]: ...


MODELS: dict[str, Callable[[int], Model]] = {"linear": Voxels, "hidden": Voxels, "unet": Slices}


def root_of(lab: Lab) -> Path:
    return lab.data / "ibsr"


def jaccard(counts: Any) -> Any:
    """Of the structures, from counts (.., tissues, tissues)."""
    return intervals.iou_of(np.asarray(counts, float))[..., STRUCTURES]


@dataclass(frozen=True)
class Case:
    """A model on a fold."""

    lab: Lab
    name: str  # of the model
    fold: int

    @property
    def effort(self) -> Effort:
        found: Effort = getattr(self.lab.plan, self.name)
        return found

    @property
    def model(self) -> Model:
        return MODELS[self.name](self.effort.size)

    @property
    def heads(self) -> ibsr.Fold:
        return ibsr.fold_of(ibsr.names_in(root_of(self.lab)), self.lab.plan.folds, self.fold)

    def folder(self, run: Training) -> Folder:
        return Folder(self.lab.out / "runs", run)

    # ---- which trainings there are ----
    def pretraining(self, seed: int) -> Training:
        effort = self.effort
        return self._training(
            "cross_entropy", seed, effort.pretraining_steps, effort.pretraining_rate, ""
        )

    def fine(self, loss: str, seed: int, rate: float) -> Training:
        return self._training(loss, seed, self.effort.steps, rate, self.pretraining(seed).name)

    def _training(self, loss: str, seed: int, steps: int, rate: float, start: str) -> Training:
        data = f"ibsr-{self.name}-f{self.fold}"
        batch, width = self.effort.batch, self.effort.size
        return Training(data, loss, seed, steps, batch, rate, start, width=width)

    def tunings(self, loss: str) -> list[Training]:
        return [self.fine(loss, TUNED_WITH, rate) for rate in self.effort.rates]

    def rate(self, loss: str) -> float:
        """The best of the grid on the validation heads. Every tuning must be scored."""

        def index(run: Training) -> float:
            counts = self.folder(run).read_arrays("val.npz")["confusion"]
            return float(jaccard(counts.sum(1)).mean())

        return max(self.tunings(loss), key=index).rate

    def final(self, loss: str, seed: int) -> Training:
        return self.fine(loss, seed, self.rate(loss))

    # ---- doing them ----
    def network(self, run: Training) -> nn.Module:
        """As it was trained."""
        network = self.model.network(run.seed)
        network.load_state_dict(self.folder(run).read_state("weights.pt"))
        return network.eval()

    def train(self, run: Training) -> None:
        folder = self.folder(run)
        if folder.has("weights.pt"):
            return
        network = self.model.network(run.seed)
        if run.start:
            start = self.folder(self.pretraining(run.seed))
            network.load_state_dict(start.read_state("weights.pt"))
        batch_at = self.model.batches(root_of(self.lab), self.heads.train, run.seed, run.batch)
        loss = losses.MULTICLASS[run.loss](torch.ones(len(ibsr.TISSUES)))
        training.fit(folder, network, loss, batch_at, self.lab.plan.checkpoint_seconds)

    def score(self, runs: list[Training], part: str, every: int = 1) -> None:
        """Confusion counts (heads, slices, truth, prediction) of runs that have none yet."""
        runs = [run for run in runs if not self.folder(run).has(f"{part}.npz")]
        networks = [self.network(run) for run in runs]
        names: list[str] = getattr(self.heads, part)
        found = [confusion(self.model, networks, self.head(name), every) for name in names]
        for run, *counts in zip(runs, *found):
            arrays = {"confusion": np.stack(counts), "heads": np.array(names)}
            self.folder(run).write_arrays(f"{part}.npz", arrays)

    def head(self, name: str) -> ibsr.Head:
        return ibsr.read(root_of(self.lab), name)


def confusion(model: Model, networks: list[nn.Module], head: ibsr.Head, every: int) -> Any:
    """(networks, slices, truth, prediction): of every slice of the volume, or of every so-manieth.
    What was cut away is taken for background."""
    slices = range(0, head.image.shape[1], every)
    truth = head.tissue.transpose(1, 0, 2)[slices]
    counts = np.stack(
        [
            [scoring.confusion(one, own, len(ibsr.TISSUES)) for one, own in zip(chosen, truth)]
            for chosen in model.predict(networks, head, slices)
        ]
    )
    counts[..., 0] += head.beyond[slices]
    return counts
