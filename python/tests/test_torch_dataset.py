"""DatasetLovasz: batches add up. test_torch_ranks.py has several ranks."""

import pytest

torch = pytest.importorskip("torch")

import torch_reference as reference  # noqa: E402

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402


def batches(count=4, classes=4):
    generator = torch.Generator().manual_seed(2)
    return [
        (
            torch.randn((2, classes, 8, 8), generator=generator),
            torch.randint(classes, (2, 8, 8), generator=generator),
        )
        for _ in range(count)
    ]


def test_loss_of_all_batches():
    data = batches()
    module = lovasz.DatasetLovasz(4, delta=1e-4)
    for logits, labels in data:
        loss = module(logits, labels)
    whole = [torch.cat(parts) for parts in zip(*data)]
    assert loss.item() == pytest.approx(reference.softmax(*whole).item(), abs=1e-4)
    assert module.counts.sum() == 4 * whole[1].numel()
    assert module.value() == pytest.approx(loss.item(), abs=1e-6)
    module.reset()
    assert module.value() == 0 and "bins" in repr(module)


def test_evaluation():
    """The loss of all batches and this one, which leaves no trace."""
    (first, labels), (second, more) = batches(2)
    module = lovasz.DatasetLovasz(4, delta=2.0**-20, decay=0.5)
    module(first, labels)
    kept = module.counts.clone()
    module.eval()
    leaf = second.clone().requires_grad_(True)
    loss = module(leaf, more)
    loss.backward()
    whole = torch.cat([first, second]).requires_grad_(True)
    expected = reference.softmax(whole, torch.cat([labels, more]))
    expected.backward()
    assert loss.item() == pytest.approx(expected.item(), abs=1e-5)
    assert torch.allclose(leaf.grad, 2 * whole.grad[2:], rtol=1e-2, atol=1e-5)
    assert torch.equal(module.counts, kept)
    fresh = lovasz.DatasetLovasz(4, delta=2.0**-20).eval()
    exact = lovasz.lovasz_softmax(second, more)
    assert fresh(second, more).item() == pytest.approx(exact.item(), abs=1e-5)


@pytest.mark.parametrize("change", ["half", "bfloat16", "to", "float"])
def test_counts_stay_whole(change):
    """What networks do to their modules leaves the counts alone: 2049 is no float16."""
    logits, labels = torch.randn(1, 4, 2049), torch.zeros(1, 2049, dtype=torch.long)
    module = lovasz.DatasetLovasz(4)
    whole = torch.nn.Sequential(module)
    module(logits, labels)
    kept, value = module.counts.clone(), module.value()
    assert (whole.to(torch.float16) if change == "to" else getattr(whole, change)()) is whole
    assert module.counts.dtype == torch.float64 and torch.equal(module.counts, kept)
    assert module.value() == value and "counts" in module.state_dict()
    module(logits.half(), labels)
    assert module.counts[0].sum() == 2 * 2049
    assert module.to("meta").counts.is_meta


def test_batches_that_come_before_backward():
    """Two losses in one sum, a reset in between: each backward has the counts of its forward."""
    (first, labels), (second, more) = batches(2)
    alone = first.clone().requires_grad_(True)
    lovasz.DatasetLovasz(4)(alone, labels).backward()
    module = lovasz.DatasetLovasz(4)
    first.requires_grad_(True)
    loss = module(first, labels)
    (loss + 0 * module(second.requires_grad_(True), more)).backward()
    assert torch.equal(first.grad, alone.grad)
    late = module(second, more)
    module.reset()
    late.backward()
    assert second.grad.abs().sum() > 0


def test_gradient():
    """The plain derivative is that of the loss of all; the stochastic one is scaled to a batch."""
    data = batches(2)
    whole, labels = (torch.cat(parts) for parts in zip(*data))
    whole.requires_grad_(True)
    reference.softmax(whole, labels).backward()
    for stochastic, factor in ((False, 1), (True, 2)):
        module = lovasz.DatasetLovasz(4, delta=2.0**-20, stochastic=stochastic)
        module(*data[0])
        last = data[1][0].clone().requires_grad_(True)
        module(last, data[1][1]).backward()
        assert torch.allclose(last.grad, factor * whole.grad[2:], rtol=1e-2, atol=1e-5)
    single = lovasz.DatasetLovasz(4, delta=2.0**-20)
    first = data[0][0].clone().requires_grad_(True)
    single(first, data[0][1]).backward()
    exact = data[0][0].clone().requires_grad_(True)
    lovasz.lovasz_softmax(exact, data[0][1]).backward()
    assert torch.allclose(first.grad, exact.grad, rtol=1e-2, atol=1e-5)


def test_decay_and_state():
    data = batches()
    module = lovasz.DatasetLovasz(4, decay=0.5, classes=[0, 2], class_weight=[1.0, 1.0, 3.0, 1.0])
    for logits, labels in data:
        module(logits, labels)
    pixels = data[0][1].numel()
    assert module.counts[0].sum() == pixels * (1 + 0.5 + 0.25 + 0.125)
    copy = lovasz.DatasetLovasz(4, decay=0.5, classes=[0, 2], class_weight=[1.0, 1.0, 3.0, 1.0])
    copy.load_state_dict(module.state_dict())
    assert copy.eval()(*data[0]) == module.eval()(*data[0])


def test_errors():
    with pytest.raises(ValueError, match="delta"):
        lovasz.DatasetLovasz(4, delta=0)
    with pytest.raises(ValueError, match="decay"):
        lovasz.DatasetLovasz(4, decay=2)
    with pytest.raises(ValueError, match="classes"):
        lovasz.DatasetLovasz(5)(*batches(1)[0])
    with pytest.raises(ValueError, match="num_classes = 0"):
        lovasz.DatasetLovasz(0)
    for classes in ("some", [4], [-1]):
        with pytest.raises(ValueError, match="class"):
            lovasz.DatasetLovasz(4, classes=classes)
    for weight in ([1.0, 2.0], [1.0, 1.0, 1.0, -1.0]):
        with pytest.raises(ValueError, match="class_weight"):
            lovasz.DatasetLovasz(4, class_weight=weight)


def test_refused_batch_is_not_counted():
    module = lovasz.DatasetLovasz(4)
    logits, labels = batches(1)[0]
    with pytest.raises(submod.NonFiniteError, match="nan"):
        module(logits * float("nan"), labels)
    assert module.counts.sum() == 0


def test_batch_without_a_loss_is_not_counted():
    """Labels of an inference cannot be saved for backward, which comes out after the counting."""
    module = lovasz.DatasetLovasz(4)
    logits, labels = batches(1)[0]
    with torch.inference_mode():
        labels = labels.clone()
    with pytest.raises(RuntimeError, match=r"[Ii]nference"):
        module(logits.requires_grad_(True), labels)
    assert module.counts.sum() == 0


@pytest.mark.parametrize("last", ["forward", "reset"])
def test_state_after_inference(last):
    module, state = lovasz.DatasetLovasz(4), lovasz.DatasetLovasz(4).state_dict()
    with torch.inference_mode():
        module(*batches(1)[0])
        if last == "reset":
            module.reset()
    module.load_state_dict(state)
    module(*batches(1)[0])


@pytest.mark.filterwarnings("ignore")
def test_compile():
    """One graph, counts and all, over several steps."""
    torch._dynamo.reset()
    plain, module = lovasz.DatasetLovasz(4, decay=0.5), lovasz.DatasetLovasz(4, decay=0.5)
    compiled = torch.compile(module, fullgraph=True, backend="aot_eager")
    for logits, labels in batches(3):
        leaf, other = (logits.clone().requires_grad_(True) for _ in range(2))
        loss, expected = compiled(leaf, labels), plain(other, labels)
        (loss + expected).backward()
        assert loss == expected and torch.equal(leaf.grad, other.grad)
        assert torch.equal(module.counts, plain.counts)
