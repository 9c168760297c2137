"""What takes part: problems and optimisers, as two small interfaces. A new one is one small class
in a file of its own; the bench finds it by its name."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .. import optim

Settings = Mapping[str, Any]  # numbers and texts: they are in the cache's key and in the tables


@dataclass(frozen=True)
class Instance:
    """A problem that is ready to run. f_star - lower_bound is the certified gap of f_star."""

    problem: optim.Problem
    start: np.ndarray[Any, Any]
    f_star: float  # the least value that is known
    lower_bound: float  # proved: no point has less


class Problem(ABC):
    """A family of objectives. Its class says all of it: name, instances, and how one is made."""

    name: str
    title: str  # for tables and figures
    sources: tuple[str, ...] = field(default=())  # files whose content counts beside the class's

    @abstractmethod
    def instances(self, quick: bool) -> Sequence[Settings]:
        """The settings of each member that takes part; quick: small and few."""

    @abstractmethod
    def make(self, settings: Settings) -> Instance:
        """The same bits for the same settings, on every run."""


@dataclass(frozen=True)
class Budget:
    """Oracle calls (subgradients of one batch count 1 / batches, proxes the same) and seconds."""

    calls: float
    seconds: float


@dataclass(frozen=True)
class Curve:
    """How a run went: at these oracle calls and seconds, this f. Points x of small problems, for
    the measures of oscillation."""

    calls: np.ndarray[Any, Any]
    seconds: np.ndarray[Any, Any]
    f: np.ndarray[Any, Any]
    points: np.ndarray[Any, Any] | None = None


class Optimiser(ABC):
    """A method. size is its only tuned number; a method without one has the grid (1.0,)."""

    name: str
    title: str
    needs: tuple[str, ...] = ()  # of the problem: "prox", "batches", "smooth"
    grid: tuple[float, ...] = (1.0,)

    @abstractmethod
    def run(self, instance: Instance, size: float, budget: Budget, seed: int) -> Curve: ...
