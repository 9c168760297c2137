"""bench/experiments: data, losses, table of runs and training, on small generated data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("pandas")
pytest.importorskip("tqdm")
import pandas as pd
import torch
from experiments import losses, scores, table, train
from experiments.decoder import Decoder
from experiments.features import CLASSES, DEEP, IGNORE, LOW, Split
from experiments.table import TUNING, Run

import submod
import submod.torch as st

HEIGHT, WIDTH = 32, 48


def made_split(images, seed=0, size=(HEIGHT, WIDTH)):
    """Blocks of random classes; features that tell them apart, and noise."""
    rng = torch.Generator().manual_seed(seed)
    height, width = (n // 16 for n in size)
    coarse = torch.randint(len(CLASSES), (images, height, width), generator=rng)
    labels = coarse.repeat_interleave(16, 1).repeat_interleave(16, 2).to(torch.uint8)
    labels[:, :2, :3] = IGNORE
    low = torch.randn(images, LOW, 4 * height, 4 * width, generator=rng)
    deep = torch.randn(images, DEEP, height, width, generator=rng)
    low[:, : len(CLASSES)] += 3 * one_hot(labels[:, 2::4, 2::4])
    names = [f"{'AB'[k % 2]}_{k}" for k in range(images)]
    return Split(names, low.half(), deep.half(), labels)


def one_hot(labels):
    return torch.nn.functional.one_hot(labels.long(), len(CLASSES)).movedim(-1, 1).float()


@pytest.fixture
def lab(tmp_path):
    for part, images in {"train": 40, "val": 5, "test": 6}.items():
        torch.save(made_split(images, images)._asdict(), tmp_path / f"{part}.pt")
    return train.Lab(tmp_path, tmp_path / "results")


def slow_counts(guess, truth, classes):
    found = np.zeros((classes, 3), int)
    for g, t in zip(guess.flatten().tolist(), truth.flatten().tolist()):
        if t != IGNORE:
            found[t, 0] += g == t
            found[g, 1] += 1
            found[t, 2] += 1
    return found


def test_counts_survive_encoding():
    labels = made_split(3).labels
    guess = torch.randint(len(CLASSES), labels.shape, dtype=torch.uint8)
    counts = scores.count(guess, labels, len(CLASSES))
    for own, g, t in zip(counts, guess, labels):
        assert (own == slow_counts(g, t, len(CLASSES))).all()
    assert (scores.decode(scores.encode(counts), counts[..., 2]) == counts).all()


def test_indices_agree_with_the_library():
    labels = made_split(3).labels
    guess = torch.where(torch.rand(labels.shape) < 0.6, labels.clamp(max=10), 3).to(torch.uint8)
    counts = scores.count(guess, labels, len(CLASSES))
    metric = submod.metrics.Confusion(len(CLASSES), ignore_index=IGNORE)
    metric.update(guess.numpy(), labels.numpy())
    matrix = metric.confusion.astype(float)
    both = matrix.diagonal()
    either = matrix.sum(0) + matrix.sum(1) - both
    own = np.where(either > 0, 100 * both / np.maximum(either, 1), 100)
    assert scores.dataset_iou(counts) == pytest.approx(own)
    per_image = [scores.dataset_miou(counts[k : k + 1]) for k in range(3)]
    assert scores.image_miou(counts) == pytest.approx(np.mean(per_image))


def test_groups_of_images():
    split = made_split(8)
    s = torch.randn(8, len(CLASSES), HEIGHT, WIDTH)
    one = losses.make("lovasz", 1, False, split)(s, split.labels, "exact")
    per_image = losses.make("lovasz_image_present", 0, False, split)(s, split.labels, "exact")
    assert one.item() == pytest.approx(per_image.item(), rel=1e-6)
    whole = losses.make("lovasz", 8, False, split)(s, split.labels, "exact")
    assert whole.item() == pytest.approx(
        st.lovasz_softmax(s, split.labels, ignore_index=IGNORE).item(), rel=1e-6
    )
    halves = [st.lovasz_softmax(s[k], split.labels[k], ignore_index=IGNORE) for k in
              (slice(4), slice(4, 8))]  # fmt: skip
    assert losses.make("lovasz", 4, False, split)(s, split.labels, "exact").item() == pytest.approx(
        sum(x.item() for x in halves) / 2, rel=1e-6
    )


@pytest.mark.parametrize("loss", (*table.LOSSES, "lovasz_image_present"))
def test_multiclass_losses_have_gradients(loss):
    split = made_split(2)
    s = torch.randn(2, len(CLASSES), HEIGHT, WIDTH, requires_grad=True)
    losses.make(loss, 0, False, split)(s, split.labels, "histogram").backward()
    assert s.grad.isfinite().all() and s.grad.abs().max() > 0
    assert (s.grad.movedim(1, -1)[split.labels == IGNORE] == 0).all()


@pytest.mark.parametrize("loss", table.BINARY)
def test_binary_losses_prefer_the_truth(loss):
    labels = scores.binary(made_split(4).labels, "car")
    s = 4 * (2.0 * (labels == 1)[:, None].float() - 1)
    function = losses.make(loss, 0, True, made_split(2))
    assert function(s, labels, "exact") < function(-s, labels, "exact")


def test_weights_are_enets():
    labels = torch.tensor([0] * 6 + [1] * 2 + [IGNORE] * 5, dtype=torch.uint8)
    found = losses.enet_weights(labels)
    assert found[0] == pytest.approx(1 / np.log(1.02 + 0.75))
    assert found[2] == pytest.approx(1 / np.log(1.02))


def test_batches_are_paired_and_pass_over_all_images():
    split = made_split(20)
    run = Run("A", "tune", "lovasz", 1e-3, 5, 10, 400, images=4)
    found = torch.stack(list(train.batches(run, split)))
    other = torch.stack(list(train.batches(replace(run, loss="cross_entropy", rate=1), split)))
    assert (found == other).all() and found.shape == (10, 4)
    assert sorted(found[:5].flatten().tolist()) == list(range(20))
    assert (found != torch.stack(list(train.batches(replace(run, seed=6), split)))).any()


def test_half_of_a_binary_batch_shows_foreground():
    split = made_split(40)
    run = Run("D", "tune", "hinge", 1e-3, 5, 10, 400, target="car")
    shown = (split.labels == CLASSES.index("car")).flatten(1).any(1)
    for chosen in train.batches(run, split):
        assert shown[chosen].sum() == 4


def gradients(net, split, arithmetic):
    """Of a loss by all filters. Those by biases in front of a batch normalisation are 0."""
    chosen, size = torch.arange(len(split.names)), split.labels.shape[1:]
    if arithmetic == "double":
        s = net.double()(split.low.double(), split.deep.double())
        s = torch.nn.functional.interpolate(s, size, mode="bilinear")
    else:
        s = train.forward(
            net.to(memory_format=torch.channels_last), split, chosen, arithmetic, size
        )
    torch.nn.functional.cross_entropy(s, split.labels.long(), ignore_index=IGNORE).backward()
    return {name: p.grad.double() for name, p in net.named_parameters() if p.ndim == 4}


@pytest.mark.parametrize(("arithmetic", "tolerance"), [("fast", 0.2), ("reference", 1e-3)])
def test_gradients_in_each_arithmetic(arithmetic, tolerance):
    """Against float64. PyTorch's bfloat16 gradients of dilated depthwise convolutions are wrong."""
    split = made_split(4, size=(192, 480))
    found = []
    for kind in (arithmetic, "double"):
        torch.manual_seed(0)
        found.append(gradients(Decoder(len(CLASSES)), split, kind))
    for name, exact in found[1].items():
        assert (found[0][name] - exact).norm() < tolerance * exact.norm(), name


def fake_results(score):
    """Completes the table run by run."""
    rows = pd.DataFrame({"val": pd.Series(dtype=float)})
    order = []
    while run := table.next_run(rows, set(rows.index)):
        rows.loc[run.key] = score(run)
        order.append(run)
    return order


def peak(run):
    """Lovász losses prefer 1e-2, others 1e-3; long pre-training is worth 2 points."""
    best = 1e-2 if "lovasz" in run.loss else 1e-3
    return 60 + 2 * (run.steps == 800) - abs(np.log10(run.rate / best))


def test_the_table_follows_its_rules():
    order = fake_results(peak)
    assert len({run.key for run in order}) == len(order)
    roles = pd.Series([run.role for run in order])
    assert not any(run.seed in TUNING for run in order if run.role == "evaluate")
    assert not any(run.seed in table.SEEDS for run in order if run.role == "tune")
    assert (roles == "evaluate").idxmax() > 48
    evaluated = [run for run in order if run.role == "evaluate"]
    assert {run.start for run in evaluated} == {0, 800}
    main = [r for r in evaluated if r.experiment == "A" and r.start and r.loss == "lovasz"]
    assert [r.seed for r in main[:12]] == list(range(1, 13)) and {r.rate for r in main[:12]} == {
        1e-2
    }
    assert {r.arithmetic for r in evaluated} == {"fast"}
    counts = pd.Series([run.experiment for run in evaluated]).value_counts()
    assert counts["B"] == 20 and counts["C"] == 36 and counts["D"] == 180
    for run in evaluated:
        if run.pretraining:
            assert run.pretraining.key in {other.key for other in order}


def test_reference_arithmetic_is_taken_when_it_matters():
    def score(run):
        return peak(run) + (run.arithmetic == "reference") * (run.loss == "lovasz")

    evaluated = [run for run in fake_results(score) if run.role == "evaluate"]
    assert {run.arithmetic for run in evaluated} == {"reference"}


def test_short_pretraining_suffices_when_longer_gains_little():
    runs = fake_results(lambda run: 60 + 0.9 * (run.steps == 800))
    assert {run.start for run in runs if run.role == "evaluate"} == {0, 400}


@pytest.fixture
def tiny_table(monkeypatch):
    for name, value in {
        "PRETRAINING": (4, 8), "STEPS": 2, "SEEDS": (1, 2), "RATES": (1e-3, 3e-3),
        "LOSSES": ("cross_entropy", "lovasz"), "SCRATCH": ("lovasz",), "SCRATCH_SEEDS": (1,),
        "LENGTHS": (2,), "LENGTH_SEEDS": (1,), "GROUPS": (1, 4), "GROUP_IMAGES": 4,
        "GROUP_SEEDS": (1,), "TARGETS": ("car",), "BINARY": ("cross_entropy", "lovasz_hinge"),
        "BINARY_SEEDS": (1,),
    }.items():  # fmt: skip
        monkeypatch.setattr(table, name, value)


def do(lab, count):
    for _ in range(count):
        run = train.pending(lab)
        if run is None:
            return False
        train.execute(lab, run)
    return True


def texts(folder):
    """Of all results, without the column of times."""
    found = {}
    for file in sorted(folder.glob("*.csv")):
        rows = pd.read_csv(file, keep_default_na=False)
        found[file.name] = rows.drop(columns="cpu_seconds", errors="ignore").to_csv()
    return found


def test_an_interrupted_series_ends_with_the_same_results(lab, tiny_table, tmp_path):
    train.describe_test(lab)
    assert do(lab, 12)
    for file in (lab.cache / "weights").glob("A_pretrain_*_s1_*.pt"):
        file.unlink()  # trained again, and without a second row
    assert not do(lab, 100)
    again = train.Lab(tmp_path, tmp_path / "again")
    train.describe_test(again)
    assert not do(again, 100)
    assert texts(lab.results) == texts(again.results)
    rows = lab.rows()
    assert rows.index.is_unique and set(rows.experiment) == set("ABCD")
    truth = pd.read_csv(lab.results / "test_images.csv")[list(CLASSES)].to_numpy()
    assert (truth == scores.count(*[lab.split("test").labels] * 2, len(CLASSES))[..., 2]).all()
    for name in "ABC":
        counts = pd.read_csv(lab.results / f"{name}_counts.csv", index_col="key").counts
        assert set(counts.index) == set(
            rows[(rows.experiment == name) & (rows.role == "evaluate")].index
        )
        for text in counts:
            found = scores.decode(text, truth)
            assert (found[..., 0] <= found[..., 1]).all()
            assert (found.sum(1)[:, 1] == truth.sum(1)).all()


def test_training_learns(lab):
    run = Run("A", "tune", "lovasz", 3e-3, 1, 60)
    net, _ = train.train(lab, run)
    assert train.validation(net, run, lab.split("val"))["val"] > 50
