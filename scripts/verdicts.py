"""What mutate.sh and mutate_ptx.sh have found so far, one line a change, so that a run can go on."""

import pathlib


class Verdicts:
    """out/mutate/NAME.tsv: each change with its verdict, in the order in which they came."""

    def __init__(self, name, go_on):
        self.path = pathlib.Path(__file__).resolve().parents[1] / "out" / "mutate" / f"{name}.tsv"
        self.path.parent.mkdir(parents=True, exist_ok=True)
        if not go_on:
            self.path.unlink(missing_ok=True)
        rows = self.path.read_text().splitlines() if self.path.exists() else []
        self.found = dict(row.rsplit("\t", 1) for row in rows)

    def __getitem__(self, change):
        """The last verdict; None: not tried yet."""
        return self.found.get(self.key(change))

    def add(self, change, verdict):
        self.found[self.key(change)] = verdict
        with self.path.open("a") as file:
            print(self.key(change), verdict, sep="\t", file=file)

    @staticmethod
    def key(change):
        return " ".join(str(change).split())
