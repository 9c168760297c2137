"""What takes part: problems and optimisers, as two small interfaces. A new one is one small class
in a file of its own; the bench finds it by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Callable, NamedTuple

import numpy as np
import numpy.typing as npt

from .. import optim

if TYPE_CHECKING:
    from .task import Task

Vector = npt.NDArray[np.float64]
Settings = Mapping[str, Any]  # numbers and texts: they are in the cache's key and in the tables

DECADES = tuple(10.0 ** (k / 2) for k in range(-6, 3))  # 0.001 .. 10, two to a decade
QUICK_DECADES = DECADES[::2]
NO_SIZE = (1.0,)


# ---- problems ----


class Parts(NamedTuple):
    """f(A x) + g(x), with the proxes of f and g."""

    f: optim.Problem
    A: npt.NDArray[np.float64]
    g: optim.Problem | None = None


@dataclass(frozen=True)
class Instance:
    """A problem that is ready to run: J(x) = f(x) + weight_decay/2 |x|^2."""

    problem: optim.Problem  # f
    start: Vector
    weight_decay: float = 0.0
    convex: bool = True
    radius: float | None = None  # a minimum is this near to the start; without weight_decay
    lipschitz: float | None = None  # of the gradient of the smooth part
    parts: Parts | None = None  # f once more, as a composition
    ridge: Callable[[Vector], float] | None = None  # a signed distance: who changes its sign?

    @property
    def has(self) -> frozenset[str]:
        """What optimisers may need."""
        table = self.problem._table
        found = {
            "prox": bool(table.prox),
            "prox direction": bool(table.prox) or bool(table.direction),
            "smooth part": bool(table.smooth),
            "minibatches": self.problem.batches > 1,
            "weight decay": self.weight_decay > 0,
            "parts": self.parts is not None,
            "bound": self.weight_decay > 0 or self.radius is not None,
            "convexity": self.convex,
        }
        return frozenset(name for name, there in found.items() if there)


class Reference(NamedTuple):
    """What a run is compared with: J(x) = f_star is the least value that is known, and lower_bound
    is proved (-inf: nothing is). f_star - lower_bound is the certified gap."""

    x: Vector
    f_star: float
    lower_bound: float


class Problem(ABC):
    """A family of objectives. Its class says all of it: name, instances, and how one is made."""

    name: str
    title: str  # for tables and figures
    calls: tuple[int, int] = (200, 1000)  # the budget of each run, quick and not; see task.py
    sources: tuple[Path, ...] = ()  # files of data; the code it is made of is found by itself

    @abstractmethod
    def instances(self, quick: bool) -> Sequence[Settings]:
        """The settings of each member that takes part; quick: small and few."""

    @abstractmethod
    def make(self, settings: Settings, seed: int) -> Instance:
        """The same bits for the same settings and seed, on every run. Quick: it is made often. What
        the seed is for is the problem's choice: data, start, or nothing."""

    def reference(self, instance: Instance) -> Reference:
        """Its minimum. May take long: it is cached. By the bundle method, unless there is a better
        way."""
        from .reference import by_bundle

        return by_bundle(instance)

    def missing(self) -> str | None:
        """Why it cannot take part here, say for want of a file; None: it can."""
        return None


# ---- optimisers ----


class Optimiser(ABC):
    """A method. Its size is the only tuned number: a multiple of what the task calls natural."""

    name: str
    title: str
    needs: tuple[str, ...] = ()  # of Instance.has; who lacks it is skipped, and shown as such
    tuned: bool = True  # False: it has no size
    group: str = "yours"  # those of a group share a panel in figures

    def grid(self, quick: bool) -> tuple[float, ...]:
        """The sizes that are tried: the same for all, unless there is none."""
        if not self.tuned:
            return NO_SIZE
        return QUICK_DECADES if quick else DECADES

    @abstractmethod
    def run(self, task: Task) -> None:
        """Minimises task's J from task.start on while task.left, and tells the task its points."""
