"""A submodular function of your own: check it, use it as a loss, minimise it.

    python examples/custom_function.py

Pixels on a line; a set of wrong pixels costs the square root of how many there are in each segment
of ten. Errors that cluster are cheaper than errors everywhere: something no sum over pixels says.
"""

import numpy as np

import submod

PIXELS, SEGMENT = 40, 10


def cost(wrong):
    """F(A) for an array of distinct pixels."""
    return np.sqrt(np.bincount(wrong // SEGMENT, minlength=PIXELS // SEGMENT)).sum()


def gains(before, order):
    """What each pixel of `order` adds, one after the other, after those `before`: optional, and
    faster than a call of cost for each."""
    count = np.bincount(before // SEGMENT, minlength=PIXELS // SEGMENT)
    added = np.empty(len(order))
    for i, segment in enumerate(order // SEGMENT):
        added[i] = np.sqrt(count[segment] + 1) - np.sqrt(count[segment])
        count[segment] += 1
    return added


def main():
    f = submod.Function.custom(PIXELS, cost, gains)

    print("Is it submodular? Random sets are tried:")
    print(f.check())

    rng = np.random.default_rng(1)
    clustered, scattered = np.zeros(PIXELS), np.zeros(PIXELS)
    clustered[:8] = scattered[::5] = 1
    print(f"Lovász extension: 8 errors in one segment {f.lovasz(clustered)[0]:.3f}, "
          f"8 errors all over {f.lovasz(scattered)[0]:.3f}")  # fmt: skip

    errors = rng.uniform(size=PIXELS)
    value, g = f.lovasz(errors)
    print(f"at random errors: value {value:.4f} = <g, errors> {g @ errors:.4f}, "
          f"sum of g {g.sum():.4f} = F(V) {f(range(PIXELS)):.4f}")  # fmt: skip

    moved = f.prox(errors, lam=20.0)
    print(f"prox: method {moved.method}, gap {moved.gap:.1e}, "
          f"{len(np.unique(moved.u.round(9)))} distinct values of {PIXELS}")  # fmt: skip

    reward = rng.normal(0.4, 0.4, size=PIXELS)
    best = (f + -reward).minimize()
    print(f"minimum of F - reward: {best.value:.4f} with {len(best.set)} pixels, "
          f"certified within {best.gap:.1e}")  # fmt: skip

    not_submodular = submod.Function.custom(6, lambda wrong: float(len(wrong)) ** 2)
    found = not_submodular.check().counterexample
    print(f"|A|^2 is not submodular: adding {found.e} gains {found.left:g} at {list(found.set)}, "
          f"but {found.right:g} once {found.f} is there")  # fmt: skip


if __name__ == "__main__":
    main()
