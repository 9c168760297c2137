"""The problems of the bench of optimisers: minima by other methods, slopes, proxes, minibatches."""

from itertools import permutations

import numpy as np
import pytest

import submod
from submod import optim
from submod.optim_bench import Instance
from submod.optim_bench.catalogue import Extras, load
from submod.optim_bench.problems import layers, linear
from submod.optim_bench.problems.discs import discs
from submod.optim_bench.problems.features import from_npz
from submod.optim_bench.problems.max_affine import planes
from submod.optim_bench.reference import by_bundle
from submod.optim_bench.task import Objective

scipy_optimize = pytest.importorskip("scipy.optimize")

PROBLEMS = load(Extras()).problems
MEMBERS = [
    pytest.param(problem, settings, id=f"{name}-{k}")
    for name, problem in PROBLEMS.items()
    if problem.missing() is None
    for k, settings in enumerate(problem.instances(True))
]
CONVEX = [m for m in MEMBERS if getattr(m.values[0], "convex", True)]
NOT_CONVEX = [m for m in MEMBERS if m not in CONVEX]
BATCHED = [m for m in MEMBERS if m.values[1].get("batches", 1) > 1]


def points(instance, count=4, seed=0):
    """The start, and others around it."""
    rng = np.random.default_rng(seed)
    return [instance.start, *(instance.start + rng.normal(size=(count, instance.problem.n)))]


def test_there_are_enough_families():
    families = (
        "nu max_affine lovasz_hinge lovasz_softmax total_variation "
        "hinge logistic cardinality logdet worst_case"
    )
    assert set(families.split()) <= set(PROBLEMS)
    for problem in PROBLEMS.values():
        sizes = [len(problem.instances(quick)) for quick in (True, False)]
        assert min(sizes) >= 2, problem.name


# ---- slopes ----


@pytest.mark.parametrize(("problem", "settings"), CONVEX)
def test_a_subgradient_is_below_the_function(problem, settings):
    instance = problem.make(settings, 3)
    objective = Objective(instance)
    at = points(instance)
    for batch in {None, instance.problem.batches - 1 if instance.problem.batches > 1 else None}:
        found = [objective.subgradient(x, batch) for x in at]
        for x, (value, g) in zip(at, found):
            for y, (other, _) in zip(at, found):
                assert other >= value + g @ (y - x) - 1e-10 * (1 + abs(value) + abs(other))


@pytest.mark.parametrize("name", ["lovasz_softmax", "logistic"])
def test_gradients_are_those_of_differences(name):
    problem = PROBLEMS[name]
    instance = problem.make(problem.instances(True)[0], 1)
    objective, x = Objective(instance), points(instance)[1]
    _, g = objective.subgradient(x, None)
    for v in np.random.default_rng(5).normal(size=(3, x.size)):
        t = 1e-6
        slope = (objective.value(x + t * v) - objective.value(x - t * v)) / (2 * t)
        assert slope == pytest.approx(g @ v, rel=1e-5, abs=1e-7)


def test_layers_are_the_losses_of_the_library():
    X, labels = discs(0, 3, 7, 4, 3)
    w = np.random.default_rng(1).normal(size=(4, 3))
    softmax, _ = layers.LovaszSoftmax(labels, 3).slope(X @ w, linear.ALL)
    scores = np.moveaxis(X @ w, -1, 1)
    assert softmax == pytest.approx(submod.lovasz_softmax(scores, labels, per_image=True), rel=1e-5)
    two, binary = X @ w[:, 0], labels > 0
    for layer, loss in (
        (layers.LovaszHinge(binary), submod.lovasz_hinge(two, binary)),
        (layers.LovaszHinge(binary, "hamming"), submod.hinge(two, binary)),
        (layers.Logistic(binary), submod.cross_entropy(np.stack([0 * two, two], 1), labels > 0)),
    ):
        assert layer.slope(two, linear.ALL)[0] == pytest.approx(float(loss), rel=1e-5)


# ---- minibatches ----


@pytest.mark.parametrize(("problem", "settings"), BATCHED)
def test_minibatches_average_to_the_whole(problem, settings):
    instance = problem.make(settings, 2)
    batches = instance.problem.batches
    assert batches > 1
    objective = Objective(instance)
    for x in points(instance, 2):
        whole, g = objective.subgradient(x, None)
        parts = [objective.subgradient(x, k) for k in range(batches)]
        assert np.mean([value for value, _ in parts]) == pytest.approx(whole, rel=1e-12)
        assert np.mean([slope for _, slope in parts], axis=0) == pytest.approx(g, abs=1e-12)


def test_minibatches_of_equal_size_only():
    X, labels = discs(0, 3, 4, 3)
    with pytest.raises(ValueError, match="3 images do not make 2 minibatches"):
        linear.problem(X, layers.LovaszHinge(labels), 2)


# ---- proxes ----


def least_of(value, x, lam, u, rng):
    """Nothing near u has less value + lam/2 |. - x|^2."""

    def cost(z):
        return value(z) + lam / 2 * (z - x) @ (z - x)

    for scale in (1e-1, 1e-3, 1e-5):
        for v in rng.normal(size=(10, u.size)):
            assert cost(u) <= cost(u + scale * v) + 1e-12 * (1 + abs(cost(u)))


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("kind", ["jaccard", "hamming", "logistic", "cardinality", "logdet"])
def test_the_prox_of_scores_is_the_least(kind, lam):
    rng = np.random.default_rng(7)
    X, labels = discs(2, 2, 4, 3)
    layer = {
        "jaccard": lambda: layers.LovaszHinge(labels),
        "hamming": lambda: layers.LovaszHinge(labels, "hamming"),
        "logistic": lambda: layers.Logistic(labels),
        "cardinality": lambda: layers.Extension(submod.Function.sqrt(16), rng.normal(size=(2, 16))),
        "logdet": lambda: layers.Extension(
            submod.Function.logdet(np.eye(16) + 0.9), rng.normal(size=(2, 16))
        ),
    }[kind]()
    parts = linear.parts(X, layer)
    objective = Objective(_bare(parts.f))
    for x in 2 * rng.normal(size=(3, 32)):
        u = objective.prox(x, lam, None)
        least_of(objective.value, x, lam, u, rng)


def _bare(problem):
    return Instance(problem, np.zeros(problem.n))


@pytest.mark.parametrize("lam", [1e-6, 1e-4, 1e-2, 1.0, 1e3])
def test_the_prox_of_the_logistic_loss_is_a_root(lam):
    """Also where Newton's method alone goes to and fro: far looks from large margins."""
    labels = np.arange(40)[None] % 2
    scores = 5 * np.random.default_rng(0).normal(size=(1, 40))
    found = layers.Logistic(labels).direction(scores, lam, linear.ALL)[0]
    for y, s, d in zip(2 * labels[0] - 1, scores[0], found):

        def rest(v, t=y * s):
            return v - t - 1 / (lam * 40 * (1 + np.exp(min(v, 700))))

        v = scipy_optimize.brentq(rest, y * s, y * s + 1 / (lam * 40) + 1e-9, xtol=1e-13)
        assert d == pytest.approx(-y / (1 + np.exp(v)) / 40, rel=1e-6, abs=1e-12)


def test_the_prox_of_a_batch_is_that_of_the_library():
    """Of single precision, there."""
    X, labels = discs(4, 3, 6, 5)
    scores = X @ np.random.default_rng(0).normal(size=5)
    lam = 0.05
    mine = layers.LovaszHinge(labels).direction(scores, lam / 3, linear.ALL)
    _, d = submod.prox_lovasz_hinge(scores, labels, lam)
    assert mine == pytest.approx(d, abs=1e-6)


@pytest.mark.parametrize("name", ["lovasz_hinge", "lovasz_softmax", "hinge", "cardinality"])
def test_the_prox_direction_is_the_gradient_where_the_loss_is_linear(name):
    """A large lam looks no further than the piece that x lies on."""
    problem = PROBLEMS[name]
    instance = problem.make(problem.instances(True)[0], 1)
    table, x = instance.problem._table, points(instance)[1]
    _, g = Objective(_bare(instance.problem)).subgradient(x, None)
    d = np.zeros(x.size)
    assert (
        table.direction(None, submod._bindings.FULL_BATCH, x.ctypes.data, 1e13, d.ctypes.data) == 0
    )
    assert d == pytest.approx(g, abs=1e-9)


@pytest.mark.parametrize("name", ["worst_case", "total_variation"])
def test_the_prox_of_a_family_is_the_least(name):
    problem = PROBLEMS[name]
    instance = problem.make(problem.instances(True)[0], 1)
    rng = np.random.default_rng(3)
    table, x = instance.problem._table, points(instance)[2]
    objective = Objective(_bare(instance.problem))

    def value(z):
        """Without the smooth part."""
        if not table.smooth:
            return objective.value(z)
        return instance.cut.lovasz(z)[0]

    u = np.zeros(x.size)
    for lam in (0.1, 2.0):
        table.prox(None, submod._bindings.FULL_BATCH, x.ctypes.data, lam, u.ctypes.data)
        least_of(value, x, lam, u, rng)


# ---- minima ----


@pytest.mark.parametrize(("problem", "settings"), [*CONVEX, NOT_CONVEX[-1]])
def test_nothing_that_is_tried_is_below_the_bound(problem, settings):
    """And the minimum has the value that is claimed, with a gap below 1e-9 where it is convex."""
    instance = problem.make(settings, 0)
    found, objective = problem.reference(instance), Objective(instance)
    start = objective.value(instance.start)
    scale = abs(start) + 1
    assert objective.value(found.x) == pytest.approx(found.f_star, abs=1e-12 * scale)
    assert found.lower_bound <= found.f_star < start
    if instance.convex:
        assert found.f_star - found.lower_bound <= 1e-9 * (start - found.f_star)
    else:
        assert found.lower_bound == 0
    rng = np.random.default_rng(1)
    for scale in (1.0, 1e-2, 1e-4):
        for v in rng.normal(size=(20, found.x.size)):
            value = objective.value(found.x + scale * v)
            assert value >= found.lower_bound - 1e-12
            if instance.convex:
                assert value >= found.f_star - 1e-9 * (start - found.f_star)


def test_the_minimum_of_a_lovasz_hinge_is_that_of_all_its_pieces():
    """By scipy, over the epigraph of the pieces of all 4! orders and their beginnings."""
    rng = np.random.default_rng(11)
    X, labels = rng.normal(size=(1, 4, 2)), np.array([[1, 0, 1, 0]])
    problem, decay = linear.problem(X, layers.LovaszHinge(labels)), 0.05
    side, F = np.where(labels[0], 1.0, -1.0), submod.Function.jaccard(labels[0])
    rows, offsets = [], []
    for order in permutations(range(4)):
        gains = F.chain(order)
        for k in range(5):
            g = np.zeros(4)
            g[list(order[:k])] = gains[:k]
            rows.append(-(side * g) @ X[0])
            offsets.append(g.sum())
    slow = scipy_optimize.minimize(
        lambda z: z[2] + decay / 2 * (z[0] ** 2 + z[1] ** 2),
        [0, 0, 2],
        jac=lambda z: np.array([decay * z[0], decay * z[1], 1]),
        constraints={
            "type": "ineq",
            "fun": lambda z: z[2] - np.array(rows) @ z[:2] - np.array(offsets),
            "jac": lambda z: np.hstack([-np.array(rows), np.ones((len(rows), 1))]),
        },
        method="SLSQP",
        options={"ftol": 1e-14, "maxiter": 500},
    )
    found = by_bundle(Instance(problem, np.zeros(2), weight_decay=decay))
    assert found.f_star == pytest.approx(slow.fun, abs=1e-8)


@pytest.mark.parametrize(("n", "condition"), [(5, 1), (20, 100)])
def test_the_minimum_of_a_max_affine_is_a_linear_program(n, condition):
    for seed in range(5):
        a, b, x = planes(n, condition, seed)
        epigraph = np.hstack([a, -np.ones((len(a), 1))])
        free = [(None, None)] * (n + 1)
        slow = scipy_optimize.linprog([*np.zeros(n), 1], epigraph, -b, bounds=free)
        assert slow.fun == pytest.approx(0, abs=1e-9)
        assert (a @ x + b).max() == pytest.approx(0, abs=1e-13)


def test_the_minimum_of_the_logistic_loss_has_no_gradient():
    problem = PROBLEMS["logistic"]
    instance = problem.make(problem.instances(True)[0], 0)
    objective = Objective(instance)
    slow = scipy_optimize.minimize(
        lambda w: objective.subgradient(w, None), instance.start, jac=True, options={"gtol": 1e-10}
    )
    assert problem.reference(instance).f_star == pytest.approx(slow.fun, abs=1e-10)


def test_total_variation_without_weights_is_one_prox():
    problem = PROBLEMS["total_variation"]
    for rows in (1, 5):
        instance = problem.make({"rows": rows, "columns": 9, "condition": 1}, 0)
        exact = instance.cut.prox(instance.y, 1.0)
        found = problem.reference(instance)
        assert found.x == pytest.approx(exact.u, abs=1e-8)
        assert found.f_star == pytest.approx(exact.primal, abs=1e-10)


# ---- determinism ----


@pytest.mark.parametrize(("problem", "settings"), MEMBERS)
def test_settings_and_seed_say_all(problem, settings):
    one, two = problem.make(settings, 5), problem.make(settings, 5)
    assert (one.start == two.start).all()
    x = points(one)[1]
    for objective, other in ((Objective(one), Objective(two)),):
        value, g = objective.subgradient(x, None)
        again, h = other.subgradient(x, None)
        assert value == again
        assert (g == h).all()


# ---- data of users ----


def write(path, **arrays):
    np.savez(path, **arrays)
    return from_npz(path)


def test_a_file_of_features_takes_part(tmp_path):
    X, y = discs(0, 2, 4, 3)
    two = write(tmp_path / "mine.npz", X=X, y=y, start=np.ones(3))
    assert two.name == "npz_mine"
    assert two.instances(True) == [{"batches": 1}, {"batches": 2}]
    assert load(Extras(npz=str(tmp_path / "mine.npz"))).problems["npz_mine"].convex
    instance = two.make({"batches": 2}, 0)
    assert (instance.start == 1).all()
    reference = two.reference(instance)
    assert reference.f_star - reference.lower_bound < 1e-9
    more = write(tmp_path / "more.npz", X=X[0], y=discs(0, 2, 4, 3, 3)[1][0])
    assert not more.convex
    assert more.make({"batches": 1}, 0).problem.n == 9


@pytest.mark.parametrize(
    ("arrays", "what"),
    [
        ({"X": np.ones((2, 3))}, "must have arrays X and y"),
        ({"X": np.ones((2, 3)), "y": np.ones(3)}, "y the same without features"),
        ({"X": np.ones((0, 3)), "y": np.ones(0)}, "y the same without features"),
        ({"X": np.full((2, 3), np.nan), "y": np.ones(2)}, "NaN or Inf"),
        ({"X": np.ones((2, 3)), "y": np.zeros(2)}, "not all 0"),
        ({"X": np.ones((2, 3)), "y": np.array([0.5, 1])}, "whole numbers"),
        ({"X": np.ones((2, 3)), "y": np.array([-1, 1])}, "from 0 on"),
    ],
)
def test_a_file_of_features_that_is_wrong_is_refused(tmp_path, arrays, what):
    with pytest.raises(ValueError, match=what):
        write(tmp_path / "wrong.npz", **arrays)


def test_a_start_of_the_wrong_size_is_refused(tmp_path):
    X, y = discs(0, 2, 4, 3)
    with pytest.raises(ValueError, match="start has 4 numbers; it must have 3 finite ones"):
        write(tmp_path / "mine.npz", X=X, y=y, start=np.ones(4))
    with pytest.raises(ValueError, match="must have 3 finite ones"):
        write(tmp_path / "mine.npz", X=X, y=y, start=np.full(3, np.inf))


@pytest.mark.parametrize("content", [None, b"hello", b"PK\x03\x04 and no more"])
def test_a_file_that_is_no_npz_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "mine.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"must be there and be a \.npz file"):
        from_npz(tmp_path / "mine.npz")


def test_the_resisting_oracle_shows_one_variable_a_call():
    problem = PROBLEMS["worst_case"]
    instance = problem.make({"dimension": 12}, 0)
    result = optim.descend(
        instance.problem, instance.start, 0.1, max_iterations=8, weight_decay=instance.weight_decay
    )
    assert np.count_nonzero(result.x) <= 8
