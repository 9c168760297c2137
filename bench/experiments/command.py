"""What the command line asks for, once the data is there."""

from __future__ import annotations

import argparse
from pathlib import Path

from .experiments import READS, load
from .lab import Lab
from .plan import QUICK, Plan
from .pool import do
from .progress import Progress
from .telling import document, machine, report
from .telling.story import gather


def run(asked: argparse.Namespace) -> Path:
    """Returns the report, which is about every experiment that is done, now or before."""
    lab = Lab(asked.data, asked.out, QUICK if asked.quick else Plan())
    if not asked.report:
        jobs = [job for one in load(asked.only or READS) for job in one.jobs(lab)]
        machine.note(lab.out)
        do(lab, jobs, asked.jobs, Progress())
    story = gather(lab, asked.studies)
    page = report.write(story, lab.out)
    if asked.document:
        document.write(story, lab.out / "figures", asked.document)
    return page
