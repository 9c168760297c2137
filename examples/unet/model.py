"""The networks. All return scores (batch, classes, height, width) of the size of their input."""

from __future__ import annotations

import importlib
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from . import UserError

LEVELS = 4  # resolutions of the U-Net


def double(inputs: int, outputs: int) -> nn.Sequential:
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [
            nn.Conv2d(channels, outputs, 3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
        ]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Ronneberger, Fischer, Brox 2015, with batch normalisation and padding."""

    def __init__(self, channels: int, classes: int, width: int) -> None:
        super().__init__()
        widths = [width * 2**level for level in range(LEVELS)]
        self.down = nn.ModuleList(double(*pair) for pair in zip([channels, *widths], widths))
        self.up = nn.ModuleList(
            nn.ConvTranspose2d(wide, wide // 2, 2, stride=2) for wide in widths[:0:-1]
        )
        self.merge = nn.ModuleList(double(wide, wide // 2) for wide in widths[:0:-1])
        self.score = nn.Conv2d(width, classes, 1)

    def forward(self, x: Tensor) -> Tensor:
        height, width = x.shape[2:]
        unit = 2 ** (LEVELS - 1)
        x = F.pad(x, (0, -width % unit, 0, -height % unit))
        skipped = []
        for block in self.down[:-1]:
            skipped.append(block(x))
            x = F.max_pool2d(skipped[-1], 2)
        x = self.down[-1](x)
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([up(x), skipped.pop()], 1))
        return self.score(x)[:, :, :height, :width]


# The supplement's table: kernel, filters, dilation, stride of the 3 x 3 max pooling (0: none).
# Block 7 is the 1 x 1 convolution to the classes. Batch normalisation comes before each ReLU.
IBSR_BLOCKS = (
    (7, 64, 1, 2),
    (5, 128, 1, 2),
    (3, 256, 2, 1),
    (3, 512, 2, 1),
    (3, 512, 2, 1),
    (4, 1024, 4, 0),
)


class IBSRNet(nn.Module):
    """DeepLab as adapted to IBSR by Shakeri et al., with the layers of the supplement. Its scores
    have a quarter of the resolution and are interpolated."""

    def __init__(self, channels: int, classes: int) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        for kernel, filters, dilation, stride in IBSR_BLOCKS:
            layers += [
                nn.Conv2d(channels, filters, kernel, dilation=dilation, padding="same", bias=False),
                nn.BatchNorm2d(filters),
                nn.ReLU(inplace=True),
            ]
            if stride:
                layers.append(nn.MaxPool2d(3, stride, padding=1))
            channels = filters
        self.layers = nn.Sequential(*layers, nn.Conv2d(channels, classes, 1))

    def forward(self, x: Tensor) -> Tensor:
        scores = self.layers(x)
        return F.interpolate(scores, x.shape[2:], mode="bilinear", align_corners=False)


class Borrowed(nn.Module):
    """A network of yours: scores as a tensor or, as torchvision has it, under the key "out"; of
    any resolution."""

    def __init__(self, network: nn.Module) -> None:
        super().__init__()
        self.network = network

    def forward(self, x: Tensor) -> Tensor:
        scores: Any = self.network(x)
        scores = scores["out"] if isinstance(scores, dict) else scores
        if scores.shape[2:] != x.shape[2:]:
            scores = F.interpolate(scores, x.shape[2:], mode="bilinear", align_corners=False)
        return scores


def make(name: str, channels: int, classes: int, width: int) -> nn.Module:
    """name: unet, ibsr, or MODULE:FUNCTION, which is called with num_classes."""
    if name == "unet":
        return UNet(channels, classes, width)
    if name == "ibsr":
        return IBSRNet(channels, classes)
    module, colon, function = name.partition(":")
    if not colon:
        raise UserError(f"there is no network '{name}': unet, ibsr or MODULE:FUNCTION")
    try:
        build = getattr(importlib.import_module(module), function)
    except (ImportError, AttributeError) as error:
        raise UserError(f"--model {name}: {error}") from None
    return Borrowed(build(num_classes=classes))
