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
    const uint32_t osxsave = 1u << 27, ymm_state = 0x06, zmm_state = 0xE6;
    const uint32_t avx2 = 1u << 5, avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;   /* F, DQ, BW, VL */
    uint32_t a, b, c, d, features = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d) || !(c & osxsave))
        return 0;
    const uint64_t saved = saved_registers();
    if (!__get_cpuid_count(7, 0, &a, &b, &c, &d))
        return 0;
    if ((saved & ymm_state) == ymm_state && (b & avx2))
        features |= ND_AVX2;
#if !defined(__APPLE__)   /* Darwin kernels before 22 corrupt the mask registers: withheld */
    if ((features & ND_AVX2) && (saved & zmm_state) == zmm_state && (b & avx512) == avx512)
        features |= ND_AVX512;
#endif
    return features;
}
#else
uint32_t nd_cpu_features(void) { return 0; }
#endif
