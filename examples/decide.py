"""From probabilities to a segmentation: one half is not the best threshold.

    python examples/decide.py [--size N]

A network is unsure about the border of a disc. Its probabilities are taken at their word: truths
are drawn from them, pixel by pixel, and three segmentations are compared by their mean IoU over
the truths, beside the expected IoU that the library computes without drawing any.
"""

import argparse

import numpy as np

import submod


def disc(size):
    """Probabilities that fall from the middle to the border of an image."""
    y, x = np.mgrid[-1 : 1 : size * 1j, -1 : 1 : size * 1j]
    return (0.8 / (1 + np.exp(8 * (np.hypot(x, y) - 0.6)))).astype(np.float32)


def mean_iou(q, mask, rng, truths=200):
    scores = []
    for _ in range(truths):
        truth = rng.random(q.shape) < q
        scores.append((mask & truth).sum() / max((mask | truth).sum(), 1))
    return np.mean(scores)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=64, help="pixels along each side")
    q = disc(parser.parse_args().size)
    rng = np.random.default_rng(1)
    for method in ("half", "threshold", "rank"):
        found = submod.decide(q.ravel(), measure="iou", method=method)
        drawn = mean_iou(q, found.segmentation.reshape(q.shape), rng)
        print(
            f"{method:9} {found.chosen:5} pixels, probabilities from {found.threshold:.3f} on: "
            f"expected IoU {found.lower:.6f}, mean of drawn truths {drawn:.4f}"
        )
    print(
        f"no segmentation has an expected IoU above the last one by {found.best - found.lower:.0e}"
    )


if __name__ == "__main__":
    main()
