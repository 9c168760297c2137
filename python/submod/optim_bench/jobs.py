"""What is computed, in two stages: minima, then runs. Each job writes one file of the cache."""

from __future__ import annotations

import json
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from .. import SubmodError
from .cache import Cache, Result, content, key_of
from .catalogue import Catalogue, Extras, load
from .interfaces import Instance, Optimiser, Reference, Settings
from .oscillation import measure
from .task import Task

# Exceptions that say that a method diverges, which is a result.
DIVERGED = (SubmodError, OverflowError, FloatingPointError)


@dataclass(frozen=True)
class Member:
    """A problem, its settings as JSON, and a seed."""

    problem: str
    settings: str
    seed: int

    @property
    def values(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self.settings)
        return found

    def __str__(self) -> str:
        return label(self.problem, self.values)


@dataclass(frozen=True)
class Job:
    """All sizes of one optimiser on one member."""

    member: Member
    optimiser: str
    sizes: tuple[float, ...]
    calls: float


def member_of(problem: str, settings: Settings, seed: int) -> Member:
    return Member(problem, json.dumps(dict(settings), sort_keys=True), seed)


def label(problem: str, settings: Settings) -> str:
    told = ", ".join(f"{name} = {value}" for name, value in settings.items())
    return f"{problem} ({told})" if told else problem


class Bench:
    """Members and jobs by their names, and where results are kept."""

    def __init__(self, catalogue: Catalogue, cache: Cache) -> None:
        self.catalogue, self.cache = catalogue, cache
        self.instance = lru_cache(maxsize=8)(self._instance)
        self.content = lru_cache(maxsize=None)(self._content)

    def _instance(self, member: Member) -> Instance:
        return self.catalogue.problems[member.problem].make(member.values, member.seed)

    def _content(self, kind: str, name: str) -> list[str]:
        return content(vars(self.catalogue)[kind][name])

    # ---- keys ----

    def member_key(self, member: Member) -> str:
        problem = self.content("problems", member.problem)
        return key_of("minimum", problem, member.settings, member.seed)

    def job_key(self, job: Job) -> str:
        optimiser = self.content("optimisers", job.optimiser)
        return key_of("runs", self.member_key(job.member), optimiser, job.sizes, job.calls)

    # ---- results ----

    def find_minimum(self, member: Member) -> None:
        instance = self.instance(member)
        found = self.catalogue.problems[member.problem].reference(instance)
        first = Task(instance, found, 1, 1, 0).first
        kept = {"x": found.x.tolist(), "f_star": found.f_star, "lower_bound": found.lower_bound}
        kept |= {"first": first, "n": instance.problem.n, "batches": instance.problem.batches}
        self.cache.put(self.member_key(member), kept)

    def minimum(self, member: Member) -> Result:
        found = self.cache.get(self.member_key(member))
        if found is None:
            raise RuntimeError(f"the minimum of {member} is not known yet")
        return found

    def run(self, job: Job) -> None:
        kept = self.minimum(job.member)
        reference = Reference(np.array(kept["x"]), kept["f_star"], kept["lower_bound"])
        optimiser = self.catalogue.optimisers[job.optimiser]
        instance = self.instance(job.member)
        runs = [
            run_once(optimiser, Task(instance, reference, job.calls, size, job.member.seed))
            for size in job.sizes
        ]
        self.cache.put(self.job_key(job), {"runs": runs})


def run_once(optimiser: Optimiser, task: Task) -> Result:
    status = "ran"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of runs that end without a minimum, as most do
        try:
            optimiser.run(task)
        except DIVERGED as error:
            status = f"diverged: {error}"
        except Exception as error:
            raise RuntimeError(f"{optimiser.name} failed, with size {task.size:g}") from error
    task.finish()
    curve, reference, ridge = task.curve, task.reference, task.instance.ridge
    with np.errstate(over="ignore", invalid="ignore"):  # of paths that diverge
        oscillation = measure(curve.points, curve.at_points, ridge, reference.f_star)
    return {
        "size": task.size,
        "status": status,
        "calls": curve.calls,
        "seconds": curve.seconds,
        "f": curve.f,
        "oscillation": oscillation,
    }


# ---- in a process of its own ----

_bench: Bench | None = None


def open_worker(extras: Extras, folder: Path) -> None:
    global _bench
    _bench = Bench(load(extras), Cache(folder))


def find_minimum(member: Member) -> None:
    assert _bench is not None
    _bench.find_minimum(member)


def run(job: Job) -> None:
    assert _bench is not None
    _bench.run(job)
