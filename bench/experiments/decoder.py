"""DeepLabV3+'s decoder on cached features: dilated separable convolutions and global pooling at
stride 16, joined with the features at stride 4. Returns scores at stride 4."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .features import DEEP, LOW, Split

WIDTH, SHALLOW = 96, 32  # channels of the decoder, and of the projected stride-4 features
DILATIONS = (1, 3, 6)
STRIDE = 4  # of the scores
THINNED = 2  # in fast arithmetic, a training loss has every so many rows and columns of pixels

# In PyTorch 2.15 a training step on a CPU is mostly spent in 1 x 1 convolutions in float32 and in
# gradients of bilinear interpolation. Here both are matrix products, or torch.lerp.


class Pointwise(nn.Conv2d):
    """A 1 x 1 convolution of channels-last tensors."""

    def forward(self, x: Tensor) -> Tensor:
        return F.linear(x.movedim(1, 3), self.weight.flatten(1), self.bias).movedim(3, 1)


def pointwise(inputs: int, outputs: int) -> nn.Sequential:
    return nn.Sequential(
        Pointwise(inputs, outputs, 1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True)
    )


def separable(inputs: int, outputs: int, dilation: int = 1) -> nn.Sequential:
    depthwise = nn.Conv2d(
        inputs, inputs, 3, padding=dilation, dilation=dilation, groups=inputs, bias=False
    )
    return nn.Sequential(depthwise, nn.BatchNorm2d(inputs), *pointwise(inputs, outputs))


@lru_cache(maxsize=8)
def weights(inputs: int, outputs: int) -> Tensor:
    """Matrix of bilinear interpolation along one axis."""
    return F.interpolate(torch.eye(inputs)[None], outputs, mode="linear")[0].T.contiguous()


def resize(x: Tensor, size: Any) -> Tensor:
    """Bilinear interpolation of a channels-last tensor."""
    images, channels, height, width = x.shape
    across, down = weights(width, size[1]).to(x.dtype), weights(height, size[0]).to(x.dtype)
    wide = across @ x.movedim(1, 3).reshape(-1, width, channels)
    return (down @ wide.view(images, height, -1)).view(images, *size, channels).movedim(3, 1)


def between(s: Tensor, offsets: list[float], axis: int) -> Tensor:
    """Linear interpolation at all positions plus each offset; constant beyond the border."""
    last = s.shape[axis] - 1
    before = torch.cat([s.narrow(axis, 0, 1), s.narrow(axis, 0, last)], axis)
    after = torch.cat([s.narrow(axis, 1, last), s.narrow(axis, last, 1)], axis)
    found = [torch.lerp(s, after if t > 0 else before, abs(t)) for t in offsets]
    return torch.stack(found, axis + 1).flatten(axis, axis + 1)


def on_lattice(s: Tensor, row: int, column: int) -> Tensor:
    """Scores at the label pixels [row::THINNED, column::THINNED], by bilinear interpolation."""
    s = s.contiguous()
    for axis, first in ((3, column), (2, row)):
        pixels = range(first, STRIDE, THINNED)
        s = between(s, [(k + 0.5) / STRIDE - 0.5 for k in pixels], axis)
    return s


class Decoder(nn.Module):
    def __init__(self, classes: int) -> None:
        super().__init__()
        self.reduce = pointwise(DEEP, WIDTH)
        self.context = nn.ModuleList(separable(WIDTH, WIDTH, d) for d in DILATIONS)
        self.pool = nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 1), nn.ReLU(inplace=True))
        self.join = pointwise((2 + len(DILATIONS)) * WIDTH, WIDTH)
        self.shallow = pointwise(LOW, SHALLOW)
        self.refine = separable(WIDTH + SHALLOW, WIDTH)
        self.classify = Pointwise(WIDTH, classes, 1)

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
        x = resize(x, low.shape[2:])
        return self.refine(torch.cat([x, self.shallow(low)], 1))


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
