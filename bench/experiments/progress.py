"""How far the work is, and how long it will take: a bar on a terminal, a line per job elsewhere."""

from __future__ import annotations

import sys
import time
from typing import TextIO

BAR = 30


class Progress:
    def __init__(self, to: TextIO = sys.stderr) -> None:
        self.to, self.live = to, to.isatty()

    def start(self, cost: float, jobs: int, done: int) -> None:
        self.cost, self.jobs, self.done = cost, jobs, done
        self.spent, self.began = 0.0, time.monotonic()
        print(f"{jobs} pieces of work, {done} of them done before", file=self.to)

    def advance(self, cost: float, seconds: float, name: str) -> None:
        self.spent += cost
        self.done += 1
        if not self.live:
            print(f"{self.line()}  {name}, {seconds:.0f} s", file=self.to, flush=True)

    def show(self) -> None:
        if self.live:
            print(f"\r\033[K{self.line()}", end="", file=self.to, flush=True)

    def end(self) -> None:
        if self.live:
            print(file=self.to)

    def line(self) -> str:
        share = self.spent / self.cost if self.cost else 1.0
        bar = "#" * round(BAR * share)
        return f"[{bar:<{BAR}}] {self.done}/{self.jobs} {self.left(share)}"

    def left(self, share: float) -> str:
        """By the pace so far."""
        if share == 0:
            return "?"
        seconds = (time.monotonic() - self.began) * (1 - share) / share
        return f"{seconds / 60:.0f} min left" if seconds >= 60 else f"{seconds:.0f} s left"
