/* Every variant of a kernel in turn; the mixers of nd.h. Included by test_core.c alone. */
#ifndef ND_TEST_VARIANTS_H
#define ND_TEST_VARIANTS_H

/* Runs a test under every variant of a kernel that runs here; the others are named. */
static void each_variant(const char *stem, const nd_choice *kernel, void (*test)(const char *variant))
{
    const char *names[8] = {NULL};
    int runnable[8];
    const size_t count = kernel->variants(names, runnable, 8, nd_cpu_features());
    CHECK(count >= 1 && count <= 8 && strcmp(names[count - 1], "portable") == 0, "%s: portable is the last one", stem);
    CHECK(kernel->chosen() == (int)count - 1, "%s: portable until somebody chooses", stem);
    CHECK(kernel->use(NULL, 0) == (int)count - 1, "%s: without features the portable form runs", stem);
    CHECK(kernel->use("no such variant", ~UINT32_C(0)) == -1 && kernel->chosen() == (int)count - 1,
          "%s: a demand that cannot be met changes nothing", stem);
    for (size_t v = 0; v < count && v < 8; v++) {
        CHECK(v + 1 == count || kernel->use(names[v], 0) == -1, "%s=%s needs something", stem, names[v]);
        if (!runnable[v])
            printf("skipped: %s=%s does not run on this CPU\n", stem, names[v]);
        else {
            CHECK(kernel->use(names[v], nd_cpu_features()) == (int)v && kernel->chosen() == (int)v, "%s=%s", stem, names[v]);
            test(names[v]);
        }
    }
    CHECK(kernel->use(NULL, nd_cpu_features()) >= 0, "%s: something runs here", stem);
}

static void test_mixers(void)
{
    uint64_t state = 1234567;
    CHECK(nd_splitmix64(&state) == UINT64_C(6457827717110365317), "SplitMix64, first output of 1234567");
    CHECK(nd_splitmix64(&state) == UINT64_C(3203168211198807973), "SplitMix64, second output of 1234567");
    CHECK(nd_fmix64(0) == 0, "fmix64(0)");
    CHECK(nd_fmix64(1) == UINT64_C(0xB456BCFC34C2CB2C), "fmix64(1)");
    CHECK(naive_unmix(UINT64_C(0xB456BCFC34C2CB2C)) == 1, "its inverse");
}

#endif
