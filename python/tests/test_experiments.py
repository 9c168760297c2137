"""bench/experiments: data, losses, table of runs and training, on small generated data."""

from __future__ import annotations

import subprocess
from dataclasses import asdict, replace
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("pandas")
pytest.importorskip("tqdm")
pytest.importorskip("scipy")
pytest.importorskip("statsmodels")
pytest.importorskip("matplotlib")
import pandas as pd
import torch
from experiments import (
    analysis,
    decoder,
    last_layer,
    losses,
    page,
    scores,
    storage,
    table,
    test_time,
    train,
)
from experiments.decoder import Decoder
from experiments.features import CLASSES, DEEP, IGNORE, LOW, SCALES, Split
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
    for scale in SCALES:
        small = made_split(6, 6, (HEIGHT // 2, WIDTH // 2))._replace(labels=made_split(6, 6).labels)
        torch.save(small._asdict(), tmp_path / f"test@{scale:g}.pt")
    return train.Lab(tmp_path, tmp_path / "docs" / "experiments")


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
    labels = scores.problem(made_split(4).labels, "car")
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
        s = net.double().features(split.low.double(), split.deep.double())
        s = net.classify(s)
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


def test_interpolations_are_bilinear():
    """The decoder's own, against PyTorch's."""
    s = torch.randn(2, 5, 6, 9).to(memory_format=torch.channels_last)
    whole = torch.nn.functional.interpolate(s, (24, 36), mode="bilinear")
    torch.testing.assert_close(decoder.resize(s, (24, 36)), whole)
    for row in range(decoder.THINNED):
        for column in range(decoder.THINNED):
            pixels = whole[:, :, row :: decoder.THINNED, column :: decoder.THINNED]
            torch.testing.assert_close(decoder.on_lattice(s, row, column), pixels)


def test_pointwise_is_a_convolution():
    net, x = decoder.Pointwise(7, 5, 1), torch.randn(2, 7, 4, 6)
    exact = torch.nn.functional.conv2d(x, net.weight, net.bias)
    torch.testing.assert_close(net(x), exact)


def fake_results(score):
    """Completes the table run by run."""
    rows = pd.DataFrame(columns=[*asdict(table.minimum(1, 400, "fast")), "val"])
    order = []
    for run in table.table(rows):
        if run.key in rows.index:
            continue  # a best rate that is the common one too
        rows.loc[run.key] = [*asdict(run).values(), score(run)]
        order.append(run)
    assert next(run for run in table.table(rows) if run.key not in rows.index[:50]) == order[50]
    return order


def peak(run):
    """Lovász losses prefer 1e-2, others 1e-3; long pre-training is worth 2 points."""
    best = 1e-2 if "lovasz" in run.loss else 1e-3
    return 60 + 2 * (run.steps == 800) - abs(np.log10(max(run.rate, 1e-9) / best))


def test_the_table_follows_its_rules():
    order = fake_results(peak)
    assert len({run.key for run in order}) == len(order)
    roles = pd.Series([run.role for run in order])
    assert not any(run.seed in TUNING for run in order if run.role == "evaluate")
    assert not any(run.seed in table.SEEDS for run in order if run.role == "tune")
    assert (roles == "evaluate").idxmax() > 48
    evaluated = [run for run in order if run.role == "evaluate"]
    assert {run.start for run in evaluated} == {0, 800}
    main = [r for r in evaluated if r.experiment == "A" and r.start][: 12 * len(table.LOSSES)]
    by_seed = [(seed, loss) for seed in table.SEEDS for loss in table.LOSSES]
    assert [(r.seed, r.loss) for r in main] == by_seed
    assert {r.rate for r in main if r.loss == "lovasz"} == {1e-2}
    assert {r.arithmetic for r in evaluated} == {"fast"}
    counts = pd.Series([run.experiment for run in evaluated]).value_counts()
    assert counts["B"] == 20 and counts["C"] == 36 and counts["D"] == 180
    assert counts["E"] == 12 and counts["F"] == 60
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
        "GROUP_SEEDS": (1,), "TARGETS": ("car", "tree"),
        "BINARY": ("cross_entropy", "lovasz_hinge"),
        "BINARY_SEEDS": (1, 2), "TEST_TIME_SEEDS": (1,), "DRAWS": (1, 2), "PASSES": 3,
        "PLANES": 1000, "SIZES": (0.1,), "REACHES": (0.1,),
    }.items():  # fmt: skip
        monkeypatch.setattr(table, name, value)
    for module, name, value in [
        (test_time, "BATCHES", 2), (test_time, "TOGETHER", 4), (test_time, "THINNED", 2),
        (last_layer, "IMAGES", 8), (last_layer, "PIXELS", 40),
    ]:  # fmt: skip
        monkeypatch.setattr(module, name, value)


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
    rows = storage.read(lab.results)
    assert rows.index.is_unique and set(rows.experiment) == set("ABCDEF")
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
    check_test_time(rows, truth, lab.results)
    check_last_layer(rows[rows.experiment == "F"])
    copy_ibsr(lab.results)
    text = page.write(analysis.Results(lab.results), tmp_path, lab.cache)
    assert "Not all runs are done" in text and (tmp_path / PICTURE).stat().st_size > 10000


def check_test_time(rows, truth, results):
    """Every decision has the pixels of its batches; argmax the counts of A's run."""
    encoded = pd.read_csv(results / "E_counts.csv", index_col="key").counts
    plain = pd.read_csv(results / "A_counts.csv", index_col="key").counts
    chosen = test_time.batches(truth).ravel()
    for key in rows[rows.experiment == "E"].index:
        for name in ("argmax", "nowozin_raw", "exact_raw", "nowozin_calibrated"):
            found = scores.decode(encoded[f"{key}/{name}"], truth[chosen])
            assert (found.sum(1)[:, 1] == truth[chosen].sum(1)).all()
        own = scores.decode(encoded[f"{key}/argmax"], truth[chosen])
        theirs = scores.decode(plain[key.replace("E", "A", 1)], truth)[chosen]
        assert np.abs(own - theirs).sum() <= 0.01 * truth[chosen].sum()  # by rounding to bfloat16
        scaled = scores.decode(encoded[f"{key}/multiscale"], truth)
        assert (scaled.sum(1)[:, 1] == truth.sum(1)).all()


def check_last_layer(rows):
    for seed, own in rows.groupby("seed"):
        bound = float(own.bound[own.loss == "bundle"].iloc[0])
        for text in own.curve:
            assert all(float(part.split(":")[1]) >= bound - 1e-9 for part in text.split()), seed
    assert set(rows.loss) == {"bundle", "gradient", "momentum", "adam", "prox@0.1",
                              "algorithm2@0.1", "momentum+prox@0.1"}  # fmt: skip


def test_training_learns(lab):
    run = Run("A", "tune", "lovasz", 3e-3, 1, 100)
    net, _ = train.train(lab, run)
    assert train.validation(net, run, lab.split("val"))["val"] > 50


def test_batches_show_every_class():
    truth = np.eye(5, dtype=int)[np.arange(60) % 5] * (np.arange(60) % 7 > 2)[:, None]
    found = test_time.batches(truth)
    assert found.shape == (test_time.BATCHES, test_time.TOGETHER)
    for chosen in found:
        assert len(set(chosen)) == len(chosen) and (truth[chosen].sum(0) > 0).all()
    assert len({tuple(sorted(chosen)) for chosen in found}) == len(found)


def test_temperature_recovers_a_scaling():
    """Labels drawn from softmax(s / 2) have temperature 2."""
    rng = np.random.default_rng(0)
    s = torch.from_numpy(rng.normal(0, 4, (3, len(CLASSES), 80, 80))).float()
    cumulated = (s / 2).softmax(1).cumsum(1)
    draws = torch.from_numpy(rng.random((3, 1, 80, 80)))
    labels = (draws > cumulated).sum(1).clamp(max=len(CLASSES) - 1).to(torch.uint8)
    split = Split(list("abc"), torch.zeros(3, 1, 1, 1), torch.zeros(3, 1, 1, 1), labels)

    class Fixed:
        def features(self, low, deep):
            return low

    def forward(net, split, chosen, arithmetic, size):
        return s[chosen]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(test_time, "forward", forward)
        patch.setattr(test_time, "THINNED", 2)
        found = test_time.temperature(Fixed(), split, "fast")
    assert found["temperature"] == pytest.approx(2, rel=0.1)
    assert found["val_loss_calibrated"] < found["val_loss_raw"]


def test_decisions_improve_their_own_score():
    """The exact decision's expected IoU, class by class and on average, beats the argmax's."""
    s = torch.randn(4, 3, 6, 7) * 2
    found = test_time.decisions(s, 1.5)
    p = (s / 1.5).softmax(1).movedim(1, 0).flatten(1)

    def expected(labels):
        masks = torch.stack([labels.flatten() == k for k in range(3)])
        return submod.expected_score(p.numpy(), masks.numpy())[0].mean()

    assert expected(found["exact_calibrated"]) >= expected(found["argmax"]) - 1e-6
    assert expected(found["exact_calibrated"]) >= expected(found["nowozin_calibrated"]) - 1e-3


def made_layer(images=8, pixels=60, channels=5):
    rng = np.random.default_rng(1)
    labels = (rng.random((images, pixels)) < 0.2).astype(np.uint8)
    features = rng.normal(size=(images, pixels, channels)).astype(np.float32)
    features[..., 0] += 2 * labels
    features[..., -1] = 1
    return last_layer.Data(features, labels, features, labels, np.zeros(channels))


def test_last_layer_directions():
    """A prox that hardly reaches beyond the point is the subgradient; Algorithm 2 the exact prox
    where its error is 0."""
    data, w = made_layer(), np.array([0.4, -0.3, 0.2, 0.1, -0.5])
    _, gradient = last_layer.Layer(data).subgradient(w, 1)
    exact = last_layer.Layer(data, last_layer.exact_direction, 1e-5).direction(w, 1.0, 1)
    assert exact == pytest.approx(gradient, rel=1e-3, abs=1e-4)
    algorithm2 = last_layer.Algorithm2()
    found = last_layer.Layer(data, algorithm2, 1e-5).direction(w, 1.0, 1)
    assert algorithm2.errors[0] < 1e-3 and found == pytest.approx(exact, rel=1e-3, abs=1e-4)


def test_last_layer_gradient_is_right():
    data, w = made_layer(), np.array([0.4, -0.3, 0.2, 0.1, -0.5])
    layer = last_layer.Layer(data)
    _, gradient = layer.subgradient(w)
    for k, unit in enumerate(np.eye(len(w))):
        up, down = (layer.subgradient(w + h * unit)[0] for h in (1e-2, -1e-2))
        assert (up - down) / 2e-2 == pytest.approx(gradient[k], abs=0.05)


DOCS = Path(__file__).resolve().parents[2] / "docs"
PICTURE = "img/experiments_segmentations.png"
GAINS = {"lovasz": 4, "lovasz+cross_entropy": 2, "soft_jaccard": 3.9, "lovasz_hinge": 5}


def made_truth(images=42):
    rng = np.random.default_rng(3)
    found = pd.DataFrame(rng.integers(500, 1500, (images, len(CLASSES))), columns=list(CLASSES))
    found.insert(0, "drive", [f"drive{k % 2}" for k in range(images)])
    found.insert(0, "name", [f"drive{k % 2}_{k:03}" for k in range(images)])
    return found


def made_counts(truth, gain, rng):
    """Predictions without false positives, so that IoU is the share found: 50 % and a gain."""
    share = 0.5 + (gain + rng.normal(0, 0.3)) / 100 + rng.normal(0, 0.02, truth.shape)
    both = (share.clip(0, 1) * truth).astype(np.int32)
    return np.stack([both, both, truth], -1)


def copy_ibsr(folder):
    for name in ("ibsr_heads.csv", "ibsr_intervals.csv"):
        (folder / name).write_text((DOCS / "experiments" / name).read_text())


def write_results(folder, experiments):
    """Results of the whole table, in which a loss gains what GAINS says."""
    folder.mkdir(parents=True, exist_ok=True)
    truth = made_truth()
    truth.to_csv(folder / "test_images.csv", index=False)
    truth = truth[list(CLASSES)].to_numpy()
    rng = np.random.default_rng(4)
    rows, encoded = {name: [] for name in "ABCDEF"}, {name: [] for name in "ABCDEF"}
    for run in fake_results(peak):
        extra = {"curve": "30:60.0 150:61.0"} if run.experiment != "E" else {"temperature": 1.2}
        if run.experiment == "F":
            extra = {"val_iou": 80, "curve": "0:2 1:1.1", "iou_curve": "0:50 1:80", "error": 0.1,
                     "bound": 1, "gap": 1e-6}  # fmt: skip
        if run.experiment == "F" and run.role == "evaluate":
            extra["val"] = 3 + ("prox" in run.loss) + rng.normal(0, 0.1)
        rows[run.experiment].append({"key": run.key, **asdict(run), "val": peak(run), **extra})
        if run.role != "evaluate" or run.experiment == "F":
            continue
        own = truth[:, [CLASSES.index(run.target)]] if run.target else truth
        names = [""]
        if run.experiment == "E":
            names = ["/argmax", "/nowozin_raw", "/nowozin_calibrated", "/exact_raw",
                     "/exact_calibrated", "/multiscale"]  # fmt: skip
        for name in names:
            of = (
                own[test_time.batches(truth).ravel()] if name[1:] not in ("", "multiscale") else own
            )
            counts = made_counts(of, GAINS.get(run.loss, 0) - 3 * ("raw" in name), rng)
            encoded[run.experiment].append({"key": run.key + name, "counts": scores.encode(counts)})
    for name in experiments:
        pd.DataFrame(rows[name]).to_csv(folder / f"{name}.csv", index=False)
        if encoded[name]:
            pd.DataFrame(encoded[name]).to_csv(folder / f"{name}_counts.csv", index=False)
    copy_ibsr(folder)


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    docs = tmp_path_factory.mktemp("docs")
    write_results(docs / "experiments", "ABCDEF")
    return docs


@pytest.fixture(autouse=True)
def few_resamples(monkeypatch):
    monkeypatch.setattr(analysis, "RESAMPLES", 200)


def test_claims_find_what_was_put_in(whole):
    found = {
        claim.name: claim for claim in analysis.claims(analysis.Results(whole / "experiments"))
    }
    expected = {"A1": 4, "A2": 2, "A3": 4, "A4": 0.1, "A6": -4, "A9": 4, "D1": 5, "D2": 5,
                "D3": -5, "E1": -3, "E2": 4}  # fmt: skip
    for name, gain in expected.items():
        one = found[name].found
        assert one.low < one.mean < one.high, name
        assert abs(one.mean - gain) < min(0.6, one.high - one.low), name  # four standard errors
        assert found[name].verdict == ("equivalent" if abs(gain) < 1 else "holds"), name
    assert found["A1"].found.n == 12 and found["B1"].found.n == 5 and found["A9"].found.n == 6
    assert found["F1"].verdict == found["F3"].verdict == "holds"
    assert found["F1"].found.mean == pytest.approx(-1, abs=0.2)
    assert found["F2"].verdict == "undecided"  # noise of a tenth, and a margin of 0.04
    assert found["A7"].verdict == "reversed"


def test_best_rates_agree_with_the_table(whole):
    results = analysis.Results(whole / "experiments")
    runs = [run for run in fake_results(peak) if run.role == "evaluate"]
    for loss in table.LOSSES:
        first = next(run for run in runs if run.loss == loss and run.start)
        tuned = {"experiment": "A", "start": first.start, "loss": loss}
        assert table.best_rate(results.rows, **tuned) == first.rate
        assert results.main(loss)[first.seed] == first.key


def test_outcomes_agree_with_scores(whole):
    results = analysis.Results(whole / "experiments")
    key = results.main("lovasz")[3]
    counts = results.counts(key)
    assert results.outcome(key, scores.dataset_miou)[0] == pytest.approx(
        scores.dataset_miou(counts)
    )
    assert results.outcome(key, scores.image_miou)[0] == pytest.approx(scores.image_miou(counts))
    inside = (results.images.drive == "drive1").to_numpy()
    assert results.outcome(key, scores.dataset_miou, "drive1")[0] == pytest.approx(
        scores.dataset_miou(counts[inside])
    )
    twice = np.concatenate([counts, counts[:1]])
    weights = np.ones((1, len(counts)))
    weights[0, 0] = 2
    assert scores.image_miou(counts, weights)[0] == pytest.approx(scores.image_miou(twice))


def test_blocks_are_neighbours_of_one_drive(whole):
    results = analysis.Results(whole / "experiments")
    blocks = results.blocks()
    for block in set(blocks):
        own = results.images[blocks == block]
        assert own.drive.nunique() == 1 and len(own) <= analysis.BLOCK
        numbers = own.name.str[-3:].astype(int).to_numpy()
        assert (np.diff(np.sort(numbers)) == 2).all()  # every other frame is of this drive


def test_student_and_mixed_model():
    """Against scipy, and against the formula for balanced data."""
    from scipy import stats

    values = np.random.default_rng(0).normal(1, 1, 9)
    found = analysis.over_seeds(values)
    theirs = stats.ttest_1samp(values, 0)
    interval = theirs.confidence_interval()
    assert found[2:4] == pytest.approx((interval.low, interval.high))
    assert found.p == pytest.approx(theirs.pvalue)
    for seed, spread in enumerate((0, 0.05, 2)):  # between classes; 0 is at the model's boundary
        rng = np.random.default_rng(seed)
        values = rng.normal(0, spread, 6)[:, None] + rng.normal(1, 0.5, (6, 6))
        frame = pd.DataFrame(
            {"target": np.repeat(list("abcdef"), 6), "seed": list(range(6)) * 6,
             "difference": values.ravel()}
        )  # fmt: skip
        between, within = 6 * values.mean(1).var(ddof=1), values.var(axis=1, ddof=1).mean()
        error = np.sqrt(between) / 6 if between > within else values.std(ddof=1) / 6
        mixed = analysis.mixed(frame)
        reach = stats.t.ppf(0.975, 5) * error
        assert (mixed.mean, mixed.high) == pytest.approx(
            (values.mean(), values.mean() + reach), rel=1e-3
        )


def test_crossed_resampling_counts_seeds_and_images():
    """Of data with known variances: the error is about that of both means together."""
    rng = np.random.default_rng(6)
    folder_rows = made_truth(400)
    results = analysis.Results.__new__(analysis.Results)
    results.outcomes, results.images = {}, folder_rows.assign(drive="one")
    results.images["name"] = [f"one_{k:03}" for k in range(400)]
    seeds, images = rng.normal(0, 1, 12), np.repeat(rng.normal(0, 3, 40), 10)
    values = seeds[:, None] + images
    results.counts = lambda key: values[int(key)]
    found = results.crossed(
        [(1, {s: str(s) for s in range(12)}, lambda own, w: w @ own / w.sum(1))]
    )
    error = np.sqrt(seeds.var(ddof=1) / 12 + images.var() / 40)
    reach = (found.high - found.low) / 2 / 2.201
    assert found.mean == pytest.approx(values.mean()) and reach == pytest.approx(error, rel=0.2)
    assert found.seeds_high - found.seeds_low < found.high - found.low


def test_page_of_complete_results(whole, tmp_path):
    text = page.write(analysis.Results(whole / "experiments"), tmp_path)
    assert "not run" not in text and "Not all runs" not in text and " nan" not in text
    claim = analysis.claims(analysis.Results(whole / "experiments"))[0]
    assert f"by {page.interval(claim.found)} points: holds" in text
    assert sum(any(c.isalnum() for c in word) for word in text.split()) < 2500
    assert {f.name for f in (tmp_path / "img").iterdir()} == {
        "experiments_differences.png", "experiments_curves.png", "experiments_last_layer.png"
    }  # fmt: skip


@pytest.mark.parametrize("experiments", ["", "A", "ABD"])
def test_page_says_what_is_missing(experiments, tmp_path, monkeypatch):
    write_results(tmp_path / "experiments", experiments)
    text = page.write(analysis.Results(tmp_path / "experiments"), tmp_path)
    assert "Not all runs are done" in text and " nan" not in text
    assert (
        "Not all runs are done: of " + ", ".join(sorted(set("ABCDEF") - set(experiments))) in text
    )
    (tmp_path / "experiments.md").unlink()
    monkeypatch.setattr("sys.argv", ["page", str(tmp_path)])
    if "A" not in experiments:
        with pytest.raises(SystemExit, match="A is not complete"):
            page.main()
    assert not (tmp_path / "experiments.md").exists()


def test_a_series_that_ended_early_is_compared_in_pairs(tmp_path):
    write_results(tmp_path, "A")
    rows = pd.read_csv(tmp_path / "A.csv", keep_default_na=False)
    late = (rows.seed == 5) & (rows.loss == "lovasz") | rows.seed.between(6, 12)
    rows[~(late & (rows.role == "evaluate"))].to_csv(tmp_path / "A.csv", index=False)
    assert not any(claim.found for claim in analysis.claims(analysis.Results(tmp_path)))
    found = {c.name: c.found for c in analysis.claims(analysis.Results(tmp_path, ended=True))}
    assert [found[name].n for name in ("A1", "A2", "A9")] == [4, 5, 4]
    assert found["A1"].mean == pytest.approx(4, abs=0.6) and found["B1"] is None


def test_dice_of_ibsr():
    text = page.ibsr_table(DOCS / "experiments")
    heads = pd.read_csv(DOCS / "experiments/ibsr_heads.csv")
    own = heads[(heads.model == "hidden") & (heads.loss == "lovasz")]
    values = own[["volume_CSF", "volume_grey_matter", "volume_white_matter"]].to_numpy() / 100
    dice = 100 * np.mean(2 * values / (1 + values))
    assert f"| hidden | Lovász-Softmax | {100 * values.mean():.1f} | {dice:.1f} |" in text


def test_the_committed_page_follows_from_the_committed_results(tmp_path, monkeypatch):
    """As soon as there are results: the page is written when A is complete."""
    monkeypatch.undo()  # all resamples
    if not (DOCS / "experiments/A.csv").exists():
        pytest.skip("no results yet")
    (tmp_path / "img").mkdir()
    text = page.write(analysis.Results(DOCS / "experiments"), tmp_path)
    committed = (DOCS / "experiments.md").read_text()
    if "experiments.page" in committed:
        assert text == committed


def test_the_script_explains_itself(tmp_path):
    script = DOCS.parent / "scripts" / "experiments.sh"
    shown = subprocess.run([script, "--help"], capture_output=True, text=True, check=True).stdout
    assert "DATA_DIR   " in shown and "set -" not in shown
    refused = subprocess.run([script, tmp_path], capture_output=True, text=True, check=False)
    assert refused.returncode == 1 and "train.txt is missing" in refused.stderr
