"""An evaluation in shards, counted by any number of processes and machines, each shard once."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Callable, Union
from urllib.parse import quote

from ._errors import FileError
from ._files import Saved
from ._numbers import whole

Metrics = Union[Saved, Mapping[str, Saved]]
Shard = Union[str, int]


def _update(metrics: Metrics, batch: Any) -> None:
    """The batch to each of them."""
    for metric in metrics.values() if isinstance(metrics, Mapping) else (metrics,):
        add = getattr(metric, "update", None) or metric.add  # type: ignore[attr-defined]
        add(*batch)


class Evaluator:
    """Metrics of a dataset that comes in shards, whose counts are kept in a folder.

        def metrics():
            return {"iou": submod.metrics.Confusion(19, ignore_index=255),
                    "contours": submod.metrics.BoundaryIoU(19, ignore_index=255)}

        def batches(shard):                     # of one shard: the arguments of update()
            for images, truth in read(shard):
                yield predict(images), truth

        evaluator = submod.metrics.Evaluator("counts", metrics, shards)
        evaluator.count(batches, rank=rank, ranks=ranks)        # each process its own part
        print(evaluator.compute()["iou"].mean.iou)              # one of them, when all are done

    folder: where the counts are, one file per shard and metric; it is made if it is not there. All
    processes may share it, also over a net. The files are those of save(): load() and C read them.
    metrics: a function without arguments that makes a metric, or a dict of them: those of
    submod.metrics, MeanIoU, DatasetJaccard. It is called often, and makes empty ones.
    shards: their names, strings or whole numbers, the same in all processes; or how many there are.
    update(metrics, batch): counts a batch, where not every metric takes update(*batch).

    A shard whose files are there is not counted again, so whatever ends a process, the next one
    goes on where it was. Files are written as a whole, so none is ever half done. Results do not
    depend on who has counted what, nor when: they are added up in the order of the shards.
    """

    def __init__(
        self,
        folder: str | os.PathLike[str],
        metrics: Callable[[], Any],
        shards: Sequence[Shard] | int,
        *,
        update: Callable[[Any, Any], None] = _update,
    ) -> None:
        self.folder = Path(folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        if isinstance(shards, (str, bytes)):
            raise TypeError(
                f"shards = {shards!r}; a list of names is needed, or how many there are"
            )
        names = range(whole(shards, "shards")) if isinstance(shards, int) else shards
        self.shards: list[Shard] = list(names)
        if len({str(shard) for shard in self.shards}) < len(self.shards):
            raise ValueError("two shards have the same name")
        self._make, self._update = metrics, update
        made = metrics()
        self._single = not isinstance(made, Mapping)
        self._settings = {name: _settings(metric) for name, metric in self._named(made).items()}

    # ---- counting ----

    def count(
        self,
        batches: Callable[[Any], Iterable[Any]],
        *,
        rank: int = 0,
        ranks: int = 1,
        recount: bool = False,
        progress: Callable[[int, int, Shard], None] | None = None,
    ) -> None:
        """Counts those of the shards rank, rank + ranks, rank + 2 ranks .. that are not counted
        yet. batches(shard) gives their batches.

        recount: files that are damaged, or of other options, are written again; False: they are
        an error, FileError. progress(done, of, shard) is called after each shard, counted now or
        before. What batches or update raise comes through; the shard stays uncounted then."""
        if not 0 <= whole(rank, "rank") < whole(ranks, "ranks"):
            raise ValueError(f"rank = {rank} of ranks = {ranks}; it must be in [0, ranks)")
        mine = self.shards[rank::ranks]
        for done, shard in enumerate(mine, 1):
            if not self._is_counted(shard, recount):
                self._count(shard, batches)
            if progress is not None:
                progress(done, len(mine), shard)

    def _count(self, shard: Shard, batches: Callable[[Any], Iterable[Any]]) -> None:
        made = self._make()
        for batch in batches(shard):
            self._update(made, batch)
        for name, metric in self._named(made).items():
            metric.save(self._path(shard, name))

    def _is_counted(self, shard: Shard, recount: bool) -> bool:
        """Whether all its files are there, whole and of these metrics."""
        if not all(self._path(shard, name).exists() for name in self._settings):
            return False
        try:
            self._load(shard)
        except FileError as error:
            if recount:
                return False
            raise FileError(f"{error}; count(.., recount=True) counts this shard again") from error
        return True

    def missing(self) -> list[Shard]:
        """The shards that have no files yet."""
        paths = {s: [self._path(s, name) for name in self._settings] for s in self.shards}
        return [s for s in self.shards if not all(path.exists() for path in paths[s])]

    # ---- results ----

    def merge(self, *, partial: bool = False) -> Any:
        """The metrics, or the dict of them, with the counts of all shards. FileError: some are not
        counted yet, but for partial=True, which leaves them out; or a file is damaged, or of other
        options."""
        missing = self.missing()
        if missing and not partial:
            shown = ", ".join(map(str, missing[:5])) + (", .." if len(missing) > 5 else "")
            said = f"{len(missing)} of {len(self.shards)} shards are not counted yet: {shown}"
            raise FileError(f"{self.folder}: {said}")
        made = self._make()
        left_out = set(missing)
        for shard in self.shards:
            if shard not in left_out:
                parts = self._load(shard)
                for name, metric in self._named(made).items():
                    metric.merge(parts[name])  # type: ignore[attr-defined]
        return made

    def compute(self, *, partial: bool = False) -> Any:
        """What compute() of merge() gives; of each, where there is a dict of them. A
        DatasetJaccard gives its loss()."""
        made = self.merge(partial=partial)
        values = {name: _values(metric) for name, metric in self._named(made).items()}
        return values[""] if self._single else values

    # ---- files ----

    def _named(self, made: Any) -> dict[str, Saved]:
        named = {"": made} if self._single else dict(made)
        for name, metric in named.items():
            if not isinstance(metric, Saved):
                kind = f"{type(metric).__module__}.{type(metric).__qualname__}"
                raise TypeError(
                    "metrics() must give metrics of submod.metrics, submod.MeanIoU or "
                    f"submod.DatasetJaccard, or a dict of them, not {kind}"
                )
            if not (self._single or name.isidentifier()):
                raise ValueError(f"{name!r} is part of file names; it must be an identifier")
        return named

    def _path(self, shard: Shard, name: str) -> Path:
        stem = quote(str(shard), safe="")  # any name as one of a file
        return self.folder / (f"{stem}.{name}.submod" if name else f"{stem}.submod")

    def _load(self, shard: Shard) -> dict[str, Saved]:
        """The metrics of a shard, which must have been counted as these are."""
        parts = self._named(self._make())
        for name, metric in parts.items():
            path, wanted = self._path(shard, name), self._settings[name]
            found, words = metric._read(path, {})
            if found != wanted:
                raise FileError(f"{path} was counted with {_shown(found)}, not {_shown(wanted)}")
            metric._take(words, path)
        return parts


def _settings(metric: Saved) -> dict[str, Any]:
    """What its counts depend on, as files have it."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "empty"
        metric.save(path)
        return metric._read(path, {})[0]


def _shown(settings: dict[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in settings.items())


def _values(metric: Any) -> Any:
    return metric.compute() if hasattr(metric, "compute") else metric.loss()
