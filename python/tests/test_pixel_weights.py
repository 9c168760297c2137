"""Pixels that count more or less than one, against reference.py, and losses image by image."""

import numpy as np
import pytest
import reference

import submod

RNG = np.random.default_rng(18)
SHAPE = (3, 4, 6, 7)


def case(shape=SHAPE):
    scores = RNG.normal(size=shape).astype(np.float32)
    return scores, RNG.integers(shape[1], size=shape[:1] + shape[2:])


def some_weights(shape):
    """Real numbers, some of them 0."""
    weights = RNG.exponential(size=shape).astype(np.float32)
    weights[RNG.random(shape) < 0.2] = 0
    return weights


MEASURES = [
    ("jaccard", reference.jaccard_by_counts),
    ("hamming", reference.hamming_by_counts),
    (submod.Tversky(0.5, 2), reference.tversky_by_counts(0.5, 2)),
    (
        lambda a, b, P, N: np.sqrt((a + b) / (P + N)),
        lambda *counts: reference.hamming_by_counts(*counts) ** 0.5,
    ),
]


@pytest.mark.parametrize("measure, by_counts", MEASURES)
@pytest.mark.parametrize("options", [{}, {"per_image": True}, {"classes": "all"}])
def test_lovasz(measure, by_counts, options):
    scores, labels = case()
    weights = some_weights(labels.shape)
    given = {"pixel_weights": weights, **options}
    p = reference.softmax(scores.astype(float))
    exact = reference.class_loss(p, labels, measure=by_counts, **given)
    loss = submod.lovasz_softmax(scores, labels, measure=measure, **given)
    assert loss == pytest.approx(exact, abs=3e-6)
    bins = {"engine": "histogram", "delta": 1e-3}
    loss = submod.lovasz_softmax(scores, labels, measure=measure, **bins, **given)
    assert abs(loss - exact) <= 1e-3 + 3e-6
    flags = RNG.integers(2, size=scores.shape)
    p = reference.sigmoid(scores.astype(float))
    exact = reference.class_loss(p, flags, measure=by_counts, **given)
    loss = submod.lovasz_sigmoid(scores, flags, measure=measure, **given)
    assert loss == pytest.approx(exact, abs=3e-6)
    per_image = options.get("per_image", False)
    exact = reference.hinge_loss(
        scores[:, 0], flags[:, 0], per_image, measure=by_counts, pixel_weights=weights
    )
    loss = submod.lovasz_hinge(
        scores[:, 0], flags[:, 0], measure=measure, per_image=per_image, pixel_weights=weights
    )
    assert loss == pytest.approx(exact, abs=3e-6)


def test_whole_weights_are_copies():
    """A pixel of weight 3 is three pixels; one of weight 0 is none."""
    scores, labels = RNG.normal(size=(50, 3)).astype(np.float32), RNG.integers(3, size=50)
    weights = RNG.integers(4, size=50)
    times = np.repeat(np.arange(50), weights)
    losses = ["lovasz_softmax", "cross_entropy", "soft_dice", "soft_jaccard"]
    for name in losses:
        loss = getattr(submod, name)
        value, gradient = loss(scores, labels, pixel_weights=weights, return_grad=True)
        copies, many = loss(scores[times], labels[times], return_grad=True)
        assert value == pytest.approx(copies, abs=1e-6), name
        together = np.zeros_like(gradient)
        np.add.at(together, times, many)
        assert np.allclose(gradient, together, atol=1e-6), name
        assert not gradient[weights == 0].any(), name
    flags = RNG.integers(2, size=50)
    for name in ("lovasz_hinge", "hinge", "rahman_wang"):
        loss = getattr(submod, name)
        value = loss(scores[:, 0], flags, pixel_weights=weights)
        assert value == pytest.approx(loss(scores[times, 0], flags[times]), abs=1e-6), name


def test_ones_change_nothing():
    scores, labels = case()
    for name in ("lovasz_softmax", "cross_entropy", "soft_dice", "soft_jaccard"):
        for options in ({}, {"per_image": True}):
            loss = getattr(submod, name)
            plain = loss(scores, labels, return_grad=True, **options)
            ones = loss(scores, labels, return_grad=True, pixel_weights=1, **options)
            assert ones[0] == pytest.approx(plain[0], abs=1e-9)
            assert np.allclose(ones[1], plain[1], atol=1e-8)


def test_baselines_by_their_formulas():
    scores, labels = case()
    weights = some_weights(labels.shape)
    p = reference.softmax(scores.astype(float))
    own = labels[:, None] == np.arange(SHAPE[1])[None, :, None, None]
    entropy = -np.log((p * own).sum(axis=1))
    loss = submod.cross_entropy(scores, labels, pixel_weights=weights)
    assert loss == pytest.approx((weights * entropy).sum() / weights.sum(), rel=1e-5)
    w = weights[:, None].astype(float)
    both, p_sum, y_sum = ((w * x).sum(axis=(0, 2, 3)) for x in (p * own, p, own))
    dice = 1 - 2 * both / (p_sum + y_sum)
    found = submod.soft_dice(scores, labels, pixel_weights=weights)
    assert found == pytest.approx(dice.mean(), abs=1e-5)
    jaccard = 1 - both / (p_sum + y_sum - both)
    found = submod.soft_jaccard(scores, labels, pixel_weights=weights)
    assert found == pytest.approx(jaccard.mean(), abs=1e-5)
    flags, s = labels % 2, scores[:, 0].astype(float)
    margins = np.maximum(0, 1 - np.where(flags == 1, s, -s))
    found = submod.hinge(scores[:, 0], flags, pixel_weights=weights)
    assert found == pytest.approx((weights * margins).sum() / weights.sum(), rel=1e-5)


@pytest.mark.parametrize("name", ["lovasz_softmax", "lovasz_sigmoid", "cross_entropy"])
@pytest.mark.parametrize(
    "shape", [(3, 6, 7), (3, 1, 6, 7), (6, 7), (1, 6, 7), (3, 1, 1), (7,), (1,), (), (3, 6, 1)]
)
def test_shapes(name, shape):
    scores, labels = case()
    if name == "lovasz_sigmoid":
        labels = (scores > 0).astype(np.uint8)
    weights = RNG.exponential(size=shape)
    # A channel is for the class, and has no other meaning.
    plain = weights[:, 0] if len(shape) == 4 else weights
    full = np.ascontiguousarray(np.broadcast_to(plain, (3, 6, 7)), np.float32)
    loss = getattr(submod, name)
    found = loss(scores, labels, pixel_weights=weights, return_grad=True)
    expected = loss(scores, labels, pixel_weights=full, return_grad=True)
    assert found[0] == expected[0] and np.array_equal(found[1], expected[1])


def test_lists_of_pixels():
    scores, labels = RNG.normal(size=(30, 4)).astype(np.float32), RNG.integers(4, size=30)
    weights = RNG.exponential(size=30)
    found = submod.lovasz_softmax(scores, labels, pixel_weights=weights)
    image = submod.lovasz_softmax(scores.T[None], labels[None], pixel_weights=weights[None])
    assert found == image
    column = submod.lovasz_softmax(scores, labels[:, None], pixel_weights=weights[:, None])
    assert column == found
    flags = labels % 2
    found = submod.lovasz_hinge(scores[:, 0], flags, pixel_weights=weights)
    exact = reference.hinge_loss(
        scores[None, :, 0], flags[None], pixel_weights=weights.astype(np.float32)[None]
    )
    assert found == pytest.approx(exact, abs=1e-6)
    each = submod.lovasz_softmax(scores, labels, pixel_weights=weights, per_image=True)
    assert each == pytest.approx(np.mean(1 - reference.softmax(scores)[np.arange(30), labels]))


@pytest.mark.parametrize("kind", ["float16", "float64", ">f4", "int64", "uint8", "bool"])
def test_types_and_layouts(kind):
    scores, labels = case()
    plain = RNG.integers(2, size=(3, 6, 7)).astype(np.float32)
    expected = submod.lovasz_softmax(scores, labels, pixel_weights=plain)
    weights = plain.astype(kind)
    assert submod.lovasz_softmax(scores, labels, pixel_weights=weights) == expected
    views = [
        np.asfortranarray(weights),
        weights[::-1, ::-1, ::-1][::-1, ::-1, ::-1],
        np.repeat(weights, 2, axis=2)[..., ::2],
        weights.tolist(),
    ]
    for view in views:
        assert submod.lovasz_softmax(scores, labels, pixel_weights=view) == expected


@pytest.mark.parametrize(
    "weights, error, words",
    [
        (np.ones((3, 4, 6, 7)), ValueError, r"pixel_weights of shape \(3, 4, 6, 7\); \(3, 6, 7\)"),
        (np.ones((3, 7, 6)), ValueError, r"broadcasts to it"),
        (np.ones(3), ValueError, r"pixel_weights of shape \(3,\)"),
        (np.ones((1, 3, 1, 6, 7)), ValueError, r"pixel_weights of shape"),
        (np.ones((3, 6, 7), complex), TypeError, "pixel_weights of type complex128; real numbers"),
        ("many", TypeError, "pixel_weights of type"),
        ({"a": 1}, TypeError, "pixel_weights: an array is needed, this is a dict"),
        (np.full((3, 6, 7), -2.0), ValueError, r"pixel_weights\[0\]\[0\] = -2 must be >= 0"),
        (np.full((3, 6, 7), np.nan), ValueError, r"pixel_weights\[0\]\[0\]"),
        (np.full((3, 6, 7), np.inf), ValueError, r"pixel_weights\[0\]\[0\]"),
        (np.full((3, 6, 7), 1e300), ValueError, r"pixel_weights\[0\]\[0\]"),
    ],
)
def test_refused(weights, error, words):
    scores, labels = case()
    for loss in (submod.lovasz_softmax, submod.cross_entropy):
        with pytest.raises(error, match=words):
            loss(scores, labels, pixel_weights=weights)
    dataset = submod.DatasetJaccard(4)
    with pytest.raises(error, match=words):
        dataset.add(scores, labels, pixel_weights=weights)
    assert not dataset.counts.any()


def test_no_weight_at_all():
    scores, labels = case()
    loss, gradient = submod.lovasz_softmax(scores, labels, pixel_weights=0, return_grad=True)
    assert loss == 0 and not gradient.any()
    labels[0, 2, 3] = 9  # the label of a pixel of weight 0 is looked at
    with pytest.raises(ValueError, match=r"labels\[0\]\[17\] = 9"):
        submod.lovasz_softmax(scores, labels, pixel_weights=labels < 4)
    empty = np.zeros((0, 3, 4)), np.zeros((0, 4), int)
    assert submod.lovasz_softmax(*empty, pixel_weights=np.zeros((0, 4))) == 0


def test_threads():
    scores, labels = case((2, 5, 64, 64))
    weights = some_weights(labels.shape)
    for engine in ("exact", "histogram"):
        results = []
        try:
            for threads in (1, 2, 3):
                submod.set_num_threads(threads)
                options = {"engine": engine, "pixel_weights": weights, "return_grad": True}
                results.append(submod.lovasz_softmax(scores, labels, **options))
        finally:
            submod.set_num_threads(0)
        for loss, gradient in results[1:]:
            assert loss == results[0][0] and np.array_equal(gradient, results[0][1])


def test_dataset():
    scores, labels = case()
    weights = some_weights(labels.shape)
    dataset = submod.DatasetJaccard(4, 1e-3)
    for i in range(3):
        dataset.add(scores[i : i + 1], labels[i : i + 1], pixel_weights=weights[i : i + 1])
    assert dataset.counts[0].sum() == pytest.approx(weights.sum(dtype=float), rel=1e-6)
    p = reference.softmax(scores.astype(float))
    exact = reference.class_loss(p, labels, pixel_weights=weights)
    assert abs(dataset.loss() - exact) <= 1e-3 + 3e-6
    _, whole = submod.lovasz_softmax(
        scores, labels, engine="histogram", delta=1e-3, pixel_weights=weights, return_grad=True
    )
    gradient = dataset.gradient(scores, labels, pixel_weights=weights)
    assert np.allclose(gradient, whole, atol=1e-6)


# ---- a number per image ----

LOSSES = [
    "lovasz_softmax", "cross_entropy", "soft_dice", "soft_jaccard",
    "lovasz_sigmoid", "lovasz_hinge", "hinge", "rahman_wang",
]  # fmt: skip


@pytest.mark.parametrize("name", LOSSES)
@pytest.mark.parametrize("weighted", [False, True])
def test_reduction(name, weighted):
    scores, labels = case()
    if name in ("lovasz_hinge", "hinge", "rahman_wang"):
        scores, labels = scores[:, 0], labels % 2
    if name == "lovasz_sigmoid":
        labels = (scores > 0.3).astype(np.uint8)
    weights = {"pixel_weights": some_weights((3, 6, 7))} if weighted else {}
    loss = getattr(submod, name)
    options = {**weights, "per_image": True}
    losses, gradient = loss(scores, labels, reduction="none", return_grad=True, **options)
    assert losses.shape == (3,) and losses.dtype == np.float64
    mean, of_mean = loss(scores, labels, return_grad=True, **options)
    total, of_sum = loss(scores, labels, reduction="sum", return_grad=True, **options)
    assert mean == pytest.approx(losses.mean(), rel=1e-12)
    assert isinstance(total, float) and total == pytest.approx(losses.sum(), rel=1e-12)
    assert np.array_equal(gradient, of_sum) and np.allclose(gradient, 3 * of_mean, atol=1e-7)
    for i in range(3):
        part = {name: each[i : i + 1] for name, each in weights.items()}
        alone, by_alone = loss(scores[i : i + 1], labels[i : i + 1], return_grad=True, **part)
        assert losses[i] == pytest.approx(alone, abs=1e-6)
        assert np.allclose(gradient[i : i + 1], by_alone, atol=1e-6)
    options["per_image"] = False
    whole = loss(scores, labels, **options)
    assert loss(scores, labels, reduction="none", **options) == pytest.approx([whole], rel=1e-12)
    assert loss(scores, labels, reduction="sum", **options) == whole


def test_reduction_of_no_images():
    empty = np.zeros((0, 3, 4)), np.zeros((0, 4), int)
    assert submod.lovasz_softmax(*empty, per_image=True, reduction="none").shape == (0,)
    assert submod.lovasz_softmax(*empty, per_image=True, reduction="sum") == 0
    assert submod.lovasz_softmax(*empty, reduction="none").tolist() == [0]


def test_images_that_count_as_nothing():
    scores, labels = case()
    labels[1] = 255
    losses = submod.lovasz_softmax(
        scores, labels, per_image=True, ignore_index=255, reduction="none"
    )
    assert losses[1] == 0 and (losses[[0, 2]] > 0).all()


def test_reduction_refused():
    scores, labels = case()
    with pytest.raises(
        ValueError, match="reduction = 'max'; it must be one of 'mean', 'none', 'su"
    ):
        submod.lovasz_softmax(scores, labels, reduction="max")
