"""Counts in files."""

from __future__ import annotations

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
        lambda: metrics.Confusion(C, ignore_index=VOID, absent="skip"),
        lambda m, x: m.update(x.prediction, x.truth),
        {"absent": "skip"},
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
