"""The structs of the headers, field by field; tests/test_headers.py compares the two."""

from __future__ import annotations

import ctypes
from ctypes import (
    POINTER,
    c_double,
    c_int,
    c_int32,
    c_int64,
    c_size_t,
    c_ssize_t,
    c_uint32,
    c_uint64,
    c_void_p,
)


class Labels(ctypes.Structure):
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


class Scores(ctypes.Structure):
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


class Gradient(ctypes.Structure):
    """submod_gradient"""

    _fields_ = [
        ("data", c_void_p),
        ("batch_stride", c_ssize_t),
        ("class_stride", c_ssize_t),
        ("pixel_stride", c_ssize_t),
        ("scale", c_double),
        ("accumulate", c_int),
    ]


class LossSettings(ctypes.Structure):
    """submod_loss_settings"""

    _fields_ = [
        ("engine", c_int),
        ("delta", c_double),
        ("bins", c_size_t),
        ("per_image", c_int),
        ("classes", c_int),
        ("class_list", POINTER(c_int32)),
        ("class_count", c_size_t),
        ("class_weight", POINTER(c_double)),
        ("has_ignore", c_int),
        ("ignore_label", c_int64),
    ]


class LossInfo(ctypes.Structure):
    """submod_loss_info"""

    _fields_ = [
        ("delta", c_double),
        ("bins", c_size_t),
        ("pixels", c_uint64),
        ("sorted", c_uint64),
        ("terms", c_size_t),
        ("workspace", c_size_t),
    ]


class GpuPlace(ctypes.Structure):
    """submod_gpu_place"""

    _fields_ = [
        ("device", c_int),
        ("stream", c_void_p),
        ("workspace", c_void_p),
        ("workspace_bytes", c_size_t),
    ]


class GpuResult(ctypes.Structure):
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
    ]


class LovaszSettings(ctypes.Structure):
    """submod_lovasz_settings"""

    _fields_ = [("ties", c_int)]


EvalCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_size_t, POINTER(c_double))
ResetCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p)
GainCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_int32, POINTER(c_double))
ChainCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, c_void_p, c_size_t, c_void_p)


class FunctionOps(ctypes.Structure):
    """submod_fn_ops. Slots that Python does not fill are plain pointers."""

    _fields_ = [
        ("struct_size", c_size_t),
        ("eval", EvalCallback),
        ("state_size", c_size_t),
        ("reset", ResetCallback),
        ("push", GainCallback),
        ("gain", GainCallback),
        ("chain", ChainCallback),
        ("tied", c_void_p),
        ("minimize", c_void_p),
        ("destroy", c_void_p),
    ]


class CheckSettings(ctypes.Structure):
    """submod_check_settings"""

    _fields_ = [
        ("exhaustive_max", c_size_t),
        ("samples", c_uint64),
        ("time_limit", c_double),
        ("tolerance", c_double),
        ("seed", c_uint64),
    ]


class Counterexample(ctypes.Structure):
    """submod_counterexample"""

    _fields_ = [
        ("set", POINTER(c_int32)),
        ("set_size", c_size_t),
        ("e", c_int32),
        ("f", c_int32),
        ("left", c_double),
        ("right", c_double),
    ]


class CheckReport(ctypes.Structure):
    """submod_check_report"""

    _fields_ = [
        ("exhaustive", c_int),
        ("normalised", c_int),
        ("submodular", c_int),
        ("monotone", c_int),
        ("symmetric", c_int),
        ("consistent", c_int),
        ("empty_value", c_double),
        ("evaluations", c_uint64),
        ("seconds", c_double),
        ("not_submodular", Counterexample),
        ("not_monotone", Counterexample),
        ("not_symmetric", Counterexample),
        ("not_consistent", Counterexample),
    ]


class MetricSettings(ctypes.Structure):
    """submod_metric_settings"""

    _fields_ = [
        ("has_ignore", c_int),
        ("ignore_label", c_int64),
        ("absent", c_int),
        ("class_list", POINTER(c_int32)),
        ("class_count", c_size_t),
        ("has_leave_out", c_int),
        ("leave_out", c_int32),
    ]


class MiouValues(ctypes.Structure):
    """submod_miou_values"""

    _fields_ = [
        ("image", c_double),
        ("batch", c_double),
        ("dataset", c_double),
        ("images", c_uint64),
        ("batches", c_uint64),
    ]


class ProxSettings(ctypes.Structure):
    """submod_prox_settings"""

    _fields_ = [
        ("method", c_int),
        ("hinge", c_int),
        ("tolerance", c_double),
        ("max_iterations", c_size_t),
        ("time_limit", c_double),
        ("combination", c_void_p),
    ]


class ProxInfo(ctypes.Structure):
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
    ]


class SfmSettings(ctypes.Structure):
    """submod_sfm_settings"""

    _fields_ = [
        ("method", c_int),
        ("tolerance", c_double),
        ("integer_valued", c_int),
        ("max_iterations", c_size_t),
        ("time_limit", c_double),
        ("combination", c_void_p),
    ]


class SfmInfo(ctypes.Structure):
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


class CertificateReport(ctypes.Structure):
    """submod_certificate_report"""

    _fields_ = [
        ("base_error", c_double),
        ("primal", c_double),
        ("dual", c_double),
        ("gap", c_double),
        ("minimum_bound", c_double),
    ]


SlopeCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, POINTER(c_double), c_void_p)
ValueCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_void_p, POINTER(c_double))
MoveCallback = ctypes.CFUNCTYPE(c_int, c_void_p, c_size_t, c_void_p, c_double, c_void_p)


class Problem(ctypes.Structure):
    """submod_problem"""

    _fields_ = [
        ("struct_size", c_size_t),
        ("dimension", c_size_t),
        ("batches", c_size_t),
        ("ctx", c_void_p),
        ("subgradient", SlopeCallback),
        ("value", ValueCallback),
        ("prox", MoveCallback),
        ("smooth", SlopeCallback),
        ("direction", MoveCallback),
        ("metric", ValueCallback),
        ("destroy", c_void_p),
    ]


class AdamSettings(ctypes.Structure):
    """submod_adam_settings"""

    _fields_ = [
        ("beta1", c_double),
        ("beta2", c_double),
        ("epsilon", c_double),
        ("decay", c_double),
    ]


class Schedule(ctypes.Structure):
    """submod_schedule"""

    _fields_ = [
        ("kind", c_int),
        ("eta", c_double),
        ("factor", c_double),
        ("power", c_double),
        ("period", c_size_t),
    ]


class Trace(ctypes.Structure):
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


TraceCallback = ctypes.CFUNCTYPE(c_int, c_void_p, POINTER(Trace))


class RunSettings(ctypes.Structure):
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
        ("trace", TraceCallback),
        ("trace_ctx", c_void_p),
    ]


class OptimInfo(ctypes.Structure):
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
    ]


class DescentSettings(ctypes.Structure):
    """submod_descent_settings"""

    _fields_ = [
        ("run", RunSettings),
        ("schedule", Schedule),
        ("direction", c_int),
        ("lambda", c_double),
        ("order", c_int),
        ("seed", c_uint64),
    ]


class FistaSettings(ctypes.Structure):
    """submod_fista_settings"""

    _fields_ = [("run", RunSettings), ("lipschitz", c_double), ("restart", c_int)]


class BundleSettings(ctypes.Structure):
    """submod_bundle_settings"""

    _fields_ = [
        ("run", RunSettings),
        ("radius", c_double),
        ("max_planes", c_size_t),
        ("lambda", c_double),
        ("bmrm", c_int),
    ]
