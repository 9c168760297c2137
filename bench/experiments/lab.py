"""Data, networks and results, by name. Every worker has one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from . import intervals, training
from .plan import Plan
from .runs import Folder, Training
from .street import camvid, losses, scoring

# One class or more of CamVid against the rest.
BINARY = {"camvid-car": ("car",), "camvid-people": ("pedestrian", "bicyclist")}


@dataclass
class Lab:
    data: Path  # with folders camvid and ibsr
    out: Path
    plan: Plan

    @contextmanager
    def opened(self) -> Iterator[None]:
        """For work, on one thread."""
        threads = torch.get_num_threads()
        torch.set_num_threads(1)
        try:
            yield
        finally:
            torch.set_num_threads(threads)

    @cached_property
    def splits(self) -> dict[str, camvid.Split]:
        return {part: camvid.read(self.data / "camvid", part) for part in ("train", "val", "test")}

    @cached_property
    def pixels(self) -> Tensor:
        """Of each class in the training images."""
        return training.pixels_of(self.splits["train"], len(camvid.CLASSES))

    def split(self, data: str, part: str) -> camvid.Split:
        whole = self.splits[part]
        if data not in BINARY:
            return whole
        ours = torch.tensor([camvid.CLASSES.index(name) for name in BINARY[data]])
        labels = torch.isin(whole.labels, ours).to(torch.uint8)
        labels[whole.labels == camvid.IGNORE] = camvid.IGNORE
        return camvid.Split(whole.names, whole.images, labels)

    def loss(self, data: str, name: str) -> nn.Module:
        return losses.BINARY[name]() if data in BINARY else losses.MULTICLASS[name](self.pixels)

    def folder(self, run: Training) -> Folder:
        return Folder(self.out / "runs", run)

    def pretraining(self, seed: int) -> Training:
        plan = self.plan
        steps = plan.pretraining_images // plan.pretraining_batch
        return Training(
            "camvid", "cross_entropy", seed, steps, plan.pretraining_batch,
            plan.pretraining_rate, width=plan.width,
        )  # fmt: skip

    def network(self, run: Training, start: bool = True) -> nn.Module:
        """As the run starts, or without the weights that it starts from."""
        network: nn.Module = training.new_network(len(camvid.CLASSES), run.width, run.seed)
        if run.start and start:
            weights = self.folder(self.pretraining(run.seed)).read_state("weights.pt")
            network.load_state_dict(weights)
        return AgainstTheRest(network, BINARY[run.data]) if run.data in BINARY else network

    def trained(self, run: Training) -> nn.Module:
        network = self.network(run, start=False)
        network.load_state_dict(self.folder(run).read_state("weights.pt"))
        return network.eval()

    def train(self, run: Training) -> Folder:
        folder = self.folder(run)
        if not folder.has("weights.pt"):
            split = self.split(run.data, "train")
            loss = self.loss(run.data, run.loss)
            training.train(folder, split, self.network(run), loss, self.plan.checkpoint_seconds)
        return folder

    def trained_share(self, run: Training) -> float:
        return self.folder(run).steps() / run.steps

    def scores(self, run: Training, part: str) -> dict[str, Any]:
        """On val or test; computed once."""
        folder = self.folder(run)
        file = f"{part}.npz"
        if not folder.has(file):
            score = scoring.binary if run.data in BINARY else scoring.multiclass
            everything = part == "test"
            found = score(self.trained(run), self.split(run.data, part), everything)
            folder.write_arrays(file, found)
        return folder.read_arrays(file)

    def index(self, run: Training, part: str) -> float:
        """What rates are picked by: the dataset's mIoU, or the IoU of the foreground."""
        counts = self.scores(run, part)["confusion"]
        of: Callable[[Any], float] = intervals.dataset_miou
        if run.data in BINARY:
            of = intervals.dataset_iou
        return of(np.asarray(counts))


class AgainstTheRest(nn.Module):
    """One score per pixel, the log-odds of our classes by a network of many: it starts as good as
    that network is."""

    def __init__(self, network: nn.Module, ours: tuple[str, ...]) -> None:
        super().__init__()
        self.network = network
        self.ours = [k for k, name in enumerate(camvid.CLASSES) if name in ours]
        self.others = [k for k, name in enumerate(camvid.CLASSES) if name not in ours]

    def forward(self, images: Tensor) -> Tensor:
        scores = self.network(images)
        mine, rest = scores[:, self.ours], scores[:, self.others]
        return mine.logsumexp(1, keepdim=True) - rest.logsumexp(1, keepdim=True)
