"""Everything that is known of the experiments, in the order in which it is told."""

from __future__ import annotations

import sys
from dataclasses import dataclass
from pathlib import Path

from ..experiments import READS, load
from ..lab import Lab
from ..pool import closure
from . import machine, method
from .section import Claim, Section, Table

sys.path.insert(0, str(Path(__file__).parents[2] / "report"))
from claims import claims_of as claims_of_study
from claims import is_quick

LISTED = Path(__file__).parents[2] / "studies" / "studies.list"
CLAIMS = ("claim of the paper", "measured here", "verdict", "on which data")


@dataclass(frozen=True)
class Story:
    sections: dict[str, Section]  # of the experiments that are done
    missing: list[str]  # the others
    studies: list[Claim]  # what the older studies say, if they have been run
    machines: list[str]
    method: Section

    def claims(self) -> Table:
        ours = [claim for section in self.sections.values() for claim in section.claims]
        rows = [(c.paper, c.measured, c.verdict, c.data) for c in [*ours, *self.studies]]
        return Table("claims", "What the paper says, and what came out here.", CLAIMS, rows)

    def tables(self) -> list[Table]:
        """All, the claims first."""
        parts = [self.method, *self.sections.values()]
        return [self.claims(), *(table for part in parts for table in part.tables)]


def gather(lab: Lab, studies: Path | None) -> Story:
    sections, missing = {}, []
    for name, experiment in zip(READS, load(READS)):
        if all(job.done(lab) for job in closure(lab, experiment.jobs(lab))):
            sections[name] = experiment.section(lab)
        else:
            missing.append(name)
    machines = machine.noted(lab.out) or [machine.here()]
    old = claims_of(studies) if studies else []
    return Story(sections, missing, old, machines, method.section(lab.plan))


def claims_of(studies: Path) -> list[Claim]:
    """From the tables that scripts/study.sh leaves in this folder, in its order. Skips studies from
    quick runs, whose verdicts are not meaningful."""
    names = LISTED.read_text(encoding="utf-8").split()
    return [
        Claim(one.text, one.measured, one.verdict, f"study `{name}`: {one.data}".rstrip(": "))
        for name in names
        if not is_quick(studies / name)
        for one in claims_of_study(studies / name)
    ]
