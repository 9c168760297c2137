"""Counts in files, and evaluations in shards."""

from __future__ import annotations

import math
import multiprocessing
import os
import signal
import time
from pathlib import Path
from typing import Any, Callable, NamedTuple

import numpy as np
import pytest

import submod
from submod import metrics

C, VOID = 4, 255


class Batch(NamedTuple):
    prediction: Any
    truth: Any
    ids: Any
    scores: Any


def batch(seed: int) -> Batch:
    random = np.random.default_rng(seed)
    truth = random.integers(0, C, (2, 6, 5)).astype(np.uint8)
    truth[random.random(truth.shape) < 0.1] = VOID
    prediction, ids = random.integers(0, C, (2, 2, 6, 5))
    return Batch(prediction, truth, ids, random.normal(size=(2, C, 6, 5)).astype(np.float32))


class Kind(NamedTuple):
    make: Callable[[], Any]
    add: Callable[[Any, Batch], None]
    options: dict[str, Any]  # that load() needs to be the same
    other: dict[str, Any]  # that the file contradicts


KINDS = [
    Kind(
        lambda: metrics.Confusion(C, ignore_index=VOID, absent="skip", b=2),
        lambda m, x: m.update(x.prediction, x.truth),
        {"absent": "skip", "b": 2},
        {"ignore_index": None},
    ),
    Kind(
        lambda: metrics.BoundaryIoU(C, ignore_index=VOID, distance=1),
        lambda m, x: m.update(x.prediction, x.truth),
        {"distance": 1},
        {"classes": C + 1},
    ),
    Kind(
        lambda: metrics.FineGrainedIoU(C, ignore_index=VOID, leave_out=0),
        lambda m, x: m.update(x.prediction, x.truth),
        {"class_list": (3, 2, 1)},
        {"absent": "one"},
    ),
    Kind(
        lambda: metrics.InstanceIoU(C, ignore_index=VOID, first_id=2),
        lambda m, x: m.update(x.prediction, x.truth, x.ids),
        {"first_id": 2},
        {"first_id": 1},
    ),
    Kind(
        lambda: submod.MeanIoU(C, ignore_index=VOID, absent="zero", class_list=[2, 0]),
        lambda m, x: m.add(x.prediction, x.truth),
        {"class_list": np.array([0, 2])},
        {"class_list": [1, 2]},
    ),
    Kind(
        lambda: submod.DatasetJaccard(C, 0.01, ignore_index=VOID, measure="hamming"),
        lambda m, x: m.add(x.scores, x.truth),
        {"ignore_index": VOID, "measure": "hamming"},
        {"num_classes": C + 1},
    ),
]
NAMES = ["confusion", "boundary", "fine", "instances", "miou", "dataset"]


def values(metric: Any) -> str:
    """All digits of all values."""
    if isinstance(metric, submod.DatasetJaccard):
        return repr((metric.loss(), metric.class_losses().tolist()))
    with np.printoptions(floatmode="unique"):
        return repr(metric.compute())


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_what_is_loaded_goes_on_as_the_saved_one(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "counts.submod"
    metric = kind.make()
    for seed in range(3):
        metric.save(path)
        loaded = type(metric).load(path, **kind.options)
        assert values(loaded) == values(metric)
        kind.add(loaded, batch(seed))
        kind.add(metric, batch(seed))
        assert values(loaded) == values(metric)
    assert [p.name for p in tmp_path.iterdir()] == [path.name]


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_parts_are_the_whole(kind: Kind, tmp_path: Path) -> None:
    whole, total = kind.make(), kind.make()
    for seed in range(3):
        part = kind.make()
        kind.add(part, batch(seed))
        kind.add(whole, batch(seed))
        part.save(str(tmp_path / "part"))
        total.merge(type(part).load(str(tmp_path / "part"), **kind.options))
    if isinstance(whole, submod.MeanIoU):  # sums of doubles, in another order
        assert np.allclose(whole.compute(), total.compute(), rtol=1e-15, atol=0)
    else:
        assert values(total) == values(whole)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_what_is_refused(kind: Kind, tmp_path: Path) -> None:
    path = tmp_path / "counts.submod"
    metric, load = kind.make(), type(kind.make()).load
    kind.add(metric, batch(0))
    metric.save(path)
    with pytest.raises(ValueError, match=r"counts\.submod was counted with"):
        load(path, **{**kind.options, **kind.other})
    whole = path.read_bytes()
    for i in range(0, len(whole), 7):
        damaged = bytearray(whole)
        damaged[i] ^= 1 << i % 8
        path.write_bytes(damaged)
        with pytest.raises(submod.FileError, match=r"counts\.submod"):
            load(path)
    for length in (0, 7, 40, len(whole) - 1):
        path.write_bytes(whole[:length])
        with pytest.raises(submod.FileError, match=r"is cut off|is empty"):
            load(path)
    path.write_bytes(whole + b"\n")
    with pytest.raises(submod.FileError, match="has 1 bytes too many"):
        load(path)
    with pytest.raises(submod.FileError, match="No such file"):
        load(tmp_path / "nowhere")
    with pytest.raises(OSError, match="cannot be written: No such file"):
        metric.save(tmp_path / "nowhere" / "counts")
    with pytest.raises(ValueError, match="byte of 0"):
        metric.save("a\0b")
    for other, name in zip(KINDS, NAMES):
        other.make().save(tmp_path / name)
        if type(other.make()) is not type(metric):
            with pytest.raises(submod.FileError, match=r"holds .*, not "):
                load(tmp_path / name)


@pytest.mark.parametrize("kind", KINDS, ids=NAMES)
def test_numbers_of_nobody(kind: Kind, tmp_path: Path) -> None:
    """Under a checksum that is right: refused, or something that works."""
    from submod._files import load_words, save_words

    path = tmp_path / "counts.submod"
    metric, refused = kind.make(), 0
    kind.add(metric, batch(0))
    metric.save(path)
    words = load_words(path, metric._in_file)
    some = list(range(min(words.size, 12))) + list(range(12, words.size, 29))
    for i in some:
        for bad in (2**64 - 1, 2**63, 0, 5, 10**6):
            changed = words.copy()
            changed[i] = bad
            save_words(path, metric._in_file, changed)
            try:
                values(type(metric).load(path))
            except submod.FileError as error:
                assert "cannot have" in str(error)
                refused += 1
            except submod.OutOfMemoryError:
                refused += 1
    assert refused >= len(some) // 2
    for count in (0, 1, 3, words.size - 1):
        save_words(path, metric._in_file, words[:count])
        with pytest.raises(submod.FileError, match="cannot have"):
            type(metric).load(path)


def test_modules_of_torch(tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    import submod.torch

    x, path = batch(0), tmp_path / "counts.submod"
    metric = submod.torch.MeanIoU(C, ignore_index=VOID, absent="skip")
    metric.update(torch.from_numpy(x.prediction), torch.from_numpy(x.truth))
    metric.save(path)
    loaded = submod.torch.MeanIoU.load(path, absent="skip")
    assert torch.equal(loaded.iou, metric.iou) and loaded.compute() == metric.compute()
    assert metrics.Confusion.load(path, absent="skip").compute().mean.iou == pytest.approx(
        float(metric.compute())
    )
    with pytest.raises(submod.FileError, match="holds confusion counts, not boundary counts"):
        submod.torch.metrics.BoundaryIoU.load(path)


# ---- shards ----


def made() -> dict[str, Any]:
    return {name: kind.make() for kind, name in zip(KINDS, NAMES)}


def add_all(made: dict[str, Any], x: Batch) -> None:
    for kind, name in zip(KINDS, NAMES):
        kind.add(made[name], x)


SHARDS = ["train/0", "train/1", "a b", "c.d", "ä", "..", "6"]


def batches(shard: str) -> Any:
    first = 10 * SHARDS.index(shard)
    return (batch(first + i) for i in range(first % 3 + 1))


def evaluator(folder: Path) -> metrics.Evaluator:
    return metrics.Evaluator(folder, made, SHARDS, update=add_all)


def all_values(found: dict[str, Any]) -> dict[str, str]:
    return {name: values(metric) for name, metric in found.items()}


def test_shards_are_the_whole(tmp_path: Path) -> None:
    whole = made()
    for shard in SHARDS:
        for x in batches(shard):
            add_all(whole, x)
    seen: list[tuple[int, int, Any]] = []
    shards = evaluator(tmp_path / "new" / "counts")
    assert shards.missing() == SHARDS
    shards.count(batches, progress=lambda *about: seen.append(about))
    assert seen == [(i + 1, 7, shard) for i, shard in enumerate(SHARDS)]
    assert shards.missing() == []
    found, wanted = all_values(shards.merge()), all_values(whole)
    miou = whole["miou"].compute()
    assert np.allclose(shards.compute()["miou"], miou, rtol=1e-14, atol=0)
    assert {**found, "miou": ""} == {**wanted, "miou": ""}
    assert shards.compute()["dataset"] == whole["dataset"].loss()
    assert len(list((tmp_path / "new" / "counts").iterdir())) == 6 * len(SHARDS)

    def nothing(shard: str) -> Any:
        raise AssertionError(f"{shard} is counted already")

    shards.count(nothing)
    evaluator(tmp_path / "new" / "counts").count(nothing)
    assert all_values(shards.merge()) == found


def test_one_metric(tmp_path: Path) -> None:
    def pairs(shard: int) -> Any:
        yield batch(shard)[:2]

    confusion = KINDS[0].make
    shards = metrics.Evaluator(tmp_path, confusion, 3)
    shards.count(pairs, rank=1, ranks=2)
    assert shards.missing() == [0, 2]
    with pytest.raises(submod.FileError, match="2 of 3 shards are not counted yet: 0, 2"):
        shards.compute()
    one = confusion()
    one.update(*batch(1)[:2])
    assert repr(shards.compute(partial=True)) == repr(one.compute())
    shards.count(pairs, rank=0, ranks=2)
    for shard in (0, 2):
        one.update(*batch(shard)[:2])
    assert repr(shards.compute()) == repr(one.compute())
    loaded = metrics.Confusion.load(tmp_path / "1.submod", absent="skip", b=2)
    assert loaded.compute().pixels == int((batch(1).truth != VOID).sum())


def test_an_error_leaves_the_shard_uncounted(tmp_path: Path) -> None:
    def broken(shard: str) -> Any:
        yield batch(1)
        raise KeyError(shard)

    shards = evaluator(tmp_path)
    with pytest.raises(KeyError):
        shards.count(broken)
    assert not list(tmp_path.iterdir())
    assert shards.missing() == SHARDS


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    shards = evaluator(tmp_path)
    shards.count(batches)
    wanted = all_values(shards.merge())
    path = tmp_path / "a%20b.confusion.submod"
    whole = path.read_bytes()
    path.write_bytes(whole[:-1])
    for call in (lambda: shards.count(batches), shards.merge):
        with pytest.raises(submod.FileError, match=r"a%20b\.confusion\.submod is cut off"):
            call()
    with pytest.raises(submod.FileError, match=r"recount=True\) counts this shard again"):
        shards.count(batches)
    again: list[str] = []

    def noted(shard: str) -> Any:
        again.append(shard)
        return batches(shard)

    shards.count(noted, recount=True)
    assert again == ["a b"]
    assert path.read_bytes() == whole
    assert all_values(shards.merge()) == wanted

    other = metrics.Evaluator(
        tmp_path, lambda: {"confusion": metrics.Confusion(C, ignore_index=1)}, SHARDS
    )
    said = r"was counted with classes=4, ignore_index=255, not classes=4, ignore_index=1"
    with pytest.raises(submod.FileError, match=said):
        other.compute()


def test_what_an_evaluator_refuses(tmp_path: Path) -> None:
    one = KINDS[0].make
    with pytest.raises(ValueError, match="the same name"):
        metrics.Evaluator(tmp_path, one, ["1", 1])
    with pytest.raises(TypeError, match="a list of names"):
        metrics.Evaluator(tmp_path, one, "train")
    with pytest.raises(TypeError, match="must give metrics"):
        metrics.Evaluator(tmp_path, lambda: 3, 1)
    with pytest.raises(ValueError, match="identifier"):
        metrics.Evaluator(tmp_path, lambda: {"a/b": one()}, 1)
    with pytest.raises(ValueError, match=r"rank = 2 of ranks = 2"):
        metrics.Evaluator(tmp_path, one, 1).count(batches, rank=2, ranks=2)
    assert math.isnan(metrics.Evaluator(tmp_path, KINDS[4].make, 0).compute().image)


def counting(folder: Path, rank: int, ranks: int, nap: float) -> None:
    """What a process does."""

    def slow(shard: str) -> Any:
        for x in batches(shard):
            time.sleep(nap)
            yield x

    evaluator(folder).count(slow, rank=rank, ranks=ranks)


def start(*arguments: Any) -> Any:
    process = multiprocessing.get_context("spawn").Process(target=counting, args=arguments)
    process.start()
    return process


def test_two_processes_side_by_side(tmp_path: Path) -> None:
    evaluator(tmp_path / "one").count(batches)
    processes = [start(tmp_path / "two", rank, 2, 0.0) for rank in range(2)]
    processes.append(start(tmp_path / "two", 0, 1, 0.0))  # by accident: all of it once more
    for process in processes:
        process.join()
        assert process.exitcode == 0
    names = sorted(p.name for p in (tmp_path / "one").iterdir())
    assert names == sorted(p.name for p in (tmp_path / "two").iterdir())
    for name in names:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()


def test_goes_on_after_a_kill(tmp_path: Path) -> None:
    folder = tmp_path / "counts"
    process = start(folder, 0, 1, 0.1)
    while not folder.exists() or len(list(folder.glob("*.dataset.submod"))) < 2:
        assert process.is_alive()
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.join()
    assert process.exitcode == -signal.SIGKILL
    shards, again = evaluator(folder), []
    left = shards.missing()
    assert 0 < len(left) <= len(SHARDS) - 2

    def noted(shard: str) -> Any:
        again.append(shard)
        return batches(shard)

    shards.count(noted)
    assert again == left
    evaluator(tmp_path / "one").count(batches)
    assert all_values(shards.merge()) == all_values(evaluator(tmp_path / "one").merge())
