"""An optimiser of your own, in plain NumPy, that takes part by its name:

submod-optim-bench --quick --with new_optimiser.py --optimisers normalised,gd-sqrt,adam
"""

import numpy as np

from submod.optim_bench import Optimiser, Task


class Normalised(Optimiser):
    """Steps of length size R / sqrt(k) against the subgradient, whatever its length (Shor)."""

    name = "normalised"
    title = "normalised subgradients"

    def run(self, task: Task) -> None:
        x, k = task.start, 0
        while task.left:
            batch = None if task.batches == 1 else task.rng.integers(task.batches)
            _, g = task.subgradient(x, batch)
            k += 1
            x = x - task.size * task.length / np.sqrt(k) * g / (np.linalg.norm(g) or 1.0)
            task.tell(x)
