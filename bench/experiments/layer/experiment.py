"""Optimisers of a last layer under the Lovász hinge, on the features of pre-trained networks (the
supplement's figure on optimisation methods)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..jobs import Job
from ..lab import Lab
from ..telling import words
from ..telling.section import Figure, Section
from . import figure as layer_figure
from . import tables as layer_tables
from .claims import claims
from .data import SHARE, TOGETHER
from .jobs import Run, draws, folder_of
from .methods import ALGORITHM_2, LOOKS, METHODS, STEPS, Method
from .problem import DECAY
from .results import Curves, curves, ratio

OFF = 0.01  # an error of a direction that counts


def jobs(lab: Lab) -> list[Job]:
    return [Run(method, draw) for draw in draws(lab, False) for method in METHODS]


def section(lab: Lab) -> Section:
    found = {method: curves(lab, method) for method in METHODS}
    bundle = curves(lab, None)
    tables = (
        layer_tables.methods_table(found, bundle),
        layer_tables.pairs_table(found),
        layer_tables.looks_table(lab),
        layer_tables.curves_table(lab, found, bundle),
        layer_tables.steps_table(lab),
    )
    picture = Figure(
        "last_layer",
        "Optimisers of the last layer: medians and, as bands, the least and the most of all draws. "
        "Above, how far J is from its minimum; below, the mean IoU on val, of which what is under "
        f"{layer_figure.floor(list(found.values()))} % is cut off, curves and bands.",
        partial(layer_figure.draw, found, bundle),
    )
    return Section(
        "Optimisers of a real last layer", text(lab, found), tables, (picture,), claims(lab, found)
    )


def text(lab: Lab, found: Mapping[Method, Curves]) -> list[str]:
    plan = lab.plan
    ends = [folder_of(lab, draw).read_arrays("bundle.npz") for draw in draws(lab, False)]
    bounds, gaps = ([float(end[key]) for end in ends] for key in ("bound", "gap"))
    errors = found[Method("gradient", ALGORITHM_2)].errors
    return [
        "Only the last layer is trained, so the problem is convex: J(w) = mean over the images of "
        f"the Lovász hinge of their scores + {DECAY:g}/2 |w|², cars against the rest. Features are "
        f"what pre-trained networks hand to their last layer, {plan.width} channels and 1 for the "
        f"bias, at {plan.layer_pixels} pixels of each of {plan.layer_images} training images: some "
        f"of the labelled ones of images with cars on {SHARE:.0%} of their pixels or more. "
        f"There are {len(plan.seeds)} networks with {plan.layer_draws} draws each; a draw has its "
        "own images, pixels, start and order of minibatches. The IoU is the mean over all such "
        "images of val, at as many pixels of each.",
        f"J* is a lower bound of the minimum, by the bundle method: {min(bounds):.3f} to "
        f"{max(bounds):.3f}, certified to {max(gaps):.1g}. All optimisers pass {plan.layer_epochs} "
        f"times over the images, in minibatches of {TOGETHER}; the bundle method looks at all of "
        "them in each iteration. A pass is one evaluation of the loss layer for each image, by "
        "subgradient or by prox. Step sizes fall as (1 - k/K)^0.9. Each optimiser has the step of "
        f"{STEPS[0]:g} .. {STEPS[-1]:g} ({len(STEPS)} values) with the lowest J - J* at the end, "
        "in the geometric mean over one further draw of each network, which is used for nothing "
        "else. Those with prox have a second parameter picked in the same way, how far prox looks "
        f"compared with the step ({', '.join(f'{look:g}' for look in LOOKS)}): they are tuned "
        f"{len(LOOKS)} times as much.",
        *words.at_the_edge("Steps", STEPS, {called(one): of.step for one, of in found.items()}),
        *words.at_the_edge("How far prox looks", LOOKS, {called(m): found[m].look for m in found}),
        "Prox directions are the supplement's modified backpropagation: the loss layer sends "
        "λ (s - prox(s)) back in place of the gradient by the scores s. That is the gradient of a "
        "smoothed loss, whose minimum lies elsewhere; it becomes the subgradient as the look tends "
        f"to 0. Algorithm 2's directions were off by more than {OFF:.0%} for "
        f"{(errors > OFF).mean():.0%} of the images on the way, and by {np.median(errors):.0%} in "
        "the median: |direction - exact one| / |exact one|.",
        "Draws of a network have its features in common. So each network counts once, with the "
        f"mean of its draws, and intervals are Student's t over the {len(plan.seeds)} networks. "
        + power(found),
    ]


def called(method: Method) -> str:
    """In a list, where a comma would mislead."""
    return method.name.replace(", ", " with ")


def power(found: Mapping[Method, Curves]) -> str:
    """What could have been shown."""
    rates = [ratio(found[ours], found[theirs]) for ours, theirs in layer_tables.PAIRS]
    factor = np.median([np.sqrt(rate.high / rate.low) for rate in rates])
    return (
        "With so few, a ratio of J - J* must be beyond a factor of "
        f"{factor:.2g}, in the median, to be shown."
    )
