"""The instruction sets of this CPU, and the choice among the variants of a kernel."""

from cpython.bytes cimport PyBytes_AS_STRING
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
    """List the instruction sets of this CPU that ndcore has variants for."""
    cdef uint32_t present = nd_cpu_features()
    names = {
        "avx2": ND_AVX2, "avx512": ND_AVX512, "pclmul": ND_PCLMUL, "vpclmul": ND_VPCLMUL, "pmull": ND_PMULL, "bmi": ND_BMI,
        "popcnt": ND_POPCNT, "vpopcnt": ND_VPOPCNT,
    }
    return [name for name, bit in names.items() if present & bit]


cdef class Kernel:
    """The choice among the variants of a kernel. `Kernel()` stands for a kernel that has its portable form only."""

    def variants(self) -> dict[str, bool]:
        """List the variants, best first, each with whether it runs on this CPU."""
        cdef const char *names[8]
        cdef int runnable[8]
        cdef size_t n
        if self.choice == NULL:
            return {"portable": True}
        n = self.choice.variants(names, runnable, 8, nd_cpu_features())
        return {names[i].decode(): bool(runnable[i]) for i in range(n)}

    def use(self, name: str | None) -> bool:
        """Run this variant from now on (None: the best that runs here); return False if it is unknown or cannot run here."""
        cdef bytes wanted = b"" if name is None else name.encode()
        if self.choice == NULL:
            return name is None or name == "portable"
        return self.choice.use(NULL if name is None else PyBytes_AS_STRING(wanted), nd_cpu_features()) >= 0

    def chosen(self) -> str:
        """Return the name of the variant that runs."""
        return list(self.variants())[0 if self.choice == NULL else self.choice.chosen()]


cdef Kernel kernel_of(const nd_choice *choice):
    """Make the Kernel of a choice that the C core exports, with the best variant that this CPU runs."""
    cdef Kernel kernel = Kernel.__new__(Kernel)
    kernel.choice = choice
    kernel.use(None)
    return kernel
