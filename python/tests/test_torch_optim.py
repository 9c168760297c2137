"""submod.torch.optim against the library's rules, which have their own tests against theorems."""

import copy

import numpy as np
import pytest

import submod
from submod import optim as numpy_optim

torch = pytest.importorskip("torch")
from submod.torch import optim  # noqa: E402

A = torch.tensor(np.random.default_rng(3).normal(size=(9, 5)))
START = torch.tensor(np.random.default_rng(4).normal(size=5))


def objective(x):
    """Ridges, and a little curvature: gradients that jump, and are not all of one size."""
    return (A @ x).amax() + (x * x).sum() / 8


def problem():
    def subgradient(x):
        at = torch.tensor(x, requires_grad=True)
        value = objective(at)
        value.backward()
        return value.item(), at.grad.numpy()

    return numpy_optim.Problem(5, subgradient)


def split():
    """Two parameters that make up x."""
    return [torch.nn.Parameter(START[:2].clone()), torch.nn.Parameter(START[2:].clone())]


def train(optimizer, parts, steps):
    for _ in range(steps):
        optimizer.zero_grad()
        objective(torch.cat(parts)).backward()
        optimizer.step()


RULES = {
    "sgd": (
        lambda p: optim.SGDScheduleFree(p, 0.1),
        numpy_optim.ScheduleFreeSGD(),
    ),
    "sgd, all settings": (
        lambda p: optim.SGDScheduleFree(p, 0.1, momentum=0.6, weight_decay=0.05, r=1.5),
        numpy_optim.ScheduleFreeSGD(0.6, 1.5, 0.05),
    ),
    "averaged sgd": (
        lambda p: optim.SGDScheduleFree(p, 0.1, momentum=0),
        numpy_optim.ScheduleFreeSGD(0),
    ),
    "adamw": (
        lambda p: optim.AdamWScheduleFree(p, 0.1),
        numpy_optim.ScheduleFreeAdam(),
    ),
    "adamw, all settings": (
        lambda p: optim.AdamWScheduleFree(p, 0.1, (0.7, 0.9), 1e-3, weight_decay=0.05, r=2),
        numpy_optim.ScheduleFreeAdam(0.7, 2, 0.05, 0.9, 1e-3),
    ),
}


@pytest.mark.parametrize("name", RULES)
def test_schedule_free_is_the_librarys(name):
    make, rule = RULES[name]
    parts = split()
    optimizer = make(parts)
    for steps in (1, 2, 30):
        train(optimizer, parts, steps)
        optimizer.eval()
        done = optimizer.param_groups[0]["k"]
        run = numpy_optim.descend(problem(), START.numpy(), 0.1, step=rule, max_iterations=done)
        assert torch.cat(parts).detach().numpy() == pytest.approx(run.x, abs=1e-12)
        optimizer.train()


def test_warmup_by_the_weights_of_its_points():
    """The average by its definition, with weights that are the squares of the learning rates."""
    parts = split()
    optimizer = optim.SGDScheduleFree(parts, 0.1, warmup_steps=4)
    x = y = z = START
    total = 0.0
    for k in range(10):
        lr = 0.1 * min(1, (k + 1) / 4)
        at = y.clone().requires_grad_()
        objective(at).backward()
        z = z - lr * at.grad
        total = total + lr**2
        x = x + lr**2 / total * (z - x)
        y = 0.1 * z + 0.9 * x
        train(optimizer, parts, 1)
        assert torch.allclose(torch.cat(parts), y, rtol=0, atol=1e-12)
    optimizer.eval()
    assert torch.allclose(torch.cat(parts), x, rtol=0, atol=1e-12)


def test_modes():
    """Looking at the answer changes no bit of the training; steps are refused meanwhile."""
    plain, watched = split(), split()
    one, other = optim.AdamWScheduleFree(plain, 0.1), optim.AdamWScheduleFree(watched, 0.1)
    other.eval()  # before the first step there is nothing to switch
    assert torch.equal(torch.cat(watched), START)
    other.train()
    for _ in range(7):
        train(one, plain, 1)
        train(other, watched, 1)
        before = torch.cat(watched).detach()
        other.eval()
        other.eval()
        assert not torch.equal(torch.cat(watched), before) or other.param_groups[0]["k"] == 1
        with pytest.raises(RuntimeError, match=r"train\(\)"):
            train(other, watched, 1)
        other.train()
        assert torch.equal(torch.cat(plain), torch.cat(watched))


@pytest.mark.parametrize("mode", [True, False])
def test_state_dict(mode):
    """Saved in either mode, training goes on as if nothing had happened."""
    parts = split()
    optimizer = optim.AdamWScheduleFree(parts, 0.1, r=1)
    train(optimizer, parts, 5)
    optimizer.train(mode)
    saved, weights = copy.deepcopy(optimizer.state_dict()), [p.detach().clone() for p in parts]
    others = [torch.nn.Parameter(w) for w in weights]
    loaded = optim.AdamWScheduleFree(others, 0.7)
    loaded.load_state_dict(saved)
    for one, p in ((optimizer, parts), (loaded, others)):
        one.train()
        train(one, p, 5)
        one.eval()
    assert torch.equal(torch.cat(parts), torch.cat(others))


def test_schedule_free_details():
    """A parameter that joins late, one without gradient, half precision, a closure."""
    parts = split()
    parts.append(torch.nn.Parameter(torch.ones(1)))
    optimizer = optim.AdamWScheduleFree(parts, 0.1)

    def closure():
        optimizer.zero_grad()
        value = objective(torch.cat(parts[:2]))
        value.backward()
        return value

    assert optimizer.step(closure) == objective(START)
    assert parts[2].item() == 1 and parts[2] not in optimizer.state
    parts[2].grad = torch.ones(1)
    optimizer.step()
    assert parts[2].item() == pytest.approx(0.9 * 0.95 + 0.1 * 0.9)  # z = 0.9, x half way
    half = torch.nn.Parameter(torch.ones(3, dtype=torch.bfloat16))
    half.grad = torch.ones_like(half)
    optim.SGDScheduleFree([half], 0.5).step()
    assert half.dtype == torch.bfloat16 and half.tolist() == [0.5] * 3
    still = torch.nn.Parameter(torch.ones(1))
    still.grad = torch.ones(1)
    idle = optim.SGDScheduleFree([still], 0.0)
    idle.step()
    assert still.item() == 1
    still.grad = torch.ones(1).to_sparse()
    with pytest.raises(RuntimeError, match="sparse"):
        idle.step()


# ---- stochastic Polyak ----


@pytest.mark.parametrize("c", [0.6, 1.0, 3.0])
@pytest.mark.parametrize("cap", [0.02, 10.0])
def test_stochastic_polyak_is_the_librarys(c, cap):
    parts, low = split(), -3.0
    optimizer = optim.StochasticPolyak(parts, cap, c=c, lower_bound=low)
    for k in range(20):
        optimizer.zero_grad()
        loss = objective(torch.cat(parts))
        loss.backward()
        assert optimizer.step(loss=loss) is loss
        run = numpy_optim.descend(
            problem(),
            START.numpy(),
            numpy_optim.Schedule.stochastic_polyak(cap, c),
            lower_bound=low,
            max_iterations=k + 1,
            trace=True,
        )
        assert torch.cat(parts).detach().numpy() == pytest.approx(run.x, abs=1e-10)
        assert optimizer.param_groups[0]["step_size"].item() == pytest.approx(run.trace[k].step)


def test_stochastic_polyak_details():
    p = torch.nn.Parameter(torch.tensor([3.0, 4.0]))
    optimizer = optim.StochasticPolyak([p], 100.0)

    def closure():
        optimizer.zero_grad()
        value = torch.linalg.vector_norm(p)
        value.backward()
        return value

    assert optimizer.step(closure).item() == 5
    assert p.tolist() == pytest.approx([0, 0], abs=1e-6)  # a norm is met in one step
    p.grad = torch.zeros(2)
    optimizer.step(loss=torch.tensor(1.0))  # nowhere to go
    assert optimizer.param_groups[0]["step_size"] == 0
    p.grad = torch.ones(2)
    optimizer.step(loss=torch.tensor(-1.0))  # below the bound
    assert optimizer.param_groups[0]["step_size"] == 0
    for arguments in ({}, {"closure": closure, "loss": torch.tensor(1.0)}):
        with pytest.raises(TypeError, match="either"):
            optimizer.step(**arguments)
    half = torch.nn.Parameter(torch.full((2,), 300.0, dtype=torch.float16))
    half.grad = torch.full_like(half, 300.0)  # whose squares float16 does not hold
    optim.StochasticPolyak([half], 1.0).step(loss=torch.tensor(90000.0))
    assert half.tolist() == [150.0, 150.0]


def test_bad_settings():
    p = [torch.nn.Parameter(torch.ones(1))]
    for make, words in (
        (lambda: optim.SGDScheduleFree(p, -1.0), "lr = -1"),
        (lambda: optim.SGDScheduleFree(p, float("nan")), "lr = nan"),
        (lambda: optim.SGDScheduleFree(p, momentum=1.5), "momentum = 1.5"),
        (lambda: optim.SGDScheduleFree(p, r=-1), "r = -1"),
        (lambda: optim.AdamWScheduleFree(p, weight_decay=-1), "weight_decay = -1"),
        (lambda: optim.AdamWScheduleFree(p, betas=(0.9, 1.0)), r"betas\[1\] = 1.0"),
        (lambda: optim.AdamWScheduleFree(p, eps=0.0), "eps = 0.0"),
        (lambda: optim.StochasticPolyak(p, c=0.5), "c = 0.5"),
        (lambda: optim.StochasticPolyak(p, lower_bound=float("inf")), "lower_bound = inf"),
    ):
        with pytest.raises(submod.InvalidArgumentError, match=words):
            make()


def test_with_the_prox_direction():
    """The prox of the Lovász hinge drives any optimiser: its layer sends back the direction."""
    torch.manual_seed(0)
    features, labels = torch.randn(1, 40, 6), (torch.arange(40) % 3 == 0).long()[None]
    for make in (
        lambda p: optim.SGDScheduleFree(p, 0.5),
        lambda p: optim.AdamWScheduleFree(p, 0.05),
        lambda p: optim.StochasticPolyak(p, 1.0),
    ):
        head = torch.nn.Linear(6, 1)
        optimizer, losses = make(head.parameters()), []
        for _ in range(60):
            optimizer.zero_grad()
            loss = submod.torch.prox_lovasz_hinge(head(features)[..., 0], labels, lam=1.0)
            losses.append(loss.item())
            loss.backward()
            if isinstance(optimizer, optim.StochasticPolyak):
                optimizer.step(loss=loss)
            else:
                optimizer.step()
        assert min(losses[-10:]) < 0.9 * losses[0]
