"""The pieces of work. A job is done in one process, knows what must be done before it, and does
nothing when its results are there."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, fields, is_dataclass
from typing import Any

from .lab import Lab
from .runs import Training

TUNED_WITH = 0  # the seed that rates are picked with


class Job(ABC):
    """Jobs are compared by what they say of themselves: equal ones are done once."""

    def needs(self, lab: Lab) -> list[Job]:
        return []

    def cost(self, lab: Lab) -> float:
        """In images shown to a network in training; guides the time left, nothing else."""
        return 1.0

    def share(self, lab: Lab) -> float:
        """Of it that is done, asked while it runs; guides the time left too."""
        return 0.0

    def __str__(self) -> str:
        return " ".join([type(self).__name__.lower(), *words_of(self)])

    @abstractmethod
    def done(self, lab: Lab) -> bool: ...

    @abstractmethod
    def run(self, lab: Lab) -> None: ...


def words_of(values: Any) -> list[str]:
    """What a dataclass holds, for people: texts as they are, numbers with their names."""
    words = []
    for field in fields(values):
        value = getattr(values, field.name)
        if is_dataclass(value):
            words += words_of(value)
        elif value != field.default:
            words += [value] if isinstance(value, str) else [field.name, str(value)]
    return words


@dataclass(frozen=True)
class Pretrain(Job):
    """Cross-entropy from scratch: the start of everything with this seed."""

    seed: int

    def share(self, lab: Lab) -> float:
        return lab.trained_share(lab.pretraining(self.seed))

    def cost(self, lab: Lab) -> float:
        return lab.plan.pretraining_images

    def done(self, lab: Lab) -> bool:
        return lab.folder(lab.pretraining(self.seed)).has("weights.pt")

    def run(self, lab: Lab) -> None:
        lab.train(lab.pretraining(self.seed))


@dataclass(frozen=True)
class Way:
    """A way of training that is compared with others."""

    data: str
    loss: str
    sampling: str = "shuffled"

    def training(self, lab: Lab, seed: int, batch: int, rate: float) -> Training:
        start = lab.pretraining(seed).name
        steps = lab.plan.images // batch
        return Training(
            self.data, self.loss, seed, steps, batch, rate, start, self.sampling, lab.plan.width
        )

    def rate(self, lab: Lab) -> float:
        """The best of the grid on val. Every Tune of it must be done."""
        runs = [self.training(lab, TUNED_WITH, lab.plan.batch, rate) for rate in lab.plan.rates]
        return max(runs, key=lambda run: lab.index(run, "val")).rate

    def final(self, lab: Lab, seed: int, batch: int) -> Training:
        return self.training(lab, seed, batch, self.rate(lab))


@dataclass(frozen=True)
class Tune(Job):
    """One rate of the grid, scored on val."""

    way: Way
    rate: float

    def training(self, lab: Lab) -> Training:
        return self.way.training(lab, TUNED_WITH, lab.plan.batch, self.rate)

    def needs(self, lab: Lab) -> list[Job]:
        return [Pretrain(TUNED_WITH)]

    def cost(self, lab: Lab) -> float:
        return lab.plan.images

    def done(self, lab: Lab) -> bool:
        return lab.folder(self.training(lab)).has("val.npz")

    def share(self, lab: Lab) -> float:
        return lab.trained_share(self.training(lab))

    def run(self, lab: Lab) -> None:
        run = self.training(lab)
        lab.train(run)
        lab.scores(run, "val")


@dataclass(frozen=True)
class Final(Job):
    """With the picked rate, scored on test."""

    way: Way
    seed: int
    batch: int

    def needs(self, lab: Lab) -> list[Job]:
        return [Pretrain(self.seed), *(Tune(self.way, rate) for rate in lab.plan.rates)]

    def cost(self, lab: Lab) -> float:
        return lab.plan.images

    def done(self, lab: Lab) -> bool:
        tuned = all(need.done(lab) for need in self.needs(lab))
        return tuned and lab.folder(self.way.final(lab, self.seed, self.batch)).has("test.npz")

    def share(self, lab: Lab) -> float:
        return lab.trained_share(self.way.final(lab, self.seed, self.batch))

    def run(self, lab: Lab) -> None:
        run = self.way.final(lab, self.seed, self.batch)
        lab.train(run)
        lab.scores(run, "test")
