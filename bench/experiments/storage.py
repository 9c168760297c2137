"""Features, trained weights and results on disk."""

from __future__ import annotations

from dataclasses import fields
from pathlib import Path
from typing import Any

import pandas as pd
import torch

from .decoder import Decoder
from .features import CLASSES, Split, load
from .table import Run

SCORES = ("val", "val_iou", "curve", "iou_curve", "bound", "gap", "error", "temperature")


def read(folder: Path) -> pd.DataFrame:
    """All results, by the run's key."""
    files = sorted(folder.glob("?.csv"))
    found = [pd.read_csv(f, keep_default_na=False, index_col="key") for f in files]
    columns = dict.fromkeys([*(field.name for field in fields(Run)), *SCORES])
    return (pd.concat(found) if found else pd.DataFrame()).reindex(columns=list(columns))


class Lab:
    """Data and results."""

    def __init__(self, cache: Path, results: Path) -> None:
        self.cache, self.results = cache, results
        (cache / "weights").mkdir(exist_ok=True)
        results.mkdir(parents=True, exist_ok=True)

    def split(self, part: str) -> Split:
        return load(self.cache, part)

    def weights(self, run: Run) -> Path:
        return self.cache / "weights" / f"{run.key}.pt"

    def network(self, key: str) -> Decoder:
        """As a run with 11 classes left it."""
        net = Decoder(len(CLASSES))
        net.load_state_dict(torch.load(self.cache / "weights" / f"{key}.pt", weights_only=True))
        return net.to(memory_format=torch.channels_last).eval()

    def append(self, name: str, row: dict[str, Any]) -> None:
        file = self.results / f"{name}.csv"
        pd.DataFrame([row]).to_csv(file, mode="a", header=not file.exists(), index=False)
