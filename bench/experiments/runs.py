"""A run is a folder: what was asked for, how it went, what came out.

settings.json   what the run is, written first; another run never goes into the same folder
log.csv         the loss of every step
checkpoint.pt   while it runs: where to go on
weights.pt      when it is done
val.npz         when it has been scored there
test.npz        likewise
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch

from .trouble import Trouble


@dataclass(frozen=True)
class Training:
    """What decides the outcome of a training, and nothing else."""

    data: str  # "camvid", or a binary task of it
    loss: str
    seed: int
    steps: int
    batch: int
    rate: float
    start: str = ""  # the name of the run whose weights it starts from
    sampling: str = "shuffled"  # or "equibatch"
    width: int = 8  # channels of the U-Net's first level

    @property
    def name(self) -> str:
        """Of its folder: for people, and unique."""
        kind = "from-scratch" if not self.start else "fine"
        parts = [self.data, kind, self.loss, f"b{self.batch}", f"r{self.rate:g}", f"n{self.steps}"]
        if self.sampling != "shuffled":
            parts.append(self.sampling)
        return "-".join([*parts, f"s{self.seed}"])


class Folder:
    """The folder of a run under root, made when the first file is written."""

    def __init__(self, root: Path, run: Training) -> None:
        self.path, self.run = root / run.name, run
        known, asked = self.read_json("settings.json"), asdict(run)
        if known is not None and known != asked:
            other = ", ".join(
                f"{key} {known.get(key)}" for key in asked if known.get(key) != asked[key]
            )
            raise Trouble(
                f"{self.path} holds another run, with {other}; move it away, or take another --out"
            )

    def has(self, name: str) -> bool:
        return (self.path / name).is_file()

    def read_json(self, name: str) -> Any:
        file = self.path / name
        return json.loads(file.read_text(encoding="utf-8")) if file.is_file() else None

    def write_json(self, name: str, values: Any) -> None:
        text = json.dumps(values, indent=1) + "\n"
        self._replace(name, lambda file: file.write_text(text, encoding="utf-8"))

    def steps(self) -> int:
        """That the log has; it is written with every checkpoint."""
        file = self.path / "log.csv"
        return max(0, file.read_text(encoding="utf-8").count("\n") - 1) if file.is_file() else 0

    def read_state(self, name: str) -> Any:
        file = self.path / name
        return torch.load(file, weights_only=True) if file.is_file() else None

    def write_state(self, name: str, state: Any) -> None:
        self._replace(name, lambda file: torch.save(state, file))

    def write_arrays(self, name: str, arrays: dict[str, Any]) -> None:
        def write(file: Path) -> None:
            with open(file, "wb") as to:
                np.savez_compressed(to, **arrays)

        self._replace(name, write)

    def read_arrays(self, name: str) -> dict[str, Any]:
        with np.load(self.path / name) as arrays:
            return dict(arrays)

    def write_log(self, losses: list[float]) -> None:
        """A line per step."""
        text = "step,loss\n" + "".join(f"{k},{loss:.6g}\n" for k, loss in enumerate(losses))
        self._replace("log.csv", lambda file: file.write_text(text, encoding="utf-8"))

    def remove(self, name: str) -> None:
        (self.path / name).unlink(missing_ok=True)

    def _replace(self, name: str, write: Any) -> None:
        """Whole or not at all, whenever the run is killed. The settings come first."""
        self.path.mkdir(parents=True, exist_ok=True)
        if name != "settings.json" and not self.has("settings.json"):
            self.write_json("settings.json", asdict(self.run))
        file = self.path / f"{name}.{os.getpid()}.new"
        write(file)
        os.replace(file, self.path / name)
