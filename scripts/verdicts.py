"""What mutate.sh has found so far, a line a change, so that a run can go on."""

from __future__ import annotations

import pathlib
import re
from collections import Counter

KNOWN = "survived for a known reason"


def known(path: str | pathlib.Path) -> dict[tuple[str, ...], str]:
    """Changes that no test can notice, a row each: its texts, and why."""
    rows = [row.split("\t") for row in pathlib.Path(path).read_text().splitlines() if "\t" in row]
    return {tuple(row[:-1]): row[-1] for row in rows}


def score(counts: Counter[str]) -> str:
    """What a row says: how many were noticed, and why the others were not."""
    noticed, named, others = counts["killed"], counts[KNOWN], counts["survived"]
    tried = max(1, noticed + named + others)
    share = 100 * noticed / max(1, noticed + others)
    return (
        f"{noticed} noticed, {100 * noticed / tried:.1f} %, {share:.1f} % of what can be noticed; "
        f"{named} that none can notice, each named with its reason; others: {others}"
    )


class Verdicts:
    """out/mutate/NAME.tsv: each change with its verdict, in the order in which they came."""

    def __init__(self, name: str, go_on: bool) -> None:
        folder = pathlib.Path(__file__).resolve().parents[1] / "out" / "mutate"
        self.path = folder / (re.sub(r"\W+", "-", name).strip("-_") + ".tsv")
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not go_on:
            self.path.unlink(missing_ok=True)
        rows = self.path.read_text().splitlines() if self.path.exists() else []
        whole = [row.rpartition("\t") for row in rows if "\t" in row]  # the last may be cut
        self.found = {change: verdict for change, _, verdict in whole}

    def __getitem__(self, change: object) -> str | None:
        """The last verdict; None: not tried yet."""
        return self.found.get(self.key(change))

    def add(self, change: object, verdict: str) -> None:
        if self[change] == verdict:
            return
        self.found[self.key(change)] = verdict
        with self.path.open("a") as file:
            print(self.key(change), verdict, sep="\t", file=file)

    @staticmethod
    def key(change: object) -> str:
        return " ".join(str(change).split())
