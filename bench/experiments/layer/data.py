"""Problems for optimisers: the features that a pre-trained network hands to its last layer, at
pixels of CamVid, and whether a pixel shows a car."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from ..lab import Lab
from ..street import camvid

DATA = "camvid-car"
SHARE = 0.01  # an image is drawn if cars fill so much of it
TOGETHER = 4  # images of a minibatch
Features = npt.NDArray[np.float32]  # (images, pixels, features); the last one is 1, for the bias
Labels = npt.NDArray[np.uint8]  # (images, pixels), 0 or 1


@dataclass(frozen=True)
class Draw:
    """Which network, which images and pixels, which start, which order of minibatches: all follow
    from the number."""

    number: int
    network: int  # its seed
    images: int
    pixels: int  # of each image
    epochs: int  # that optimisers get

    @property
    def name(self) -> str:
        return f"draw-{self.number}-of-network-{self.network}"

    @property
    def seed(self) -> int:
        """Of the order of the minibatches."""
        return 1000 * self.network + self.number


@dataclass(frozen=True)
class Data:
    features: Features
    labels: Labels
    val_features: Features
    val_labels: Labels
    start: npt.NDArray[np.float64]  # weights of the layer


def collect(lab: Lab, draw: Draw) -> Data:
    """Training images without those that would not fill a minibatch; all images of val that show
    cars."""
    network = lab.trained(lab.pretraining(draw.network))
    network.score = nn.Identity()
    rng = np.random.default_rng((draw.number, draw.network))
    train, val = lab.split(DATA, "train"), lab.split(DATA, "val")
    shown = with_cars(train)
    wanted = min(draw.images, len(shown)) // TOGETHER * TOGETHER
    chosen = rng.permutation(shown)[:wanted]
    ours = [sampled(network, train, i, draw.pixels, rng) for i in chosen]
    others = [sampled(network, val, i, draw.pixels, rng) for i in with_cars(val)]
    if not ours or not others:
        raise ValueError(f"too few images of train or val have cars on {SHARE:.0%} of their pixels")
    size = ours[0][0].shape[1]
    start = rng.uniform(-1, 1, size) / np.sqrt(size - 1)  # as PyTorch starts a layer
    return Data(*map(np.stack, zip(*ours)), *map(np.stack, zip(*others)), start)


def with_cars(split: camvid.Split) -> npt.NDArray[np.int64]:
    """Numbers of images."""
    cars, known = ((x.flatten(1)).double().mean(1) for x in masks(split.labels))
    return (cars >= SHARE * known).logical_and(cars > 0).nonzero()[:, 0].numpy()


def masks(labels: Tensor) -> tuple[Tensor, Tensor]:
    """Where cars are, and where labels say something."""
    return labels == 1, labels != camvid.IGNORE


@torch.no_grad()
def sampled(
    network: nn.Module, split: camvid.Split, image: int, pixels: int, rng: np.random.Generator
) -> tuple[Features, Labels]:
    """Of pixels with labels, in the size that the network sees."""
    size = camvid.part_of(split.labels.shape, camvid.SEEN)
    seen = camvid.resized(split.images[image][None].float(), size)
    features = network(camvid.normalised(seen))[0].flatten(1).T
    labels = F.interpolate(split.labels[image][None, None].float(), size, mode="nearest-exact")
    truth = labels.flatten().to(torch.uint8)
    known = (truth != camvid.IGNORE).nonzero()[:, 0].numpy()
    here = rng.choice(known, pixels, replace=False)
    ones = np.ones((pixels, 1), np.float32)
    return np.hstack([features[here].numpy(), ones]), truth[here].numpy()
