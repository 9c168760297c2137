"""Set functions and their Lovász extensions: function.h."""

from __future__ import annotations

import ctypes
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Callable

import numpy as np
import numpy.typing as npt

from . import _errors, _maximize, _prox
from ._arrays import (
    edge_ends,
    elements,
    flags,
    int32,
    is_sparse,
    matrix,
    sparse_edges,
    vector,
)
from ._bindings import (
    CheckReport,
    CheckSettings,
    Concave,
    ConcaveKind,
    Groups,
    Status,
    Term,
    Ties,
)
from ._bindings import Counterexample as RawCounterexample
from ._callbacks import (
    Callbacks,
    ConcaveCallback,
    Trap,
    call_inside,
    call_trapped,
    copy_int32,
)
from ._door import choices, pick
from ._interruptible import call_interruptibly
from ._library import Handle, Immutable, function, warn
from ._maximize import MaximizeResult
from ._measure_check import check_measure_once, require_measure, wants_check
from ._measures import Measure, Tversky, as_measure, measure_struct
from ._numbers import real, real_array, set_fields, whole
from ._prox import (
    Certificate,
    CertificateCheck,
    LevelSets,
    MinimizeResult,
    ProxPath,
    ProxResult,
)
from ._sampling import TOLERANCE, Sampled, silent_process, warn_of
from ._tokens import new_token

Vector = npt.NDArray[np.float64]
TIES = choices(Ties)
_KINDS = choices(ConcaveKind)
CONCAVE_KINDS = {name: _KINDS[name] for name in ("sqrt", "log1p", "min", "power")}
HYPERGRAPH_KINDS = {
    name: _KINDS[name] for name in ("all_or_nothing", "small_side", "product", "clique")
}
CHECKS = {"never": 0, "small": 1, "always": 2}  # from the laxest to the strictest
SMALL = 8  # elements: 256 calls of a Python function, about a millisecond
SEARCHED = 10  # elements up to which minimize usually tries all sets of a custom function
SMALL_LATTICE = 4096  # pairs of counts, likewise
# Larger functions are checked on all sets up to 10 elements, else on 5 sets for each of 200
# samples, by at most 1026 calls.
SAMPLE = {"exhaustive_max": 10, "samples": 200, "time_limit": 0.5, "tolerance": TOLERANCE}


@dataclass(frozen=True)
class Counterexample:
    """A set and elements at which a property fails; left and right are what should be ordered:

    submodular   left = F(A + e) - F(A)  <  right = F(A + f + e) - F(A + f)
    monotone     left = F(A + e) - F(A)  <  right = 0
    symmetric    left = F(A)            !=  right = F(V without A)
    consistent   left = a gain at A for e  !=  right = F(A + e) - F(A)
    """

    set: npt.NDArray[np.int32]
    e: int | None
    f: int | None
    left: float
    right: float


@dataclass(frozen=True)
class Check:
    """What Function.check found. With exhaustive = True all cases were tried, and True is a proof
    up to rounding; otherwise only False is one. str(check) is a report as text."""

    normalised: bool
    submodular: bool
    monotone: bool
    symmetric: bool
    consistent: bool
    exhaustive: bool
    empty_value: float
    evaluations: int
    seconds: float
    counterexamples: dict[str, Counterexample]
    complete: bool  # False: time ran out
    text: str = field(repr=False)

    @property
    def counterexample(self) -> Counterexample | None:
        """To submodularity."""
        return self.counterexamples.get("submodular")

    def __str__(self) -> str:
        return self.text


class Function(Immutable):
    """A set function F on {0, .., n-1}, immutable. Made by the static methods below, by f + g,
    2 * f, f / 2, f + w and f - w (a vector), f.restrict(..), f.contract(..) and f.embed(..)."""

    def __init__(
        self,
        handle: Handle,
        callbacks: Iterable[Trap] = (),
        check: str = "never",
        sampled: Sampled | None = None,
    ) -> None:
        self._handle = handle
        self._callbacks = tuple(dict.fromkeys(callbacks))
        self._policy = check  # one of CHECKS
        self._found: Check | None = None  # what came of it
        self._sampled = sampled or Sampled()
        self._token = new_token(self)

    # ---- constructors ----

    @staticmethod
    def _make(name: str, /, **arguments: Any) -> Function:
        return Function(Handle(name, free="fn_free", **arguments))

    @staticmethod
    def jaccard(mask: Any) -> Function:
        """The Jaccard loss by the set of mispredicted pixels; mask: which pixels are foreground."""
        foreground = flags(mask, "mask")
        return Function._make("fn_jaccard", n=foreground.size, foreground=foreground)

    @staticmethod
    def two_counts(
        mask: Any,
        measure: Measure = "jaccard",
        *,
        weights: Any = None,
        check: str | bool = "small",
    ) -> Function:
        """What the measure says of a set of mispredicted pixels, by how many of them are foreground
        and background; mask: which pixels are foreground. measure: as in lovasz_softmax.

        weights: what each pixel counts for, numbers >= 0. Then the counts are sums of weights.
        check: whether a custom measure is checked first, without the weights. "small" tries all
        pairs of counts if there are at most 4096, and refuses a measure that has a counterexample;
        for more pairs it warns once, as in lovasz_softmax. "always" refuses a measure that fails
        submod.check_measure. "never" or False skips the check.
        """
        policy = CHECKS[_policy(check)]
        foreground = flags(mask, "mask")
        n, P = foreground.size, int(np.count_nonzero(foreground))
        struct, traps = measure_struct(as_measure(measure))
        pairs = (P + 1) * (n - P + 1)
        if policy == CHECKS["small"] and not wants_check(measure):
            policy = CHECKS["never"]
        if traps and (policy == CHECKS["always"] or (policy and pairs <= SMALL_LATTICE)):
            advice = "check='never' in Function.two_counts lets it pass"
            require_measure(measure, P, n - P, advice)
        elif policy and callable(measure):
            check_measure_once(measure, P, n - P)
        given = {"n": n, "foreground": foreground, "weight": None, "measure": struct}
        if weights is not None:
            given["weight"] = vector(real_array(weights, "weights").reshape(-1), "weights", n)
        return Function(Handle("fn_counts", **given, free="fn_free"), traps)

    @staticmethod
    def tversky(mask: Any, *, alpha: float, beta: float, weights: Any = None) -> Function:
        """The Tversky loss by the set of mispredicted pixels: two_counts of submod.Tversky."""
        return Function.two_counts(mask, Tversky(alpha, beta), weights=weights)

    @staticmethod
    def hamming(n: int) -> Function:
        """|A| / n"""
        return Function._make("fn_hamming", n=whole(n, "n"))

    @staticmethod
    def modular(w: Any) -> Function:
        """The sum of w over A."""
        weight = vector(w, "w")
        return Function._make("fn_modular", n=weight.size, w=weight)

    @staticmethod
    def cardinality(h: Any) -> Function:
        """h[|A|] for a concave table of n + 1 numbers."""
        table = vector(h, "h")
        if table.size < 2:
            raise ValueError("h needs n + 1 numbers, n >= 1")
        points = _with_arrays(Concave(kind=ConcaveKind.POINTS, count=table.size), g=table)
        return Function._make("fn_concave", n=table.size - 1, concave=points)

    @staticmethod
    def sqrt(n: int) -> Function:
        """sqrt(|A|)"""
        return Function._make("fn_concave", n=whole(n, "n"), concave=_named("sqrt"))

    @staticmethod
    def log1p(n: int) -> Function:
        """log(1 + |A|)"""
        return Function._make("fn_concave", n=whole(n, "n"), concave=_named("log1p"))

    @staticmethod
    def truncation(n: int, c: int) -> Function:
        """min(|A|, c)"""
        return Function._make("fn_concave", n=whole(n, "n"), concave=_named("min", whole(c, "c")))

    @staticmethod
    def concave(w: Any, g: Any = "sqrt", parameter: float | None = None) -> Function:
        """g(w(A)) for weights w >= 0 and a concave g: "sqrt", "log1p", "min" (of w(A) and the
        parameter), "power" (with the parameter as exponent, in (0, 1]); a pair of arrays
        (t, values), between whose points g is linear; or a function of one number. The concavity of
        such a function is checked as in Function.custom, with check = "small"."""
        weight = vector(w, "w")
        given = {"n": weight.size, "weight": weight}
        if isinstance(g, str):
            return Function._make("fn_concave", **given, concave=_named(g, parameter))
        if parameter is not None:
            raise ValueError(f"parameter = {parameter!r} is for a g that is given by name")
        if callable(g):
            custom = ConcaveCallback(g)
            handle = Handle("fn_concave", **given, concave=custom.struct, free="fn_free")
            return Function(handle, [custom], "small")
        if not isinstance(g, Sequence) or len(g) != 2:
            raise ValueError("g must be a name, a pair of arrays (t, values), or a function")
        t = vector(g[0], "t")
        values = vector(g[1], "values", t.size)
        points = _with_arrays(Concave(kind=ConcaveKind.POINTS, count=t.size), t=t, g=values)
        return Function._make("fn_concave", **given, concave=points)

    @staticmethod
    def groups(
        n: int,
        groups: Iterable[Iterable[int]],
        g: str = "sqrt",
        parameter: float | None = None,
        *,
        weights: Any = None,
        amounts: Any = None,
    ) -> Function:
        """The sum over the groups of weight * g(number of elements of A in the group); g by name as
        in Function.concave. amounts: lists like groups, what each element brings instead of 1.
        Groups may overlap."""
        start, members = _lists(groups, "groups")
        given = {"amount": None if amounts is None else _amounts(amounts, start)}
        lists = _groups(start, members, weights, **given)
        concave = _named(g, parameter)
        return Function._make("fn_groups", n=whole(n, "n"), groups=lists, concave=concave)

    @staticmethod
    def hypergraph(
        n: int,
        edges: Iterable[Iterable[int]],
        weights: Any = None,
        *,
        kind: str = "all_or_nothing",
    ) -> Function:
        """The cut of a hypergraph: the sum over edges of weight * what kind says of an edge with i
        nodes in A and j outside, both > 0: "all_or_nothing" 1, "small_side" min(i, j), "product"
        i * j, and "clique" i * j once more, as an ordinary cut."""
        lists = _groups(*_lists(edges, "edges"), weights)
        concave = Concave(kind=pick("kind", kind, HYPERGRAPH_KINDS))
        return Function._make("fn_groups", n=whole(n, "n"), groups=lists, concave=concave)

    @staticmethod
    def cut(n: int, edges: Any, weights: Any = None, *, directed: bool = False) -> Function:
        """Weight of the edges that leave A (directed), or have one end in A. edges: m pairs,
        or an array (m, 2); or a matrix (n, n) of scipy.sparse, whose entry [i, j] is the weight of
        the edge from i to j: a symmetric one, unless directed, with each edge in it twice."""
        if is_sparse(edges):
            edges, weights = sparse_edges(edges, weights, whole(n, "n"), directed)
        tail, head = edge_ends(edges)
        count = tail.size
        weight = vector(np.ones(count) if weights is None else weights, "weights", count)
        graph = {"tail": tail, "head": head, "weight": weight, "directed": int(directed)}
        return Function._make("fn_cut", n=whole(n, "n"), m=count, **graph)

    @staticmethod
    def coverage(covers: Iterable[Iterable[int]], weights: Any) -> Function:
        """Weight of the items covered by A; element e covers the items covers[e], numbers that
        index weights (>= 0)."""
        start, items = _lists(covers, "covers")
        weight = vector(weights, "weights")
        covered = {"start": start, "items": items}
        return Function._make(
            "fn_coverage", n=start.size - 1, m=weight.size, weight=weight, **covered
        )

    @staticmethod
    def facility(benefit: Any) -> Function:
        """Facility location: the sum over clients i of the largest benefit[i, j], j in A."""
        table = matrix(benefit, "benefit", "(clients, n) is needed")
        clients, n = table.shape
        return Function._make("fn_facility", n=n, m=clients, benefit=table)

    @staticmethod
    def logdet(K: Any) -> Function:
        """log det K[A, A] for a symmetric positive definite K."""
        kernel = matrix(K, "K", "a square matrix is needed")
        if kernel.shape[0] != kernel.shape[1]:
            raise ValueError(f"K of shape {kernel.shape}; a square matrix is needed")
        return Function._make("fn_logdet", n=kernel.shape[0], K=kernel)

    @staticmethod
    def custom(
        n: int,
        f: Callable[[npt.NDArray[np.int32]], float],
        gains: Callable[[npt.NDArray[np.int32], npt.NDArray[np.int32]], Any] | None = None,
        *,
        check: str | bool = "small",
    ) -> Function:
        """A function of your own: f(A) for an array A of distinct elements in any order.

        f of the empty set may be any number. Function(A) and minimize().value are f's own values;
        chain, lovasz and prox are made of differences and do not see it: lovasz of the indicator
        of A is f(A) - f([]).

        gains(A, order), optional, makes it faster: what each element of order adds when they join
        the set A one after the other; one call instead of len(order) calls of f.
        Exceptions in f and gains come through to whoever called the library.

        check: how prox and minimize check the function, once, before its first use. Their results
        are right for submodular functions only. "small" (or True) tries all cases up to 8 elements,
        by 2^n calls of f, and refuses a function with a counterexample (or with gains that
        disagree). Beyond 8 elements it tries all cases up to 10 elements and 200 random cases for
        more, and shows a counterexample in a SubmodularityWarning. This takes at most 1026 calls of
        f, each some 10 microseconds plus the time in f, and at most half a second. "always" refuses
        a function if Function.check finds a counterexample, in all cases up to 16 elements and in
        random cases beyond. "never" (or False) skips the check. Except with "always", an exception
        in f or gains ends the check silently and for good, since prox and minimize may need other
        sets. A minimize that tries all sets of 9 or 10 elements needs no check. Functions made from
        this one are checked themselves; f + w, 2 * f and f.embed(..) share its one warning. Daemon
        processes, such as DataLoader workers, and torch.distributed ranks other than 0 do not warn.
        """
        policy = _policy(check)
        n = whole(n, "n")
        callbacks = Callbacks(n, f, gains)
        handle = Handle("fn_custom", n=n, ops=callbacks.ops, free="fn_free")
        return Function(handle, [callbacks], policy)

    # ---- combinations ----

    def __add__(self, other: Any) -> Function:
        if isinstance(other, Function):
            return self._sum([self, other])
        if np.isscalar(other):
            if other == 0 and not np.iscomplexobj(other):  # where sum() starts
                return self
            return NotImplemented
        weight = vector(other, "w", self.n)
        return self._combination(modular=weight)

    __radd__ = __add__
    __array_ufunc__ = None  # w + f is for us, not for NumPy

    @staticmethod
    def _sum(functions: list[Function]) -> Function:
        terms = (Term * len(functions))(*(f._term(1.0) for f in functions))
        handle = Handle(
            "fn_combine", n=functions[0].n, terms=terms, count=len(functions), free="fn_free"
        )
        strictest = max((f._policy for f in functions), key=lambda name: CHECKS[name])
        sampled = Sampled()
        # Built-in functions are submodular, and so are sums of submodular functions.
        sampled.claimed = sampled.submodular = all(
            f._sampled.submodular or not f._callbacks for f in functions
        )
        return Function(handle, [c for f in functions for c in f._callbacks], strictest, sampled)

    def __mul__(self, c: float) -> Function:
        if not isinstance(c, (int, float, np.number)):
            return NotImplemented
        return self._combination(real(c, "c"))

    __rmul__ = __mul__

    def __truediv__(self, c: float) -> Function:
        if not isinstance(c, (int, float, np.number)):
            return NotImplemented
        divisor = real(c, "c")
        if divisor == 0:
            raise ZeroDivisionError("a function divided by 0")
        return self * (1 / divisor)

    def __sub__(self, other: Any) -> Function:
        """Of a vector, or of Function.modular: any other difference need not be submodular."""
        if isinstance(other, Function):
            if other.name != "modular":
                raise TypeError(
                    f"f - g with a g that is {other.name}: the difference need not be submodular; "
                    "what can be subtracted is a vector, or Function.modular of one"
                )
            other = other.chain(np.arange(other.n))
        if np.isscalar(other):
            return NotImplemented
        return self + -vector(other, "w", self.n)

    def restrict(self, S: Iterable[int]) -> Function:
        """F on the subsets of S; new element j stands for S[j]."""
        kept = elements(S, "S", self.n)
        return self._derive("fn_restrict", self._of_part(), elements=kept, k=kept.size)

    def contract(self, S: Iterable[int]) -> Function:
        """A -> F(A + S) - F(S) on the elements outside S, in ascending order."""
        fixed = elements(S, "S", self.n)
        return self._derive("fn_contract", self._of_part(), elements=fixed, k=fixed.size)

    def embed(self, n: int, S: Iterable[int]) -> Function:
        """A -> F(A intersected with S) on n elements; element j of F stands for S[j]. Costs what
        it touches, also as one of many terms of a sum."""
        n = whole(n, "n")
        places = elements(S, "S", n)
        if places.size != self.n:
            raise ValueError(f"S has {places.size} elements, but the function has {self.n}")
        return self._combination(1.0, places, n=n)

    def _term(self, coefficient: float, places: Any = None) -> Term:
        data = None if places is None else places.ctypes.data_as(ctypes.POINTER(ctypes.c_int32))
        assert self._handle._as_parameter_ is not None
        return Term(self._handle._as_parameter_.value, coefficient, data)

    def _combination(
        self, coefficient: float = 1.0, places: Any = None, **arguments: Any
    ) -> Function:
        """Returns coefficient * F on these elements, plus a modular part."""
        terms = (Term * 1)(self._term(coefficient, places))
        arguments = {"n": self.n, **arguments}
        handle = Handle("fn_combine", terms=terms, count=1, free="fn_free", **arguments)
        return Function(handle, self._callbacks, self._policy, self._sampled)

    def _derive(self, name: str, sampled: Sampled | None = None, /, **arguments: Any) -> Function:
        """sampled: the check state of the result, if it can be submodular although this function is
        not."""
        handle = Handle(name, f=self._handle, free="fn_free", **arguments)
        return Function(handle, self._callbacks, self._policy, sampled or self._sampled)

    def _of_part(self) -> Sampled:
        """Returns the check state for restrictions and contractions. Once this function is checked,
        they need no check, or no second warning."""
        return self._sampled if self._sampled.claimed else Sampled()

    # ---- evaluation ----

    @property
    def n(self) -> int:
        """The number of elements."""
        size: int = function("fn_size")(self._handle)
        return size

    @property
    def name(self) -> str:
        """Its kind: "jaccard", "cut", .., "custom"."""
        name: bytes = function("fn_name")(self._handle)
        return name.decode()

    def __repr__(self) -> str:
        return f"<submod.Function {self.name}, n = {self.n}>"

    def __call__(self, S: Iterable[int] | npt.NDArray[Any]) -> float:
        """F(S), S given as elements or as n flags (a boolean array)."""
        members, value = elements(S, "S", self.n), ctypes.c_double()
        self._call("fn_eval", set=members, k=members.size, value=ctypes.byref(value))
        return value.value

    def chain(self, order: Iterable[int]) -> Vector:
        """What each element of order adds when they join one after the other."""
        members = elements(order, "order", self.n)
        gains = np.empty(members.size)
        self._call("fn_chain", order=members, k=members.size, gains=gains)
        return gains

    def lovasz(self, x: Any, *, ties: str = "average") -> tuple[float, Vector]:
        """The Lovász extension at x, and its greedy subgradient there. ties: "average" over the
        orders of equal entries where there is a formula for it, or by "index"."""
        point, g, value = vector(x, "x", self.n), np.empty(self.n), ctypes.c_double()
        wanted = pick("ties", ties, TIES)
        self._call("lovasz", x=point, value=ctypes.byref(value), subgradient=g, ties=wanted)
        return value.value, g

    def check(
        self,
        *,
        exhaustive_max: int | None = None,
        samples: int | None = None,
        time_limit: float | None = None,
        tolerance: float | None = None,
        seed: int | None = None,
    ) -> Check:
        """Looks for a counterexample to submodularity and other properties: in all cases up to
        exhaustive_max elements (16), else in so many random samples (20000), for at most
        time_limit seconds (10)."""
        found, status = self._checked(
            exhaustive_max=exhaustive_max,
            samples=samples,
            time_limit=time_limit,
            tolerance=tolerance,
            seed=seed,
        )
        warn(status, "check")
        return found

    def _checked(self, **wanted: Any) -> tuple[Check, int]:
        """Runs the check. wanted: fields of submod_check_settings; None stands for the default."""
        settings: CheckSettings = function("check_defaults")()
        set_fields(settings, wanted)
        report = CheckReport()
        try:
            status = self._call_long("fn_check", report=report, settings=settings)
            return _check(report, status), status
        finally:
            function("check_report_clear")(ctypes.byref(report))

    def prox(
        self,
        x: Any,
        lam: float,
        method: str = "auto",
        *,
        hinge: bool = False,
        start: Certificate | None = None,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        time_limit: float | None = None,
        accuracy: float | None = None,
        progress: Callable[[int, float], None] | None = None,
    ) -> ProxResult:
        """argmin over u of f(u) + lam/2 |u - x|^2, f the Lovász extension; F submodular.

        method: "auto", "closed_form", "cardinality", "jaccard", "two_counts", "chain",
        "decomposition", "own", "sum", "min_norm", or Algorithm 2 of the paper's supplement,
        which is not always optimal: "algorithm_2", "algorithm_2_loop" or "algorithm_2_printed".
        hinge: of f(max(u, 0)) instead, for a monotone F.
        start: where an iterative method starts: the certificate of another result. The limits and
        the relative tolerance of the gap (1e-10) are for iterative methods.
        accuracy: of "jaccard" and "two_counts", which then count x in bins and do not sort it: no
        entry of u is off by more. 0, the default, means exact.
        progress(iterations, gap): is called each time an iterative method has looked at its gap.
        An exception in it ends the method when the cancel flag is next checked, and is raised here.
        """
        self._require_submodular("prox")
        return _prox.prox(
            self._call_long,
            self.n,
            x,
            lam,
            method,
            hinge,
            start,
            progress,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
            accuracy=accuracy,
        )

    def prox_path(
        self,
        x: Any,
        lams: Any,
        method: str = "auto",
        *,
        hinge: bool = False,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        time_limit: float | None = None,
    ) -> ProxPath:
        """The prox at x for many lams, a regularisation path. Iterative methods start each where
        the last one ended, if its lam is within a factor of 1.25; limits are for each of them."""
        self._require_submodular("prox_path")
        return _prox.prox_path(
            self._call_long,
            self.n,
            x,
            lams,
            method,
            hinge,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
        )

    def level_sets(
        self,
        x: Any,
        lam: float,
        alphas: Any,
        method: str = "auto",
        *,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        time_limit: float | None = None,
    ) -> LevelSets:
        """The smallest and largest minimisers of F(A) - lam sum over A of (x - alpha) for many
        alphas, from one prox: {u > alpha} and {u >= alpha}."""
        found = self.prox(
            x,
            lam,
            method,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
        )
        return _prox.level_sets(found, alphas)

    def minimize(
        self,
        method: str = "auto",
        *,
        integer_valued: bool = False,
        tolerance: float | None = None,
        max_iterations: int | None = None,
        time_limit: float | None = None,
    ) -> MinimizeResult:
        """A set that minimises F, which is submodular, with a certified gap. For any other F the
        set and its proof may be wrong, except by method "exhaustive".

        method: "auto", "minimizer" (the function's own), "min_norm" or "exhaustive".
        integer_valued: F takes whole numbers only, so that a gap below 1 proves optimality.
        """
        searched = method == "auto" and self.n <= SEARCHED
        if method != "exhaustive":
            self._require_submodular("minimize", sample=not searched)
        result = _prox.minimize(
            self._call_long,
            self.n,
            method,
            integer_valued=integer_valued,
            tolerance=tolerance,
            max_iterations=max_iterations,
            time_limit=time_limit,
        )
        if searched and not result.exact:
            self._require_submodular("minimize")
        return result

    def maximize(
        self,
        k: int,
        method: str = "lazy",
        *,
        candidates: Iterable[int] | None = None,
        epsilon: float | None = None,
        seed: int | None = None,
        time_limit: float | None = None,
    ) -> MaximizeResult:
        """A set of at most k elements, out of the candidates (all), with a large F: greedily. If F
        is monotone and submodular, its worth F(A) - F(empty) is at least 63 % of the best one's,
        and the result's bound mostly proves more.

        method: "lazy", "plain" (the same set, by more gains) or "stochastic": asks random elements
        only, and loses at most another share epsilon (0.1) in expectation.
        """
        return _maximize.maximize(
            self._call_long,
            self.n,
            k,
            method,
            candidates,
            epsilon=epsilon,
            seed=seed,
            time_limit=time_limit,
        )

    def verify(
        self, x: Any, lam: float, u: Any, s: Any, certificate: Certificate | None
    ) -> CertificateCheck:
        """Checks a prox from the values of F alone, without trusting the solver. Methods
        without a certificate, whose results have None there, cannot be checked so."""
        return _prox.verify(self._call_long, self.n, x, lam, u, s, certificate)

    def _require_submodular(self, what: str, sample: bool = True) -> None:
        """Checks the function as its policy requires. sample: whether to check functions of more
        than SMALL elements at samples."""
        if self._policy == "never":
            return
        if self._policy == "small" and self.n > SMALL:
            if sample:
                self._warn_unless_submodular(what)
            return
        if self._found is None:
            try:
                self._found = self.check()
            except Exception:
                if self._policy == "always":
                    raise
                self._policy = "never"  # as after a sampling check that gave up
                return
        for name in ("submodular", "consistent"):
            if name in self._found.counterexamples:
                raise _errors.InvalidArgumentError(
                    f"{what} would be wrong for this function. {_line(self._found, name)}. "
                    "check='never' in Function.custom lets it pass"
                )

    def _warn_unless_submodular(self, what: str) -> None:
        """Checks a sample of sets, once. Only evaluates F, so that gains are not called. Exceptions
        end the check silently, because the caller may never evaluate F at the sampled sets."""
        if silent_process() or not self._sampled.claim():
            return
        values = Callbacks(self.n, self._value, None)
        handle = Handle("fn_custom", n=self.n, ops=values.ops, free="fn_free")
        try:
            found, _ = Function(handle, [*self._callbacks, values])._checked(**SAMPLE)
        except Exception:
            return
        self._sampled.submodular = found.submodular
        if not found.submodular:
            warn_of(
                f"{what} may be wrong for this function. {_line(found, 'submodular')}. check=False "
                "in Function.custom skips this check"
            )

    def _value(self, members: npt.NDArray[np.int32]) -> float:
        """Returns F(members) from within a callback."""
        value = ctypes.c_double()
        arguments = {"set": members, "k": members.size, "value": ctypes.byref(value)}
        call_inside("fn_eval", fn=self._handle, **arguments)
        return value.value

    def _call(self, name: str, /, **arguments: Any) -> int:
        """A call with this function as fn. With callbacks, Ctrl-C arrives in one of them, and what
        they raise is raised here."""
        return call_trapped(self._callbacks, name, fn=self._handle, **arguments)

    def _call_long(self, name: str, /, **arguments: Any) -> int:
        """The same for what may take long: Ctrl-C is heard without callbacks too."""
        if self._callbacks:
            return self._call(name, **arguments)
        return call_interruptibly((), name, fn=self._handle, **arguments)


def _lists(lists: Iterable[Iterable[int]], name: str) -> tuple[Any, Any]:
    """Where each list starts, and all lists one after the other."""
    kept = [list(each) for each in lists]
    start = np.zeros(len(kept) + 1, np.uintp)
    np.cumsum([len(each) for each in kept], out=start[1:])
    return start, int32([item for each in kept for item in each], name)


def _with_arrays(struct: ctypes.Structure, **arrays: Any) -> Any:
    """The struct, with addresses of arrays, which live as long; None is NULL."""
    kinds: dict[str, Any] = {field[0]: field[1] for field in struct._fields_}
    for name, array in arrays.items():
        if array is not None:
            setattr(struct, name, array.ctypes.data_as(kinds[name]))
    struct.arrays = arrays
    return struct


def _groups(start: Any, members: Any, weights: Any, **amounts: Any) -> Any:
    """The struct of groups, from _lists."""
    weight = None if weights is None else vector(weights, "weights", start.size - 1)
    groups = Groups(count=start.size - 1)
    return _with_arrays(groups, start=start, elements=members, weight=weight, **amounts)


def _amounts(amounts: Iterable[Iterable[float]], start: Any) -> Vector:
    """One after the other; list by list as many as the groups have, which start there."""
    kept = [list(each) for each in amounts]
    if [len(each) for each in kept] != np.diff(start).tolist():
        raise ValueError("amounts must be lists like groups, as many and as long")
    return vector([amount for each in kept for amount in each], "amounts")


def _policy(check: str | bool) -> str:
    """Returns the name of the policy; True stands for "small", False for "never"."""
    given = ("small" if check else "never") if isinstance(check, bool) else check
    pick("check", given, CHECKS)
    return str(given)


def _line(found: Check, name: str) -> str:
    """Returns the line of the report that shows how a property fails."""
    words = {"submodular": "submodular: no", "consistent": "callbacks agree with eval: no"}
    return next(line for line in found.text.splitlines() if line.startswith(words[name]))


def _named(g: str, parameter: float | None = None) -> Concave:
    """A concave function by its name."""
    kind = pick("g", g, CONCAVE_KINDS)
    needed = kind in (ConcaveKind.MIN, ConcaveKind.POWER)
    if needed != (parameter is not None):
        raise ValueError(f"g = {g!r} {'needs a' if needed else 'has no'} parameter")
    return Concave(kind=kind, parameter=real(parameter, "parameter") if needed else 0.0)


def _counterexample(raw: RawCounterexample) -> Counterexample:
    members = copy_int32(raw.set, raw.set_size)
    e, f = (None if i < 0 else int(i) for i in (raw.e, raw.f))
    return Counterexample(members, e, f, raw.left, raw.right)


def _check(report: CheckReport, status: int) -> Check:
    names = ["submodular", "monotone", "symmetric", "consistent"]
    failed = [name for name in names if not getattr(report, name)]
    size = function("check_report_text")(ctypes.byref(report), None, 0) + 1
    text = ctypes.create_string_buffer(size)
    function("check_report_text")(ctypes.byref(report), text, size)
    return Check(
        normalised=bool(report.normalised),
        submodular=bool(report.submodular),
        monotone=bool(report.monotone),
        symmetric=bool(report.symmetric),
        consistent=bool(report.consistent),
        exhaustive=bool(report.exhaustive),
        empty_value=report.empty_value,
        evaluations=report.evaluations,
        seconds=report.seconds,
        counterexamples={name: _counterexample(getattr(report, "not_" + name)) for name in failed},
        complete=status == Status.OK,
        text=text.value.decode(),
    )
