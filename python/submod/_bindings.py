"""The public headers for ctypes. Made by generate_bindings.py: do not edit."""

from __future__ import annotations

from ctypes import (
    CFUNCTYPE,
    POINTER,
    Structure,
    c_char,
    c_char_p,
    c_double,
    c_float,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint8,
    c_uint32,
    c_uint64,
    c_void_p,
)
from enum import IntEnum
from typing import Any

VERSION_MAJOR = 0
VERSION_MINOR = 3
VERSION_PATCH = 0
VERSION_STRING = "0.3.0"
EXHAUSTIVE_MAX = 24
GPU_NONE = 2**64 - 1
FULL_BATCH = 2**64 - 1
PROX_BINS_MAX = 1 << 22


class Status(IntEnum):
    """submod_status"""

    OK = 0
    TIMELIMIT = 1
    MAXITER = 2
    INACCURATE = 3
    CANCELLED = 4
    EINVAL = -1
    ENONFINITE = -2
    ENOMEM = -3
    ECALLBACK = -4
    ENUMERIC = -5
    EUNSUPPORTED = -6
    ECANCELLED = -7
    ECOMM = -8
    EFILE = -9


class MeasureType(IntEnum):
    """submod_measure_type"""

    JACCARD = 0
    HAMMING = 1
    TVERSKY = 2
    CUSTOM = 3


class ConcaveKind(IntEnum):
    """submod_concave_kind"""

    SQRT = 0
    LOG1P = 1
    MIN = 2
    POWER = 3
    POINTS = 4
    CUSTOM = 5
    ALL_OR_NOTHING = 6
    SMALL_SIDE = 7
    PRODUCT = 8
    CLIQUE = 9


class Ties(IntEnum):
    """submod_ties"""

    AVERAGE = 0
    INDEX = 1


class LabelType(IntEnum):
    """submod_label_type"""

    U8 = 0
    I32 = 1
    I64 = 2


class ScoreType(IntEnum):
    """submod_score_type"""

    F32 = 0
    F16 = 1
    BF16 = 2


class Engine(IntEnum):
    """submod_engine"""

    EXACT = 0
    HISTOGRAM = 1
    COUNTING = 2


class Classes(IntEnum):
    """submod_classes"""

    PRESENT = 0
    ALL = 1
    LIST = 2


class Overlap(IntEnum):
    """submod_overlap"""

    MIN = 0
    PRODUCT = 1


class DecisionScore(IntEnum):
    """submod_decision_score"""

    IOU = 0
    DICE = 1


class DecisionMethod(IntEnum):
    """submod_decision_method"""

    RANK = 0
    GREEDY = 1
    THRESHOLD = 2
    HALF = 3


class Expectation(IntEnum):
    """submod_expectation"""

    QUADRATURE = 0
    SERIES = 1


class Absent(IntEnum):
    """submod_absent"""

    ONE = 0
    ZERO = 1
    SKIP = 2
    TRUTH = 3


class CommType(IntEnum):
    """submod_comm_type"""

    I32 = 0
    F64 = 1


class GpuLoss(IntEnum):
    """submod_gpu_loss"""

    SOFTMAX = 0
    SIGMOID = 1
    HINGE = 2


class ScheduleKind(IntEnum):
    """submod_schedule_kind"""

    CONSTANT = 0
    STEP = 1
    EXPONENTIAL = 2
    POLY = 3
    INVERSE_SQRT = 4
    POLYAK = 5
    INVERSE = 6


class Stop(IntEnum):
    """submod_stop"""

    NONE = 0
    ITERATIONS = 1
    TIME = 2
    TARGET = 3
    GRADIENT = 4
    CALLBACK = 5
    STALLED = 6
    FAILURE = 7
    CANCELLED = 8


class Direction(IntEnum):
    """submod_direction"""

    SUBGRADIENT = 0
    PROX = 1


class BatchOrder(IntEnum):
    """submod_batch_order"""

    FULL = 0
    CYCLIC = 1
    SHUFFLED = 2
    RANDOM = 3


class ProxMethod(IntEnum):
    """submod_prox_method"""

    AUTO = 0
    CLOSED_FORM = 1
    CARDINALITY = 2
    JACCARD = 3
    CHAIN = 4
    DECOMPOSITION = 5
    MIN_NORM = 6
    ALGORITHM_2 = 7
    SUM = 8
    OWN = 9
    TWO_COUNTS = 10
    ALGORITHM_2_LOOP = 11
    ALGORITHM_2_PRINTED = 12


class NoBlock(IntEnum):
    """submod_no_block"""

    HELD = -1
    FREE = -2


class SfmMethod(IntEnum):
    """submod_sfm_method"""

    AUTO = 0
    MINIMIZER = 1
    MIN_NORM = 2
    EXHAUSTIVE = 3
    SUM = 4


class MaximizeMethod(IntEnum):
    """submod_maximize_method"""

    LAZY = 0
    PLAIN = 1
    STOCHASTIC = 2


class Allocator(Structure):
    """submod_allocator"""

    _fields_ = [
        ("alloc", CFUNCTYPE(c_void_p, c_size_t, c_size_t)),
        ("release", CFUNCTYPE(None, c_void_p)),
    ]


class MeasureOps(Structure):
    """submod_measure_ops"""

    _fields_ = [
        ("value", CFUNCTYPE(c_double, c_double, c_double, c_double, c_double, c_void_p)),
        (
            "values",
            CFUNCTYPE(None, c_size_t, c_void_p, c_void_p, c_double, c_double, c_void_p, c_void_p),
        ),
    ]


class Measure(Structure):
    """submod_measure"""

    _fields_ = [
        ("type", c_int),
        ("alpha", c_double),
        ("beta", c_double),
        ("ops", MeasureOps),
        ("ctx", c_void_p),
    ]


class CheckSettings(Structure):
    """submod_check_settings"""

    _fields_ = [
        ("exhaustive_max", c_size_t),
        ("samples", c_uint64),
        ("time_limit", c_double),
        ("tolerance", c_double),
        ("seed", c_uint64),
    ]


class Counterexample(Structure):
    """submod_counterexample"""

    _fields_ = [
        ("callback", POINTER(c_char)),
        ("set", c_void_p),
        ("set_size", c_size_t),
        ("e", c_int32),
        ("f", c_int32),
        ("a", c_double),
        ("b", c_double),
        ("da", c_double),
        ("db", c_double),
        ("ea", c_double),
        ("eb", c_double),
        ("left", c_double),
        ("right", c_double),
    ]


class CheckReport(Structure):
    """submod_check_report"""

    _fields_ = [
        ("of_measure", c_int),
        ("exhaustive", c_int),
        ("finite", c_int),
        ("normalised", c_int),
        ("submodular", c_int),
        ("monotone", c_int),
        ("symmetric", c_int),
        ("consistent", c_int),
        ("empty_value", c_double),
        ("P", c_double),
        ("N", c_double),
        ("evaluations", c_uint64),
        ("seconds", c_double),
        ("not_finite", Counterexample),
        ("not_submodular", Counterexample),
        ("not_monotone", Counterexample),
        ("not_symmetric", Counterexample),
        ("not_consistent", Counterexample),
    ]


class Minor(Structure):
    """submod_minor"""

    _fields_ = [
        ("base", POINTER(c_int32)),
        ("nbase", c_size_t),
        ("ground", POINTER(c_int32)),
        ("nground", c_size_t),
    ]


class FnOps(Structure):
    """submod_fn_ops"""

    _fields_ = [
        ("name", POINTER(c_char)),
        ("eval", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)),
        ("state_size", c_size_t),
        ("reset", CFUNCTYPE(c_int, c_void_p, c_void_p)),
        ("chain", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)),
        ("gain", CFUNCTYPE(c_int, c_void_p, c_void_p, c_int32, c_void_p)),
        ("tied", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)),
        (
            "minimize",
            CFUNCTYPE(c_int, c_void_p, POINTER(Minor), c_void_p, c_void_p, c_void_p, c_void_p),
        ),
        ("prox", CFUNCTYPE(c_int, c_void_p, c_void_p, c_double, c_void_p, c_void_p)),
        ("destroy", CFUNCTYPE(None, c_void_p)),
    ]


class Concave(Structure):
    """submod_concave"""

    _fields_ = [
        ("kind", c_int),
        ("parameter", c_double),
        ("count", c_size_t),
        ("t", POINTER(c_double)),
        ("g", POINTER(c_double)),
        ("value", CFUNCTYPE(c_int, c_void_p, c_double, c_void_p)),
        ("ctx", c_void_p),
        ("destroy", CFUNCTYPE(None, c_void_p)),
    ]


class Groups(Structure):
    """submod_groups"""

    _fields_ = [
        ("count", c_size_t),
        ("start", POINTER(c_size_t)),
        ("elements", POINTER(c_int32)),
        ("amount", POINTER(c_double)),
        ("weight", POINTER(c_double)),
    ]


class Term(Structure):
    """submod_term"""

    _fields_ = [
        ("fn", c_void_p),
        ("coefficient", c_double),
        ("elements", POINTER(c_int32)),
    ]


class Labels(Structure):
    """submod_labels"""

    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("batch", c_size_t),
        ("pixels", c_size_t),
        ("batch_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
        ("class_stride", c_ssize_t),
    ]


class Scores(Structure):
    """submod_scores"""

    _fields_ = [
        ("data", c_void_p),
        ("type", c_int),
        ("batch", c_size_t),
        ("classes", c_size_t),
        ("pixels", c_size_t),
        ("batch_stride", c_ssize_t),
        ("class_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
    ]


class PixelWeights(Structure):
    """submod_pixel_weights"""

    _fields_ = [
        ("data", POINTER(c_float)),
        ("batch", c_size_t),
        ("pixels", c_size_t),
        ("batch_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
    ]


class Gradient(Structure):
    """submod_gradient"""

    _fields_ = [
        ("data", c_void_p),
        ("batch_stride", c_ssize_t),
        ("class_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
        ("scale", c_double),
        ("accumulate", c_int),
    ]


class LossSettings(Structure):
    """submod_loss_settings"""

    _fields_ = [
        ("from_logits", c_int),
        ("engine", c_int),
        ("delta", c_double),
        ("bins", c_size_t),
        ("accuracy", c_double),
        ("per_image", c_int),
        ("classes", c_int),
        ("class_list", POINTER(c_int32)),
        ("class_count", c_size_t),
        ("class_weight", POINTER(c_double)),
        ("smoothing", c_double),
        ("has_ignore", c_int),
        ("ignore_index", c_int64),
        ("measure", POINTER(Measure)),
        ("pixel_weights", POINTER(PixelWeights)),
        ("group_loss", c_void_p),
    ]


class LossInfo(Structure):
    """submod_loss_info"""

    _fields_ = [
        ("delta", c_double),
        ("bins", c_size_t),
        ("pixels", c_uint64),
        ("sorted", c_uint64),
        ("terms", c_size_t),
        ("workspace", c_size_t),
        ("bound", c_double),
        ("mantissa_bits", c_int),
    ]


class DecisionSettings(Structure):
    """submod_decision_settings"""

    _fields_ = [
        ("score", c_int),
        ("method", c_int),
        ("empty", c_double),
    ]


class DecisionInfo(Structure):
    """submod_decision_info"""

    _fields_ = [
        ("lower", c_double),
        ("upper", c_double),
        ("best", c_double),
        ("threshold", c_double),
        ("chosen", c_size_t),
        ("expectation", c_int),
    ]


class MetricSettings(Structure):
    """submod_metric_settings"""

    _fields_ = [
        ("has_ignore", c_int),
        ("ignore_index", c_int64),
        ("absent", c_int),
        ("class_list", POINTER(c_int32)),
        ("class_count", c_size_t),
        ("has_leave_out", c_int),
        ("leave_out", c_int32),
    ]


class Metrics(Structure):
    """submod_metrics"""

    _fields_ = [
        ("mean_iou", c_double),
        ("mean_dice", c_double),
        ("mean_accuracy", c_double),
        ("pixel_accuracy", c_double),
        ("frequency_weighted_iou", c_double),
        ("averaged", c_size_t),
        ("pixels", c_int64),
    ]


class MiouValues(Structure):
    """submod_miou_values"""

    _fields_ = [
        ("image", c_double),
        ("batch", c_double),
        ("dataset", c_double),
        ("images", c_uint64),
        ("batches", c_uint64),
    ]


class Comm(Structure):
    """submod_comm"""

    _fields_ = [
        ("context", c_void_p),
        ("rank", c_int),
        ("ranks", c_int),
        ("sum", CFUNCTYPE(c_int, c_void_p, c_void_p, c_int, c_size_t)),
        ("gather", CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, c_void_p)),
    ]


class Rng(Structure):
    """submod_rng"""

    _fields_ = [
        ("s", c_uint64 * 4),
    ]


class GpuPlace(Structure):
    """submod_gpu_place"""

    _fields_ = [
        ("device", c_int),
        ("stream", c_void_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    ]


class GpuResult(Structure):
    """submod_gpu_result"""

    _fields_ = [
        ("loss", c_double),
        ("delta", c_double),
        ("pixels", c_uint64),
        ("terms", c_uint64),
        ("bad_label", c_uint64),
        ("bad_score", c_uint64),
        ("bins", c_uint32),
        ("status", c_int32),
        ("bad_weight", c_uint64),
        ("bad_count", c_uint64),
    ]


class AdamSettings(Structure):
    """submod_adam_settings"""

    _fields_ = [
        ("beta1", c_double),
        ("beta2", c_double),
        ("epsilon", c_double),
        ("decay", c_double),
    ]


class Schedule(Structure):
    """submod_schedule"""

    _fields_ = [
        ("kind", c_int),
        ("eta", c_double),
        ("factor", c_double),
        ("power", c_double),
        ("period", c_size_t),
    ]


class Problem(Structure):
    """submod_problem"""

    _fields_ = [
        ("dimension", c_size_t),
        ("batches", c_size_t),
        ("ctx", c_void_p),
        ("subgradient", CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)),
        ("value", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
        ("prox", CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_double, c_void_p)),
        ("smooth", CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_void_p, c_void_p)),
        ("direction", CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_double, c_void_p)),
        ("metric", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
        ("destroy", CFUNCTYPE(None, c_void_p)),
    ]


class Trace(Structure):
    """submod_trace"""

    _fields_ = [
        ("iteration", c_size_t),
        ("x", POINTER(c_double)),
        ("f", c_double),
        ("gradient_norm", c_double),
        ("step", c_double),
        ("seconds", c_double),
        ("metric", c_double),
    ]


class RunSettings(Structure):
    """submod_run_settings"""

    _fields_ = [
        ("max_iterations", c_size_t),
        ("time_limit", c_double),
        ("f_star", c_double),
        ("tolerance", c_double),
        ("gradient_tolerance", c_double),
        ("weight_decay", c_double),
        ("keep_best", c_int),
        ("trace_every", c_size_t),
        ("trace", CFUNCTYPE(c_int, c_void_p, POINTER(Trace))),
        ("trace_ctx", c_void_p),
    ]


class OptimInfo(Structure):
    """submod_optim_info"""

    _fields_ = [
        ("stop", c_int),
        ("iterations", c_size_t),
        ("f", c_double),
        ("gradient_norm", c_double),
        ("lower_bound", c_double),
        ("gap", c_double),
        ("values", c_uint64),
        ("gradients", c_uint64),
        ("proxes", c_uint64),
        ("planes", c_size_t),
        ("seconds", c_double),
        ("primal_residual", c_double),
        ("dual_residual", c_double),
    ]


class DescentSettings(Structure):
    """submod_descent_settings"""

    _fields_ = [
        ("run", RunSettings),
        ("schedule", Schedule),
        ("direction", c_int),
        ("lam", c_double),
        ("order", c_int),
        ("seed", c_uint64),
    ]


class FistaSettings(Structure):
    """submod_fista_settings"""

    _fields_ = [
        ("run", RunSettings),
        ("lipschitz", c_double),
        ("restart", c_int),
    ]


class BundleSettings(Structure):
    """submod_bundle_settings"""

    _fields_ = [
        ("run", RunSettings),
        ("radius", c_double),
        ("max_planes", c_size_t),
        ("lam", c_double),
        ("bmrm", c_int),
    ]


class Combination(Structure):
    """submod_combination"""

    _fields_ = [
        ("n", c_size_t),
        ("count", c_size_t),
        ("orders", c_void_p),
        ("weights", c_void_p),
    ]


class ProxSettings(Structure):
    """submod_prox_settings"""

    _fields_ = [
        ("method", c_int),
        ("hinge", c_int),
        ("tolerance", c_double),
        ("accuracy", c_double),
        ("max_iterations", c_size_t),
        ("time_limit", c_double),
        ("start", POINTER(Combination)),
        ("combination", c_void_p),
        ("progress", CFUNCTYPE(None, c_void_p, c_size_t, c_double)),
        ("progress_ctx", c_void_p),
    ]


class ProxInfo(Structure):
    """submod_prox_info"""

    _fields_ = [
        ("method", c_int),
        ("primal", c_double),
        ("dual", c_double),
        ("gap", c_double),
        ("iterations", c_size_t),
        ("minor_cycles", c_size_t),
        ("oracle_calls", c_uint64),
        ("work", c_uint64),
        ("seconds", c_double),
        ("error", c_double),
    ]


class Points(Structure):
    """submod_points"""

    _fields_ = [
        ("count", c_size_t),
        ("value", POINTER(c_double)),
        ("foreground", POINTER(c_uint8)),
        ("multiplicity", POINTER(c_double)),
    ]


class ProxPoint(Structure):
    """submod_prox_point"""

    _fields_ = [
        ("n", c_size_t),
        ("lam", c_double),
        ("block", POINTER(c_int32)),
        ("u", POINTER(c_double)),
        ("s", POINTER(c_double)),
    ]


class ProxDerivatives(Structure):
    """submod_prox_derivatives"""

    _fields_ = [
        ("by_x", c_void_p),
        ("by_lambda", c_void_p),
        ("by_modular", c_void_p),
        ("by_edge", c_void_p),
        ("edges", c_size_t),
        ("tail", POINTER(c_int32)),
        ("head", POINTER(c_int32)),
        ("directed", c_int),
        ("by_function", c_void_p),
        ("function", c_void_p),
    ]


class SfmSettings(Structure):
    """submod_sfm_settings"""

    _fields_ = [
        ("method", c_int),
        ("tolerance", c_double),
        ("integer_valued", c_int),
        ("max_iterations", c_size_t),
        ("time_limit", c_double),
        ("start", POINTER(Combination)),
        ("combination", c_void_p),
    ]


class SfmInfo(Structure):
    """submod_sfm_info"""

    _fields_ = [
        ("method", c_int),
        ("value", c_double),
        ("dual", c_double),
        ("gap", c_double),
        ("exact", c_int),
        ("extremes_proved", c_int),
        ("iterations", c_size_t),
        ("minor_cycles", c_size_t),
        ("oracle_calls", c_uint64),
        ("seconds", c_double),
    ]


class CertificateReport(Structure):
    """submod_certificate_report"""

    _fields_ = [
        ("base_error", c_double),
        ("primal", c_double),
        ("dual", c_double),
        ("gap", c_double),
        ("minimum_bound", c_double),
    ]


class FineGrainedValues(Structure):
    """submod_fine_grained_values"""

    _fields_ = [
        ("dataset", c_double),
        ("image", c_double),
        ("of_class", c_double),
        ("image_mean", c_double),
        ("class_mean", c_double),
        ("images", c_size_t),
        ("classes", c_size_t),
    ]


class BcfwSettings(Structure):
    """submod_bcfw_settings"""

    _fields_ = [
        ("run", RunSettings),
        ("order", c_int),
        ("seed", c_uint64),
        ("average", c_int),
    ]


class Map(Structure):
    """submod_map"""

    _fields_ = [
        ("rows", c_size_t),
        ("columns", c_size_t),
        ("matrix", POINTER(c_double)),
        ("ctx", c_void_p),
        ("forward", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
        ("adjoint", CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p)),
    ]


class SplitSettings(Structure):
    """submod_split_settings"""

    _fields_ = [
        ("run", RunSettings),
        ("step", c_double),
        ("norm", c_double),
        ("radius", c_double),
        ("average", c_int),
    ]


class MaximizeSettings(Structure):
    """submod_maximize_settings"""

    _fields_ = [
        ("method", c_int),
        ("epsilon", c_double),
        ("seed", c_uint64),
        ("time_limit", c_double),
    ]


class MaximizeInfo(Structure):
    """submod_maximize_info"""

    _fields_ = [
        ("method", c_int),
        ("value", c_double),
        ("bound", c_double),
        ("ratio", c_double),
        ("guarantee", c_double),
        ("monotone", c_int),
        ("submodular", c_int),
        ("evaluations", c_uint64),
        ("bound_evaluations", c_uint64),
        ("seconds", c_double),
    ]


# Name without submod_: what it returns, and the arguments by name, in C's order.
PROTOTYPES: dict[str, tuple[Any, dict[str, Any]]] = {
    "version": (c_char_p, {}),
    "isa": (c_char_p, {}),
    "status_string": (c_char_p, {"status": c_int}),
    "last_error": (c_char_p, {}),
    "set_allocator": (c_int, {"allocator": POINTER(Allocator)}),
    "work_create": (c_int, {"work": POINTER(c_void_p)}),
    "work_free": (None, {"work": c_void_p}),
    "set_num_threads": (c_int, {"threads": c_int}),
    "get_num_threads": (c_int, {}),
    "set_poll": (None, {"poll": CFUNCTYPE(c_int, c_void_p), "ctx": c_void_p}),
    "argsort": (c_int, {"x": c_void_p, "n": c_size_t, "order": c_void_p, "work": c_void_p}),
    "jaccard": (Measure, {}),
    "hamming": (Measure, {}),
    "tversky": (Measure, {"alpha": c_double, "beta": c_double}),
    "measure_custom": (Measure, {"ops": POINTER(MeasureOps), "ctx": c_void_p}),
    "check_defaults": (CheckSettings, {}),
    "measure_check": (
        c_int,
        {
            "measure": POINTER(Measure),
            "P": c_uint64,
            "N": c_uint64,
            "report": POINTER(CheckReport),
            "settings": POINTER(CheckSettings),
        },
    ),
    "check_report_clear": (None, {"report": POINTER(CheckReport)}),
    "check_report_text": (
        c_size_t,
        {"report": POINTER(CheckReport), "text": c_void_p, "size": c_size_t},
    ),
    "fn_custom": (
        c_int,
        {"n": c_size_t, "ops": POINTER(FnOps), "ctx": c_void_p, "fn": POINTER(c_void_p)},
    ),
    "fn_retain": (c_void_p, {"fn": c_void_p}),
    "fn_free": (None, {"fn": c_void_p}),
    "fn_size": (c_size_t, {"fn": c_void_p}),
    "fn_name": (c_char_p, {"fn": c_void_p}),
    "fn_jaccard": (c_int, {"n": c_size_t, "foreground": c_void_p, "fn": POINTER(c_void_p)}),
    "fn_hamming": (c_int, {"n": c_size_t, "fn": POINTER(c_void_p)}),
    "fn_counts": (
        c_int,
        {
            "n": c_size_t,
            "foreground": c_void_p,
            "weight": c_void_p,
            "measure": POINTER(Measure),
            "fn": POINTER(c_void_p),
        },
    ),
    "fn_modular": (c_int, {"n": c_size_t, "w": c_void_p, "fn": POINTER(c_void_p)}),
    "fn_concave": (
        c_int,
        {"n": c_size_t, "weight": c_void_p, "concave": POINTER(Concave), "fn": POINTER(c_void_p)},
    ),
    "fn_groups": (
        c_int,
        {
            "n": c_size_t,
            "groups": POINTER(Groups),
            "concave": POINTER(Concave),
            "fn": POINTER(c_void_p),
        },
    ),
    "fn_cut": (
        c_int,
        {
            "n": c_size_t,
            "m": c_size_t,
            "tail": c_void_p,
            "head": c_void_p,
            "weight": c_void_p,
            "directed": c_int,
            "fn": POINTER(c_void_p),
        },
    ),
    "fn_logdet": (c_int, {"n": c_size_t, "K": c_void_p, "fn": POINTER(c_void_p)}),
    "fn_combine": (
        c_int,
        {
            "n": c_size_t,
            "terms": POINTER(Term),
            "count": c_size_t,
            "modular": c_void_p,
            "fn": POINTER(c_void_p),
        },
    ),
    "fn_restrict": (
        c_int,
        {"f": c_void_p, "elements": c_void_p, "k": c_size_t, "fn": POINTER(c_void_p)},
    ),
    "fn_contract": (
        c_int,
        {"f": c_void_p, "elements": c_void_p, "k": c_size_t, "fn": POINTER(c_void_p)},
    ),
    "fn_eval": (c_int, {"fn": c_void_p, "set": c_void_p, "k": c_size_t, "value": c_void_p}),
    "fn_chain": (
        c_int,
        {"fn": c_void_p, "order": c_void_p, "k": c_size_t, "gains": c_void_p, "work": c_void_p},
    ),
    "state_create": (c_int, {"fn": c_void_p, "state": POINTER(c_void_p)}),
    "state_free": (None, {"state": c_void_p}),
    "state_reset": (c_int, {"state": c_void_p}),
    "state_push": (c_int, {"state": c_void_p, "e": c_int32, "gain": c_void_p}),
    "state_gain": (c_int, {"state": c_void_p, "e": c_int32, "gain": c_void_p}),
    "state_set": (c_size_t, {"state": c_void_p, "set": POINTER(c_void_p)}),
    "lovasz": (
        c_int,
        {
            "fn": c_void_p,
            "x": c_void_p,
            "value": c_void_p,
            "subgradient": c_void_p,
            "order": c_void_p,
            "ties": c_int,
            "work": c_void_p,
        },
    ),
    "fn_check": (
        c_int,
        {"fn": c_void_p, "report": POINTER(CheckReport), "settings": POINTER(CheckSettings)},
    ),
    "labels_u8": (Labels, {"data": c_void_p, "batch": c_size_t, "pixels": c_size_t}),
    "labels_i32": (Labels, {"data": c_void_p, "batch": c_size_t, "pixels": c_size_t}),
    "labels_i64": (Labels, {"data": c_void_p, "batch": c_size_t, "pixels": c_size_t}),
    "labels_multilabel": (
        Labels,
        {
            "data": c_void_p,
            "type": c_int,
            "batch": c_size_t,
            "classes": c_size_t,
            "pixels": c_size_t,
        },
    ),
    "scores_f32": (
        Scores,
        {"data": c_void_p, "batch": c_size_t, "classes": c_size_t, "pixels": c_size_t},
    ),
    "scores_dense": (
        Scores,
        {
            "data": c_void_p,
            "type": c_int,
            "batch": c_size_t,
            "classes": c_size_t,
            "pixels": c_size_t,
        },
    ),
    "scores_channels_last": (
        Scores,
        {
            "data": c_void_p,
            "type": c_int,
            "batch": c_size_t,
            "classes": c_size_t,
            "pixels": c_size_t,
        },
    ),
    "pixel_weights_f32": (PixelWeights, {"data": c_void_p, "batch": c_size_t, "pixels": c_size_t}),
    "gradient_dense": (Gradient, {"data": c_void_p, "classes": c_size_t, "pixels": c_size_t}),
    "gradient_channels_last": (
        Gradient,
        {"data": c_void_p, "classes": c_size_t, "pixels": c_size_t},
    ),
    "loss_defaults": (LossSettings, {}),
    "lovasz_softmax": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "info": POINTER(LossInfo),
            "work": c_void_p,
        },
    ),
    "lovasz_sigmoid": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "info": POINTER(LossInfo),
            "work": c_void_p,
        },
    ),
    "lovasz_hinge": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "info": POINTER(LossInfo),
            "work": c_void_p,
        },
    ),
    "lovasz_hinge_function": (
        c_int,
        {
            "fn": c_void_p,
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "cross_entropy": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "hinge": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "rahman_wang": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "soft_dice": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "soft_jaccard": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "jaccard_metric": (
        c_int,
        {
            "scores": POINTER(Scores),
            "soft_labels": POINTER(Scores),
            "overlap": c_int,
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "dice_metric": (
        c_int,
        {
            "scores": POINTER(Scores),
            "soft_labels": POINTER(Scores),
            "overlap": c_int,
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "dataset_create": (
        c_int,
        {"classes": c_size_t, "delta": c_double, "dataset": POINTER(c_void_p)},
    ),
    "dataset_free": (None, {"dataset": c_void_p}),
    "dataset_reset": (c_int, {"dataset": c_void_p}),
    "dataset_add": (
        c_int,
        {
            "dataset": c_void_p,
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "dataset_scale": (c_int, {"dataset": c_void_p, "factor": c_double}),
    "dataset_merge": (c_int, {"dataset": c_void_p, "other": c_void_p}),
    "dataset_save": (c_int, {"dataset": c_void_p, "path": c_void_p}),
    "dataset_load": (c_int, {"path": c_void_p, "dataset": POINTER(c_void_p)}),
    "dataset_counts": (c_void_p, {"dataset": c_void_p, "classes": c_void_p, "bins": c_void_p}),
    "dataset_delta": (c_double, {"dataset": c_void_p}),
    "dataset_solve": (
        c_int,
        {
            "dataset": c_void_p,
            "loss": c_void_p,
            "class_loss": c_void_p,
            "settings": POINTER(LossSettings),
        },
    ),
    "dataset_gradient": (
        c_int,
        {
            "dataset": c_void_p,
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "decision_defaults": (DecisionSettings, {}),
    "decide": (
        c_int,
        {
            "probabilities": POINTER(Scores),
            "masks": c_void_p,
            "settings": POINTER(DecisionSettings),
            "info": POINTER(DecisionInfo),
            "work": c_void_p,
        },
    ),
    "decide_classes": (
        c_int,
        {
            "probabilities": POINTER(Scores),
            "labels": c_void_p,
            "settings": POINTER(DecisionSettings),
            "info": POINTER(DecisionInfo),
            "work": c_void_p,
        },
    ),
    "expected_score": (
        c_int,
        {
            "probabilities": POINTER(Scores),
            "masks": c_void_p,
            "lower": c_void_p,
            "upper": c_void_p,
            "settings": POINTER(DecisionSettings),
            "work": c_void_p,
        },
    ),
    "jaccard_index": (
        c_int,
        {"prediction": c_void_p, "truth": c_void_p, "n": c_size_t, "value": c_void_p},
    ),
    "metric_defaults": (MetricSettings, {}),
    "confusion_create": (
        c_int,
        {"classes": c_size_t, "confusion": POINTER(c_void_p), "settings": POINTER(MetricSettings)},
    ),
    "confusion_free": (None, {"confusion": c_void_p}),
    "confusion_add": (
        c_int,
        {"confusion": c_void_p, "prediction": POINTER(Labels), "truth": POINTER(Labels)},
    ),
    "confusion_merge": (c_int, {"confusion": c_void_p, "other": c_void_p}),
    "confusion_add_counts": (c_int, {"confusion": c_void_p, "counts": c_void_p}),
    "confusion_reset": (None, {"confusion": c_void_p}),
    "confusion_counts": (c_void_p, {"confusion": c_void_p}),
    "confusion_classes": (c_size_t, {"confusion": c_void_p}),
    "confusion_regroup": (
        c_int,
        {
            "confusion": c_void_p,
            "truth_group": c_void_p,
            "prediction_group": c_void_p,
            "groups": c_size_t,
            "coarse": POINTER(c_void_p),
        },
    ),
    "confusion_save": (c_int, {"confusion": c_void_p, "path": c_void_p}),
    "confusion_load": (c_int, {"path": c_void_p, "confusion": POINTER(c_void_p)}),
    "confusion_metrics": (
        c_int,
        {
            "confusion": c_void_p,
            "iou": c_void_p,
            "dice": c_void_p,
            "accuracy": c_void_p,
            "metrics": POINTER(Metrics),
            "settings": POINTER(MetricSettings),
        },
    ),
    "miou_image": (
        c_int,
        {
            "prediction": POINTER(Labels),
            "truth": POINTER(Labels),
            "classes": c_size_t,
            "value": c_void_p,
            "settings": POINTER(MetricSettings),
        },
    ),
    "miou_batch": (
        c_int,
        {
            "prediction": POINTER(Labels),
            "truth": POINTER(Labels),
            "classes": c_size_t,
            "value": c_void_p,
            "settings": POINTER(MetricSettings),
        },
    ),
    "miou_create": (
        c_int,
        {"classes": c_size_t, "miou": POINTER(c_void_p), "settings": POINTER(MetricSettings)},
    ),
    "miou_free": (None, {"miou": c_void_p}),
    "miou_add": (
        c_int,
        {"miou": c_void_p, "prediction": POINTER(Labels), "truth": POINTER(Labels)},
    ),
    "miou_merge": (c_int, {"miou": c_void_p, "other": c_void_p}),
    "miou_reset": (None, {"miou": c_void_p}),
    "miou_words": (c_int, {"miou": c_void_p, "words": c_void_p, "count": c_void_p}),
    "miou_set_words": (c_int, {"miou": c_void_p, "words": c_void_p, "count": c_size_t}),
    "miou_save": (c_int, {"miou": c_void_p, "path": c_void_p}),
    "miou_load": (c_int, {"path": c_void_p, "miou": POINTER(c_void_p)}),
    "miou_get": (c_int, {"miou": c_void_p, "values": POINTER(MiouValues)}),
    "miou_confusion": (c_void_p, {"miou": c_void_p}),
    "equibatch_create": (
        c_int,
        {
            "images": c_size_t,
            "start": c_void_p,
            "class_ids": c_void_p,
            "classes": c_size_t,
            "seed": c_uint64,
            "sampler": POINTER(c_void_p),
        },
    ),
    "equibatch_free": (None, {"sampler": c_void_p}),
    "equibatch_next": (c_int, {"sampler": c_void_p, "image": c_void_p, "drawn_for": c_void_p}),
    "equibatch_window": (c_size_t, {"sampler": c_void_p}),
    "comm_alone": (Comm, {}),
    "dist_lovasz_softmax": (
        c_int,
        {
            "comm": POINTER(Comm),
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "info": POINTER(LossInfo),
            "work": c_void_p,
        },
    ),
    "dist_lovasz_sigmoid": (
        c_int,
        {
            "comm": POINTER(Comm),
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "info": POINTER(LossInfo),
            "work": c_void_p,
        },
    ),
    "dist_lovasz_hinge": (
        c_int,
        {
            "comm": POINTER(Comm),
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "loss": c_void_p,
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "info": POINTER(LossInfo),
            "work": c_void_p,
        },
    ),
    "dist_dataset_add": (
        c_int,
        {
            "comm": POINTER(Comm),
            "dataset": c_void_p,
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "settings": POINTER(LossSettings),
            "work": c_void_p,
        },
    ),
    "dist_dataset_sum": (c_int, {"comm": POINTER(Comm), "dataset": c_void_p}),
    "dist_confusion_sum": (c_int, {"comm": POINTER(Comm), "confusion": c_void_p}),
    "alloc": (c_void_p, {"count": c_size_t, "size": c_size_t}),
    "free": (None, {"memory": c_void_p}),
    "poll": (c_int, {}),
    "rng_seed": (None, {"rng": POINTER(Rng), "seed": c_uint64}),
    "rng_next": (c_uint64, {"rng": POINTER(Rng)}),
    "rng_uniform": (c_double, {"rng": POINTER(Rng)}),
    "rng_normal": (c_double, {"rng": POINTER(Rng)}),
    "rng_below": (c_uint64, {"rng": POINTER(Rng), "bound": c_uint64}),
    "file_save": (
        c_int,
        {"path": c_void_p, "kind": c_void_p, "words": c_void_p, "count": c_size_t},
    ),
    "file_load": (
        c_int,
        {"path": c_void_p, "kind": c_void_p, "words": POINTER(c_void_p), "count": c_void_p},
    ),
    "file_free": (None, {"words": c_void_p}),
    "gpu_available": (c_int, {"devices": c_void_p}),
    "gpu_result_status": (c_int, {"result": POINTER(GpuResult)}),
    "gpu_loss_workspace": (
        c_int,
        {
            "loss": c_int,
            "scores": POINTER(Scores),
            "bytes": c_void_p,
            "settings": POINTER(LossSettings),
        },
    ),
    "gpu_lovasz_softmax": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "result": POINTER(GpuResult),
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_lovasz_sigmoid": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "result": POINTER(GpuResult),
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_lovasz_hinge": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "result": POINTER(GpuResult),
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_prox_jaccard": (
        c_int,
        {
            "x": POINTER(Scores),
            "labels": POINTER(Labels),
            "lam": c_double,
            "bins": c_size_t,
            "u": POINTER(Gradient),
            "result": POINTER(GpuResult),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_prox_workspace": (c_int, {"x": POINTER(Scores), "bins": c_size_t, "bytes": c_void_p}),
    "gpu_prox_lovasz_hinge": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "lam": c_double,
            "bins": c_size_t,
            "prox": POINTER(Gradient),
            "gradient": POINTER(Gradient),
            "result": POINTER(GpuResult),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_dataset_counts": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "bins": c_size_t,
            "counts": c_void_p,
            "result": POINTER(GpuResult),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_dataset_loss": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "bins": c_size_t,
            "counts": c_void_p,
            "result": POINTER(GpuResult),
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_dataset_workspace": (
        c_int,
        {
            "scores": POINTER(Scores),
            "bins": c_size_t,
            "bytes": c_void_p,
            "settings": POINTER(LossSettings),
        },
    ),
    "gpu_global_workspace": (
        c_int,
        {
            "loss": c_int,
            "scores": POINTER(Scores),
            "numbers": c_void_p,
            "bytes": c_void_p,
            "settings": POINTER(LossSettings),
        },
    ),
    "gpu_global_range": (
        c_int,
        {
            "loss": c_int,
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "all_pixels": c_uint64,
            "range": c_void_p,
            "result": POINTER(GpuResult),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_global_counts": (
        c_int,
        {
            "loss": c_int,
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "range": c_void_p,
            "all_pixels": c_uint64,
            "counts": c_void_p,
            "result": POINTER(GpuResult),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "gpu_global_loss": (
        c_int,
        {
            "loss": c_int,
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "range": c_void_p,
            "counts": c_void_p,
            "all_pixels": c_uint64,
            "result": POINTER(GpuResult),
            "gradient": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "place": POINTER(GpuPlace),
        },
    ),
    "step_gd": (c_int, {"n": c_size_t, "step": POINTER(c_void_p)}),
    "step_momentum": (c_int, {"n": c_size_t, "alpha": c_double, "step": POINTER(c_void_p)}),
    "step_nesterov": (c_int, {"n": c_size_t, "alpha": c_double, "step": POINTER(c_void_p)}),
    "adam_defaults": (AdamSettings, {}),
    "step_adam": (
        c_int,
        {"n": c_size_t, "step": POINTER(c_void_p), "settings": POINTER(AdamSettings)},
    ),
    "step_adagrad": (c_int, {"n": c_size_t, "epsilon": c_double, "step": POINTER(c_void_p)}),
    "step_averaged": (c_int, {"inner": c_void_p, "power": c_double, "step": POINTER(c_void_p)}),
    "step_apply": (c_int, {"step": c_void_p, "eta": c_double, "g": c_void_p, "x": c_void_p}),
    "step_answer": (c_int, {"step": c_void_p, "x": c_void_p, "answer": c_void_p}),
    "step_reset": (None, {"step": c_void_p}),
    "step_free": (None, {"step": c_void_p}),
    "schedule_constant": (Schedule, {"eta": c_double}),
    "schedule_check": (c_int, {"schedule": POINTER(Schedule)}),
    "schedule_eta": (c_double, {"schedule": POINTER(Schedule), "k": c_size_t}),
    "problem_clear": (None, {"problem": POINTER(Problem)}),
    "problem_max_affine": (
        c_int,
        {"m": c_size_t, "n": c_size_t, "a": c_void_p, "b": c_void_p, "problem": POINTER(Problem)},
    ),
    "descent_defaults": (DescentSettings, {}),
    "descend": (
        c_int,
        {
            "problem": POINTER(Problem),
            "step": c_void_p,
            "x": c_void_p,
            "settings": POINTER(DescentSettings),
            "info": POINTER(OptimInfo),
            "work": c_void_p,
        },
    ),
    "fista_defaults": (FistaSettings, {}),
    "fista": (
        c_int,
        {
            "problem": POINTER(Problem),
            "x": c_void_p,
            "settings": POINTER(FistaSettings),
            "info": POINTER(OptimInfo),
            "work": c_void_p,
        },
    ),
    "bundle_defaults": (BundleSettings, {}),
    "bundle": (
        c_int,
        {
            "problem": POINTER(Problem),
            "x": c_void_p,
            "settings": POINTER(BundleSettings),
            "info": POINTER(OptimInfo),
            "work": c_void_p,
        },
    ),
    "combination_free": (None, {"combination": POINTER(Combination)}),
    "prox_defaults": (ProxSettings, {}),
    "prox": (
        c_int,
        {
            "fn": c_void_p,
            "x": c_void_p,
            "lam": c_double,
            "u": c_void_p,
            "s": c_void_p,
            "settings": POINTER(ProxSettings),
            "info": POINTER(ProxInfo),
            "work": c_void_p,
        },
    ),
    "prox_points": (
        c_int,
        {
            "points": POINTER(Points),
            "measure": POINTER(Measure),
            "lam": c_double,
            "u": c_void_p,
            "s": c_void_p,
            "info": POINTER(ProxInfo),
            "work": c_void_p,
        },
    ),
    "prox_max_affine": (
        c_int,
        {
            "m": c_size_t,
            "n": c_size_t,
            "a": c_void_p,
            "b": c_void_p,
            "x": c_void_p,
            "lam": c_double,
            "u": c_void_p,
            "weights": c_void_p,
            "info": POINTER(ProxInfo),
            "work": c_void_p,
        },
    ),
    "prox_hinge_layer": (
        c_int,
        {
            "scores": POINTER(Scores),
            "labels": POINTER(Labels),
            "lam": c_double,
            "prox": POINTER(Gradient),
            "direction": POINTER(Gradient),
            "settings": POINTER(LossSettings),
            "prox_settings": POINTER(ProxSettings),
            "info": POINTER(ProxInfo),
            "work": c_void_p,
        },
    ),
    "prox_blocks": (
        c_int,
        {
            "fn": c_void_p,
            "x": c_void_p,
            "lam": c_double,
            "u": c_void_p,
            "block": c_void_p,
            "value": c_void_p,
            "count": c_void_p,
            "settings": POINTER(ProxSettings),
            "info": POINTER(ProxInfo),
            "work": c_void_p,
        },
    ),
    "prox_vjp": (
        c_int,
        {
            "point": POINTER(ProxPoint),
            "v": c_void_p,
            "derivatives": POINTER(ProxDerivatives),
            "work": c_void_p,
        },
    ),
    "sfm_defaults": (SfmSettings, {}),
    "sfm": (
        c_int,
        {
            "fn": c_void_p,
            "smallest": c_void_p,
            "largest": c_void_p,
            "s": c_void_p,
            "settings": POINTER(SfmSettings),
            "info": POINTER(SfmInfo),
            "work": c_void_p,
        },
    ),
    "certificate_check": (
        c_int,
        {
            "fn": c_void_p,
            "x": c_void_p,
            "lam": c_double,
            "u": c_void_p,
            "s": c_void_p,
            "combination": POINTER(Combination),
            "report": POINTER(CertificateReport),
        },
    ),
    "instances_create": (
        c_int,
        {
            "classes": c_size_t,
            "first_id": c_int64,
            "instances": POINTER(c_void_p),
            "settings": POINTER(MetricSettings),
        },
    ),
    "instances_free": (None, {"instances": c_void_p}),
    "instances_add": (
        c_int,
        {
            "instances": c_void_p,
            "prediction": POINTER(Labels),
            "truth": POINTER(Labels),
            "ids": POINTER(Labels),
        },
    ),
    "instances_merge": (c_int, {"instances": c_void_p, "other": c_void_p}),
    "instances_reset": (None, {"instances": c_void_p}),
    "instances_words": (c_int, {"instances": c_void_p, "words": c_void_p, "count": c_void_p}),
    "instances_set_words": (c_int, {"instances": c_void_p, "words": c_void_p, "count": c_size_t}),
    "instances_save": (c_int, {"instances": c_void_p, "path": c_void_p}),
    "instances_load": (c_int, {"path": c_void_p, "instances": POINTER(c_void_p)}),
    "instances_confusion": (c_void_p, {"instances": c_void_p}),
    "instances_sizes": (
        c_int,
        {"instances": c_void_p, "count": c_void_p, "average_size": c_void_p},
    ),
    "instances_iou": (
        c_int,
        {
            "instances": c_void_p,
            "average_size": c_void_p,
            "truth_group": c_void_p,
            "prediction_group": c_void_p,
            "groups": c_size_t,
            "iou": c_void_p,
            "mean": c_void_p,
        },
    ),
    "boundary_distance": (c_size_t, {"height": c_size_t, "width": c_size_t, "ratio": c_double}),
    "boundary_create": (
        c_int,
        {"classes": c_size_t, "boundary": POINTER(c_void_p), "settings": POINTER(MetricSettings)},
    ),
    "boundary_free": (None, {"boundary": c_void_p}),
    "boundary_add": (
        c_int,
        {
            "boundary": c_void_p,
            "prediction": POINTER(Labels),
            "truth": POINTER(Labels),
            "height": c_size_t,
            "width": c_size_t,
            "distance": c_size_t,
        },
    ),
    "boundary_merge": (c_int, {"boundary": c_void_p, "other": c_void_p}),
    "boundary_reset": (None, {"boundary": c_void_p}),
    "boundary_words": (c_int, {"boundary": c_void_p, "words": c_void_p, "count": c_void_p}),
    "boundary_set_words": (c_int, {"boundary": c_void_p, "words": c_void_p, "count": c_size_t}),
    "boundary_save": (c_int, {"boundary": c_void_p, "path": c_void_p}),
    "boundary_load": (c_int, {"path": c_void_p, "boundary": POINTER(c_void_p)}),
    "boundary_confusion": (c_void_p, {"boundary": c_void_p}),
    "boundary_iou": (
        c_int,
        {
            "boundary": c_void_p,
            "iou": c_void_p,
            "mean": c_void_p,
            "settings": POINTER(MetricSettings),
        },
    ),
    "fine_grained_create": (
        c_int,
        {"classes": c_size_t, "fine": POINTER(c_void_p), "settings": POINTER(MetricSettings)},
    ),
    "fine_grained_free": (None, {"fine": c_void_p}),
    "fine_grained_add": (
        c_int,
        {"fine": c_void_p, "prediction": POINTER(Labels), "truth": POINTER(Labels)},
    ),
    "fine_grained_merge": (c_int, {"fine": c_void_p, "other": c_void_p}),
    "fine_grained_reset": (None, {"fine": c_void_p}),
    "fine_grained_words": (c_int, {"fine": c_void_p, "words": c_void_p, "count": c_void_p}),
    "fine_grained_set_words": (c_int, {"fine": c_void_p, "words": c_void_p, "count": c_size_t}),
    "fine_grained_save": (c_int, {"fine": c_void_p, "path": c_void_p}),
    "fine_grained_load": (c_int, {"path": c_void_p, "fine": POINTER(c_void_p)}),
    "fine_grained_get": (c_int, {"fine": c_void_p, "values": POINTER(FineGrainedValues)}),
    "fine_grained_worst": (
        c_int,
        {"fine": c_void_p, "percent": c_double, "image": c_void_p, "of_class": c_void_p},
    ),
    "fine_grained_table": (c_void_p, {"fine": c_void_p, "images": c_void_p}),
    "fine_grained_confusion": (c_void_p, {"fine": c_void_p}),
    "bcfw_defaults": (BcfwSettings, {}),
    "bcfw": (
        c_int,
        {
            "problem": POINTER(Problem),
            "x": c_void_p,
            "settings": POINTER(BcfwSettings),
            "info": POINTER(OptimInfo),
            "work": c_void_p,
        },
    ),
    "problem_smoothed": (
        c_int,
        {"problem": POINTER(Problem), "lam": c_double, "out": POINTER(Problem)},
    ),
    "problem_composed": (
        c_int,
        {
            "f": POINTER(Problem),
            "map": POINTER(Map),
            "g": POINTER(Problem),
            "out": POINTER(Problem),
        },
    ),
    "split_defaults": (SplitSettings, {}),
    "primal_dual": (
        c_int,
        {
            "f": POINTER(Problem),
            "map": POINTER(Map),
            "g": POINTER(Problem),
            "x": c_void_p,
            "settings": POINTER(SplitSettings),
            "info": POINTER(OptimInfo),
            "work": c_void_p,
        },
    ),
    "fn_coverage": (
        c_int,
        {
            "n": c_size_t,
            "start": c_void_p,
            "items": c_void_p,
            "m": c_size_t,
            "weight": c_void_p,
            "fn": POINTER(c_void_p),
        },
    ),
    "fn_facility": (
        c_int,
        {"n": c_size_t, "m": c_size_t, "benefit": c_void_p, "fn": POINTER(c_void_p)},
    ),
    "maximize_defaults": (MaximizeSettings, {}),
    "maximize": (
        c_int,
        {
            "fn": c_void_p,
            "k": c_size_t,
            "candidates": c_void_p,
            "ncandidates": c_size_t,
            "set": c_void_p,
            "gains": c_void_p,
            "size": c_void_p,
            "settings": POINTER(MaximizeSettings),
            "info": POINTER(MaximizeInfo),
        },
    ),
}
