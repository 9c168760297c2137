"""One run: so many steps of Adam with one loss. Step k draws from (seed, k) alone, so that a run
that was killed goes on with the batches that it would have had."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn

import submod

from .runs import Folder
from .street import camvid

sys.path.insert(0, str(Path(__file__).parents[2] / "examples"))
from unet.model import UNet

POWER = 0.9  # of the fall of the learning rate
LAYOUT = torch.channels_last  # a sixth faster on the AVX2 machine where it was tried


def rate_at(rate: float, step: int, steps: int) -> float:
    return rate * float(1 - step / steps) ** POWER


def pixels_of(split: camvid.Split, classes: int) -> Tensor:
    """Of each class."""
    return torch.bincount(split.labels.flatten().long(), minlength=256)[:classes].double()


def equibatch(split: camvid.Split, classes: int, seed: int, draws: int) -> np.ndarray:
    """Images that show each class in turn (paper, Sec. 3.1)."""
    shown = [[int(c) for c in np.unique(x) if c < classes] for x in split.labels.numpy()]
    sampler = submod.Equibatch(shown, classes, seed)
    return np.array([sampler.draw()[0] for _ in range(draws)])


def chosen_at(run_seed: int, step: int, images: int, batch: int) -> np.ndarray:
    """Images in an order of their own in every epoch."""
    places = np.arange(step * batch, (step + 1) * batch)
    order = {
        epoch: np.random.default_rng((run_seed, 1, epoch)).permutation(images)
        for epoch in np.unique(places // images)
    }
    return np.array([order[place // images][place % images] for place in places])


def train(
    folder: Folder, split: camvid.Split, network: nn.Module, loss: nn.Module, seconds: float
) -> None:
    """On images of CamVid."""
    run = folder.run
    drawn = None
    if run.sampling == "equibatch":
        drawn = equibatch(split, len(camvid.CLASSES), run.seed, run.steps * run.batch)

    def batch_at(step: int) -> tuple[Tensor, Tensor]:
        chosen = chosen_at(run.seed, step, len(split.names), run.batch)
        if drawn is not None:
            chosen = drawn[step * run.batch : (step + 1) * run.batch]
        return camvid.batch(split, chosen, np.random.default_rng((run.seed, 2, step)))

    fit(folder, network, loss, batch_at, seconds)


def fit(
    folder: Folder,
    network: nn.Module,
    loss: nn.Module,
    batch_at: Callable[[int], tuple[Tensor, Tensor]],
    seconds: float,
) -> None:
    """On the inputs and labels of each step. Leaves weights.pt in the folder, and a checkpoint
    every so many seconds."""
    run = folder.run
    optimizer = torch.optim.Adam(network.parameters(), lr=run.rate, fused=True)
    first, log = 0, []
    state = folder.read_state("checkpoint.pt")
    if state is not None:
        network.load_state_dict(state["network"])
        optimizer.load_state_dict(state["optimizer"])
        loss.load_state_dict(state["loss"])
        first, log = state["step"], state["log"]
    network.train()
    saved = time.monotonic()
    for step in range(first, run.steps):
        inputs, labels = batch_at(step)
        for group in optimizer.param_groups:
            group["lr"] = rate_at(run.rate, step, run.steps)
        optimizer.zero_grad()
        found = loss(network(inputs.to(memory_format=LAYOUT)), labels)
        found.backward()
        optimizer.step()
        log.append(found.item())
        if time.monotonic() - saved > seconds:
            save(folder, network, optimizer, loss, log)
            saved = time.monotonic()
    folder.write_state("weights.pt", network.state_dict())
    folder.write_log(log)
    folder.remove("checkpoint.pt")


def save(
    folder: Folder,
    network: nn.Module,
    optimizer: torch.optim.Optimizer,
    loss: nn.Module,
    log: list[float],
) -> None:
    state = {
        "step": len(log),
        "network": network.state_dict(),
        "optimizer": optimizer.state_dict(),
        "loss": loss.state_dict(),
        "log": log,
    }
    folder.write_state("checkpoint.pt", state)
    folder.write_log(log)


def new_network(classes: int, width: int, seed: int) -> UNet:
    torch.manual_seed(seed)
    return UNet(3, classes, width).to(memory_format=LAYOUT)
