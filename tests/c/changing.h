/* Memory that another thread writes to, as to a mutable buffer of Arrow or to a mapped file. Included by test_core.c alone. */
#ifndef ND_CHANGING_H
#define ND_CHANGING_H

/* `words` 64-bit words at `at`, changed at random until `stop`: to one of `count` values, or to any. */
typedef struct { uint64_t *at; size_t words; const uint64_t *values; size_t count; } changing;
static volatile int stop_changing;

static void *change(void *what)
{
    const changing *c = what;
    uint64_t state = 12;
    while (!stop_changing)
        for (int i = 0; i < 256; i++) {
            const uint64_t r = nd_splitmix64(&state);
            ((volatile uint64_t *)c->at)[(size_t)(r >> 32) % c->words] = c->count ? c->values[r % c->count] : r << r % 64;
        }
    return NULL;
}

static pthread_t begin_changing(const changing *c)
{
    pthread_t thread;
    stop_changing = 0;
    if (pthread_create(&thread, NULL, change, (void *)(uintptr_t)c)) {
        perror("pthread_create");
        exit(2);
    }
    return thread;
}

static void end_changing(pthread_t thread)
{
    stop_changing = 1;
    pthread_join(thread, NULL);
}

#endif
