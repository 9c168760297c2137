"""How far the work is, and how long it will take: a bar on a terminal, a line per job elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

from submod.optim_bench.progress import bar, time_left


class Progress:
    """Of costs in any unit. Only what is done from the start on counts for the pace: jobs that were
    found done, and what a killed job had done before, cost no time now."""

    def __init__(self, to: TextIO | None = None) -> None:
        self.to = sys.stderr if to is None else to
        self.live = self.to.isatty()

    def start(self, cost: float, jobs: int, done: int) -> None:
        """So much to do; of so many jobs, so many were done before."""
        self.cost = self.left = cost
        self.jobs, self.done, self.began = jobs, done, time.monotonic()
        print(f"{jobs} jobs, {done} of them done before", file=self.to, flush=True)

    def found(self, cost: float) -> None:
        """So much of a job turns out to be done already."""
        self.cost -= cost
        self.left -= cost

    def advance(self, seconds: float, name: str) -> None:
        """A job has ended."""
        self.done += 1
        if not self.live:
            print(f"{self.line()}  {name}, {seconds:.0f} s", file=self.to, flush=True)

    def show(self, left: float) -> None:
        """So much is still to do."""
        self.left = left
        if self.live:
            print(f"\r\033[K{self.line()}", end="", file=self.to, flush=True)

    def end(self) -> None:
        if self.live:
            print(file=self.to, flush=True)

    def line(self) -> str:
        share = 1 - self.left / self.cost if self.cost > 0 else 1.0
        took = time.monotonic() - self.began
        return f"{bar(share)} {self.done}/{self.jobs} {time_left(took, share)}"
