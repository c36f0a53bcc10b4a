/* The instruction sets that may run here: the CPU has them, and the operating system saves their registers. */
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
    const uint32_t pclmul = 1u << 1, movbe = 1u << 22, popcnt = 1u << 23, osxsave = 1u << 27;
    const uint32_t avx2 = 1u << 5, bmi = 1u << 3 | 1u << 8, vpclmul = 1u << 10, vpopcnt = 1u << 14;
    const uint32_t avx512 = 1u << 16 | 1u << 17 | 1u << 30 | 1u << 31;   /* F, DQ, BW, VL */
    const uint64_t ymm_state = 0x06, zmm_state = 0xE6;
    uint32_t a, b, c, d, features = 0;
    if (!__get_cpuid(1, &a, &b, &c, &d))
        return 0;
    if (c & pclmul)
        features |= ND_PCLMUL;
    if (c & popcnt)
        features |= ND_POPCNT;
    const uint64_t saved = c & osxsave ? saved_registers() : 0;
    const int has_movbe = (c & movbe) != 0;
    if ((saved & ymm_state) != ymm_state || !__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(b & avx2))
        return features;
    features |= ND_AVX2;
    if (has_movbe && (b & bmi) == bmi)
        features |= ND_BMI;
    if (c & vpclmul)
        features |= ND_VPCLMUL;
#if !defined(__APPLE__)   /* withheld: early Darwin kernels with AVX-512 corrupted the mask registers */
    if ((saved & zmm_state) == zmm_state && (b & avx512) == avx512)
        features |= c & vpopcnt ? ND_AVX512 | ND_VPOPCNT : ND_AVX512;
#endif
    return features;
}
#elif ND_ARM64 && defined(__linux__)
#include <sys/auxv.h>

uint32_t nd_cpu_features(void)
{
    const unsigned long pmull = 1ul << 4;   /* HWCAP_PMULL */
    return getauxval(AT_HWCAP) & pmull ? ND_PMULL : 0;
}
#elif ND_ARM64 && defined(__APPLE__)
uint32_t nd_cpu_features(void) { return ND_PMULL; }   /* every Apple processor has it */
#else
uint32_t nd_cpu_features(void) { return 0; }
#endif
