"""python -m experiments DATA_DIR [--only NAME] [--quick] [--out FOLDER] [--jobs N]"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from .experiments import ALL
from .lab import Lab
from .plan import QUICK, Plan
from .pool import do
from .progress import Progress


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="scripts/experiments.sh", description=__doc__)
    parser.add_argument("data", type=Path, metavar="DATA_DIR", help="with folders camvid and ibsr")
    names = [experiment.NAME for experiment in ALL]
    parser.add_argument("--only", choices=names, action="append", help="this one (several times: these)")
    parser.add_argument("--quick", action="store_true", help="the whole path, but hardly any training")
    parser.add_argument("--out", type=Path, default=Path("out/experiments"))
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="networks trained at a time")
    return parser.parse_args()


def main() -> int:
    asked = arguments()
    lab = Lab(asked.data, asked.out, QUICK if asked.quick else Plan())
    chosen = [one for one in ALL if not asked.only or one.NAME in asked.only]
    progress = Progress()
    do(lab, [job for one in chosen for job in one.jobs(lab)], asked.jobs, progress)
    progress.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
