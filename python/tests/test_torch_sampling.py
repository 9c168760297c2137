"""Tests measures and functions as test_sampling.py does, through PyTorch."""

import warnings

import numpy as np
import pytest

torch = pytest.importorskip("torch")

from test_sampling import (  # noqa: E402
    Measure,
    dice,
    jaccard,
    new_process,  # noqa: F401
    square,
    warned,
)

import submod  # noqa: E402
import submod.torch as lovasz  # noqa: E402
from submod.torch import _anywhere  # noqa: E402

LOGITS = torch.randn((2, 3, 10, 11), generator=torch.Generator().manual_seed(1))
LABELS = torch.randint(3, (2, 10, 11), generator=torch.Generator().manual_seed(2))
of_themselves = pytest.mark.filterwarnings("ignore")  # PyTorch's compilers warn about themselves


class Uncounted:
    """Each instance is a different callable, which also takes tensors."""

    def __init__(self, f):
        self.f = f

    def __call__(self, a, b, P, N):
        return self.f(a, b, P, N)


def module_loss(measure):
    return lovasz.LovaszSoftmax(measure=measure)(LOGITS, LABELS)


def dataset_loss(measure):
    return lovasz.DatasetLovasz(3, measure=measure)(LOGITS, LABELS)


def gradient(measure):
    logits = LOGITS.clone().requires_grad_()
    loss = lovasz.lovasz_softmax(logits, LABELS, measure=measure)
    loss.backward(retain_graph=True)
    loss.backward()
    return logits.grad


USES = {
    "function": lambda m: lovasz.lovasz_softmax(LOGITS, LABELS, measure=m),
    "histogram": lambda m: lovasz.lovasz_softmax(LOGITS, LABELS, measure=m, engine="histogram"),
    "hinge": lambda m: lovasz.lovasz_hinge(LOGITS[:, 0], LABELS % 2, measure=m),
    "prox": lambda m: lovasz.prox_lovasz_hinge(LOGITS[:, 0], LABELS % 2, 1.0, measure=m),
    "module": module_loss,
    "dataset": dataset_loss,
    "gradient": gradient,
}


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("use", USES)
def test_once(use, forced, monkeypatch):
    """Runs on the CPU, and as on devices for which the library has no kernels."""
    monkeypatch.setattr(_anywhere, "FORCED", forced)
    measure = Uncounted(dice) if forced else Measure(dice)
    said, first = warned(USES[use], measure)
    assert len(said) == 1 and said[0].filename == __file__
    assert "submodular: no, " in str(said[0].message)
    said, again = warned(USES[use], measure)
    said_unchecked, third = warned(USES[use], submod.CustomMeasure(dice, check=False))
    assert said == said_unchecked == [] and torch.equal(first, again) and torch.equal(first, third)
    assert warned(USES[use], Uncounted(jaccard))[0] == []


def test_measures_of_tensors_alone(monkeypatch):
    monkeypatch.setattr(_anywhere, "FORCED", True)
    good = lambda a, b, P, N: torch.sqrt((a + b) / (P + b))  # noqa: E731
    bad = lambda a, b, P, N: torch.square((a + b) / (P + b))  # noqa: E731
    assert warned(USES["function"], good)[0] == []
    assert len(warned(USES["function"], bad)[0]) == 1


@of_themselves
def test_compiled():
    measure = Measure(dice)
    compiled = torch.compile(module_loss_of(measure), backend="aot_eager", fullgraph=True)
    counts = [len(warned(compiled, LOGITS + i)[0]) for i in range(3)]
    assert counts == [1, 0, 0]
    assert warned(USES["function"], measure)[0] == []


def module_loss_of(measure):
    return lambda logits: lovasz.lovasz_softmax(logits, LABELS, measure=measure)


class Losses(torch.utils.data.Dataset):
    def __init__(self, measure):
        self.measure = measure

    def __len__(self):
        return 6

    def __getitem__(self, i):
        return len(warned(USES["function"], self.measure)[0])


def test_workers_of_a_loader():
    """No worker warns, either before or after the parent process does."""
    measure = Measure(dice)
    loader = torch.utils.data.DataLoader(Losses(measure), num_workers=2)
    assert sum(int(said) for said in loader) == 0
    assert len(warned(USES["function"], measure)[0]) == 1
    assert sum(int(said) for said in loader) == 0


def test_ranks(monkeypatch):
    """Only rank 0 warns."""
    monkeypatch.setattr(torch.distributed, "is_initialized", lambda: True)
    for rank, expected in ((1, 0), (0, 1)):
        monkeypatch.setattr(torch.distributed, "get_rank", lambda rank=rank: rank)
        measure = Measure(dice)
        loss = lambda m: submod.lovasz_softmax(  # noqa: E731
            LOGITS.numpy(), LABELS.numpy(), measure=m
        )
        assert len(warned(loss, measure)[0]) == expected
        f = submod.Function.custom(12, square)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            f.minimize(max_iterations=2)
        assert [w.category for w in caught].count(submod.SubmodularityWarning) == expected


def test_rows_of_a_prox():
    """All rows and calls share one warning."""
    f = submod.Function.custom(12, lambda A: np.float64(len(A)) ** 2)
    rows = torch.zeros(3, 12)
    counts = [len(warned(lambda: lovasz.prox(f, rows, 1.0, tolerance=1.0))[0]) for _ in range(2)]
    assert counts == [1, 0]
