"""How far the work is, and how long it will take: a bar on a terminal, a line now and then
elsewhere."""

from __future__ import annotations

import sys
import time

BAR, PAUSE = 30, 10.0  # characters; seconds between two lines


class Progress:
    """Of costs in any unit."""

    def __init__(self, what: str, cost: float, quiet: bool = False) -> None:
        self.what, self.cost, self.done = what, cost, 0.0
        self.began = self.shown = time.monotonic()
        self.quiet, self.live = quiet or cost <= 0, sys.stderr.isatty()

    def advance(self, cost: float) -> None:
        self.done += cost
        now = time.monotonic()
        if self.quiet or (not self.live and now - self.shown < PAUSE):
            return
        self.shown = now
        over = not self.live or self.done >= self.cost
        start, end = "\r\033[K" if self.live else "", "\n" if over else ""
        print(f"{start}{self.line(now)}", end=end, file=sys.stderr, flush=True)

    def line(self, now: float) -> str:
        share = min(1.0, self.done / self.cost)
        return f"{self.what} {bar(share)} {share:4.0%}, {time_left(now - self.began, share)}"


def bar(share: float) -> str:
    return f"[{'#' * round(BAR * share):<{BAR}}]"


def time_left(seconds: float, share: float) -> str:
    """By the pace so far: this share took so many seconds."""
    return f"{duration(seconds * (1 - share) / share)} left" if share > 0 else "time left: ?"


def duration(seconds: float) -> str:
    if seconds < 60:
        return f"{seconds:.0f} s"
    minutes = round(seconds / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60:02d} min"
