/* Rabin fingerprints of byte strings: the fingerprinters of ndcore.h. */
#include "rabin.h"
#include "sketcher.h"

struct nd_fingerprinter {
    nd_rabin rabin;
    size_t window;
    nd_rabin_byte_window removal;
};

size_t nd_fingerprinter_size(void) { return sizeof(nd_fingerprinter); }

const char *nd_fingerprinter_init(nd_fingerprinter *f, size_t size, const uint64_t *low, unsigned degree, size_t window)
{
    if (f == NULL || (uintptr_t)f % sizeof(uint64_t) || size < sizeof *f)
        return "a fingerprinter needs nd_fingerprinter_size() bytes, aligned to 8";
    if (degree < 1 || degree > 64)
        return "degree is 1 to 64 in this version";
    if ((degree < 64 && *low >> degree) || !nd_sketcher_is_irreducible(*low, degree))
        return "x^degree + low must be irreducible, and low below x^degree";
    nd_rabin_init(&f->rabin, *low, degree);
    f->window = window;
    if (window)
        nd_rabin_byte_window_init(&f->removal, &f->rabin, window);
    return NULL;
}

void nd_fingerprint(const nd_fingerprinter *f, const void *bytes, size_t n, uint64_t *out)
{
    *out = nd_rabin_value(&f->rabin, nd_rabin_bytes(&f->rabin, 0, bytes, n));
}

void nd_fingerprint_join(const nd_fingerprinter *f, const uint64_t *a, const uint64_t *b, size_t nb, uint64_t *out)
{
    *out = nd_rabin_shift(&f->rabin, *a, nb) ^ *b;
}

size_t nd_fingerprint_windows(const nd_fingerprinter *f, const void *bytes, size_t n, uint64_t *out)
{
    if (f->window == 0 || n < f->window)
        return 0;
    nd_rabin_sliding(&f->rabin, &f->removal, f->window, bytes, n, out);
    return n - f->window + 1;
}
