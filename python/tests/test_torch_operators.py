"""The operators as PyTorch's machinery sees them: opcheck, compile, autocast, threads."""

import pytest

torch = pytest.importorskip("torch")

import submod.torch as lovasz  # noqa: E402
from submod._options import LossOptions  # noqa: E402
from submod._views import KINDS, weights_of  # noqa: E402
from submod.torch import _dataset_ops, _flat, _ops  # noqa: E402

GENERATOR = torch.Generator().manual_seed(8)
# PyTorch's checkers and compilers warn about themselves.
of_themselves = pytest.mark.filterwarnings("ignore")


def case(shape=(2, 3, 6, 5), kind=torch.float32):
    scores = torch.randn(shape, generator=GENERATOR).to(kind)
    labels = torch.randint(shape[1], shape[:1] + shape[2:], generator=GENERATOR)
    return scores, labels


def arguments(scores, labels, name="lovasz_softmax", engine="exact"):
    weight = torch.ones(weights_of(KINDS[name], scores.shape[1]), dtype=torch.float64)
    options = LossOptions(ignore_index=255, class_weight=weight, engine=engine, delta=2.0**-10)
    return (scores, labels, None, name, *_flat.flat(options), scores.requires_grad)


def test_schema_has_all_options():
    """In the order of LossOptions; the classes are a name and a list, the measure is a name, two
    parameters and a token."""
    names = [argument.rsplit(" ", 1)[1] for argument in _flat.OPTIONS.split(", ")]
    fields = list(LossOptions._fields)
    behind = fields.index("measure") + 1
    fields[behind:behind] = ["alpha", "beta", "token"]
    assert names == ["classes", "class_list", *fields[1:]]
    assert len(names) == len(_flat.flat(LossOptions()))


@of_themselves
@pytest.mark.parametrize("engine", ["exact", "histogram"])
@pytest.mark.parametrize("kind", [torch.float32, torch.float16, torch.bfloat16, torch.float64])
def test_opcheck_lovasz(kind, engine):
    scores, labels = case(kind=kind)
    torch.library.opcheck(_ops.loss, arguments(scores, labels, engine=engine))
    needing = arguments(scores.requires_grad_(True), labels, engine=engine)
    torch.library.opcheck(_ops.loss, needing)


@of_themselves
@pytest.mark.parametrize("layout", ["channels_last", "transposed", "cropped"])
def test_opcheck_layouts(layout):
    scores, labels = case((2, 3, 6, 6))
    if layout == "channels_last":
        scores = scores.to(memory_format=torch.channels_last)
    elif layout == "transposed":
        scores = scores.transpose(2, 3)
    else:
        scores, labels = scores[..., 1:5], labels[..., 1:5]
    torch.library.opcheck(_ops.loss, arguments(scores.requires_grad_(True), labels))


@of_themselves
@pytest.mark.parametrize("name", sorted(KINDS))
def test_opcheck_all_losses(name):
    kind = KINDS[name]
    scores, labels = case((2, 1, 6, 5) if kind == "binary" else (2, 3, 6, 5))
    if kind == "multilabel":
        labels = torch.randint(2, scores.shape, generator=GENERATOR)
    elif kind == "binary":
        labels = torch.randint(2, labels.shape, generator=GENERATOR)
    torch.library.opcheck(_ops.loss, arguments(scores.requires_grad_(True), labels, name))


@of_themselves
def test_opcheck_dataset():
    scores, labels = case()
    options = _flat.flat(LossOptions(classes=[0, 2]))
    counting = (scores, labels, None, 64, *options)
    torch.library.opcheck(_dataset_ops.dataset_counts, counting)
    counts = _dataset_ops.dataset_counts(*counting)
    scale = torch.tensor(2.0, dtype=torch.float64)
    looking_up = (scores.requires_grad_(True), labels, None, counts, scale, *options, True)
    torch.library.opcheck(_dataset_ops.dataset_loss, looking_up)


def gradient_of(function, scores, labels):
    leaf = scores.clone().requires_grad_(True)
    loss = function(leaf, labels)
    loss.backward()
    return loss.detach(), leaf.grad


LOSSES = {
    "softmax": lambda s, y: lovasz.lovasz_softmax(s, y, engine="histogram", ignore_index=0),
    "sigmoid": lambda s, y: lovasz.lovasz_sigmoid(s, torch.stack([y == 1] * 3, 1)),
    "hinge": lambda s, y: lovasz.lovasz_hinge(s[:, 0], y == 1),
}


@of_themselves
@pytest.mark.parametrize("name", LOSSES)
def test_compile(name):
    """In one graph, with what surrounds it; twice, with another shape, through the same one."""
    torch._dynamo.reset()

    def function(scores, labels):
        return 3 * LOSSES[name](torch.relu(scores) - scores / 2, labels) + scores.mean()

    compiled = torch.compile(function, fullgraph=True, backend="aot_eager")
    for shape in ((2, 3, 6, 5), (1, 3, 7, 4)):
        scores, labels = case(shape)
        loss, gradient = gradient_of(compiled, scores, labels)
        expected, slope = gradient_of(function, scores, labels)
        assert torch.allclose(loss, expected) and torch.allclose(gradient, slope, atol=1e-7)


@pytest.mark.slow
@of_themselves
def test_compiled_training_step():
    """With the default backend, if this machine can compile."""
    torch._dynamo.reset()
    model = torch.nn.Conv2d(3, 3, 1)
    images, labels = case()

    def step(images, labels):
        return lovasz.lovasz_softmax(model(images), labels)

    step(images, labels).backward()
    expected = model.weight.grad.clone()
    model.zero_grad()
    try:
        torch.compile(step)(images, labels).backward()
    except (RuntimeError, torch._dynamo.exc.TorchDynamoException) as error:
        if "ompil" not in str(error):
            raise
        pytest.skip(f"no compiler for torch.compile: {type(error).__name__}")
    assert torch.allclose(model.weight.grad, expected, atol=1e-6)


def test_autocast():
    """A bfloat16 layer below: its output is read as it is, its gradient is bfloat16."""
    model = torch.nn.Conv2d(3, 3, 1)
    images, labels = case()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        logits = model(images)
        assert logits.dtype == torch.bfloat16
        logits.retain_grad()
        loss = lovasz.lovasz_softmax(logits, labels)
    (1024 * loss).backward()
    assert loss.dtype == torch.float32 and logits.grad.dtype == torch.bfloat16
    _, slope = gradient_of(lovasz.lovasz_softmax, logits.detach().float(), labels)
    assert torch.allclose(logits.grad.float(), 1024 * slope, rtol=1e-2, atol=1e-3)
    assert model.weight.grad.isfinite().all()


def test_data_parallel_threads():
    """Several Python threads at once."""
    import threading

    cases = [case((2, 3, 40, 40)) for _ in range(4)]
    expected = [gradient_of(lovasz.lovasz_softmax, *c) for c in cases]
    found = [None] * len(cases)

    def work(i):
        found[i] = gradient_of(lovasz.lovasz_softmax, *cases[i])

    threads = [threading.Thread(target=work, args=(i,)) for i in range(len(cases))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for (loss, gradient), (loss_, gradient_) in zip(found, expected):
        assert loss == loss_ and torch.equal(gradient, gradient_)


@of_themselves
def test_opcheck_prox():
    scores, labels = case((2, 1, 6, 5))
    labels = torch.randint(2, labels.shape, generator=GENERATOR)
    options = _flat.flat(LossOptions(per_image=True))
    inputs = (scores.requires_grad_(True), labels, None, 0.5, *options, True)
    torch.library.opcheck(_ops.prox_lovasz_hinge, inputs)
