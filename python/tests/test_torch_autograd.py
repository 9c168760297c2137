"""Derivatives as PyTorch asks for them: in-place edits, repeated, batched, torch.func, compile."""

import pytest

torch = pytest.importorskip("torch")

import submod.torch as lovasz  # noqa: E402
from submod._options import LossOptions  # noqa: E402
from submod.torch import _flat  # noqa: E402

GENERATOR = torch.Generator().manual_seed(12)
of_themselves = pytest.mark.filterwarnings("ignore")  # PyTorch's compilers warn about themselves


def case(shape=(2, 3, 6, 5)):
    scores = torch.randn(shape, generator=GENERATOR)
    return scores, torch.randint(shape[1], shape[:1] + shape[2:], generator=GENERATOR)


def softmax(scores, labels):
    return lovasz.lovasz_softmax(scores, labels, classes=[0, 2])


def dataset(scores, labels):
    return lovasz.DatasetLovasz(3)(scores, labels)


def prox(scores, labels):
    return lovasz.prox_lovasz_hinge(scores[:, 0], labels == 1, 0.5)


each_loss = pytest.mark.parametrize("loss", [softmax, dataset, prox])


def gradient_of(loss, scores, labels):
    leaf = scores.clone().requires_grad_(True)
    loss(leaf, labels).backward()
    return leaf.grad


@each_loss
def test_changes_in_place_before_backward(loss):
    """What happens to logits and labels after forward is no concern of the one backward pass."""
    scores, labels = case()
    expected = gradient_of(loss, scores, labels)
    leaf = scores.clone().requires_grad_(True)
    logits = 1 * leaf
    value = loss(logits, labels)
    torch.relu_(logits)
    labels.clamp_(max=1)
    value.backward()
    assert torch.equal(leaf.grad, expected)


@each_loss
@pytest.mark.parametrize("changed", ["logits", "labels"])
def test_changes_in_place_before_a_second_backward(loss, changed):
    scores, labels = case()
    if changed == "labels" and loss is prox:
        labels = (labels == 1).long()
        loss = lambda s, y: lovasz.prox_lovasz_hinge(s[:, 0], y, 0.5)  # noqa: E731
    leaf = scores.clone().requires_grad_(True)
    logits = 1 * leaf
    value = loss(logits, labels)
    value.backward(retain_graph=True)
    (labels if changed == "labels" else logits).zero_()
    with pytest.raises(RuntimeError, match="changed in place since"):
        value.backward()


@each_loss
def test_passes_do_not_share_memory(loss):
    """Each pass has a gradient of its own, which its owner may change."""
    scores, labels = case()
    expected = gradient_of(loss, scores, labels)
    leaf = scores.clone().requires_grad_(True)
    value = loss(leaf, labels)
    for factor in (1, 2, 1):
        (found,) = torch.autograd.grad(factor * value, leaf, retain_graph=True)
        assert torch.equal(found, factor * expected)
        found.fill_(7)
    value.backward()
    assert torch.equal(leaf.grad, expected)


def test_operator_keeps_its_outputs():
    """Who calls the operator itself sees the gradient, which backward leaves alone."""
    scores, labels = case()
    leaf = scores.clone().requires_grad_(True)
    options = _flat.flat(LossOptions(classes="all"))
    loss, gradient = torch.ops.submod.loss(leaf, labels, None, "lovasz_softmax", *options, True)
    before = gradient.clone()
    loss.backward(retain_graph=True)
    assert torch.equal(leaf.grad, gradient)
    leaf.grad.zero_()
    (3 * loss).backward()
    assert torch.equal(gradient, before) and torch.equal(leaf.grad, 3 * before)


def operator(scores, labels):
    options = _flat.flat(LossOptions(classes=[0, 2]))
    return torch.ops.submod.loss(scores, labels, None, "lovasz_softmax", *options, True)[0]


@pytest.mark.parametrize("loss", [softmax, operator])
def test_second_derivative_is_refused(loss):
    """Also where only the derivative by the leaf is asked for, and other terms have one."""
    scores, labels = case()
    leaf = scores.clone().requires_grad_(True)
    value = loss(1 * leaf, labels) + leaf.square().sum()
    (slope,) = torch.autograd.grad(value, leaf, create_graph=True)
    with pytest.raises(RuntimeError, match="second derivative"):
        torch.autograd.grad(slope.square().sum(), leaf)


@each_loss
def test_batched_gradients(loss):
    scores, labels = case()
    expected = gradient_of(loss, scores, labels)
    leaf = scores.clone().requires_grad_(True)
    above = torch.randn(4, generator=GENERATOR)
    value = loss(leaf, labels)
    (found,) = torch.autograd.grad(value, leaf, above, is_grads_batched=True, retain_graph=True)
    assert torch.equal(found, above.view(4, 1, 1, 1, 1) * expected)
    value.backward()
    assert torch.equal(leaf.grad, expected)


@pytest.mark.parametrize("loss", [softmax, prox])
def test_transforms(loss):
    scores, labels = case()
    many, truths = torch.stack([scores, -scores, 2 * scores]), torch.stack([labels] * 3)
    truths[1] = case()[1]
    slopes = torch.stack([gradient_of(loss, s, y) for s, y in zip(many, truths)])
    values = torch.stack([loss(s, y) for s, y in zip(many, truths)])
    gradient = torch.func.grad(loss)
    assert torch.equal(gradient(scores, labels), slopes[0])
    assert torch.equal(torch.vmap(loss)(many, truths), values)
    assert torch.equal(torch.vmap(gradient)(many, truths), slopes)
    total = torch.func.grad(lambda s: torch.vmap(loss)(s, truths).sum())
    assert torch.equal(total(many), slopes)
    one = torch.vmap(gradient, (None, 0))(scores, truths)
    assert torch.equal(one[1], gradient_of(loss, scores, truths[1]))
    moved = torch.vmap(gradient, (1, 2), 1)(many.movedim(0, 1), truths.movedim(0, 2))
    assert torch.equal(moved.movedim(1, 0), slopes)
    assert torch.equal(torch.func.jacrev(loss)(scores, labels), slopes[0])
    value, pull = torch.func.vjp(lambda s: loss(s, labels), scores)
    assert value == values[0] and torch.equal(pull(torch.tensor(2.0))[0], 2 * slopes[0])


def test_no_second_derivative():
    scores, labels = case()
    gradient = torch.func.grad(softmax)
    with pytest.raises(RuntimeError, match="second derivative"):
        torch.func.grad(lambda s: gradient(s, labels).square().sum())(scores)
    with pytest.raises(RuntimeError, match="forward-mode"):
        torch.func.jvp(lambda s: softmax(s, labels), (scores,), (scores,))


@of_themselves
def test_compiled_transform():
    """Right, or refused."""
    torch._dynamo.reset()
    scores, labels = case()
    try:
        found = torch.compile(torch.func.grad(softmax), backend="aot_eager")(scores, labels)
    except torch._dynamo.exc.TorchDynamoException:
        pytest.skip("this PyTorch does not compile torch.func of custom operators")
    assert torch.equal(found, gradient_of(softmax, scores, labels))


@of_themselves
def test_compiled_retain_graph():
    torch._dynamo.reset()
    scores, labels = case()
    expected = gradient_of(softmax, scores, labels)
    leaf = scores.clone().requires_grad_(True)
    loss = torch.compile(softmax, backend="aot_eager")(leaf, labels)
    loss.backward(retain_graph=True)
    loss.backward()
    assert torch.equal(leaf.grad, 2 * expected)


def test_checkpoint():
    from torch.utils.checkpoint import checkpoint

    scores, labels = case()
    expected = gradient_of(softmax, scores, labels)
    for reentrant in (True, False):
        leaf = scores.clone().requires_grad_(True)
        checkpoint(softmax, leaf, labels, use_reentrant=reentrant).backward()
        assert torch.equal(leaf.grad, expected)
