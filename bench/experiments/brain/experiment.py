"""IBSR's heads in folds: white matter, grey matter and CSF by a linear model, a hidden layer and a
U-Net, trained with cross-entropy, Lovász-Softmax and their sum (the paper's supplement B)."""

from __future__ import annotations

from dataclasses import dataclass

from ..jobs import Job
from ..lab import Lab
from ..runs import Training
from ..telling.section import Figure, Section
from . import claims as brain_claims
from . import figures as brain_figures
from . import results as brain_results
from .runs import LOSSES, MODELS, VALIDATED, Case

VOXELS_OF_AN_IMAGE = 16384  # by the time that they take


@dataclass(frozen=True)
class WholeFold(Job):
    """A model on a fold: pre-training, rates, fine-tuning and the test."""

    model: str
    fold: int

    def cost(self, lab: Lab) -> float:
        effort = Case(lab, self.model, self.fold).effort
        seeds, rates = len(effort.seeds), len(effort.rates)
        tuned = len(LOSSES) * (rates + seeds - 1) * effort.steps
        share = 1.0 if self.model == "unet" else 1 / VOXELS_OF_AN_IMAGE
        return (seeds * effort.pretraining_steps + tuned) * effort.batch * share

    def share(self, lab: Lab) -> float:
        case = Case(lab, self.model, self.fold)
        known = {*starts(case), *tunings(case)}
        other_seeds = len(LOSSES) * (len(case.effort.seeds) - 1) * case.effort.steps
        steps = sum(run.steps for run in known) + other_seeds
        if validated(case):
            known |= {*finals(case)}
        return sum(case.folder(run).steps() for run in known) / steps

    def done(self, lab: Lab) -> bool:
        case = Case(lab, self.model, self.fold)
        return validated(case) and all(case.folder(run).has("test.npz") for run in finals(case))

    def run(self, lab: Lab) -> None:
        case = Case(lab, self.model, self.fold)
        for run in [*starts(case), *tunings(case)]:
            case.train(run)
        case.score(tunings(case), "val", VALIDATED)
        for run in finals(case):
            case.train(run)
        case.score(finals(case), "test")


def starts(case: Case) -> list[Training]:
    return [case.pretraining(seed) for seed in case.effort.seeds]


def tunings(case: Case) -> list[Training]:
    return [run for loss in LOSSES for run in case.tunings(loss)]


def validated(case: Case) -> bool:
    """Then rates can be picked."""
    return all(case.folder(run).has("val.npz") for run in tunings(case))


def finals(case: Case) -> list[Training]:
    return [case.final(loss, seed) for loss in LOSSES for seed in case.effort.seeds]


def jobs(lab: Lab) -> list[Job]:
    return [WholeFold(model, fold) for model in MODELS for fold in range(lab.plan.folds)]


def section(lab: Lab) -> Section:
    results = brain_results.read(lab)
    return Section(
        "IBSR: tissues of the brain (the paper's supplement B)",
        brain_claims.text(results),
        brain_results.tables(results),
        figures(results),
        brain_claims.claims(results),
    )


def figures(results: brain_results.Results) -> list[Figure]:
    k, y = brain_figures.typical(results)
    return [
        Figure(
            "ibsr_differences",
            "What Lovász-Softmax, alone and added to cross-entropy, gains over cross-entropy on "
            "whole volumes: a dot is a test head (mean over the seeds), a diamond the mean with "
            "its 95 % interval. Each model has its own scale.",
            lambda: brain_figures.draw_differences(results),
        ),
        Figure(
            "ibsr_slice",
            f"Coronal slice {y} of {results.heads[k]}, by the U-Net, with the Jaccard indices of "
            "this slice. The rule: the test head at which Lovász-Softmax gains the median of all "
            "heads in the mean index, and of its slices that show all three tissues the one with "
            "the median gain.",
            lambda: brain_figures.draw_slice(results),
            shows_data=True,
        ),
    ]
