"""Scores of folders as Cityscapes' own script has them: submod.metrics and submod-miou."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

import submod
from submod.metrics import CITYSCAPES, Confusion, InstanceIoU

Image = pytest.importorskip("PIL.Image", reason="for want of pillow")
script = pytest.importorskip(
    "cityscapesscripts.evaluation.evalPixelLevelSemanticLabeling",
    reason="for want of cityscapesScripts",
)
labels = pytest.importorskip("cityscapesscripts.helpers.labels").labels

ROOT = Path(__file__).resolve().parents[2]
MIOU = Path(os.environ.get("SUBMOD_MIOU", ROOT / "build" / "tools" / "submod-miou"))
IDS = [label for label in labels if label.id >= 0]
THINGS = [label.id for label in IDS if label.hasInstances]


def blobs(rng, height, width, count):
    """A map of rectangles, one over the other, of label ids, and one of their instances."""
    ids = np.zeros((height, width), np.uint8)
    instances = np.zeros((height, width), np.uint16)
    for number in range(count):
        label = rng.choice(THINGS) if rng.random() < 0.5 else rng.integers(34)
        y, x = rng.integers(height), rng.integers(width)
        part = np.s_[y : y + rng.integers(1, height), x : x + rng.integers(1, width)]
        ids[part] = label
        group = label not in THINGS or rng.random() < 0.2  # a group has no instances
        instances[part] = label if group else 1000 * label + number
    return ids, instances


def make_folder(root, seed, images):
    """gtFine/val and results, as the script wants them."""
    rng = np.random.default_rng(seed)
    for number in range(images):
        city = rng.choice(["aachen", "bonn"])
        frame = f"{city}_{number:06}_000019"
        height, width = rng.integers(8, 60, size=2)
        truth, instances = blobs(rng, height, width, rng.integers(1, 25))
        other, _ = blobs(rng, height, width, rng.integers(1, 25))
        prediction = np.where(rng.random(truth.shape) < rng.random(), truth, other)
        folder = root / "gtFine" / "val" / str(city)
        folder.mkdir(parents=True, exist_ok=True)
        (root / "results").mkdir(exist_ok=True)
        Image.fromarray(truth).save(folder / f"{frame}_gtFine_labelIds.png")
        Image.fromarray(instances).save(folder / f"{frame}_gtFine_instanceIds.png")
        Image.fromarray(prediction.astype(np.uint8)).save(root / "results" / f"{frame}_pred.png")
    return sorted((root / "gtFine").rglob("*labelIds.png"))


@pytest.fixture
def their_scores(monkeypatch):
    """What the script computes and writes for these files."""
    if not hasattr(np, "in1d"):  # the script is older than this NumPy
        monkeypatch.setattr(np, "in1d", np.isin, raising=False)

    def run(root, truths):
        args = script.args
        for name, value in [
            ("predictionPath", str(root / "results")),
            ("predictionWalk", None),
            ("exportFile", str(root / "theirs.json")),
            ("quiet", True),
        ]:
            monkeypatch.setattr(args, name, value)
        truths = [str(path) for path in truths]
        predictions = [script.getPrediction(args, path) for path in truths]
        with np.errstate(all="ignore"):
            script.evaluateImgLists(predictions, truths, args)
        return json.loads((root / "theirs.json").read_text())

    return run


def number(value):
    """Of JSON, where NaN is null."""
    return np.nan if value is None else value


def same(a, b, tolerance):
    return (np.isnan(a) and np.isnan(b)) or abs(a - b) <= tolerance


@pytest.mark.skipif(not MIOU.exists(), reason=f"for want of {MIOU}")
@pytest.mark.parametrize("seed", range(12))
def test_json(tmp_path, their_scores, seed):
    truths = make_folder(tmp_path, seed, 1 + seed)
    theirs = their_scores(tmp_path, truths)
    command = [str(MIOU), "results", "gtFine/val", "--cityscapes", "--instances", "gtFine/val"]
    command += ["--absent", "skip", "--json", "scores.json"]
    done = subprocess.run([*command, "--quiet"], cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    scores = json.loads((tmp_path / "scores.json").read_text())
    for ours, name in [
        ("dataset_miou", "averageScoreClasses"),
        ("mean_instance_iou", "averageScoreInstClasses"),
        ("mean_category_iou", "averageScoreCategories"),
        ("mean_category_instance_iou", "averageScoreInstCategories"),
    ]:
        assert same(number(scores[ours]), theirs[name], 1e-12), ours
    for rows, of_pixels, of_instances in [
        ("classes", "classScores", "classInstScores"),
        ("categories", "categoryScores", "categoryInstScores"),
    ]:
        for row in scores[rows]:
            name = row["name"]
            assert same(number(row["iou"]), theirs[of_pixels][name], 1e-15), name
            assert same(number(row["instance_iou"]), theirs[of_instances][name], 1e-12), name


@pytest.mark.parametrize("seed", range(12, 20))
def test_python(tmp_path, their_scores, seed):
    truths = make_folder(tmp_path, seed, 8)
    theirs = their_scores(tmp_path, truths)
    counts = Confusion(34)
    size, first = CITYSCAPES.average_size, CITYSCAPES.first_instance
    instances = InstanceIoU(34, first_id=first, average_size=size)
    for path in truths:
        frame = path.name.replace("_gtFine_labelIds.png", "")
        truth = np.asarray(Image.open(path))[None]
        ids = np.asarray(Image.open(str(path).replace("labelIds", "instanceIds")))[None]
        prediction = np.asarray(Image.open(tmp_path / "results" / f"{frame}_pred.png"))[None]
        counts.update(prediction, truth)
        instances.update(prediction, truth, ids)
    assert counts.confusion.tolist() == theirs["confMatrix"]
    assert np.array_equal(counts.confusion, instances.confusion)
    c = CITYSCAPES
    classes = counts.regroup(c.train_ids, c.predicted_ids, absent="skip", leave_out=19).compute()
    categories = counts.regroup(
        c.truth_category, c.predicted_category, groups=8, absent="skip", leave_out=7
    ).compute()
    assert same(classes.mean.iou, theirs["averageScoreClasses"], 1e-15)
    assert same(categories.mean.iou, theirs["averageScoreCategories"], 1e-15)
    of_classes = instances.compute(c.train_ids, c.predicted_ids)
    of_categories = instances.compute(c.truth_category, c.instance_category)
    assert same(of_classes.mean, theirs["averageScoreInstClasses"], 1e-12)
    assert same(of_categories.mean, theirs["averageScoreInstCategories"], 1e-12)
    for i, name in enumerate(c.names):
        if c.train_ids[i] >= 0:
            assert same(classes.classes.iou[c.train_ids[i]], theirs["classScores"][name], 1e-15)
            assert same(of_classes.iou[c.train_ids[i]], theirs["classInstScores"][name], 1e-12)
    for i, name in enumerate(c.categories):
        assert same(categories.classes.iou[i], theirs["categoryScores"][name], 1e-15)
        assert same(of_categories.iou[i], theirs["categoryInstScores"][name], 1e-12)


def test_label_ids():
    c = submod.metrics.CITYSCAPES
    assert list(c.names) == [label.name for label in IDS]
    assert [max(t, -1) for t in c.train_ids] == [-1 if x.ignoreInEval else x.trainId for x in IDS]
    assert [c.categories[x] if x < 7 else "void" for x in c.instance_category] == [
        x.category for x in IDS
    ]
    sizes = script.args.avgClassSize
    assert list(c.average_size) == [sizes.get(x.name, 0) for x in IDS]
