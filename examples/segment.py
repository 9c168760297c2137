"""Regularised segmentation: noisy scores correct a rough mask, by the prox of Jaccard + cut.

    python examples/segment.py [--size N] [--count N] [--png FILE]
    python examples/segment.py --images FOLDER --masks FOLDER --label N [..]

Somebody, or a small network, gives a rough mask of 8 x 8 cells; scores say for every
pixel alone whether it is foreground. Let A be the set of pixels where the rough mask is wrong, and

    F(A) = Jaccard loss of A against the rough mask + lam * smoothing * cut of A,  lam = trust / n.

The first part holds on to the rough mask, in terms of intersection over union; the second wants the
borders of the new mask to be short, and smoothing is what a pair of neighbours costs in units of
scores. Pairs across the rough border are left out: that border may move freely. x_i is the score
against the rough label of pixel i, and {u > 0} of the prox u of f at x is the best set of
corrections. Other thresholds come with it for nothing.

Scores are the truth plus much noise for generated shapes. For images of a folder, and masks of the
same names in which a label marks the foreground, they come from the colours inside and outside the
rough mask. --png draws a grid over trust and smoothing for the first image; needs matplotlib.
"""

import argparse
import sys
from pathlib import Path

import numpy as np
from tv_denoise import neighbours

import submod

CELLS = 8  # along each side of the rough mask
TRUSTS = (4, 12, 40)
SMOOTHINGS = (0, 0.5, 1)
NOISE = 1.2  # of generated scores, which are +1 and -1
LIMIT = 4  # of scores from colours


def shapes(size, rng):
    """A few ellipses, and scores that are right a little more often than wrong."""
    y, x = np.mgrid[:size, :size] / size
    mask = np.zeros((size, size), bool)
    for _ in range(3):
        (cx, cy), (a, b) = rng.uniform(0.2, 0.8, size=2), rng.uniform(0.08, 0.25, size=2)
        turn = rng.uniform(0, np.pi)
        along = (x - cx) * np.cos(turn) + (y - cy) * np.sin(turn)
        across = (y - cy) * np.cos(turn) - (x - cx) * np.sin(turn)
        mask |= (along / a) ** 2 + (across / b) ** 2 < 1
    noise = rng.normal(size=mask.shape)
    picture = np.clip(0.5 + 0.2 * (2 * mask - 1 + NOISE * noise), 0, 1)
    return picture, mask, lambda rough: 2 * mask - 1 + NOISE * noise


def photographs(images, masks, label, size):
    """All pairs of an image and a mask with the same name, with enough foreground to speak of."""
    from PIL import Image

    for file in sorted(Path(images).iterdir()):
        annotation = Path(masks) / f"{file.stem}.png"
        if not annotation.is_file():
            continue
        picture = Image.open(file).convert("RGB").resize((size, size))
        labels = Image.open(annotation).resize((size, size), Image.Resampling.NEAREST)
        pixels, mask = np.asarray(picture) / 255, np.asarray(labels) == label
        if 0.05 < mask.mean() < 0.95:
            yield pixels, mask, lambda rough, pixels=pixels: colour_scores(pixels, rough)


def colour_scores(pixels, rough, levels=5):
    """log of how much more often a colour occurs inside the rough mask than outside."""
    bins = np.minimum((pixels * levels).astype(int), levels - 1) @ [levels**2, levels, 1]
    inside, outside = (
        np.bincount(bins[part], minlength=levels**3) + 0.5 for part in (rough, ~rough)
    )
    scores = np.log(inside / inside.sum()) - np.log(outside / outside.sum())
    return np.clip(scores, -LIMIT, LIMIT)[bins]


def roughen(mask):
    """8 x 8 cells, each by majority."""
    side = mask.shape[0] // CELLS
    cells = mask.reshape(CELLS, side, CELLS, side).mean((1, 3)) > 0.5
    return np.kron(cells, np.ones((side, side), bool))


def correct(rough, scores, trust, smoothing):
    """The corrected mask, and the result of the prox."""
    n = rough.size
    against = np.where(rough, -scores, scores).ravel()
    pairs = neighbours(rough.shape)
    pairs = pairs[rough.ravel()[pairs[:, 0]] == rough.ravel()[pairs[:, 1]]]
    function = submod.Function.jaccard(rough.ravel())
    if smoothing > 0:
        weights = np.full(len(pairs), trust / n * smoothing)
        function = function + submod.Function.cut(n, pairs, weights)
    found = function.prox(against, trust / n, tolerance=1e-8)
    return rough ^ (found.u > 0).reshape(rough.shape), found


def iou(mask, truth):
    union = (mask | truth).sum()
    return (mask & truth).sum() / union if union else 1.0


def outline(axis, picture, mask, title):
    axis.imshow(picture, cmap="gray", vmin=0, vmax=1)
    if mask.any() and not mask.all():
        axis.contour(mask, [0.5], colors="yellow", linewidths=1.4)
    axis.set_title(title, fontsize=9)
    axis.axis("off")


def draw(path, picture, truth, rough, scores, corrected):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    rows = len(SMOOTHINGS)
    figure, axes = plt.subplots(
        rows, 1 + len(TRUSTS), figsize=(2.3 * (1 + len(TRUSTS)), 2.5 * rows), layout="constrained"
    )
    given = {"truth": truth, "rough": rough, "scores > 0": scores > 0}
    for axis, (name, mask) in zip(axes[:, 0], given.items()):
        outline(axis, picture, mask, f"{name}: IoU {iou(mask, truth):.2f}")
    for (trust, smoothing), mask in corrected.items():
        axis = axes[SMOOTHINGS.index(smoothing), 1 + TRUSTS.index(trust)]
        words = f"trust {trust}, smoothing {smoothing}: {iou(mask, truth):.2f}"
        outline(axis, picture, mask, words)
    figure.savefig(path, dpi=120)


def read_options():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=64, help=f"a multiple of {CELLS}; 64")
    parser.add_argument("--count", type=int, default=4, help="images; 4")
    parser.add_argument("--images", metavar="FOLDER", help="photographs, with --masks and --label")
    parser.add_argument("--masks", metavar="FOLDER", help="label maps, PNG, of the same names")
    parser.add_argument("--label", type=int, help="the foreground in these")
    parser.add_argument("--png", metavar="FILE", help="a picture; needs matplotlib")
    options = parser.parse_args()
    if options.size < CELLS or options.size % CELLS or options.count < 1:
        parser.error(f"--size must be a multiple of {CELLS}, --count at least 1")
    if options.images and (options.masks is None or options.label is None):
        parser.error("--images needs --masks and --label")
    return options


def main():
    options = read_options()
    rng = np.random.default_rng(8)
    if options.images:
        source = photographs(options.images, options.masks, options.label, options.size)
    else:
        source = (shapes(options.size, rng) for _ in range(options.count))
    table, before, seconds, gap = {}, [], 0.0, 0.0
    for number, (picture, truth, scores_from) in zip(range(options.count), source):
        rough = roughen(truth)
        scores = scores_from(rough)
        before.append((iou(rough, truth), iou(scores > 0, truth)))
        corrected = {}
        for setting in [(trust, smoothing) for trust in TRUSTS for smoothing in SMOOTHINGS]:
            corrected[setting], found = correct(rough, scores, *setting)
            table.setdefault(setting, []).append(iou(corrected[setting], truth))
            seconds, gap = seconds + found.seconds, max(gap, found.gap)
        if options.png and number == 0:
            draw(options.png, picture, truth, rough, scores, corrected)
    if not before:
        sys.exit("no image with a mask of the same name and enough of the label in it")
    report(options.size, before, table, seconds, gap)


def report(size, before, table, seconds, gap):
    rough, pixelwise = np.mean(before, axis=0)
    print(f"{len(before)} images of {size} x {size} pixels; mean IoU")
    print(f"rough mask {rough:.3f}, scores > 0 {pixelwise:.3f}")
    print("smoothing:" + "".join(f"{smoothing:8}" for smoothing in SMOOTHINGS))
    for trust in TRUSTS:
        row = "".join(f"{np.mean(table[trust, smoothing]):8.3f}" for smoothing in SMOOTHINGS)
        print(f"trust {trust:4}" + row)
    best = max(table, key=lambda setting: np.mean(table[setting]))
    print(f"best {np.mean(table[best]):.3f} at trust {best[0]}, smoothing {best[1]}")
    proxes = len(before) * len(table)
    print(f"{seconds / proxes:.3f} s for a prox, largest gap {gap:.1e}")


if __name__ == "__main__":
    main()
