"""Minima to compare with, each with a certified gap."""

from __future__ import annotations

import math
import warnings

from .. import optim
from .interfaces import Instance, Reference

TOLERANCE = 1e-9  # of the gap, relative to how far J falls
ITERATIONS = 3000


def by_bundle(instance: Instance) -> Reference:
    """Of a convex problem with weight decay or a radius."""
    if not {"bound", "convex"} <= instance.has:
        raise ValueError(
            "the bundle method needs a convex problem with weight_decay or radius: give the "
            "problem a method reference"
        )
    found, fall = None, 1.0
    for tolerance in (1e-3, TOLERANCE):  # the first run tells how far J falls
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the gap says what a warning would
            found = optim.bundle(
                instance.problem,
                instance.start,
                radius=instance.radius,
                weight_decay=instance.weight_decay,
                max_planes=max(100, 2 * instance.problem.n),
                max_iterations=ITERATIONS,
                tolerance=tolerance * fall,
                trace=True,
            )
        fall = max(found.trace[0].f - found.f, 1e-300)
    assert found is not None
    bound = found.lower_bound if math.isfinite(found.lower_bound) else -math.inf
    return Reference(found.x, found.f, min(bound, found.f))
