"""A problem of your own that takes part by its name:

submod-optim-bench --quick --with new_problem.py --problems median

The geometric median: the mean distance of x to given points. It has no prox; optimisers that need
one are skipped, and the report says so. The bundle method finds its minimum, with a certified gap.
"""

from collections.abc import Sequence

import numpy as np

from submod import optim
from submod.optim_bench import Instance, Problem, Settings


class Median(Problem):
    name = "median"
    title = "geometric median"

    def instances(self, quick: bool) -> Sequence[Settings]:
        return [{"n": 5}] if quick else [{"n": 5}, {"n": 50}]

    def make(self, settings: Settings, seed: int) -> Instance:
        rng = np.random.default_rng(seed)
        points = rng.standard_cauchy(size=(20, settings["n"]))

        def subgradient(x: np.ndarray) -> tuple[float, np.ndarray]:
            away = x - points
            distance = np.linalg.norm(away, axis=1)
            units = away / np.maximum(distance, 1e-300)[:, None]
            return distance.mean(), units.mean(axis=0)

        start = points.mean(axis=0)
        radius = 2 * np.linalg.norm(points - start, axis=1).max()  # all points are in this ball
        return Instance(optim.Problem(settings["n"], subgradient), start, radius=radius)
