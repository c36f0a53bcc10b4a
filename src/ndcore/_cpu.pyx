"""What this CPU runs: asked once, by every extension that has variants."""

from libc.stdint cimport uint32_t


cdef extern from "nd.h" nogil:
    uint32_t nd_cpu_features()
    enum:
        ND_AVX2


cdef uint32_t features() noexcept nogil:
    return nd_cpu_features()


def feature_names() -> list[str]:
    """Names of the instruction sets among those ndcore has variants for that may run here."""
    cdef uint32_t present = nd_cpu_features()
    return [name for name, bit in (("avx2", ND_AVX2),) if present & bit]
