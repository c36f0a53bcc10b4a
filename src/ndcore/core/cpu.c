/* Which instruction sets may run here: the CPU has them and the operating system saves their registers. */
#include "nd.h"

#if ND_X86
#include <cpuid.h>

static uint64_t saved_registers(void)   /* XCR0 */
{
    uint32_t low, high;
    __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return ((uint64_t)high << 32) | low;
}

uint32_t nd_cpu_features(void)
{
    const uint32_t osxsave = 1u << 27, avx2 = 1u << 5, ymm_state = 0x06;
    uint32_t a, b, c, d;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave) || (saved_registers() & ymm_state) != ymm_state)
        return 0;
    return __get_cpuid_count(7, 0, &a, &b, &c, &d) && (b & avx2) ? ND_AVX2 : 0;
}
#else
uint32_t nd_cpu_features(void) { return 0; }
#endif
