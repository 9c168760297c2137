"""Total variation denoising, of signals and images, as the prox of a cut.

    python examples/tv_denoise.py [--size N] [--png FILE]

    u = argmin over u of  weight * sum over neighbours of |u_i - u_j|  +  |u - x|^2 / 2

The sum is the Lovász extension of a cut, so u is its prox with lam = 1 / weight: exact up to
rounding, with a gap that proves it, and piecewise constant in truth, not nearly. denoise_tv takes
an image and a weight, as denoise_tv_chambolle of scikit-image does; that one stops at a tolerance,
and its variation is the isotropic one. --png draws both and needs matplotlib.
"""

import argparse
import time

import numpy as np

import submod


def neighbours(shape):
    """Pairs of neighbours along every axis of an array, as an array (m, 2)."""
    index = np.arange(np.prod(shape)).reshape(shape)
    pairs = [
        np.stack([np.delete(index, -1, axis).ravel(), np.delete(index, 0, axis).ravel()], axis=1)
        for axis in range(len(shape))
    ]
    return np.concatenate(pairs)


def denoise_tv(image, weight):
    """The image of least weight * variation + |u - image|^2 / 2, and the gap that proves it."""
    cut = submod.Function.cut(image.size, neighbours(image.shape))
    found = cut.prox(image.ravel(), 1 / weight)
    return found.u.reshape(image.shape), weight * found.gap


def objective(u, x, weight):
    i, j = neighbours(x.shape).T
    return weight * abs(u.ravel()[i] - u.ravel()[j]).sum() + ((u - x) ** 2).sum() / 2


def signal(n):
    steps = [0.0, 1.0, 0.4, 0.4, -0.6, 0.2]
    return np.repeat(steps, -(-n // len(steps)))[:n]


def image(n):
    """Flat shapes."""
    y, x = np.mgrid[:n, :n] / n
    flat = np.full((n, n), 0.2)
    flat[(x - 0.35) ** 2 + (y - 0.4) ** 2 < 0.06] = 0.9
    flat[(abs(x - 0.7) < 0.18) & (abs(y - 0.65) < 0.22)] = 0.6
    return flat


def signal_to_noise(u, truth):
    return 10 * np.log10(np.ptp(truth) ** 2 / ((u - truth) ** 2).mean())


def report(name, truth, noisy, weight):
    start = time.perf_counter()
    u, gap = denoise_tv(noisy, weight)
    seconds = time.perf_counter() - start
    values = len(np.unique(u))
    print(
        f"{name}: {signal_to_noise(noisy, truth):.1f} -> {signal_to_noise(u, truth):.1f} dB,"
        f" {values} values in {u.size} entries, gap {gap:.1e}, {1e3 * seconds:.1f} ms"
    )
    return u


def compare(noisy, u, weight):
    """With scikit-image, if it is there. Its objective is ours in one dimension."""
    try:
        from skimage.restoration import denoise_tv_chambolle
    except ImportError:
        print("scikit-image is not installed: no comparison")
        return
    start = time.perf_counter()
    theirs = denoise_tv_chambolle(noisy, weight, eps=1e-8, max_num_iter=20000)
    seconds = time.perf_counter() - start
    excess = objective(theirs, noisy, weight) / objective(u, noisy, weight) - 1
    print(f"scikit-image, same signal: objective {excess:.1e} above, {1e3 * seconds:.1f} ms")


def draw(path, lines, images):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplot_mosaic(
        [["signal"] * 3, ["truth", "noisy", "prox"]], figsize=(9, 6), layout="constrained"
    )
    truth, noisy, u = lines
    axes["signal"].plot(noisy, ".", color="0.65", label="noisy", markersize=4)
    axes["signal"].step(np.arange(truth.size), truth, "k--", where="mid", label="truth", lw=1)
    axes["signal"].step(np.arange(u.size), u, "C3", where="mid", label="prox of the cut", lw=1.6)
    axes["signal"].legend(frameon=False, loc="upper right")
    axes["signal"].set_title("one dimension")
    for name, picture in zip(("truth", "noisy", "prox"), images):
        axes[name].imshow(picture, cmap="gray", vmin=0, vmax=1)
        axes[name].set_title(name)
        axes[name].axis("off")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--size", type=int, default=128, help="of the image; 128")
    parser.add_argument("--png", metavar="FILE", help="a picture; needs matplotlib")
    options = parser.parse_args()

    rng = np.random.default_rng(3)
    line, weight = signal(300), 1.5
    noisy_line = line + 0.25 * rng.normal(size=line.shape)
    smooth_line = report("signal", line, noisy_line, weight)
    compare(noisy_line, smooth_line, weight)
    flat = image(options.size)
    noisy = flat + 0.25 * rng.normal(size=flat.shape)
    smooth = report("image", flat, noisy, 0.4)
    if options.png:
        draw(options.png, (line, noisy_line, smooth_line), (flat, noisy, smooth))


if __name__ == "__main__":
    main()
