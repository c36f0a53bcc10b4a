"""What this CPU runs: asked once, by every extension that has variants."""

from libc.stdint cimport uint32_t


cdef extern from "nd.h" nogil:
    uint32_t nd_cpu_features()
    enum:
        ND_AVX2
        ND_AVX512
        ND_PCLMUL
        ND_VPCLMUL
        ND_PMULL


cdef uint32_t features() noexcept nogil:
    return nd_cpu_features()


def feature_names() -> list[str]:
    """Names of the instruction sets among those ndcore has variants for that may run here."""
    cdef uint32_t present = nd_cpu_features()
    names = {"avx2": ND_AVX2, "avx512": ND_AVX512, "pclmul": ND_PCLMUL, "vpclmul": ND_VPCLMUL, "pmull": ND_PMULL}
    return [name for name, bit in names.items() if present & bit]
