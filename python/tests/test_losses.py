"""The losses of NumPy arrays against reference.py, in many shapes, types and layouts."""

import multiprocessing
import os
import subprocess
import sys

import numpy as np
import pytest
import reference

import submod

RNG = np.random.default_rng(11)
SHAPES = [(1, 2, 3), (2, 3, 4, 5), (3, 4, 7), (2, 3, 2, 3, 4), (4, 3, 1)]


def softmax_case(shape, ignore=None):
    scores = RNG.normal(size=shape).astype(np.float32)
    labels = RNG.integers(shape[1], size=shape[:1] + shape[2:])
    if ignore is not None:
        labels[RNG.random(labels.shape) < 0.3] = ignore
    return scores, labels


OPTIONS = [
    {},
    {"classes": "all"},
    {"classes": [1, 0]},
    {"per_image": True},
    {"per_image": True, "classes": "all", "ignore_index": 255},
    {"ignore_index": -1},
    {"ignore_index": 0, "class_weight": True},
    {"per_image": True, "class_weight": True, "classes": "all"},
]


def options_for(options, classes):
    options = dict(options)
    if "class_weight" in options:
        options["class_weight"] = RNG.uniform(0.1, 2, size=classes)
    return options


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_softmax(shape, options):
    options = options_for(options, shape[1])
    scores, labels = softmax_case(shape, options.get("ignore_index"))
    exact = reference.class_loss(reference.softmax(scores.astype(float)), labels, **options)
    assert submod.lovasz_softmax(scores, labels, **options) == pytest.approx(exact, abs=1e-6)
    histogram = submod.lovasz_softmax(scores, labels, engine="histogram", delta=1e-3, **options)
    assert abs(histogram - exact) <= 1e-3 + 1e-6
    p = reference.softmax(scores.astype(float))
    from_p = submod.lovasz_softmax(p, labels, from_logits=False, **options)
    assert from_p == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("options", OPTIONS)
def test_counting(options):
    """Large enough to be counted: within 2^-24 of the sorted loss, up to the rounding of scores."""
    options = options_for(options, 3)
    scores, labels = softmax_case((2, 3, 130, 130), options.get("ignore_index"))
    exact, wanted = submod.lovasz_softmax(scores, labels, return_grad=True, **options)
    loss, gradient = submod.lovasz_softmax(
        scores, labels, engine="counting", return_grad=True, **options
    )
    assert loss == pytest.approx(exact, rel=2e-6)
    assert np.abs(gradient - wanted).sum() <= 2e-3 * np.abs(wanted).sum()


@pytest.mark.parametrize("options", OPTIONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_sigmoid(shape, options):
    options = options_for(
        {k: 255 if k == "ignore_index" else v for k, v in options.items()}, shape[1]
    )
    scores = RNG.normal(size=shape).astype(np.float32)
    labels = RNG.integers(2, size=shape)
    if "ignore_index" in options:
        labels[RNG.random(shape) < 0.3] = 255
    exact = reference.class_loss(reference.sigmoid(scores.astype(float)), labels, **options)
    if len(shape) == 3:
        with pytest.raises(ValueError, match="three dimensions"):
            submod.lovasz_sigmoid(scores, labels, **options)
        scores, labels = scores[..., None], labels[..., None]
    assert submod.lovasz_sigmoid(scores, labels, **options) == pytest.approx(exact, abs=1e-6)


@pytest.mark.parametrize("per_image", [True, False])
@pytest.mark.parametrize("ignore", [None, 255])
@pytest.mark.parametrize("shape", [(1, 6), (3, 4, 5), (2, 2, 3, 4)])
def test_hinge(shape, ignore, per_image):
    scores = RNG.normal(size=shape).astype(np.float32)
    labels = RNG.integers(2, size=shape).astype(np.uint8)
    if ignore is not None:
        labels[RNG.random(shape) < 0.3] = ignore
    exact = reference.hinge_loss(scores, labels, per_image, ignore)
    found = submod.lovasz_hinge(scores, labels, per_image=per_image, ignore_index=ignore)
    assert found == pytest.approx(exact, abs=1e-6)
    channel = submod.lovasz_hinge(scores[:, None], labels, per_image=per_image, ignore_index=ignore)
    assert channel == found


def difference_quotient(loss, scores, direction, h):
    return (loss(scores + h * direction) - loss(scores - h * direction)) / (2 * h)


@pytest.mark.parametrize("kind", ["softmax", "sigmoid", "hinge"])
def test_gradient(kind):
    """By finite differences, of the reference in double precision, along random directions."""
    shape = (2, 3, 4, 4)
    scores = RNG.normal(size=shape)
    labels = RNG.integers(3, size=(2, 4, 4)) if kind == "softmax" else RNG.integers(2, size=shape)
    function = getattr(submod, "lovasz_" + kind)
    if kind == "hinge":
        exact = reference.hinge_loss
    else:
        activation = getattr(reference, kind)

        def exact(scores, labels):
            return reference.class_loss(activation(scores), labels)

    loss, gradient = function(scores, labels, return_grad=True)
    assert gradient.shape == shape and gradient.dtype == np.float32
    assert loss == pytest.approx(exact(scores, labels), abs=1e-6)
    for _ in range(20):
        direction = RNG.normal(size=shape)
        quotient = difference_quotient(lambda s: exact(s, labels), scores, direction, 1e-7)
        assert (gradient * direction).sum() == pytest.approx(quotient, abs=2e-5)


def test_flat_pixels():
    """(pixels, classes) is one image."""
    scores, labels = RNG.normal(size=(30, 4)).astype(np.float32), RNG.integers(4, size=30)
    flat = submod.lovasz_softmax(scores, labels, return_grad=True)
    image = submod.lovasz_softmax(scores.T[None], labels[None], return_grad=True)
    assert flat[0] == image[0] and np.array_equal(flat[1], image[1][0].T)
    each = submod.lovasz_softmax(scores, labels, per_image=True)
    assert each == pytest.approx(np.mean(1 - reference.softmax(scores)[np.arange(30), labels]))


def test_layouts():
    """Views give what copies give."""
    scores, labels = softmax_case((4, 6, 8, 10))
    wide = RNG.normal(size=(4, 8, 10, 6)).astype(np.float32)
    views = [
        (scores[:, ::2], np.minimum(labels, 2)),
        (scores[::-1], labels),
        (scores[:, :, ::2, ::2], labels[:, ::2, ::2]),
        (scores[:, :, 2:5, 1:7], labels[:, 2:5, 1:7]),
        (scores.transpose(0, 1, 3, 2), labels.transpose(0, 2, 1)),
        (wide.transpose(0, 3, 1, 2), labels),
        (np.broadcast_to(scores[:1], scores.shape), np.broadcast_to(labels[:1], labels.shape)),
        (scores[:, :, ::-1, ::-1], labels[:, ::-1, ::-1]),
        (scores.astype(">f4"), labels.astype(">i4")),
    ]
    for s, y in views:
        plain = np.ascontiguousarray(s, dtype=np.float32), np.ascontiguousarray(y, dtype=np.int64)
        expected = submod.lovasz_softmax(*plain, return_grad=True)
        found = submod.lovasz_softmax(s, y, return_grad=True)
        assert found[0] == expected[0] and np.array_equal(found[1], expected[1])


def test_views_are_not_copied():
    from submod._arrays import view_labels, view_scores

    scores, labels = softmax_case((2, 3, 4, 5))
    for s in (scores, scores.transpose(0, 1, 3, 2)[:, :, ::-1, ::-1].transpose(0, 1, 3, 2)):
        assert view_scores(s)[1] is s
    last = np.zeros((2, 4, 5, 3), np.float32).transpose(0, 3, 1, 2)
    assert view_scores(last)[1] is last and view_scores(last)[0].pixel_stride == 3
    assert view_labels(labels)[1] is labels


@pytest.mark.parametrize("kind", ["float16", "float32", "float64"])
@pytest.mark.parametrize("label", ["uint8", "int8", "int32", "int64", "float32"])
def test_types(kind, label):
    scores, labels = softmax_case((2, 3, 5))
    scores = scores.astype(np.float16)
    expected = submod.lovasz_softmax(scores.astype(np.float32), labels)
    assert submod.lovasz_softmax(scores.astype(kind), labels.astype(label)) == expected


def test_special_cases():
    empty = submod.lovasz_softmax(np.zeros((0, 3, 4)), np.zeros((0, 4), int), return_grad=True)
    assert empty[0] == 0 and empty[1].shape == (0, 3, 4)
    ignored = submod.lovasz_softmax(np.ones((1, 3, 4)), np.full((1, 4), 9), ignore_index=9)
    assert ignored == 0
    assert submod.lovasz_hinge([2.0, -0.5], [1, 0]) == pytest.approx(0.25)


@pytest.mark.parametrize(
    "arguments, options, words",
    [
        ((np.zeros((1, 3, 4)), np.full((1, 4), 3)), {}, r"labels\[0\]\[0\] = 3"),
        ((np.full((1, 3, 4), np.nan), np.zeros((1, 4), int)), {}, r"scores\[0\]\[0\]\[0\] is nan"),
        ((np.zeros((1, 3, 4)), np.zeros((1, 5), int)), {}, "labels of shape"),
        ((np.zeros(4), np.zeros(4, int)), {}, "scores of shape"),
        ((np.zeros((1, 3, 4)), np.zeros((1, 4), int)), {"engine": "fast"}, "engine"),
        ((np.zeros((1, 3, 4)), np.zeros((1, 4), int)), {"classes": "none"}, "classes"),
        ((np.zeros((1, 3, 4)), np.zeros((1, 4), int)), {"classes": [5]}, "5"),
        ((np.zeros((1, 3, 4)), np.zeros((1, 4), int)), {"class_weight": [1, 2]}, "class_weight"),
        (
            (np.zeros((1, 3, 4)), np.zeros((1, 4), int)),
            {"delta": 7, "engine": "histogram"},
            "delta",
        ),
    ],
)
def test_errors(arguments, options, words):
    with pytest.raises(ValueError, match=words):
        submod.lovasz_softmax(*arguments, **options)


def test_wrong_types():
    with pytest.raises(TypeError, match="complex"):
        submod.lovasz_softmax(np.zeros((1, 3, 4), complex), np.zeros((1, 4), int))
    with pytest.raises(TypeError, match="whole"):
        submod.lovasz_hinge(np.zeros(3), np.full(3, 0.5))


def test_instruction_set():
    assert submod.isa() in ("baseline", "avx2", "avx512")
    command = [sys.executable, "-c", "import submod; print(submod.isa())"]
    found = []
    for wish in ("baseline", "avx512", "no such"):
        environment = {**os.environ, "SUBMOD_ISA": wish}
        run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
        found.append(run.stdout.strip())
    assert found[0] == "baseline" and found[1] == found[2]  # the last two: the best there is


def test_threads():
    scores, labels = softmax_case((2, 5, 64, 64))
    before = submod.get_num_threads()
    results = []
    for threads in (1, 2, 3):
        submod.set_num_threads(threads)
        assert submod.get_num_threads() == threads
        results.append(submod.lovasz_softmax(scores, labels))
    submod.set_num_threads(0)
    assert len(set(results)) == 1 and submod.get_num_threads() == before
    with pytest.raises(ValueError):
        submod.set_num_threads(-1)


class Locked:
    """What NumPy cannot read, such as a tensor on another device."""

    def __dlpack__(self, **_):
        raise BufferError("the lid is on")

    def __dlpack_device__(self):
        return 1, 0


def test_words_for_what_numpy_cannot_read():
    labels = np.zeros((1, 4), int)
    with pytest.raises(TypeError, match=r"Locked .*: the lid is on.*submod.torch"):
        submod.lovasz_hinge(Locked(), labels)
    with pytest.raises(TypeError, match=r"submod\.torch"):
        submod.miou(Locked(), labels, 2)
    with pytest.raises(TypeError, match="detach"):
        submod.Function.sqrt(3).lovasz(Locked())


def test_words_for_tensors():
    torch = pytest.importorskip("torch")
    labels = torch.zeros(1, 4, dtype=torch.int64)
    scores = torch.ones(1, 4)
    assert submod.lovasz_hinge(scores, labels) == pytest.approx(2)
    for tensor in (scores.bfloat16(), scores.clone().requires_grad_(), scores.to("meta")):
        with pytest.raises(TypeError, match=r"torch\.Tensor .*submod\.torch.*detach"):
            submod.lovasz_hinge(tensor, labels)


@pytest.mark.parametrize("shape", [(2, 3, 0, 1), (0, 3, 4, 1)])
def test_labels_that_classes_share_without_pixels(shape):
    labels = np.broadcast_to(np.zeros((*shape[:1], 1, *shape[2:]), np.int64), shape)
    assert submod.lovasz_sigmoid(np.zeros(shape, np.float32), labels) == 0


def test_parts_of_arrays_without_images():
    """NumPy calls them contiguous, whatever their strides are."""
    scores = np.zeros((2, 3, 6, 8), np.float32)[:0, :, :3, :4]
    labels, weights = np.zeros((2, 6, 8), np.int64), np.ones((2, 6, 8), np.float32)
    labels, weights = labels[:0, :3, :4], weights[:0, :3, :4]
    assert submod.lovasz_softmax(scores, labels, pixel_weights=weights) == 0
    assert np.isnan(submod.miou(labels, labels, 3))
    assert submod.decide(scores[:, 0]).segmentation.shape == (0, 3, 4)


@pytest.mark.skipif("fork" not in multiprocessing.get_all_start_methods(), reason="no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")
def test_after_a_fork():
    """OpenMP's threads stay behind; the child does without them rather than wait."""
    scores, labels = softmax_case((2, 5, 128, 128))
    threads = submod.get_num_threads()
    submod.set_num_threads(2)
    try:
        expected = submod.lovasz_softmax(scores, labels)
        with multiprocessing.get_context("fork").Pool(1) as pool:
            found = pool.apply_async(submod.lovasz_softmax, (scores, labels)).get(timeout=30)
    finally:
        submod.set_num_threads(threads)
    assert found == expected
