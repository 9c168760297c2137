"""Step rules and schedules, each a row. The size is that of the first step, where k = 0."""

from __future__ import annotations

from ...optim import (
    AdaGrad,
    Adam,
    Averaged,
    Momentum,
    Nesterov,
)
from .descent import COORDINATE_STEP, Descent, ProxDescent

_AVERAGES = "averages"

OPTIMISERS = (
    # ---- subgradients ----
    Descent("gd", "gradient descent"),
    Descent("gd-sqrt", "gradient descent, 1/√k", schedule="inverse_sqrt"),
    Descent("gd-inverse", "gradient descent, 1/k", schedule="inverse"),
    Descent("momentum", "momentum", Momentum()),
    Descent("momentum-sqrt", "momentum, 1/√k", Momentum(), "inverse_sqrt"),
    Descent("nesterov", "Nesterov", Nesterov()),
    Descent("adam", "Adam", Adam(), unit=COORDINATE_STEP),
    Descent("adam-sqrt", "Adam, 1/√k", Adam(), "inverse_sqrt", COORDINATE_STEP),
    Descent("adagrad", "AdaGrad", AdaGrad(), unit=COORDINATE_STEP),
    Descent("polyak", "Polyak, who knows f*", schedule="polyak", tuned=False, full=True),
    # ---- averages of points ----
    Descent("averaged-gd", "averaged gd", Averaged(), "inverse_sqrt", group=_AVERAGES),
    Descent("averaged-momentum", "averaged momentum", Averaged(Momentum(), 1.0), group=_AVERAGES),
    # ---- the prox direction ----
    ProxDescent("prox", "prox direction"),
    ProxDescent("prox-sqrt", "prox direction, 1/√k", schedule="inverse_sqrt"),
    ProxDescent("prox-momentum", "prox direction, momentum", Momentum()),
    ProxDescent("prox-adam", "prox direction, Adam", Adam(), unit=COORDINATE_STEP),
)
