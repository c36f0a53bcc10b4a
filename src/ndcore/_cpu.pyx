"""What this CPU runs, and the questions that every kernel with variants answers in the same way."""

from libc.stdint cimport uint32_t


cdef extern from "nd.h" nogil:
    uint32_t nd_cpu_features()
    enum:
        ND_AVX2
        ND_AVX512
        ND_PCLMUL
        ND_VPCLMUL
        ND_PMULL
        ND_BMI
        ND_POPCNT
        ND_VPOPCNT


def feature_names() -> list[str]:
    """Names of the instruction sets among those ndcore has variants for that may run here."""
    cdef uint32_t present = nd_cpu_features()
    names = {
        "avx2": ND_AVX2, "avx512": ND_AVX512, "pclmul": ND_PCLMUL, "vpclmul": ND_VPCLMUL, "pmull": ND_PMULL, "bmi": ND_BMI,
        "popcnt": ND_POPCNT, "vpopcnt": ND_VPOPCNT,
    }
    return [name for name, bit in names.items() if present & bit]


cdef dict listed(variants_fn variants):
    """Names of a kernel's forms, best first, each with whether it runs here."""
    cdef const char *names[8]
    cdef int runnable[8]
    cdef size_t n = variants(names, runnable, 8, nd_cpu_features())
    return {names[i].decode(): bool(runnable[i]) for i in range(n)}


cdef bint used(use_fn use, object name) except -1:
    """Run this form from now on (None: the best that runs here); False where it is unknown or cannot run here."""
    cdef bytes wanted = b"" if name is None else name.encode()
    return use(NULL if name is None else <const char *> wanted, nd_cpu_features()) >= 0
