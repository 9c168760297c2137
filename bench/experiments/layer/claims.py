"""What the paper's supplement C says about optimisers of the last layer, and what came out here."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from ..lab import Lab
from ..telling.section import Claim
from .methods import ALGORITHM_2, PROX, Method
from .results import Curves, below, ratio

SIMILAR = 1.1  # a ratio up to which results count as similar
GRADIENT, MOMENTUM, ADAM = Method("gradient"), Method("momentum"), Method("Adam")
EXACT, GREEDY = Method("gradient", PROX), Method("gradient", ALGORITHM_2)


@dataclass(frozen=True)
class Asked:
    """That ours leaves at most so many times what theirs leaves of J - J*. The first of ours
    decides."""

    paper: str
    ours: Sequence[Method]
    theirs: Method
    most: float = 1.0

    def claim(self, found: Mapping[Method, Curves], data: str) -> Claim:
        rates = [ratio(found[one], found[self.theirs]) for one in self.ours]
        measured = "; ".join(
            f"{one.name}: {rate.value:.3g} ({rate.low:.3g} .. {rate.high:.3g})"
            for one, rate in zip(self.ours, rates)
        )
        similar = f"; similar: up to {self.most:g}" if self.most > 1 else ""
        words = f"J - J* at the end, over that of {self.theirs.name}: {measured}{similar}"
        return Claim(self.paper, words, below(rates[0], self.most), data)


ASKED = (
    Asked(
        "The proximal algorithm converges better than stochastic gradient descent alone "
        "(supplement C)",
        (EXACT, GREEDY),
        GRADIENT,
    ),
    Asked(
        "It has similar or better performance to momentum (supplement C)",
        (EXACT, GREEDY),
        MOMENTUM,
        SIMILAR,
    ),
    Asked(
        "It can easily be combined with momentum (supplement C)",
        (Method("momentum", PROX),),
        MOMENTUM,
        SIMILAR,
    ),
    Asked(
        "With true gradients, momentum converges faster than Adam (supplement C)",
        (MOMENTUM,),
        ADAM,
    ),
)


def claims(lab: Lab, found: Mapping[Method, Curves]) -> list[Claim]:
    plan = lab.plan
    data = (
        f"CamVid, cars, features of {len(plan.seeds)} networks, {plan.layer_draws} draws each, "
        f"{plan.layer_epochs} passes"
    )
    return [asked.claim(found, data) for asked in ASKED]
