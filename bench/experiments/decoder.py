"""DeepLabV3+'s decoder on cached features: dilated separable convolutions and global pooling at
stride 16, joined with the features at stride 4. Returns scores at stride 4."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .features import DEEP, LOW, Split

WIDTH, SHALLOW = 96, 32  # channels of the decoder, and of the projected stride-4 features
DILATIONS = (1, 3, 6)


def pointwise(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


def separable(inputs: int, outputs: int, dilation: int = 1) -> nn.Sequential:
    depthwise = nn.Conv2d(
        inputs, inputs, 3, padding=dilation, dilation=dilation, groups=inputs, bias=False
    )
    return nn.Sequential(depthwise, nn.BatchNorm2d(inputs), *pointwise(inputs, outputs))


class Decoder(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.reduce = pointwise(DEEP, WIDTH)
        self.context = nn.ModuleList(separable(WIDTH, WIDTH, d) for d in DILATIONS)
        self.pool = nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 1), nn.ReLU(inplace=True))
        self.join = pointwise((2 + len(DILATIONS)) * WIDTH, WIDTH)
        self.shallow = pointwise(LOW, SHALLOW)
        self.refine = separable(WIDTH + SHALLOW, WIDTH)
        self.classify = nn.Conv2d(WIDTH, classes, 1)

    def features(self, low: Tensor, deep: Tensor) -> Tensor:
        """Inputs of the last layer, (images, WIDTH, height / 4, width / 4)."""
        x = self.reduce(deep)
        pooled = self.pool(x.mean((2, 3), keepdim=True)).expand_as(x)
        # In float32 under autocast too: PyTorch's bfloat16 weight gradients of dilated depthwise
        # convolutions are wrong on CPUs.
        with torch.autocast(x.device.type, enabled=False):
            wide = x if x.dtype == torch.float64 else x.float()
            context = [layer(wide).to(x.dtype) for layer in self.context]
        x = self.join(torch.cat([x, *context, pooled], 1))
        x = F.interpolate(x, low.shape[2:], mode="bilinear", align_corners=False)
        return self.refine(torch.cat([x, self.shallow(low)], 1))

    def forward(self, low: Tensor, deep: Tensor) -> Tensor:
        return self.classify(self.features(low, deep))


def forward_features(net: Decoder, split: Split, chosen: Tensor, arithmetic: str) -> Tensor:
    """Inputs of the last layer, in float32."""
    kind = torch.bfloat16 if arithmetic == "fast" else torch.float32
    low, deep = (
        x[chosen].to(kind, memory_format=torch.channels_last) for x in (split.low, split.deep)
    )
    with torch.autocast("cpu", torch.bfloat16, enabled=arithmetic == "fast"):
        return net.features(low, deep).float()


def forward(net: Decoder, split: Split, chosen: Tensor, arithmetic: str, size: Any) -> Tensor:
    """Scores at label size. The last layer and what follows are in float32 in any arithmetic."""
    s = net.classify(forward_features(net, split, chosen, arithmetic))
    return F.interpolate(s, size, mode="bilinear", align_corners=False)
