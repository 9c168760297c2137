"""A convex surrogate of the Dice loss, which is not submodular.

    python examples/dice_surrogate.py [--pixels N]

With a of P foreground and b background pixels wrong, Dice is F(a, b) = (a + b) / (2 P - a + b). Yu
and Blaschko (2016) split it into a submodular f and a supermodular g, here
g(a) = a / (2 P - a) - a / (2 P - 1), and add two convex extensions at errors m:

    value(m) = Lovász extension of f at m  +  max over sets A of g(A) (1 - sum over A of (1 - m_i)).

The second term is slack rescaling. The sum is convex and equals Dice where all errors are 0 or 1.
"""

import argparse

import numpy as np

import submod


def dice(a, b, P, N):
    return np.where(a + b > 0, (a + b) / np.maximum(2 * P - a + b, 1), 0.0)


def supermodular(a, P):
    return a / (2 * P - a) - a / (2 * P - 1)


def surrogate(errors, foreground):
    """Returns the value and a subgradient."""
    P = np.count_nonzero(foreground)
    f = submod.Function.two_counts(
        foreground,
        lambda a, b, P, N: dice(a, b, P, N) - supermodular(a, P),
        check="never",  # f is submodular, but it does not always increase
    )
    value, gradient = f.lovasz(errors)
    # The best set with a foreground pixels: the largest errors, and background with errors above 1.
    order = np.argsort(-np.where(foreground, errors, -np.inf))[:P]
    above = ~foreground & (errors > 1)
    slack = 1 + np.cumsum(errors[order] - 1) + (errors[above] - 1).sum()
    terms = supermodular(np.arange(1, P + 1), P) * slack
    best = int(terms.argmax())
    if terms[best] > 0:
        value += terms[best]
        gradient[order[: best + 1]] += supermodular(best + 1, P)
        gradient[above] += supermodular(best + 1, P)
    return value, gradient


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pixels", type=int, default=12, help="number of pixels")
    n = parser.parse_args().pixels
    rng = np.random.default_rng(1)
    foreground = np.arange(n) < n // 2
    at_vertices, below_tangents = 0.0, 0.0
    for _ in range(200):
        wrong = rng.random(n) < 0.5
        a, b = (wrong & foreground).sum(), (wrong & ~foreground).sum()
        value, _ = surrogate(wrong.astype(float), foreground)
        at_vertices = max(at_vertices, abs(value - dice(a, b, n // 2, n - n // 2)))
        x, y = rng.normal(0.5, 1, (2, n))
        (fx, gx), (fy, _) = surrogate(x, foreground), surrogate(y, foreground)
        below_tangents = max(below_tangents, fx + gx @ (y - x) - fy)
    print(f"largest difference from Dice at 200 vertices: {at_vertices:.1e}")
    print(f"largest violation of a tangent at 200 random points: {below_tangents:.1e}")


if __name__ == "__main__":
    main()
