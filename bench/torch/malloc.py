"""Memory of benchmarks."""

import ctypes


def keep_memory():
    """Makes glibc's malloc keep what is freed: PyTorch's new tensors are then pages already seen,
    not new ones that the kernel has to clear. False where malloc has no such switch."""
    m_trim_threshold, m_mmap_max = -1, -4  # malloc.h
    try:
        libc = ctypes.CDLL(None)
        return bool(libc.mallopt(m_mmap_max, 0) and libc.mallopt(m_trim_threshold, -1))
    except (AttributeError, OSError):
        return False
