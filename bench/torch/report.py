"""Plain-text tables of at most 100 columns, progress, and the facts about the machine."""

import os
import platform
import sys
import time

WIDTH = 100


def cpu_model():
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            for line in file:
                if line.startswith("model name"):
                    return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"


class Neighbours:
    """How much of the machine others took since this was made: everyone's time less our own."""

    def __init__(self):
        self.wall, self.everyone, self.own = time.monotonic(), self._everyone(), self._own()

    @staticmethod
    def _everyone():
        """Seconds of all CPUs in which they were not idle, those lost to other virtual machines
        included; None where there is no /proc."""
        try:
            with open("/proc/stat", encoding="utf-8") as file:
                ticks = [int(word) for word in file.readline().split()[1:9]]
        except OSError:
            return None
        idle, waiting = ticks[3:5]
        return (sum(ticks) - idle - waiting) / os.sysconf("SC_CLK_TCK")

    @staticmethod
    def _own():
        times = os.times()
        return times.user + times.system

    def share(self):
        """Between 0 and 1 of all CPUs, or None."""
        everyone = self._everyone()
        wall = (time.monotonic() - self.wall) * (os.cpu_count() or 1)
        if everyone is None or wall <= 0:
            return None
        others = (everyone - self.everyone) - (self._own() - self.own)
        return max(0.0, others / wall)


def progress(text):
    """One changing line on stderr, on a terminal only; an empty text wipes it."""
    if sys.stderr.isatty():
        sys.stderr.write("\r\033[K" + text[: WIDTH - 1])
        sys.stderr.flush()


def heading(text):
    print(f"\n{text}\n{'-' * len(text)}")


def table(columns, rows):
    """columns: titles; the first is aligned left, the others right. rows: lists of strings."""
    widths = [max(len(row[i]) for row in [columns, *rows]) for i in range(len(columns))]
    for row in [columns, ["-" * w for w in widths], *rows]:
        cells = [row[0].ljust(widths[0])]
        cells += [cell.rjust(w) for cell, w in zip(row[1:], widths[1:])]
        print("  ".join(cells))
