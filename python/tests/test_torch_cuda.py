"""CUDA tensors: the device's code on CPU tensors, with a library whose device is made of fibers,
and the public functions on a real device where there is one."""

import ctypes
import os
from contextlib import contextmanager, nullcontext
from pathlib import Path

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod import _library  # noqa: E402
from submod._options import LossOptions  # noqa: E402
from submod.torch import _cuda, _dataset_ops, _flat, _ops  # noqa: E402

BUILT = Path(__file__).resolve().parents[2] / "build/tests/gpu/libsubmod_on_fibers.so"
GENERATOR = torch.Generator().manual_seed(21)
ENGINES = ["exact", "histogram"]
OPTIONS = [
    {},
    {"classes": "all", "per_image": True},
    {"classes": [2, 0], "class_weight": [1.0, 2.0, 0.5]},
    {"ignore_index": 255, "per_image": True},
    {"ignore_index": 255, "class_weight": torch.tensor([1.0, 2.0, 0.5])},
]


@pytest.fixture(scope="module")
def fibers():
    """A context in which the losses take CPU tensors for those of a device."""
    path = os.environ.get("SUBMOD_FIBERS", str(BUILT))
    if not Path(path).exists():
        pytest.skip("tests/gpu: libsubmod_on_fibers.so is not built")
    library = _library.load(path)

    @contextmanager
    def context():
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(_library, "_library", library)
            patch.setattr(_cuda, "place_of", lambda tensor: nullcontext((0, 0)))
            patch.setattr(_cuda, "is_there", lambda: True)
            for module, name in (
                (_ops, "loss"),
                (_ops, "prox_lovasz_hinge"),
                (_dataset_ops, "dataset_counts"),
                (_dataset_ops, "dataset_loss"),
            ):
                patch.setattr(module, name, getattr(module, name + "_on_cuda"))
            yield

    return context


def case(shape=(2, 3, 6, 5), kind=torch.float32):
    scores = torch.randn(shape, generator=GENERATOR).to(kind)
    return scores, torch.randint(shape[1], shape[:1] + shape[2:], generator=GENERATOR)


def some_ignored(labels, options):
    return reference.with_ignored(labels, options, GENERATOR)


def loss_and_gradient(function, scores, labels, **options):
    return reference.loss_and_gradient(function, scores, labels, factor=2, **options)


def assert_same(fibers, function, scores, labels, **options):
    """As on the CPU, up to last bits of probabilities and sums."""
    expected, slope = loss_and_gradient(function, scores, labels, **options)
    with fibers():
        loss, gradient = loss_and_gradient(function, scores, labels, **options)
        alone = function(scores, labels, **options)
    assert loss.dtype == expected.dtype and gradient.dtype == slope.dtype == scores.dtype
    assert gradient.stride() == slope.stride()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6) and alone == loss
    assert torch.allclose(gradient, slope, rtol=1e-5, atol=1e-6) and gradient.abs().sum() > 0


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", OPTIONS)
def test_softmax(fibers, options, engine):
    scores, labels = case()
    labels = some_ignored(labels, options)
    assert_same(fibers, lovasz.lovasz_softmax, scores, labels, engine=engine, **options)
    p = scores.softmax(1)
    assert_same(
        fibers, lovasz.lovasz_softmax, p, labels, engine=engine, from_logits=False, **options
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("options", OPTIONS)
def test_sigmoid(fibers, options, engine):
    scores, _ = case()
    labels = some_ignored(torch.randint(2, scores.shape, generator=GENERATOR), options)
    assert_same(fibers, lovasz.lovasz_sigmoid, scores, labels, engine=engine, **options)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("per_image", [True, False])
def test_hinge(fibers, per_image, engine):
    scores = torch.randn(2, 6, 5, generator=GENERATOR)
    labels = torch.randint(2, (2, 6, 5), generator=GENERATOR)
    options = {"per_image": per_image, "engine": engine}
    assert_same(fibers, lovasz.lovasz_hinge, scores, labels, **options)
    labels[0, 0] = 255
    assert_same(fibers, lovasz.lovasz_hinge, scores, labels, ignore_index=255, **options)


@pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
def test_types(fibers, kind):
    assert_same(fibers, lovasz.lovasz_softmax, *case(kind=kind))


@pytest.mark.parametrize("kind", ["uint8", "int8", "int16", "int32", "int64", "float32"])
def test_label_types(fibers, kind):
    scores, labels = case()
    assert_same(fibers, lovasz.lovasz_softmax, scores, labels.to(getattr(torch, kind)))


def test_layouts(fibers):
    scores, labels = case((2, 3, 6, 8))
    views = [
        scores.to(memory_format=torch.channels_last),
        scores.transpose(2, 3).contiguous().transpose(2, 3),
        torch.randn(2, 3, 6, 16, generator=GENERATOR)[..., ::2],
        torch.randn(2, 3, 6, 20, generator=GENERATOR)[..., 3:11],
    ]
    for view in views:
        assert_same(fibers, lovasz.lovasz_softmax, view, labels)
    permuted = labels.permute(1, 2, 0).contiguous().permute(2, 0, 1)
    assert_same(fibers, lovasz.lovasz_softmax, scores, permuted)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("measure", ["hamming", submod.Tversky(alpha=0.5, beta=2)])
@pytest.mark.parametrize("reduction", ["mean", "none", "sum"])
def test_measures_weights_and_reductions(fibers, measure, reduction, engine):
    """Each image's gradient with a factor of its own."""
    scores, labels = case()
    weights = torch.randint(0, 5, labels.shape, generator=GENERATOR) / 4
    options = {"measure": measure, "reduction": reduction, "engine": engine, "per_image": True}
    for given in (None, weights):
        found = []
        for where in (nullcontext, fibers):
            leaf = scores.clone().requires_grad_(True)
            with where():
                loss = lovasz.lovasz_softmax(leaf, labels, pixel_weights=given, **options)
                loss.backward(torch.arange(1.0, loss.numel() + 1).view(loss.shape))
            found.append((loss.detach(), leaf.grad))
        (expected, slope), (loss, gradient) = found
        assert loss.shape == expected.shape == ((2,) if reduction == "none" else ())
        assert torch.allclose(loss, expected, atol=1e-6)
        assert torch.allclose(gradient, slope, rtol=1e-5, atol=1e-6) and slope.abs().sum() > 0


def test_a_measure_of_mine(fibers):
    """There is no kernel for it: PyTorch's operations, on the device."""
    scores, labels = case()
    options = {"measure": lambda a, b, P, N: (a + b) / (P + b), "engine": "histogram"}
    expected, slope = loss_and_gradient(lovasz.lovasz_softmax, scores, labels, engine="histogram")
    with fibers():
        loss, gradient = loss_and_gradient(lovasz.lovasz_softmax, scores, labels, **options)
    assert torch.allclose(loss, expected) and torch.allclose(gradient, slope, atol=1e-7)


@pytest.mark.parametrize("per_image", [True, False])
@pytest.mark.parametrize("reduction", ["mean", "none"])
@pytest.mark.parametrize("measure", ["jaccard", "hamming", submod.Tversky(alpha=0.3, beta=2)])
def test_prox_lovasz_hinge(fibers, per_image, reduction, measure, monkeypatch):
    """The exact loss, and the direction of margins moved by half a bin: so does their prox. Nothing
    is copied to CPU memory."""
    scores, labels = case((3, 2, 20, 21))
    options = {"lam": 0.5, "per_image": per_image, "reduction": reduction, "measure": measure}
    monkeypatch.delattr(_ops, "prox_lovasz_hinge_anywhere")
    found = []
    for where in (nullcontext, fibers):
        leaf = scores[:, 0].clone().requires_grad_(True)
        with where():
            loss = lovasz.prox_lovasz_hinge(leaf, labels, **options)
            loss.sum().backward()
            with torch.no_grad():
                assert torch.equal(lovasz.prox_lovasz_hinge(leaf, labels, **options), loss)
        found.append((loss.detach(), leaf.grad))
    (expected, slope), (loss, gradient) = found
    assert torch.allclose(loss, expected, atol=1e-6) and slope.abs().sum() > 0
    delta = 0.5 * (1 + scores.abs().max().item()) / _cuda.PROX_BINS
    assert torch.allclose(gradient, slope, rtol=1e-4, atol=2 * 0.5 * delta)
    total = slope.abs().sum().item()
    assert gradient.abs().sum().item() == pytest.approx(total, rel=1e-2)
    with fibers():
        leaf = scores[:, 0].clone().requires_grad_(True)
        lovasz.prox_lovasz_hinge(leaf, labels + 5, 0.5).backward()
        assert leaf.grad.isnan().all()


@pytest.mark.parametrize("weighted", [False, True])
def test_dataset(fibers, weighted):
    """Step by step as on the CPU, the counts bit for bit from the same probabilities; what is
    refused is not counted."""
    options = {"decay": 0.75, "from_logits": False, "measure": submod.Tversky(alpha=0.5, beta=2)}
    plain, module = (lovasz.DatasetLovasz(3, 2.0**-8, **options) for _ in "ab")
    for _ in range(3):
        scores, labels = case()
        p = scores.softmax(1)
        weights = torch.rand(labels.shape, generator=GENERATOR) if weighted else None
        found = []
        for where, dataset in ((nullcontext, plain), (fibers, module)):
            leaf = p.clone().requires_grad_(True)
            with where():
                loss = dataset(leaf, labels, weights)
                loss.backward()
            found.append((loss.detach(), leaf.grad))
        (expected, slope), (loss, gradient) = found
        assert torch.equal(module.counts, plain.counts)
        assert torch.allclose(loss, expected) and slope.abs().sum() > 0
        assert torch.allclose(gradient, slope, rtol=1e-5, atol=1e-6)
        with fibers():
            leaf = p.clone().requires_grad_(True)
            refused = module(leaf, labels + 5)
            refused.backward()
            assert refused.isnan() and leaf.grad.isnan().all()
        assert torch.equal(module.counts, plain.counts)


def test_larger(fibers):
    """More pixels than a block has threads."""
    for engine in ENGINES:
        assert_same(fibers, lovasz.lovasz_softmax, *case((2, 5, 40, 33)), engine=engine)


@pytest.mark.parametrize("engine", ENGINES)
def test_nothing_to_do(fibers, engine):
    """No images, no pixels, none that counts: 0, and a gradient of zeros."""
    scores, labels = case()
    for some, truth, ignored in (
        (scores[:0], labels[:0], None),
        (scores[..., :0], labels[..., :0], None),
        (scores, torch.full_like(labels, 255), 255),
    ):
        options = {"engine": engine, "ignore_index": ignored}
        expected, slope = loss_and_gradient(lovasz.lovasz_softmax, some, truth, **options)
        with fibers():
            loss, gradient = loss_and_gradient(lovasz.lovasz_softmax, some, truth, **options)
        assert loss == expected == 0 and torch.equal(gradient, slope)


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("bad", ["nan", "inf", "label"])
def test_refused_data(fibers, bad, engine):
    """NaN, and never what was in memory before: at once, again, and with create_graph."""
    scores, labels = case()
    if bad == "label":
        labels[1, 2, 3] = 7
    else:
        scores[1, 2, 3, 4] = float(bad)
    leaf = scores.requires_grad_(True)
    with fibers():
        loss = lovasz.lovasz_softmax(leaf, labels, engine=engine)
        assert loss.isnan()
        for options in ({"retain_graph": True}, {"create_graph": True}, {}):
            (gradient,) = torch.autograd.grad(0.5 * loss, leaf, **options)
            assert gradient.isnan().all()
        assert not lovasz.lovasz_softmax(leaf.detach().nan_to_num(0, 0, 0), labels % 3).isnan()
    with pytest.raises(ValueError, match=r"\[1\]"):  # the words, and where
        lovasz.lovasz_softmax(leaf, labels, engine=engine)


def test_scaler_skips_refused_steps(fibers):
    """What a GradScaler looks for is there, and the weights stay as they are."""
    model = torch.nn.Conv2d(3, 3, 1)
    before = model.weight.detach().clone()
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    optimizer = torch.optim.SGD(model.parameters(), lr=1.0)
    images, labels = case()
    for truth, changes in ((labels + 9, False), (labels, True)):
        optimizer.zero_grad()
        with fibers():
            scaler.scale(lovasz.lovasz_softmax(model(images), truth)).backward()
        scaler.step(optimizer)
        scaler.update()
        assert torch.equal(model.weight.detach(), before) is not changes
        assert model.weight.isfinite().all()


def test_wrong_arguments(fibers):
    """What is seen without data raises as on the CPU."""
    scores, labels = case()
    with fibers():
        with pytest.raises(submod.InvalidArgumentError, match="delta"):
            lovasz.lovasz_softmax(scores, labels, engine="histogram", delta=-1.0)
        with pytest.raises(submod.InvalidArgumentError, match="class"):
            lovasz.lovasz_softmax(scores, labels, classes=[5])
        with pytest.raises(TypeError, match="floating"):
            lovasz.lovasz_softmax(scores.long(), labels)


def test_without_a_device():
    """The library's words; and the kernel for CUDA tensors takes PyTorch's operations."""
    if submod.gpu_available():
        pytest.skip("there is a device")
    reason = submod.gpu_available().reason
    assert reason.startswith("submod_gpu_available: ") and submod.gpu_available().devices == 0
    scores, labels = case()
    expected, slope = loss_and_gradient(lovasz.lovasz_softmax, scores, labels)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_ops, "loss", _ops.loss_on_cuda)
        loss, gradient = loss_and_gradient(lovasz.lovasz_softmax, scores, labels)
    assert torch.allclose(loss, expected) and torch.allclose(gradient, slope, atol=1e-7)


def test_available_on_fibers(fibers):
    with fibers():
        found = submod.gpu_available()
    assert found and found == (True, 1, "")


def test_mixed_devices():
    scores, labels = case()
    for function in (lovasz.lovasz_softmax, lovasz.DatasetLovasz(3)):
        with pytest.raises(submod.UnsupportedError, match="scores are on cpu and labels on meta"):
            function(scores, labels.to("meta"))
    weights = torch.ones(labels.shape, device="meta")
    with pytest.raises(submod.UnsupportedError, match="pixel_weights on meta"):
        lovasz.lovasz_softmax(scores, labels, pixel_weights=weights)


# ---- a real device ----

needs_cuda = pytest.mark.skipif(
    not torch.cuda.is_available() or not submod.gpu_available(), reason="there is no CUDA device"
)


def assert_same_on_cuda(function, scores, labels, **options):
    expected, slope = loss_and_gradient(function, scores, labels, **options)
    loss, gradient = loss_and_gradient(function, scores.cuda(), labels.cuda(), **options)
    assert loss.is_cuda and gradient.is_cuda and gradient.stride() == slope.stride()
    assert loss.dtype == expected.dtype and gradient.dtype == slope.dtype
    assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
    assert torch.allclose(gradient.cpu(), slope, rtol=1e-5, atol=1e-6)


@needs_cuda
class TestOnDevice:
    @pytest.mark.parametrize("engine", ENGINES)
    @pytest.mark.parametrize("options", OPTIONS)
    def test_softmax(self, options, engine):
        for shape in ((2, 3, 6, 5), (2, 3, 200, 300)):
            scores, labels = case(shape)
            labels = some_ignored(labels, options)
            assert_same_on_cuda(lovasz.lovasz_softmax, scores, labels, engine=engine, **options)

    @pytest.mark.parametrize("kind", [torch.float16, torch.bfloat16, torch.float64])
    def test_types(self, kind):
        scores, labels = case(kind=kind)
        assert_same_on_cuda(lovasz.lovasz_softmax, scores, labels)
        last = scores.to(memory_format=torch.channels_last)
        assert_same_on_cuda(lovasz.lovasz_softmax, last, labels)

    def test_others(self):
        scores, labels = case()
        own = torch.randint(2, scores.shape, generator=GENERATOR)
        assert_same_on_cuda(lovasz.lovasz_sigmoid, scores, own)
        assert_same_on_cuda(lovasz.lovasz_hinge, scores[:, 0], labels == 1)
        for measure in ("jaccard", "hamming", submod.Tversky(alpha=0.3, beta=2)):
            options = {"lam": 0.5, "measure": measure}
            expected, slope = loss_and_gradient(
                lovasz.prox_lovasz_hinge, scores[:, 0], labels == 1, **options
            )
            loss, gradient = loss_and_gradient(
                lovasz.prox_lovasz_hinge, scores[:, 0].cuda(), (labels == 1).cuda(), **options
            )
            assert loss.item() == pytest.approx(expected.item(), abs=1e-6)
            near = 0.5 * (1 + scores.abs().max().item()) / _cuda.PROX_BINS
            assert gradient.is_cuda and torch.allclose(gradient.cpu(), slope, rtol=1e-4, atol=near)
        dataset = lovasz.DatasetLovasz(3).cuda()
        loss, gradient = loss_and_gradient(dataset, scores.cuda(), labels.cuda())
        expected, slope = loss_and_gradient(lovasz.DatasetLovasz(3), scores, labels)
        assert dataset.counts.is_cuda and loss.item() == pytest.approx(expected.item(), abs=1e-5)
        assert torch.allclose(gradient.cpu(), slope, rtol=1e-3, atol=1e-5)

    @pytest.mark.parametrize("engine", ENGINES)
    def test_operations_on_the_device(self, engine):
        """The losses as PyTorch's operations, for a measure that there is no kernel for, without a
        wait."""
        scores, labels = case((2, 3, 60, 70))
        options = {"engine": engine, "measure": lambda a, b, P, N: (a + b) / (P + b)}
        expected = lovasz.lovasz_softmax(scores, labels, engine=engine)
        leaf, labels = scores.cuda().requires_grad_(True), labels.cuda()
        lovasz.lovasz_softmax(leaf, labels, **options)
        torch.cuda.set_sync_debug_mode("error")
        try:
            loss = lovasz.lovasz_softmax(leaf, labels, **options)
            loss.backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
        assert leaf.grad.isfinite().all() and leaf.grad.abs().sum() > 0

    def test_nothing_waits(self):
        scores, labels = (x.cuda() for x in case())
        leaf = scores.requires_grad_(True)
        torch.cuda.set_sync_debug_mode("error")
        try:
            (0.5 * lovasz.lovasz_softmax(leaf, labels, class_weight=[1.0, 2.0, 3.0])).backward()
        finally:
            torch.cuda.set_sync_debug_mode("default")
        assert leaf.grad.isfinite().all()

    def test_streams(self):
        """Work queued on a side stream, after what makes its logits there."""
        scores, labels = case((2, 3, 300, 300))
        expected = lovasz.lovasz_softmax(2 * scores, labels)
        scores, labels = scores.cuda(), labels.cuda()
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            found = lovasz.lovasz_softmax(2 * scores, labels)
        torch.cuda.current_stream().wait_stream(side)
        assert found.item() == pytest.approx(expected.item(), abs=1e-6)

    def test_refused_data(self):
        scores, labels = (x.cuda() for x in case())
        leaf = scores.requires_grad_(True)
        loss = lovasz.lovasz_softmax(leaf, labels + 7)
        loss.backward()
        assert loss.isnan() and leaf.grad.isnan().all()

    def test_autocast(self):
        model = torch.nn.Conv2d(3, 3, 1).cuda()
        images, labels = (x.cuda() for x in case())
        scaler = torch.amp.GradScaler("cuda")
        with torch.autocast("cuda", dtype=torch.float16):
            logits = model(images)
            loss = lovasz.lovasz_softmax(logits, labels)
        scaler.scale(loss).backward()
        assert logits.dtype == torch.float16 and loss.dtype == torch.float32
        exact = lovasz.lovasz_softmax(logits.detach().cpu(), labels.cpu())
        assert loss.item() == pytest.approx(exact.item(), abs=1e-6)
        assert model.weight.grad.isfinite().all()

    def test_mixed_devices(self):
        scores, labels = case()
        with pytest.raises(submod.UnsupportedError, match="scores are on cuda"):
            lovasz.lovasz_softmax(scores.cuda(), labels)

    @pytest.mark.filterwarnings("ignore")
    def test_operator(self):
        scores, labels = (x.cuda() for x in case())
        options = _flat.flat(LossOptions(delta=2.0**-10))
        arguments = (scores.requires_grad_(True), labels, None, "lovasz_softmax", *options, True)
        torch.library.opcheck(_ops.loss, arguments)


def test_result_is_read_as_doubles():
    assert ctypes.sizeof(_cuda.GpuResult) % 8 == 0 == _cuda.GpuResult.loss.offset % 8
