"""Everything that is known of the experiments, in the order in which it is told."""

from __future__ import annotations

import csv
from dataclasses import dataclass
from pathlib import Path

from ..experiments import READS, load
from ..lab import Lab
from ..pool import closure
from . import machine, method
from .section import Claim, Section, Table

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
    """From the tables that scripts/study.sh leaves in this folder, in its order."""
    found = []
    files = [studies / name / "table_claims.csv" for name in LISTED.read_text().split()]
    for file in filter(Path.is_file, files):
        data = f"study `{file.parent.name}`: {data_of(file.parent)}".rstrip(": ")
        with open(file, encoding="utf-8", newline="") as lines:
            for row in csv.DictReader(lines):
                paper, measured = list(row.values())[:2]
                found.append(Claim(paper, measured, row["verdict"], data))
    return found


def data_of(study: Path) -> str:
    """The paragraph of its notes that says so."""
    notes = study / "notes.md"
    text = notes.read_text(encoding="utf-8") if notes.is_file() else ""
    paragraphs = [" ".join(one.split()) for one in text.split("\n\n")]
    told = [one.removeprefix("Data: ") for one in paragraphs if one.startswith("Data: ")]
    return told[0].rstrip(".") if told else ""
