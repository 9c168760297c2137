"""What users hand over, as NumPy arrays that the library can read; copied only if it must be."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from ._bindings import Labels, PixelWeights, Scores
from ._numbers import Array, as_array, real_array, require_real
from ._views import (
    LABEL_TYPES,
    SCORE_TYPES,
    Memory,
    canonical_weights,
    labels_view,
    pixel_weights_view,
    scores_view,
)


def memory(array: Array) -> Memory:
    strides = tuple(s // array.itemsize for s in array.strides)
    return Memory(array.ctypes.data, array.shape, strides, array.dtype.name)


def _plain(array: Array) -> bool:
    """Strides that count whole elements, native byte order, aligned."""
    even = all(s % array.itemsize == 0 for s in array.strides)
    return even and bool(array.dtype.isnative) and bool(array.flags.aligned)


def scores_array(value: Any, name: str = "scores") -> Array:
    """float32 and float16 as they are, and bfloat16 where NumPy has it (ml_dtypes); other real
    numbers are rounded to float32."""
    array = as_array(value, name)
    if array.dtype.name not in SCORE_TYPES or not _plain(array):
        array = real_array(array, name, np.float32)
    return array


def _integers(array: Array, name: str, kind: Any) -> Array | None:
    """Returns the numbers as a contiguous array of this type, or None if it cannot hold one of
    them."""
    require_real(array, name, "whole")
    try:
        with np.errstate(invalid="ignore"):
            whole = np.ascontiguousarray(array, dtype=kind).reshape(array.shape)
    except (OverflowError, TypeError, ValueError):  # from object arrays
        return None
    return whole if np.array_equal(whole, array) else None


def labels_array(value: Any, name: str = "labels") -> Array:
    """uint8, bool, int32 and int64 as they are; other whole numbers become int64."""
    array = as_array(value, name)
    if array.dtype.name not in LABEL_TYPES or not _plain(array):
        whole = _integers(array, name, np.int64)
        if whole is None:
            raise TypeError(
                f"{name} of type {array.dtype}; not all are whole numbers that fit into int64"
            )
        array = whole
    return array


def view_scores(array: Array) -> tuple[Scores, Array]:
    """The view, and the array that it is a view of."""
    view = scores_view(memory(array))
    if view is None:
        array = np.ascontiguousarray(array)
        view = scores_view(memory(array))
    assert view is not None
    return view, array


def view_labels(array: Array, own_classes: bool = False) -> tuple[Labels, Array]:
    view = labels_view(memory(array), own_classes)
    if view is None:
        array = np.ascontiguousarray(array)
        view = labels_view(memory(array), own_classes)
    assert view is not None
    return view, array


def view_weights(
    value: Any, shape: tuple[int, ...], is_list: bool
) -> tuple[PixelWeights | None, Array | None]:
    """pixel_weights as canonical_weights has them; None where there are none. Real numbers of any
    type are rounded to float32."""
    if value is None:
        return None, None
    array = as_array(value, "pixel_weights")
    if array.dtype != np.float32 or not _plain(array):
        array = real_array(array, "pixel_weights", np.float32)
    array = canonical_weights(array, shape, is_list)
    view = pixel_weights_view(memory(array))
    if view is None:
        array = np.ascontiguousarray(array)
        view = pixel_weights_view(memory(array))
    assert view is not None
    return view, array


def vector(value: Any, name: str, size: int | None = None) -> npt.NDArray[np.float64]:
    """A contiguous vector of doubles."""
    array = real_array(value, name)
    if array.ndim != 1 or (size is not None and array.size != size):
        wanted = "a vector is" if size is None else f"{size} numbers are"
        raise ValueError(f"{name} of shape {array.shape}; {wanted} needed")
    return array


def matrix(value: Any, name: str, needed: str = "a matrix is needed") -> Array:
    """Returns a contiguous matrix of doubles."""
    array = real_array(value, name)
    if array.ndim != 2:
        raise ValueError(f"{name} of shape {array.shape}; {needed}")
    return array


def flags(value: Any, name: str, size: int | None = None) -> npt.NDArray[np.uint8]:
    """A contiguous vector, 1 where there is anything but 0; of an array of any shape if there may
    be as many as there are."""
    array = as_array(value, name)
    require_real(array, name)
    if size is not None and array.shape != (size,):
        raise ValueError(f"{name} of shape {array.shape}; {size} flags are needed")
    return np.ascontiguousarray(array.reshape(-1) != 0).view(np.uint8)


def listed(value: Any, name: str) -> Array:
    """Sets and generators too."""
    arrays = hasattr(value, "__array__") or hasattr(value, "__dlpack__")
    return as_array(value if arrays else list(value), name)


def elements(value: Any, name: str, n: int) -> npt.NDArray[np.int32]:
    """Elements of a ground set of n: numbers, or n flags."""
    array = listed(value, name)
    if array.dtype == np.bool_:
        if array.shape != (n,):
            raise ValueError(f"{name}: flags of shape {array.shape} for {n} elements")
        return np.flatnonzero(array).astype(np.int32)
    if array.ndim != 1:
        raise ValueError(f"{name} of shape {array.shape}; a list of elements is needed")
    return int32(array, name)


def int32(value: Any, name: str) -> npt.NDArray[np.int32]:
    """Contiguous; whole numbers that fit."""
    array = as_array(value, name)
    if array.size == 0:
        return np.zeros(array.shape, np.int32)
    whole = _integers(array, name, np.int32)
    if whole is None:
        raise ValueError(f"{name} holds what is no whole number of 32 bits")
    return whole


def edge_ends(edges: Any) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32]]:
    """Tails and heads of m pairs, or of an array (m, 2)."""
    ends = int32(listed(edges, "edges"), "edges")
    if ends.size == 0:
        ends = ends.reshape(0, 2)
    if ends.ndim != 2 or ends.shape[1] != 2:
        raise ValueError(f"edges of shape {ends.shape}; (m, 2) is needed, a row per edge")
    return np.ascontiguousarray(ends[:, 0]), np.ascontiguousarray(ends[:, 1])


def is_sparse(value: Any) -> bool:
    """A matrix or array of scipy.sparse, which is not imported for that."""
    return hasattr(value, "tocoo") and hasattr(value, "tocsr")


def sparse_edges(matrix: Any, weights: Any, n: int, directed: bool) -> tuple[Array, Array]:
    """Edges and their weights. Entries [i, i] cut nothing."""
    if weights is not None:
        raise ValueError("weights beside a sparse matrix; its entries are the weights")
    if matrix.shape != (n, n):
        raise ValueError(f"a sparse matrix of shape {matrix.shape}; {(n, n)} is needed")
    summed = matrix.tocsr()  # entries that are there twice are added up
    if not directed and (summed != summed.T).nnz:
        raise ValueError(
            "a sparse matrix that is not symmetric; W + W.T makes one of edges that it has once, "
            "and directed=True is for those with a direction"
        )
    entries = summed.tocoo()
    kept = entries.row != entries.col if directed else entries.row < entries.col
    ends = np.stack([entries.row[kept], entries.col[kept]], 1)
    return ends, real_array(entries.data[kept], "the weights of a sparse matrix")
