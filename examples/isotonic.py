"""Isotonic regression as a prox, on a line and on a grid.

    python examples/isotonic.py [--png FILE]

The cut of the arcs i -> i + 1 with weight w has the Lovász extension  w sum of max(u_i - u_i+1, 0):
a price for falling. The prox of x with lam = 1 is, for a large w, the rising sequence nearest to x:
isotonic regression; for a small one nearly so, where a fall costs but is not forbidden. On a grid
the arcs go right and up, and u rises along both axes, which sklearn.isotonic does not do.
--png draws all three and needs matplotlib.
"""

import argparse

import numpy as np

import submod


def isotonic(x, arcs, weight=None):
    """The nearest vector that does not fall along the arcs (m, 2). weight: the price of falling; by
    default so large that nothing falls: no flow along an arc exceeds the sum of |x - mean|."""
    price = abs(x - x.mean()).sum() + 1 if weight is None else weight
    function = submod.Function.cut(x.size, arcs, np.full(len(arcs), price), directed=True)
    return function.prox(x.ravel(), 1.0)


def along_a_line(n):
    return np.stack([np.arange(n - 1), np.arange(1, n)], axis=1)


def along_both_axes(shape):
    index = np.arange(np.prod(shape)).reshape(shape)
    right = np.stack([index[:, :-1].ravel(), index[:, 1:].ravel()], axis=1)
    up = np.stack([index[:-1].ravel(), index[1:].ravel()], axis=1)
    return np.concatenate([right, up])


def compare(x, u):
    """With scikit-learn, if it is there."""
    try:
        from sklearn.isotonic import isotonic_regression
    except ImportError:
        print("scikit-learn is not installed: no comparison")
        return
    print(f"largest difference to sklearn.isotonic {abs(isotonic_regression(x) - u).max():.1e}")


def draw(path, x, rising, nearly, surface, fitted):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplot_mosaic(
        [["line", "line"], ["noisy", "fitted"]], figsize=(8, 7), layout="constrained"
    )
    axes["line"].plot(x, ".", color="0.65", label="data", markersize=5)
    axes["line"].plot(rising, "C0", drawstyle="steps-mid", label="isotonic", lw=1.8)
    axes["line"].plot(nearly, "C1", drawstyle="steps-mid", label="nearly isotonic", lw=1.2)
    axes["line"].legend(frameon=False, loc="upper left")
    for name, values, title in (
        ("noisy", surface, "data on a grid"),
        ("fitted", fitted, "rising along both axes"),
    ):
        axes[name].imshow(values, origin="lower", vmin=surface.min(), vmax=surface.max())
        axes[name].set_title(title)
        axes[name].axis("off")
    figure.savefig(path, dpi=120)


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--png", metavar="FILE", help="a picture; needs matplotlib")
    options = parser.parse_args()

    rng = np.random.default_rng(5)
    t = np.linspace(0, 1, 120)
    x = np.log1p(8 * t) - 0.8 * np.exp(-(((t - 0.6) / 0.08) ** 2)) + 0.2 * rng.normal(size=t.size)
    line = along_a_line(t.size)
    rising, nearly = isotonic(x, line), isotonic(x, line, weight=1.0)
    print(f"line: method {rising.method}, gap {rising.gap:.1e}, {len(rising.blocks)} blocks")
    print(f"largest fall {abs(min(np.diff(rising.u).min(), 0)):.1e}")
    compare(x, rising.u)
    print(f"nearly isotonic: largest fall {-np.diff(nearly.u).min():.2f}")

    shape = (30, 40)
    grid = np.add.outer(np.linspace(0, 1, shape[0]), np.linspace(0, 1, shape[1]) ** 2)
    noisy = grid + 0.5 * rng.normal(size=shape)
    found = isotonic(noisy, along_both_axes(shape))
    fitted = found.u.reshape(shape)
    falls = abs(min(np.diff(fitted, axis=0).min(), np.diff(fitted, axis=1).min(), 0))
    print(f"grid: method {found.method}, gap {found.gap:.1e}, largest fall {falls:.1e}")
    before, after = (np.sqrt(((values - grid) ** 2).mean()) for values in (noisy, fitted))
    print(f"error {before:.3f} -> {after:.3f}")
    if options.png:
        draw(options.png, x, rising.u, nearly.u, noisy, fitted)


if __name__ == "__main__":
    main()
