"""bench/experiments on IBSR: features, counts and indices against loops over single voxels."""

# ruff: noqa: E402, as nothing of this runs without PyTorch

import itertools
import math
from dataclasses import replace
from pathlib import Path

import experiments_path  # noqa: F401
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("scipy")

from experiments.brain import claims as brain_claims
from experiments.brain import figures as brain_figures
from experiments.brain import generated as generated_heads
from experiments.brain import heads as ibsr
from experiments.brain import results as brain_results
from experiments.brain import runs as brain_runs
from experiments.brain import slices, voxels
from experiments.brain.runs import LOSSES
from experiments.lab import Lab
from experiments.plan import QUICK
from experiments.trouble import Trouble

SHAPE = (14, 9, 12)


def made(folder: Path, image, tissue) -> ibsr.Head:
    generated_heads.write(folder / "A.nii.gz", image.astype("i2"))
    generated_heads.write(folder / "A_seg.nii.gz", tissue.astype("i2"))
    return ibsr.read(folder, "A")


@pytest.fixture
def volume():
    """A head in the middle, and tissues all over, beyond the head too."""
    rng = np.random.default_rng(5)
    image = np.zeros(SHAPE)
    image[6:9, 2:7, 5:7] = rng.integers(1, 200, (3, 5, 2))
    return image, rng.integers(0, 4, SHAPE)


@pytest.fixture
def head(volume, tmp_path):
    return made(tmp_path, *volume)


def test_only_what_is_far_from_the_head_is_cut_away(volume, head):
    image, tissue = volume
    assert head.image.shape == (11, 9, 10)  # from 2 to 13, all, from 1 to 11
    assert (head.tissue == tissue[2:13, :, 1:11]).all()
    inside = image[image > 0]
    expected = (image[2:13, :, 1:11] - inside.mean()) / inside.std()
    np.testing.assert_allclose(head.image, expected, rtol=1e-5, atol=1e-5)
    assert list(head.low) == [4, 2, 4] and list(head.high) == [7, 7, 6]
    assert list(head.slices) == [2, 3, 4, 5, 6]


def test_every_head_is_tested_once_and_never_seen_before():
    names = [f"IBSR_{k:02}" for k in range(15)]
    tested = []
    for fold in range(5):
        parts = ibsr.fold_of(names, 5, fold)
        assert [len(part) for part in parts] == [9, 3, 3]
        assert sorted(itertools.chain(*parts)) == names
        tested += parts.test
    assert sorted(tested) == names


def test_files_that_are_not_there_or_do_not_fit(volume, tmp_path):
    with pytest.raises(Trouble, match="NAME_seg"):
        ibsr.names_in(tmp_path)
    image, tissue = volume
    with pytest.raises(Trouble, match="one size"):
        made(tmp_path, image, tissue[:-1])
    with pytest.raises(Trouble, match=r"be 0 \.\. 3"):
        made(tmp_path, image, tissue + 1)
    with pytest.raises(Trouble, match="no voxel above 0"):
        made(tmp_path, 0 * image, tissue)
    with pytest.raises(Trouble, match=r"there is no .*B\.nii\.gz"):
        ibsr.read(tmp_path, "B")
    (tmp_path / "A.nii.gz").write_bytes(b"no volume")
    with pytest.raises(Trouble, match=r"A\.nii\.gz cannot be read"):
        ibsr.read(tmp_path, "A")
    with pytest.raises(Trouble, match="5 folds need as many heads"):
        ibsr.fold_of(["A", "B", "C"], 5, 0)


# ---- features ------------------------------------------------------------------------------------


def slow_blur(image, sigma):
    """Voxel by voxel; beyond an end, its voxel repeats; nothing beyond 3 deviations."""
    kernels = []
    for spacing in generated_heads.SPACING:
        width = sigma / spacing
        reach = int(3 * width + 0.5)
        weights = {k: math.exp(-0.5 * (k / width) ** 2) for k in range(-reach, reach + 1)}
        kernels.append({k: w / sum(weights.values()) for k, w in weights.items()})

    def at(place):
        total = 0.0
        for steps in itertools.product(*kernels):
            weight = math.prod(kernel[step] for kernel, step in zip(kernels, steps))
            total += weight * near(image, place, steps)
        return total

    return at


def near(image, place, steps):
    there = (min(max(p + s, 0), n - 1) for p, s, n in zip(place, steps, image.shape))
    return float(image[tuple(there)])


def along(axis, by):
    return tuple(by if other == axis else 0 for other in range(3))


def moved(place, axis, by, shape):
    there = [p + s for p, s in zip(place, along(axis, by))]
    return tuple(min(max(p, 0), n - 1) for p, n in zip(there, shape))


def slow_features(head, place):
    shape = head.image.shape
    scales = [lambda at: float(head.image[at]), *(slow_blur(head.image, s) for s in (1, 2, 4))]
    found = [scale(place) for scale in scales]
    for scale in scales[1:]:
        slopes = [
            scale(moved(place, a, 1, shape)) - scale(moved(place, a, -1, shape)) for a in range(3)
        ]
        found.append(math.sqrt(sum(x * x for x in slopes)))
    voxels_of = {1: (3, 2, 3), 2: (7, 5, 7)}  # 3 and 7 mm, along each axis
    for axis in range(3):
        for side in (-1, 1):
            for scale, steps in voxels_of.items():
                found.append(scales[scale](moved(place, axis, side * steps[axis], shape)))
    x, y, z = (2 * (p + 0.5 - a) / (b - a) - 1 for p, a, b in zip(place, head.low, head.high))
    return [*found, x, y, z, x * x, x * y, x * z, y * y, y * z, z * z, abs(x)]


def test_features_are_those_of_the_study(head):
    places = [(0, 0, 0), (5, 4, 5), (10, 8, 9)]
    found = voxels.features(voxels.scales_of(head), np.array(places).T)
    assert found.shape == (3, voxels.FEATURES)
    for row, place in zip(found, places):
        np.testing.assert_allclose(row, slow_features(head, place), rtol=2e-4, atol=2e-4)


# ---- slices --------------------------------------------------------------------------------------


def test_a_slice_is_seen_between_its_neighbours(head):
    for y, expected in ((0, (0, 0, 1)), (4, (3, 4, 5)), (8, (7, 8, 8))):
        channels = slices.seen(head, y)
        for channel, place in zip(channels, expected):
            assert (channel == head.image[:, place]).all()


def test_crops_keep_image_and_tissue_together(head, monkeypatch):
    monkeypatch.setattr(slices, "CROP", 8)
    monkeypatch.setattr(slices, "LIGHT", (1.0, 1.0))
    marked = head._replace(image=head.tissue.astype(np.float32))
    seen = set()
    for seed in range(20):
        image, tissue = slices.cropped(marked, 4, np.random.default_rng(seed))
        assert image.shape == (3, 8, 8)
        assert (image[1] == tissue).all()
        seen.add(tissue.numpy().tobytes())
    assert len(seen) > 10


def test_heads_smaller_than_a_crop_are_widened(head):
    image, tissue = slices.cropped(head, 4, np.random.default_rng(0))
    assert image.shape == (3, slices.CROP, slices.CROP)
    assert (tissue > 0).sum() == (head.tissue[:, 4] > 0).sum()


# ---- scores --------------------------------------------------------------------------------------


class Guess:
    """Says tissue k + 1 where the image of network k's slice is above 0, else background."""

    def predict(self, networks, head, of):
        inside = head.image.transpose(1, 0, 2)[of] > 0
        return np.stack([(inside * (k + 1)).astype(np.uint8) for k in range(len(networks))])


def test_every_voxel_of_the_volume_counts(volume, head):
    image, tissue = volume
    found = brain_runs.confusion(Guess(), [None, None], head, 1)
    assert found.shape == (2, SHAPE[1], 4, 4)
    inside = image[image > 0]
    for network in range(2):
        expected = np.zeros((SHAPE[1], 4, 4), int)
        for x, y, z in np.ndindex(*SHAPE):
            said = network + 1 if image[x, y, z] > inside.mean() else 0
            expected[y, tissue[x, y, z], said] += 1
        assert (found[network] == expected).all()
    assert (brain_runs.confusion(Guess(), [None], head, 4) == found[:1, ::4]).all()


def slow_jaccard(confusion, c):
    either = confusion[c].sum() + confusion[:, c].sum() - confusion[c, c]
    return confusion[c, c] / either if either else 1.0


def test_indices_of_volumes_and_of_slices():
    counts = np.random.default_rng(2).integers(0, 9, (3, 6, 4, 4))
    counts[1, 2, 1:] = 0  # no tissue: left out
    counts[2, 4, 1], counts[2, 4, :, 1] = 0, 0  # no CSF, and none found: 1
    whole, single = brain_results.of_volumes(counts), brain_results.of_slices(counts)
    for k, of_head in enumerate(counts):
        shown = [one for one in of_head if one[1:].any()]
        volumes = [slow_jaccard(of_head.sum(0), c) for c in (1, 2, 3)]
        means = [np.mean([slow_jaccard(one, c) for one in shown]) for c in (1, 2, 3)]
        np.testing.assert_allclose(whole[k], 100 * np.array([*volumes, np.mean(volumes)]))
        np.testing.assert_allclose(single[k], 100 * np.array([*means, np.mean(means)]))


def test_the_rate_with_the_best_validation_is_taken(tmp_path):
    plan = replace(QUICK, linear=replace(QUICK.linear, rates=(3e-2, 1e-2)))
    case = brain_runs.Case(Lab(tmp_path, tmp_path, plan), "linear", 0)
    first, second = case.tunings("lovasz")
    for run, right in ((first, 1), (second, 5)):
        counts = np.ones((2, 3, 4, 4), int) + right * np.eye(4, dtype=int)
        case.folder(run).write_arrays("val.npz", {"confusion": counts})
    assert case.rate("lovasz") == second.rate


def test_heads_of_a_fold_count_once(tmp_path, monkeypatch):
    """Two folds that disagree show nothing, however many heads each has."""
    fold = [0] * 6 + [1] * 6
    results = brain_results.Results(Lab(tmp_path, tmp_path, QUICK), list("abcdefghijkl"), fold, {})
    gains = np.ones((2, 12, 4))
    gains[:, 6:] = 3.0
    monkeypatch.setattr(brain_results.Results, "gains", lambda *_: gains)
    for one in results.difference("linear", "lovasz", "volume").found:
        assert one.value == 2.0
        # 12.7 of Student's t with one degree of freedom; the standard error is 1
        assert (one.low, one.high) == pytest.approx((2 - 12.7, 2 + 12.7), rel=0.1)


def test_rates_at_the_edge_of_their_grid_are_told(tmp_path, monkeypatch):
    plan = replace(QUICK, linear=replace(QUICK.linear, rates=(3e-2, 1e-2, 3e-3)))
    results = brain_results.Results(Lab(tmp_path, tmp_path, plan), [], [], {})
    picked = {"cross_entropy": [3e-3, 3e-3, 1e-2], "lovasz": [1e-2] * 3}
    monkeypatch.setattr(
        brain_runs.Case, "rate", lambda self, loss: picked.get(loss, [3e-2] * 3)[self.fold]
    )
    assert brain_claims.edges(results) == [
        "linear, learning rates: the largest of the grid is best for Lovász-Softmax + "
        "cross-entropy in 3 of 3 folds.",
        "linear, learning rates: the smallest of the grid is best for cross-entropy in 2 of 3 "
        "folds.",
    ]


def test_the_median_is_one_of_the_values():
    assert brain_figures.median_at([5.0, 1.0, 3.0]) == 2
    assert brain_figures.median_at([5.0, 1.0, 3.0, 4.0]) == 2
    assert brain_figures.median_at([7.0]) == 0


def test_a_tissue_that_is_never_predicted_is_told(tmp_path):
    heads, fold = ["a", "b", "c"], [0, 1, 1]
    full = np.ones((3, 2, 4, 4), int)
    without = full.copy()
    without[1:, ..., 1] = 0  # fold 1 has no CSF, with one of two seeds
    half = full.copy()
    half[1, ..., 1] = 0  # one head of the fold has some
    counts = {(model, loss): [full, full] for model in brain_results.SHOWN for loss in LOSSES}
    counts["unet", "cross_entropy"] = [full, without]
    counts["unet", "lovasz"] = [full, half]
    counts["unet", "lovasz+cross_entropy"] = [full, without]
    results = brain_results.Results(Lab(tmp_path, tmp_path, QUICK), heads, fold, counts)
    [told] = brain_claims.lost(results)
    assert "in 1 of 4 trainings" in told and "no CSF" in told
    assert "Lovász-Softmax finds it in 1 and Lovász-Softmax + cross-entropy finds it in 0" in told
