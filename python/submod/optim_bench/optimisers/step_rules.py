"""Step rules and schedules, each a row. The size is that of the first step, where k = 0."""

from __future__ import annotations

from ...optim import (
    AdaGrad,
    AdaGradNorm,
    Adam,
    Averaged,
    DualAveraging,
    Momentum,
    Nesterov,
    ScheduleFreeAdam,
    ScheduleFreeSGD,
)
from .descent import COORDINATE_STEP, LENGTH, Descent, ProxDescent

_BATCHES = ("minibatches",)

OPTIMISERS = (
    # ---- subgradients ----
    Descent("gd", "gradient descent"),
    Descent("gd-sqrt", "gradient descent, 1/√k", schedule="inverse_sqrt"),
    Descent("gd-inverse", "gradient descent, 1/k", schedule="inverse"),
    Descent("averaged-gd", "gradient descent, averaged", Averaged(), "inverse_sqrt"),
    Descent("momentum", "momentum", Momentum()),
    Descent("momentum-sqrt", "momentum, 1/√k", Momentum(), "inverse_sqrt"),
    Descent("averaged-momentum", "momentum, averaged", Averaged(Momentum(), power=1)),
    Descent("nesterov", "Nesterov", Nesterov()),
    Descent("adam", "Adam", Adam(), unit=COORDINATE_STEP),
    Descent("adam-sqrt", "Adam, 1/√k", Adam(), "inverse_sqrt", COORDINATE_STEP),
    Descent("adagrad", "AdaGrad", AdaGrad(), unit=COORDINATE_STEP),
    Descent("adagrad-norm", "AdaGrad-Norm", AdaGradNorm(), unit=LENGTH),
    Descent("dual-averaging", "dual averaging", DualAveraging()),
    Descent("schedule-free-sgd", "schedule-free SGD", ScheduleFreeSGD()),
    Descent("schedule-free-adam", "schedule-free Adam", ScheduleFreeAdam(), unit=COORDINATE_STEP),
    Descent("polyak", "Polyak, who knows f*", schedule="polyak", tuned=False, full=True),
    Descent("stochastic-polyak", "stochastic Polyak", schedule="stochastic_polyak", needs=_BATCHES),
    # ---- the prox direction ----
    ProxDescent("prox", "prox direction"),
    ProxDescent("prox-sqrt", "prox direction, 1/√k", schedule="inverse_sqrt"),
    ProxDescent("prox-momentum", "prox direction, momentum", Momentum()),
    ProxDescent("prox-adam", "prox direction, Adam", Adam(), unit=COORDINATE_STEP),
)
