"""Minima to compare with, each with a certified gap, or the word that there is none."""

from __future__ import annotations

import math
import warnings

from .. import AccuracyWarning, optim
from .interfaces import Instance, Reference

TOLERANCE = 1e-10  # of the gap, relative to how far J falls
ITERATIONS = 4000
SEARCH = 1000  # steps of each run of a search


def by_bundle(instance: Instance) -> Reference:
    """Of a convex problem with weight decay or a radius."""
    if not {"bound", "convexity"} <= instance.has:
        raise ValueError(
            "the bundle method needs a convex problem with weight_decay or radius: give the "
            "problem a method reference"
        )
    near = _bundle(instance, 1e-3)  # it tells how far J falls
    found = _bundle(instance, TOLERANCE * max(near.trace[0].f - near.f, 1e-300))
    bound = found.lower_bound if math.isfinite(found.lower_bound) else -math.inf
    return Reference(found.x, found.f, min(bound, found.f))


def _bundle(instance: Instance, tolerance: float) -> optim.Result:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", AccuracyWarning)  # the gap says what a warning would
        return optim.bundle(
            instance.problem,
            instance.start,
            radius=instance.radius,
            weight_decay=instance.weight_decay,
            max_planes=max(100, 2 * instance.problem.n),
            max_iterations=ITERATIONS,
            tolerance=tolerance,
            trace=True,
        )


def by_search(instance: Instance) -> Reference:
    """Of a problem that is not convex and nowhere below 0: the better one of two long runs of Adam
    with falling steps. It proves nothing."""
    best = min((_long_run(instance, eta) for eta in (0.3, 0.03)), key=lambda run: run.f)
    return Reference(best.x, best.f, 0.0)


def _long_run(instance: Instance, eta: float) -> optim.Result:
    return optim.descend(
        instance.problem,
        instance.start,
        optim.Schedule.poly(eta, SEARCH, 2.0),
        step=optim.Adam(),
        weight_decay=instance.weight_decay,
        max_iterations=SEARCH,
    )
