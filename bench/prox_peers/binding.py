"""submod_prox from Python, by ctypes, on top of bench/torch/libsubmod.py.

    lib = ProxLibrary("build/libsubmod.so")
    with lib.sqrt(n) as f:
        u, info = lib.prox(f, x, 2.0)
"""

import contextlib
import ctypes
import sys
from ctypes import POINTER, byref, c_double, c_int, c_size_t, c_uint64, c_void_p
from pathlib import Path

import numpy as np

sys.path.append(str(Path(__file__).resolve().parents[1] / "torch"))
import libsubmod  # noqa: E402

AUTO, DECOMPOSITION = 0, 5


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


class ProxLibrary(libsubmod.Library):
    def __init__(self, path=None):
        super().__init__(path)
        c = self.c
        c.submod_prox_defaults.restype = ProxSettings
        settings, info = POINTER(ProxSettings), POINTER(ProxInfo)
        arrays = [c_void_p, c_double, c_void_p, c_void_p]  # x, lambda, u, s
        c.submod_prox.argtypes = [c_void_p, *arrays, settings, info, c_void_p]
        c.submod_fn_sqrt.argtypes = [c_size_t, POINTER(c_void_p)]
        edges = [c_size_t, c_void_p, c_void_p, c_void_p, c_int]  # m, tail, head, weight, directed
        c.submod_fn_cut.argtypes = [c_size_t, *edges, POINTER(c_void_p)]

    @contextlib.contextmanager
    def _owned(self, make, *arguments):
        fn = c_void_p()
        self.check(make(*arguments, byref(fn)))
        try:
            yield fn
        finally:
            self.c.submod_fn_free(fn)

    def sqrt(self, n):
        return self._owned(self.c.submod_fn_sqrt, n)

    def chain(self, n, weight):
        """The cut of a path graph: its Lovász extension is weight * total variation."""

        def make(place):
            tail = np.arange(n - 1, dtype=np.int32)
            head = tail + np.int32(1)
            w = np.full(n - 1, weight)
            pointers = (a.ctypes.data for a in (tail, head, w))
            return self.c.submod_fn_cut(n, n - 1, *pointers, 0, place)

        return self._owned(make)

    def prox(self, fn, x, lam, method=AUTO, work=None):
        """(u, info) for contiguous float64 x."""
        settings, info = self.c.submod_prox_defaults(), ProxInfo()
        settings.method = method
        u = np.empty_like(x)
        handle = None if work is None else work.handle
        places = (x.ctypes.data, lam, u.ctypes.data, None)
        self.check(self.c.submod_prox(fn, *places, byref(settings), byref(info), handle))
        return u, info
