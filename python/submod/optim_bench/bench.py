"""Plans what is to be run, has done what is new, and gathers the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Callable, TypeVar

from . import jobs, pool
from .cache import Cache, Result
from .catalogue import Catalogue, Extras, load
from .jobs import Bench, Job, Member, label, member_of
from .mistakes import Mistake
from .progress import Progress

Kind = TypeVar("Kind")

NOTHING = 1e-12  # what J falls by, as a share of J, where there is nothing to solve


@dataclass(frozen=True)
class Plan:
    """Whom to run, and how long. None: all there are."""

    quick: bool = False
    problems: tuple[str, ...] | None = None
    optimisers: tuple[str, ...] | None = None
    extras: Extras = field(default_factory=Extras)
    seed: int = 1
    seeds: int | None = None
    processes: int = 0  # 0: this one
    quiet: bool = False

    @property
    def all_seeds(self) -> range:
        count = self.seeds or (1 if self.quick else 5)
        return range(self.seed, self.seed + count)


@dataclass(frozen=True)
class Skipped:
    """What did not run, and why."""

    problem: str
    optimiser: str
    why: str


@dataclass
class Outcome:
    """Members with their minima; jobs with their runs; who was skipped; how many jobs were new."""

    catalogue: Catalogue
    minima: dict[Member, Result] = field(default_factory=dict)
    runs: dict[Job, list[Result]] = field(default_factory=dict)
    skipped: list[Skipped] = field(default_factory=list)
    new_minima: int = 0
    new_jobs: int = 0


def compare(plan: Plan, cache: Path) -> Outcome:
    catalogue = load(plan.extras)
    bench, outcome = Bench(catalogue, Cache(cache)), Outcome(catalogue)
    members = _members(plan, catalogue, outcome)
    with pool.Pool(plan.processes, jobs.open_worker, (plan.extras, cache)) as workers:
        new = [member for member in members if bench.cache.get(bench.member_key(member)) is None]
        workers.do(new, jobs.find_minimum, _shown("minima", new, plan.quiet))
        members = _to_solve(bench, members, outcome)
        wanted = _jobs(plan, bench, members, outcome)
        todo = [job for job in wanted if bench.cache.get(bench.job_key(job)) is None]
        workers.do(todo, jobs.run, _shown("runs", todo, plan.quiet))
    outcome.new_minima, outcome.new_jobs = len(new), len(todo)
    outcome.minima = {member: bench.minimum(member) for member in members}
    for job in wanted:
        found = bench.cache.get(bench.job_key(job))
        assert found is not None
        outcome.runs[job] = found["runs"]
    return outcome


def _shown(what: str, todo: Sequence[Kind], quiet: bool) -> Callable[[Kind], None]:
    progress = Progress(what, sum(map(_cost, todo)), quiet)
    return lambda job: progress.advance(_cost(job))


def _cost(job: object) -> float:
    return len(job.sizes) * job.calls if isinstance(job, Job) else 1.0


def _members(plan: Plan, catalogue: Catalogue, outcome: Outcome) -> list[Member]:
    found = []
    for problem in _chosen(catalogue.problems, plan.problems, "problem"):
        why = problem.missing()
        if why is not None:
            outcome.skipped.append(Skipped(problem.name, "", why))
            continue
        found += [
            member_of(problem.name, settings, seed)
            for settings in problem.instances(plan.quick)
            for seed in plan.all_seeds
        ]
    return found


def _to_solve(bench: Bench, members: list[Member], outcome: Outcome) -> list[Member]:
    """Without those that start at their minimum, which everyone would have solved."""
    found = []
    for member in members:
        kept = bench.minimum(member)
        if kept["first"] - kept["f_star"] > NOTHING * max(1.0, abs(kept["first"])):
            found.append(member)
        else:
            where = f"{member}, seed {member.seed}"
            outcome.skipped.append(Skipped(where, "", "its start is a minimum"))
    return found


def _jobs(plan: Plan, bench: Bench, members: list[Member], outcome: Outcome) -> list[Job]:
    """Members in a row, so that a process makes few instances anew."""
    optimisers = _chosen(bench.catalogue.optimisers, plan.optimisers, "optimiser")
    found, skipped = [], {}
    for member in members:
        has = bench.instance(member).has
        calls = bench.catalogue.problems[member.problem].calls[0 if plan.quick else 1]
        for optimiser in optimisers:
            lacks = [need for need in optimiser.needs if need not in has]
            if lacks:
                where = label(member.problem, member.values)
                why = f"the problem has no {' and no '.join(lacks)}"
                skipped[where, optimiser.name] = Skipped(where, optimiser.name, why)
            else:
                found.append(Job(member, optimiser.name, optimiser.grid(plan.quick), calls))
    outcome.skipped += skipped.values()
    return found


def _chosen(there: dict[str, Kind], names: tuple[str, ...] | None, what: str) -> list[Kind]:
    if names is None:
        return list(there.values())
    for name in names:
        if name not in there:
            raise Mistake(f"there is no {what} {name!r}; there are {', '.join(there)}")
    return [there[name] for name in names]
