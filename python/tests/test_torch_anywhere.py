"""The losses as tensor operations, which serve devices without kernels, on CPU tensors: against the
library's engines, counts bit for bit."""

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402
from torch.utils._python_dispatch import TorchDispatchMode  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod._options import LossOptions  # noqa: E402
from submod.torch import _anywhere, _batches, _dataset_ops, _flat, _gains, _ops  # noqa: E402

GENERATOR = torch.Generator().manual_seed(13)
ENGINES = ["exact", "histogram"]
LOSSES = ["softmax", "probabilities", "sigmoid", "hinge"]


def tversky_of_mine(a, b, P, N):
    return (2 * a + 0.5 * b) / (P + a + 0.5 * b)


MEASURES = {
    "jaccard": "jaccard",
    "hamming": "hamming",
    "tversky": submod.Tversky(alpha=0.3, beta=1.7),
    "only_misses": submod.Tversky(alpha=0, beta=1),
    "custom": tversky_of_mine,
}
OPTIONS = [
    {},
    {"per_image": True},
    {"per_image": True, "reduction": "none"},
    {"ignore_index": 255, "reduction": "sum", "per_image": True},
    {"classes": "all"},
    {"classes": [2, 0], "class_weight": [1.0, 2.0, 0.5]},
]
of_themselves = pytest.mark.filterwarnings("ignore")


@pytest.fixture(autouse=True)
def same_numbers():
    """Whichever tests are run."""
    GENERATOR.manual_seed(13)


@pytest.fixture
def forced(monkeypatch):
    """A context in which CPU tensors are those of a device without kernels."""

    class Context:
        def __enter__(self):
            monkeypatch.setattr(_anywhere, "FORCED", True)

        def __exit__(self, *_):
            monkeypatch.setattr(_anywhere, "FORCED", False)

    return Context()


def case(loss, shape=(3, 3, 7, 9), options=None, ties=False):
    """The function, scores, labels and further options. No ties in logits of a softmax: by other
    last bits equal ones would be ranked by chance."""
    options = dict(options or {})
    scores = 2 * torch.randn(shape, generator=GENERATOR)
    scores = scores.round() if ties and loss != "softmax" else scores
    labels = torch.randint(shape[1], shape[:1] + shape[2:], generator=GENERATOR)
    if "classes" in options:  # one is absent
        labels = torch.where(labels == 1, 0, labels)
    if loss == "sigmoid":
        labels = torch.randint(2, shape, generator=GENERATOR)
        labels[:, 1] = 0
    if loss == "probabilities":
        scores = scores.softmax(1)
        scores = (8 * scores).round() / 8 if ties else scores
        options["from_logits"] = False
    if loss == "hinge":
        scores, labels = scores[:, 0], labels.clamp(max=1)
        options.pop("classes", None)
        options.pop("class_weight", None)
    functions = {"sigmoid": lovasz.lovasz_sigmoid, "hinge": lovasz.lovasz_hinge}
    labels = reference.with_ignored(labels, options, GENERATOR)
    return functions.get(loss, lovasz.lovasz_softmax), scores, labels, options


def some_weights(labels, kind="real"):
    """Of pixels, a third of them 0."""
    shape = (labels.shape[0], *labels.shape[2:]) if labels.ndim == 4 else labels.shape
    weights = torch.rand(shape, generator=GENERATOR) * 3
    weights = (weights * 2).round() if kind == "whole" else weights
    return weights * (torch.rand(shape, generator=GENERATOR) > 0.3)


def loss_and_gradient(function, scores, labels, **options):
    """Each image's gradient with its own factor."""
    leaf = scores.detach().clone(memory_format=torch.preserve_format).requires_grad_(True)
    loss = function(leaf, labels, **options)
    loss.backward(torch.arange(1.0, loss.numel() + 1).to(loss.dtype).view(loss.shape))
    return loss.detach(), leaf.grad


def assert_same(forced, function, scores, labels, off=1e-6, compares_gradient=True, **options):
    """Gradients agree, but for the few errors of logits that other last bits rank in another order,
    or carry into the bin beside."""
    expected, slope = loss_and_gradient(function, scores, labels, **options)
    with forced:
        loss, gradient = loss_and_gradient(function, scores, labels, **options)
        with torch.no_grad():
            assert torch.equal(function(scores, labels, **options), loss)
    assert loss.shape == expected.shape and loss.dtype == expected.dtype
    assert gradient.stride() == slope.stride() and gradient.dtype == slope.dtype
    assert torch.allclose(loss, expected, rtol=off, atol=off)
    if compares_gradient and slope.numel():
        exact = function is lovasz.lovasz_hinge or not options.get("from_logits", True)
        near = 1e-5 * slope.abs().max().item()
        far = ~torch.isclose(gradient, slope, rtol=1e-5, atol=near)
        assert far.sum() <= (0 if exact else 0.01 * far.numel())


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("options", OPTIONS)
def test_options(forced, loss, options, engine):
    function, scores, labels, options = case(loss, options=options)
    assert_same(forced, function, scores, labels, engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("measure", MEASURES)
@pytest.mark.parametrize("weighted", [None, "real", "whole"])
def test_measures_and_weights(forced, loss, measure, weighted, engine):
    """With ties, whose weights are averaged; classes without foreground, too, but for a measure
    that has no value for them."""
    chosen = {"classes": "present" if measure == "custom" else "all", "ignore_index": 255}
    function, scores, labels, options = case(loss, options=chosen, ties=True)
    options |= {"engine": engine, "measure": MEASURES[measure], "per_image": True}
    if weighted is not None:
        options["pixel_weights"] = some_weights(labels, weighted)
    assert_same(forced, function, scores, labels, **options)


@pytest.mark.parametrize("weighted", [False, True])
def test_counts_are_the_same_bits(weighted):
    """Of probabilities as they are; of logits, whose softmax has other last bits, a pixel may be in
    the bin beside."""
    for bins in (2, 64, 4096):
        _, scores, labels, _ = case("softmax", (2, 5, 40, 50), {"ignore_index": 255})
        p = scores.softmax(1)
        p[0, :, 0], p[0, 0, 0] = 0, 1  # the first and the last bin
        weights = some_weights(labels) if weighted else None
        options = LossOptions(ignore_index=255, from_logits=False)
        inputs = (p, labels, weights, bins)
        expected = _dataset_ops.dataset_counts(*inputs, *_flat.flat(options))
        assert torch.equal(_anywhere.dataset_counts(*inputs, options), expected)
        if not weighted:
            inputs, options = (scores, labels, None, bins), LossOptions(ignore_index=255)
            expected = _dataset_ops.dataset_counts(*inputs, *_flat.flat(options))
            moved = _anywhere.dataset_counts(*inputs, options) - expected
            assert moved.abs().sum() <= 0.001 * expected.sum() and (moved.sum(-1) == 0).all()
            assert moved.cumsum(-1).abs().sum() == moved.abs().sum() / 2  # to the bin beside


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", ["probabilities", "hinge"])
@pytest.mark.parametrize("measure", ["jaccard", "tversky", "hamming"])
def test_losses_without_an_activation_agree_in_double(forced, monkeypatch, loss, measure, engine):
    """The same errors: nothing but sums in another order."""
    monkeypatch.setattr(_anywhere, "number_type", lambda *_: torch.float32)
    function, scores, labels, options = case(loss, (2, 3, 30, 31), {"classes": "all"})
    options |= {"engine": engine, "measure": MEASURES[measure]}
    scores = scores.float().double()  # a float64 loss of what are floats
    weights = some_weights(labels, "whole")
    for given in (None, weights):
        assert_same(forced, function, scores, labels, off=1e-13, pixel_weights=given, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("per_image", [True, False])
def test_chunks_do_not_matter(forced, monkeypatch, loss, engine, per_image):
    function, scores, labels, options = case(loss, (5, 4, 6, 7), {"classes": "all"})
    options |= {"per_image": per_image, "engine": engine, "pixel_weights": some_weights(labels)}
    with forced:
        expected, slope = loss_and_gradient(function, scores, labels, **options)
        for chunk in (1, 42, 100, 300, 500):
            monkeypatch.setattr(_batches, "CHUNK", chunk)
            found, gradient = loss_and_gradient(function, scores, labels, **options)
            assert torch.equal(found, expected) and torch.equal(gradient, slope)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("size", [1e-3, 30.0, 3e4])
def test_extreme_scores(forced, engine, size):
    """Errors of almost 0 and 1, margins of any size. The slope of a sigmoid far out is not 0; of
    scores that are almost equal, or far beyond, only the losses have to agree."""
    for loss in ("softmax", "sigmoid", "hinge"):
        function, scores, labels, options = case(loss)
        scores = size * scores / scores.abs().max()
        options |= {"engine": engine, "compares_gradient": size == 30}
        assert_same(forced, function, scores, labels, off=3e-6, **options)


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e30])
def test_weights_of_any_size(forced, size):
    function, scores, labels, options = case("softmax")
    for engine in ENGINES:
        options["pixel_weights"] = size * some_weights(labels)
        assert_same(forced, function, scores, labels, engine=engine, **options)


@pytest.mark.parametrize("per_image", [False, True])
@pytest.mark.parametrize("engine", ENGINES)
def test_weights_of_images_of_any_size(forced, engine, per_image):
    """Weights are rounded per image, so a light image loses nothing to a heavy one. A weighted mean
    of equal errors is that error."""
    sizes = torch.tensor([1e30, 1e-38, 3.3e-7]).view(3, 1, 1)
    for loss in LOSSES:
        function, scores, labels, options = case(loss)
        options |= {"engine": engine, "per_image": per_image, "reduction": "none"}
        options["pixel_weights"] = sizes * 10 ** (8 * torch.rand(3, 7, 9, generator=GENERATOR) - 4)
        assert_same(forced, function, scores, labels, **options)
    with forced:
        options = {
            "engine": engine,
            "per_image": per_image,
            "pixel_weights": options["pixel_weights"],
        }
        loss, gradient = loss_and_gradient(lovasz.lovasz_hinge, 0 * scores, labels, **options)
    torch.testing.assert_close(loss, torch.tensor(1.0), rtol=1e-3, atol=0)
    torch.testing.assert_close(gradient.abs().sum(), torch.tensor(1.0))


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_types(forced, kind):
    function, scores, labels, options = case("softmax")
    for given in (labels.to(torch.uint8), labels.int(), labels.float()):
        options |= {"compares_gradient": kind == torch.float64}  # halves are equal more often
        assert_same(forced, function, scores.to(kind), given, **options)


def test_layouts(forced):
    function, scores, labels, _ = case("softmax", (2, 3, 6, 8))
    for view in (
        scores.to(memory_format=torch.channels_last),
        scores.transpose(2, 3).contiguous().transpose(2, 3),
        torch.randn(2, 3, 6, 16, generator=GENERATOR)[..., ::2],
    ):
        assert_same(forced, function, view, labels)
    assert_same(forced, function, scores[:, :, 0, 0], labels[:, 0, 0])
    assert_same(forced, function, scores[:, :, 0, 0], labels[:, 0, 0], per_image=True)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_to_do(forced, engine):
    """No images, no pixels, none that counts: 0, and a gradient of zeros."""
    function, scores, labels, _ = case("softmax")
    cases = (
        (scores[:0], labels[:0], {}),
        (scores[..., :0], labels[..., :0], {}),
        (scores, torch.full_like(labels, 255), {"ignore_index": 255}),
        (scores, labels, {"pixel_weights": torch.zeros(labels.shape)}),
    )
    for some, truth, options in cases:
        for per_image in (True, False):
            chosen = {"engine": engine, "per_image": per_image, **options}
            assert_same(forced, function, some, truth, **chosen)
            with forced:
                assert function(some, truth, reduction="none", **chosen).eq(0).all()


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", ["nan", "inf", "-inf", "label", "probability", "weight", "-weight"])
def test_refused_data(forced, bad, engine):
    """NaN, as on CUDA, in loss and gradient; where the CPU's engine raises."""
    function, scores, labels, options = case("probabilities" if bad == "probability" else "softmax")
    options |= {"engine": engine, "pixel_weights": torch.ones(labels.shape)}
    if bad == "label":
        labels[1, 2, 3] = 7
    elif bad == "probability":
        scores[1, 2, 3, 4] = 1.1
    elif bad.endswith("weight"):
        options["pixel_weights"][1, 2, 3] = -1 if bad == "-weight" else torch.nan
    else:  # a single class may be masked by -Inf
        scores[1, 2 if bad != "-inf" else slice(None), 3, 4] = float(bad)
    with forced:
        loss, gradient = loss_and_gradient(function, scores, labels, **options)
    assert loss.isnan() and gradient.isnan().all()
    with pytest.raises(ValueError, match=r"\[1[],]"):
        function(scores, labels, **options)


def test_wrong_settings(forced):
    """What is seen without data raises, in the library's words."""
    function, scores, labels, _ = case("softmax")
    wrong = (
        ({"engine": "histogram", "delta": -1.0}, "delta"),
        ({"classes": [5]}, "class"),
        ({"class_weight": [0.0, 0.0, 0.0]}, "0 for every class"),
        ({"class_weight": [1.0]}, r"shape \(1,\)"),
    )
    with forced:
        for options, words in wrong:
            with pytest.raises(ValueError, match=words):
                function(scores, labels, **options)
        with pytest.raises(submod.InvalidArgumentError, match="softmax of one class"):
            function(scores[:, :1], 0 * labels)
        with pytest.raises(TypeError, match="floating"):
            function(scores.long(), labels)


def test_a_measure_that_fails(forced):
    """What it raises comes out; NaN where it should have a value is a loss of NaN."""
    function, scores, labels, _ = case("softmax")

    def broken(a, b, P, N):
        raise KeyError("mine")

    with forced:
        with pytest.raises(KeyError, match="mine"):
            function(scores, labels, measure=broken)
        assert function(scores, labels, measure=lambda a, b, P, N: (a + b) * torch.nan).isnan()


# ---- datasets ----


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("measure", ["jaccard", "hamming", "tversky", "custom"])
def test_dataset(forced, measure, weighted):
    """Step by step, decaying, as the library has it; the counts bit for bit."""
    options = {"decay": 0.9, "from_logits": False, "measure": MEASURES[measure]}
    plain, other = (lovasz.DatasetLovasz(3, 2.0**-8, ignore_index=255, **options) for _ in "ab")
    for _ in range(3):
        _, p, labels, _ = case("probabilities", options={"ignore_index": 255})
        weights = some_weights(labels) if weighted else None
        leaf = p.clone().requires_grad_(True)
        expected = plain(leaf, labels, weights)
        (slope,) = torch.autograd.grad(expected, leaf)
        with forced:
            loss = other(leaf, labels, weights)
            (gradient,) = torch.autograd.grad(loss, leaf)
        assert torch.equal(other.counts, plain.counts)
        assert torch.allclose(loss, expected) and torch.allclose(gradient, slope, rtol=1e-5)
        assert slope.abs().sum() > 0


def test_counts_that_have_decayed(forced):
    """To almost nothing: what is left weighs as the library says, without overflow."""
    _, p, labels, _ = case("probabilities")
    for factor in (1e-5, 1e-18, 1e-25):
        for measure in ("jaccard", "hamming", "tversky"):
            counts = _anywhere.dataset_counts(p, labels, None, 16, LossOptions(from_logits=False))
            counts[1] *= factor
            counts[2, :, 3:] *= factor
            options = LossOptions(classes="all", measure=MEASURES[measure])
            loss, table = _anywhere.dataset_solve(counts, options)
            assert loss.item() == pytest.approx(_dataset_ops.solved(counts, options)[1], rel=1e-12)
            assert table.isfinite().all()


def test_refused_batches_are_not_counted(forced):
    _, scores, labels, _ = case("softmax")
    dataset = lovasz.DatasetLovasz(3)
    with forced:
        dataset(scores, labels)
        before = dataset.counts.clone()
        leaf = scores.clone().requires_grad_(True)
        loss = dataset(leaf, labels + 9)
        loss.backward()
        assert loss.isnan() and leaf.grad.isnan().all()
        assert torch.equal(dataset.counts, before) and before.sum() > 0
        assert dataset(scores, labels).isfinite()


# ---- as PyTorch's machinery sees it ----


@of_themselves
@pytest.mark.parametrize("engine", ENGINES)
def test_opcheck(forced, engine):
    _, scores, labels, _ = case("softmax", (2, 3, 4, 5))
    weights = some_weights(labels)
    options = LossOptions(engine=engine, per_image=True, reduction="none", delta=2.0**-6)
    inputs = (scores.requires_grad_(True), labels, weights, "lovasz_softmax")
    with forced:
        torch.library.opcheck(_ops.loss, (*inputs, *_flat.flat(options), True))


@of_themselves
def test_compile(forced):
    """In one graph with its surroundings, for two shapes; the default engine of PyTorch's compiler
    would see the same operator."""
    torch._dynamo.reset()

    def function(scores, labels, weights):
        measure = submod.Tversky(alpha=0.5, beta=2)
        options = {"engine": "histogram", "measure": measure, "pixel_weights": weights}
        return 3 * lovasz.lovasz_softmax(scores / 2, labels, **options)

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    with forced:
        for shape in ((2, 3, 6, 5), (1, 3, 7, 4)):
            _, scores, labels, _ = case("softmax", shape)
            weights = some_weights(labels)
            leaf, other = (scores.clone().requires_grad_(True) for _ in "ab")
            found, expected = compiled(leaf, labels, weights), function(other, labels, weights)
            (found + expected).backward()
            assert torch.equal(found, expected) and torch.equal(leaf.grad, other.grad)


class Looks(TorchDispatchMode):
    """Notes what is asked of the device."""

    def __init__(self):
        super().__init__()
        self.names, self.types = set(), set()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        self.names.add(function.overloadpacket.__name__)
        for x in torch.utils._pytree.tree_leaves(found):
            if isinstance(x, torch.Tensor) and x.device.type != "cpu":
                self.types.add(x.dtype)
        return found


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("loss", LOSSES)
def test_nothing_waits(loss, engine):
    """On tensors without data nothing can be looked at, and all of it runs."""
    _, scores, labels, options = case(loss, options={"classes": "all", "ignore_index": 255})
    options |= {"engine": engine, "class_weight": None if loss == "hinge" else torch.ones(3)}
    weights = some_weights(labels).to("meta")
    name = {"sigmoid": "lovasz_sigmoid", "hinge": "lovasz_hinge"}.get(loss, "lovasz_softmax")
    scores = scores[:, None] if loss == "hinge" else scores
    inputs = (scores.to("meta"), labels.to("meta"), weights)
    for measure in MEASURES.values():
        chosen = LossOptions(measure=measure, **options)
        found, gradient = _anywhere.lovasz(name, *inputs, chosen, True)
        assert found.is_meta and gradient.shape == scores.shape


@pytest.mark.parametrize("engine", ENGINES)
def test_without_float64(forced, monkeypatch, engine):
    """As on MPS: what accuracy remains, and that no number is a double."""
    for module in (_gains, _batches, _anywhere, _dataset_ops):
        monkeypatch.setattr(module, "real_type", lambda _: torch.float32)
    for loss in LOSSES:
        function, scores, labels, options = case(loss, (2, 3, 60, 70))
        for measure in ("jaccard", "hamming", "tversky"):
            options |= {"engine": engine, "measure": MEASURES[measure]}
            options["pixel_weights"] = some_weights(labels)
            assert_same(forced, function, scores, labels, off=5e-6, **options)
    _, scores, labels, _ = case("softmax")
    inputs = (scores.to("meta"), labels.to("meta"), some_weights(labels).to("meta"))
    with Looks() as seen:
        _anywhere.lovasz("lovasz_softmax", *inputs, LossOptions(engine=engine), True)
        counts = _anywhere.dataset_counts(*inputs, 16, LossOptions())
        scale = torch.ones((), device="meta")
        _anywhere.dataset_loss(*inputs, counts, scale, LossOptions(), True)
    assert torch.float32 in seen.types and torch.float64 not in seen.types
    assert not {"_local_scalar_dense", "item", "nonzero", "bincount"} & seen.names


def test_every_device_is_served():
    """Tensors without data go by the shapes; a device without a kernel of its own by the default
    one."""
    _, scores, labels, _ = case("softmax")
    found = lovasz.lovasz_softmax(scores.to("meta"), labels.to("meta"), engine="histogram")
    assert found.is_meta and found.shape == ()
    for operator in (_ops.loss, _dataset_ops.dataset_counts, _dataset_ops.dataset_loss):
        name = operator._qualname
        assert torch._C._dispatch_has_kernel_for_dispatch_key(name, "CompositeExplicitAutograd")
    parts = (
        _ops.loss_anywhere,
        _dataset_ops.dataset_counts_anywhere,
        _dataset_ops.dataset_loss_anywhere,
    )
    assert all(callable(part) for part in parts)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("power", [-149, -127, -126, 0, 125, 126, 127])
def test_weights_at_the_ends_of_float32(forced, engine, power):
    """Measures are of ratios: the size of all weights does not matter, as far as float32 goes."""
    function, scores, labels, _ = case("hinge")
    small = torch.randint(2, labels.shape, generator=GENERATOR).float()  # 0 and 1; then up to 1.75
    for weights in (small, small * 1.75) if power > -126 else (small,):
        sized = (weights.double() * 2.0**power).float()
        assert sized.max() > 0
        options = {"engine": engine, "per_image": False, "measure": "jaccard"}
        wanted, slope = loss_and_gradient(
            function, scores, labels, pixel_weights=weights, **options
        )
        for forced_scores in (scores, scores.double()):
            with forced:
                found, gradient = loss_and_gradient(
                    function, forced_scores, labels, pixel_weights=sized, **options
                )
            torch.testing.assert_close(found.float(), wanted)
            torch.testing.assert_close(gradient.float(), slope)


@pytest.mark.parametrize("engine", ENGINES)
def test_measures_that_do_not_start_at_0_are_refused(forced, engine):
    """On the CPU in words, elsewhere by NaN; 0 / 0 is 0."""
    function, scores, labels, _ = case("softmax")

    def shifted(a, b, P, N):
        return (a + b) / (P + N) + 0.25

    def undefined(a, b, P, N):
        return (a + b) * (a + b) / ((a + b) * (P + N))

    with pytest.raises(ValueError, match="it must be 0 there"):
        function(scores, labels, measure=shifted, engine=engine)
    with forced:
        loss, gradient = loss_and_gradient(function, scores, labels, measure=shifted, engine=engine)
        assert loss.isnan() and gradient.isnan().all()
        found = function(scores, labels, measure=undefined, engine=engine)
    wanted = function(scores, labels, measure="hamming", engine=engine)
    torch.testing.assert_close(found, wanted)
