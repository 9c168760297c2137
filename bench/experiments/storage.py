"""Features, trained weights and results on disk."""

from __future__ import annotations

import csv
import os
import time
from pathlib import Path
from typing import Any

import pandas as pd

from .features import Split, load
from .table import Run


class Lab:
    """Data and results."""

    def __init__(self, cache: Path, results: Path, pause: Path | None = None) -> None:
        self.cache, self.results, self.pause = cache, results, pause
        self.splits: dict[str, Split] = {}
        (cache / "weights").mkdir(exist_ok=True)
        results.mkdir(parents=True, exist_ok=True)

    def split(self, part: str) -> Split:
        if part not in self.splits:
            self.splits[part] = load(self.cache, part)
        return self.splits[part]

    def weights(self, run: Run) -> Path:
        return self.cache / "weights" / f"{run.key}.pt"

    def rows(self) -> pd.DataFrame:
        """All results, by the run's key."""
        files = [f for f in sorted(self.results.glob("?.csv")) if f.stat().st_size]
        found = [pd.read_csv(f, keep_default_na=False, index_col="key") for f in files]
        return pd.concat(found) if found else pd.DataFrame({"val": []})

    def append(self, name: str, row: dict[str, Any]) -> None:
        file = self.results / f"{name}.csv"
        with file.open("a", newline="") as lines:
            writer = csv.DictWriter(lines, list(row), lineterminator="\n")
            if not lines.tell():
                writer.writeheader()
            writer.writerow(row)
            lines.flush()
            os.fsync(lines.fileno())

    def wait(self) -> None:
        while self.pause and self.pause.exists():
            time.sleep(5)
