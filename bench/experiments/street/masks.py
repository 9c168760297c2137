"""Segmentations of test images, side by side. Which images are shown is decided by a rule, not by
us."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..intervals import of_images
from ..jobs import Way
from ..lab import Lab
from ..telling import drawing
from . import camvid, results, scoring

SHOWN = (10, 50, 90)  # percentiles of the difference in image-mIoU
WAYS = {"cross-entropy": Way("camvid", "cross_entropy"), "Lovász-Softmax": Way("camvid", "lovasz")}
CAPTION = (
    "Test images at the 10th, 50th and 90th percentile of the difference in image-mIoU, "
    "Lovász-Softmax less cross-entropy, with the first seed: bad, typical and good for it. Under "
    "each segmentation its image-mIoU."
)
COLOURS = {
    "sky": "#a6cee3", "building": "#8c6d46", "pole": "#ff7f00", "road": "#999999",
    "pavement": "#f4a6d0", "tree": "#2e8b34", "sign": "#ffe119", "fence": "#7b4fb5",
    "car": "#1f3fd0", "pedestrian": "#e31a1c", "bicyclist": "#19d3d3", "not labelled": "#000000",
}  # fmt: skip


def chosen(values: dict[str, Any]) -> list[int]:
    """The images at the percentiles."""
    base, other = (values[name] for name in WAYS)
    order = np.argsort(other - base, kind="stable")
    return [int(order[round(percent / 100 * (len(order) - 1))]) for percent in SHOWN]


def coloured(labels: Any) -> Any:
    from matplotlib.colors import to_rgb

    palette = np.array([to_rgb(colour) for colour in COLOURS.values()])
    return palette[np.minimum(labels, len(camvid.CLASSES))]


def draw(lab: Lab) -> Any:
    from matplotlib.patches import Patch

    seed = lab.plan.seeds[0]
    split = camvid.read(lab.data / "camvid", "test")
    values = {name: of_images(results.counts(lab, way)[0]).mean(1) for name, way in WAYS.items()}
    networks = {name: lab.trained(results.folder(lab, way, seed).run) for name, way in WAYS.items()}
    figure, axes = drawing.new(8.5, 1.9 * len(SHOWN) + 0.6, len(SHOWN), 4)
    for row, i, percent in zip(axes, chosen(values), SHOWN):
        image = split.images[i : i + 1]
        row[0].imshow(image[0].permute(1, 2, 0).numpy())
        row[0].set_ylabel(f"{percent}th percentile")
        row[0].set_xlabel(split.names[i])
        row[1].imshow(coloured(split.labels[i].numpy()))
        for axis, (name, network) in zip(row[2:], networks.items()):
            found = scoring.scores_of(network, image).argmax(1)[0]
            axis.imshow(coloured(found.numpy()))
            axis.set_xlabel(f"image-mIoU {100 * values[name][i]:.1f} %")
        for axis in row:
            axis.set(xticks=[], yticks=[])
            axis.spines[:].set_visible(False)
    for axis, name in zip(axes[0], ("image", "truth", *networks)):
        axis.set_title(name, fontsize=drawing.SIZE + 1)
    patches = [Patch(facecolor=c, edgecolor="black", lw=0.4, label=n) for n, c in COLOURS.items()]
    figure.legend(handles=patches, loc="outside lower center", ncols=6, frameon=False)
    return figure
