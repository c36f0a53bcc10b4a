/* ndcore.h: near-duplicate detection for C and C++ programs. This is the whole interface, and its manual; all other headers
 * of this folder are internal and change in any version. A header that includes them all was rejected: it would freeze their
 * tables and cursors.
 *
 *     Text becomes tokens, tokens become symbols, runs of `width` symbols become shingles, and a shingle becomes a 64-bit
 *     Rabin fingerprint. Of the fingerprints of a document are made: a signature (MinHash), whose equal minima estimate the
 *     resemblance (Jaccard similarity); features and super-features of it, the keys of LSH bands; a simhash, whose Hamming
 *     distance is small for similar documents; a bottom sketch, which also estimates the containment.
 *
 * BUILD. C11, 64 bits, little-endian, no dependency. In the folder of ndcore.get_include():
 *
 *     cc -O3 -c *.c && ar rcs libndcore.a *.o                                         a static library
 *     cc -O3 -fPIC -shared -fvisibility=hidden -DND_SHARED *.c -o libndcore.so        a shared one: exports this header only
 *
 * or give the *.c to the compiler with the files of the program. The folder also has ndcore.pc for pkg-config and
 * ndcore-config.cmake for CMake's find_package. The core does not allocate, does no input or output, and calls nothing but
 * sinks of yours and <string.h>.
 *
 * MEMORY. Objects lie in memory of the caller: ask nd_X_size, allocate, nd_X_init. It is aligned to 8 bytes, as malloc's is.
 * Nothing needs to be freed but that memory. Scratch memory has no content between two calls. Outputs overlap no input.
 * No call uses more than 64 KB of stack.
 *
 * THREADS. Objects are read-only after init: any number of threads may use one. Scratch and outputs belong to one thread.
 * nd_use is called before other threads call anything.
 *
 * ERRORS. Functions that return const char * return NULL on success, and else a static English sentence that says what is
 * accepted; nothing was written then. All other functions cannot fail, if arguments are as they say. Texts are any
 * bytes, but for ND_TOKENS.
 *
 * VALUES. A recipe and a text give the same numbers on every processor, in every version with the same major number, and in
 * Python: the recipe of nd_recipe_init is that of ndcore.MinHasher(), ndcore.SimHasher() and ndcore.BottomSketcher().
 *
 * VERSIONS. Within a major version programs compile, link and run without change: functions stay, with their arguments and
 * meaning; enumerators keep their numbers; nd_recipe and nd_hamming_options begin with their size, so that members may be
 * added at the end; objects may grow, so ask for their sizes when the program runs. While the major number is 0, the minor
 * number takes its place. CHANGELOG.md names every addition and removal.
 *
 * WIDTH OF KEYS. Fingerprints, features and simhashes are keys of key_bits bits: key_bits / 64 words of an array of
 * uint64_t, the lowest first. Counts and positions are of keys, not of words. Today key_bits is 64; up to 256 may come, with
 * the same functions. Programs that keep keys should store key_bits beside them.
 *
 * SOURCES. B97: Broder, "On the resemblance and containment of documents", 1997, doi:10.1109/SEQUEN.1997.666900. B00:
 * Broder, "Identifying and filtering near-duplicate documents", 2000, doi:10.1007/3-540-45123-4_1. MJS07: Manku, Jain, Das
 * Sarma, "Detecting near-duplicates for web crawling", 2007, doi:10.1145/1242572.1242592. Values are defined, to the bit, in
 * section 3 of DESIGN.md.
 *
 * EXAMPLE. The signature and the simhash of a text; examples/c has a whole program.
 *
 *     nd_recipe recipe;
 *     nd_recipe_init(&recipe, sizeof recipe);
 *     nd_use(NULL);                                                   // the best kernels for this processor
 *     size_t size = nd_sketcher_size(&recipe);
 *     nd_sketcher *sketcher = malloc(size);
 *     const char *error = nd_sketcher_init(sketcher, size, &recipe);  // tables: once; then for every text:
 *     void *scratch = malloc(nd_sketcher_scratch(sketcher, n));
 *     uint32_t minima[84];
 *     uint64_t simhash;
 *     nd_shingled counts;
 *     nd_sketch(sketcher, text, n, scratch, minima, &simhash, &counts);
 */
#ifndef NDCORE_H
#define NDCORE_H

#include <stddef.h>
#include <stdint.h>

#if defined(ND_SHARED) && defined(_WIN32)
#  define ND_API __declspec(dllexport)
#elif defined(ND_SHARED)
#  define ND_API __attribute__((visibility("default")))
#else
#  define ND_API
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* ---- version and processor */

#define ND_VERSION_MAJOR 0
#define ND_VERSION_MINOR 1
#define ND_VERSION_PATCH 0
#define ND_VERSION (ND_VERSION_MAJOR * 1000000 + ND_VERSION_MINOR * 1000 + ND_VERSION_PATCH)
#define ND_VERSION_STRING "0.1.0"

/* Returns ND_VERSION of the core that is linked. */
ND_API uint32_t nd_version(void);

/* Chooses the form of each kernel. NULL or "": the fastest that this processor runs. "portable": plain C. "minhash=avx2,
 * rabin=portable": these forms, and the fastest of all other kernels. All forms give the same values. Without a call, plain
 * C runs. Refuses a form that is unknown or does not run here. Kernels: hamming, minhash, modsketch, rabin, simhash,
 * text. */
ND_API const char *nd_use(const char *forms);

/* Returns the form of a kernel that runs, as "avx2"; NULL if there is no such kernel. */
ND_API const char *nd_running(const char *kernel);

/* ---- recipes */

/* What a token is. WORD, CHAR and GRAPHEME read UTF-8 and fold case. LINE, PARAGRAPH (bounds are blank lines) and SENTENCE
 * (UAX #29, Unicode 17) are raw bytes without blanks at the ends; LINE_WORDS, PARAGRAPH_WORDS and SENTENCE_WORDS are the words of
 * such a token, joined by single spaces. BYTE reads raw bytes. TOKENS reads tokens that the caller cut: a text made by
 * nd_token_put, and of nothing else. */
typedef enum {
    ND_WORD, ND_CHAR, ND_LINE, ND_BYTE, ND_TOKENS, ND_GRAPHEME, ND_PARAGRAPH, ND_SENTENCE, ND_LINE_WORDS, ND_PARAGRAPH_WORDS,
    ND_SENTENCE_WORDS
} nd_unit;

/* The parameters that turn a document into numbers. */
typedef struct {
    size_t size;                   /* bytes of this struct, as the program knows it */
    uint32_t key_bits;             /* of fingerprints, features and simhashes: 64 */
    uint32_t unit;                 /* an nd_unit; ND_WORD */
    uint32_t width;                /* tokens of a shingle, 1 to 65536; 5 */
    uint32_t short_whole;          /* a document of fewer tokens, but one at least: 1: is one shingle; 0: has none; 1 */
    uint64_t polynomial[4];        /* P of the fingerprints, without x^key_bits: irreducible, lowest word first */
    uint64_t token_polynomial[4];  /* Q of symbols of long tokens, likewise; where both are secret, texts cannot be forged */
    uint64_t seed;                 /* of the permutations; 1 */
    uint32_t num_perm;             /* minima of a signature, 1 to 65536; 84. Fewer are a prefix of more. */
    uint32_t minimum_bits;         /* 32 (minima are uint32_t) or 64 (uint64_t); 32 */
} nd_recipe;

/* Sets the defaults above. size: sizeof(nd_recipe). Change members, then call nd_sketcher_size. */
ND_API void nd_recipe_init(nd_recipe *recipe, size_t size);
/* Refuses a recipe with a member outside its range, or a reducible polynomial. 0.1 ms. */
ND_API const char *nd_recipe_check(const nd_recipe *recipe);

/* ---- sketchers: the tables of a recipe, 84 KB and 16 bytes a minimum */

typedef struct nd_sketcher nd_sketcher;

/* Bytes of a sketcher; 0 if nd_recipe_check refuses the recipe. */
ND_API size_t nd_sketcher_size(const nd_recipe *recipe);
/* Fills the tables, in 0.3 ms. Refuses what nd_recipe_check refuses, and too little or misaligned memory. The recipe is
 * copied. A sketcher may be copied byte by byte to other memory of the same process. */
ND_API const char *nd_sketcher_init(nd_sketcher *sketcher, size_t size, const nd_recipe *recipe);

/* Tokens, and so shingles, of a text of n bytes, at most. */
ND_API size_t nd_most_tokens(const nd_sketcher *sketcher, size_t n);
/* Bytes of scratch for a text of at most n bytes: at most 264·width + 16400, for any n. */
ND_API size_t nd_sketcher_scratch(const nd_sketcher *sketcher, size_t n);

/* ---- text to tokens, symbols, shingles: B97, sections 2 and 4 */

/* What was read: tokens; shingles, with repeats; bytes in no well-formed UTF-8 sequence, which separate tokens (of
 * WORD, CHAR, GRAPHEME and the units of words; the other units keep and do not count them). */
typedef struct { size_t tokens, shingles, invalid; } nd_shingled;

/* A function of the caller that gets the next n fingerprints, at most 1024, and `to`. */
typedef void nd_sink(void *to, const uint64_t *fingerprints, size_t n);

/* Hands the fingerprints of a text to `take`, in order and with repeats. counts: NULL, or what was read. O(n), for any
 * width. */
ND_API void nd_shingle_text(const nd_sketcher *sketcher, const void *text, size_t n, void *scratch, nd_sink *take, void *to,
                            nd_shingled *counts);
/* Writes them, and returns their number. fingerprints: room for nd_most_tokens(n) keys. O(n). */
ND_API size_t nd_fingerprints(const nd_sketcher *sketcher, const void *text, size_t n, void *scratch, uint64_t *fingerprints,
                              nd_shingled *counts);
/* Writes the symbol of every token of a text, in order, and returns their number. symbols: room for nd_most_tokens(n) words.
 * A token of at most 8 bytes is its own symbol; of a longer one it is the remainder modulo Q (B97 4.3). O(n). */
ND_API size_t nd_symbols(const nd_sketcher *sketcher, const void *text, size_t n, uint64_t *symbols);

/* Bytes of the canonical form of n bytes, at most. */
ND_API size_t nd_canonical_size(size_t n);
/* Writes the canonical form, each token after its length as 8 bytes, big-endian, and returns its bytes. Two texts are
 * lexically equivalent if their forms are equal (B97 2). out: nd_canonical_size(n) bytes. O(n). */
ND_API size_t nd_canonical(const nd_sketcher *sketcher, const void *text, size_t n, void *out);
/* Writes a token of n bytes, after its length, at `at`, which has room for n + 8, and returns the end: tokens put one after
 * the other are a text of ND_TOKENS. O(n). */
ND_API uint8_t *nd_token_put(uint8_t *at, const void *token, size_t n);

/* ---- signatures: the minima of the fingerprints under num_perm permutations (B00, section 2) */

/* Does all at once: reads a text and writes its signature, its simhash, and what was read, except what is NULL. A text
 * without shingles has a signature of ones and the simhash 0: leave it out of comparisons. O(n · num_perm), or O(n) without
 * minima. */
ND_API void nd_sketch(const nd_sketcher *sketcher, const void *text, size_t n, void *scratch, void *minima,
                      uint64_t *simhash, nd_shingled *counts);

/* Bytes of a signature: num_perm · minimum_bits / 8. */
ND_API size_t nd_signature_size(const nd_sketcher *sketcher);
/* Makes the signature of the empty set; adds n fingerprints to the set of a signature, O(n · num_perm); adds a set. */
ND_API void nd_signature_begin(const nd_sketcher *sketcher, void *minima);
ND_API void nd_signature_add(const nd_sketcher *sketcher, void *minima, const uint64_t *fingerprints, size_t n);
ND_API void nd_signature_unite(const nd_sketcher *sketcher, void *minima, const void *others);
/* Counts equal minima. Their share estimates the resemblance r without bias, with variance r·(1 − r) / num_perm.
 * O(num_perm). */
ND_API size_t nd_signature_equal_minima(const nd_sketcher *sketcher, const void *a, const void *b);
ND_API double nd_signature_resemblance(const nd_sketcher *sketcher, const void *a, const void *b);

/* ---- features and super-features, the keys of LSH bands: B00, section 3 */

/* Writes `groups` features: feature j is a fingerprint of j and of the minima j·group_size … (j + 1)·group_size − 1.
 * Documents with `need` features in common are candidates; AltaVista had 6 groups of 14, and need 2. scratch: group_size + 1
 * words; features: `groups` keys. Refuses groups that take more than num_perm minima. O(groups · group_size). */
ND_API const char *nd_features_of_signature(const nd_sketcher *sketcher, const void *minima, size_t groups,
                                            size_t group_size, uint64_t *scratch, uint64_t *features);
/* The number of super-features, C(groups, need); 0 if need is not 1 to `groups`, or there are more than 65536. */
ND_API size_t nd_super_feature_count(size_t groups, size_t need);
/* Writes them: one for each `need` of the features, in lexicographic order. Documents with `need` features in common have a
 * super-feature in common. scratch: 2·need + 1 words. Refuses what nd_super_feature_count refuses. */
ND_API const char *nd_super_features_of_features(const nd_sketcher *sketcher, const uint64_t *features, size_t groups,
                                                 size_t need, uint64_t *scratch, uint64_t *super_features);

/* ---- simhashes: MJS07, section 2 */

/* Writes the simhash of n fingerprints. Each occurrence counts 1, or weights[i] / 65536, where weights are not NULL: any
 * int32_t but INT32_MIN. n < 2^32. Returns 1; 0, with the simhash 0, where nothing has a weight. O(n). */
ND_API int nd_simhash_of(const nd_sketcher *sketcher, const uint64_t *fingerprints, const int32_t *weights, size_t n,
                         uint64_t *simhash);

/* ---- sets of fingerprints: B97, section 2 */

/* Sorts n values and drops repeats, in place: returns the size of the set. scratch: n words. O(n). */
ND_API size_t nd_set_make(const nd_sketcher *sketcher, uint64_t *values, size_t n, uint64_t *scratch);
/* |A∩B| of two sets as nd_set_make leaves them. O(na + nb). */
ND_API size_t nd_set_common(const nd_sketcher *sketcher, const uint64_t *a, size_t na, const uint64_t *b, size_t nb);
/* Resemblance |A∩B| / |A∪B|, and containment of A in B, |A∩B| / |A|; NaN if a set is empty. */
ND_API double nd_set_resemblance(const nd_sketcher *sketcher, const uint64_t *a, size_t na, const uint64_t *b, size_t nb);
ND_API double nd_set_containment(const nd_sketcher *sketcher, const uint64_t *a, size_t na, const uint64_t *b, size_t nb);

/* ---- bottom sketches, the s smallest permuted fingerprints: B97, sections 3 and 4.1 */

/* Words of scratch for sketches of s members. */
ND_API size_t nd_bottom_scratch(const nd_sketcher *sketcher, size_t s);
/* Writes the sketch of n fingerprints, repeats allowed: at most s members, ascending. s >= 1. Returns their number. O(n). */
ND_API size_t nd_bottom_sketch(const nd_sketcher *sketcher, const uint64_t *fingerprints, size_t n, size_t s,
                               uint64_t *scratch, uint64_t *members);
/* Estimate resemblance, and containment of A in B, of two sketches of at most s members (B97, theorem 1); NaN if one is
 * empty, or no member of A is in the sample. Exact where both have fewer than s members. O(s). */
ND_API double nd_bottom_resemblance(const nd_sketcher *sketcher, const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
                                    size_t s);
ND_API double nd_bottom_containment(const nd_sketcher *sketcher, const uint64_t *a, size_t na, const uint64_t *b, size_t nb,
                                    size_t s);

/* ---- Rabin fingerprints of byte strings: B97, section 4.1; Rabin, "Fingerprinting by random polynomials", 1981 */

typedef struct nd_fingerprinter nd_fingerprinter;

/* Bytes of a fingerprinter: 18 KB. */
ND_API size_t nd_fingerprinter_size(void);
/* For the irreducible polynomial x^degree + low[0], degree 1 to 64, and windows of `window` bytes, or 0 for none. Refuses
 * another degree, a reducible polynomial, too little memory. 0.1 ms. */
ND_API const char *nd_fingerprinter_init(nd_fingerprinter *f, size_t size, const uint64_t *low, unsigned degree,
                                         size_t window);
/* The fingerprint of n bytes. O(n). */
ND_API void nd_fingerprint(const nd_fingerprinter *f, const void *bytes, size_t n, uint64_t *out);
/* The fingerprint of two strings, one after the other, from theirs; nb: bytes of the second. O(log nb). */
ND_API void nd_fingerprint_join(const nd_fingerprinter *f, const uint64_t *a, const uint64_t *b, size_t nb, uint64_t *out);
/* Writes the fingerprints of all windows of n bytes and returns their number, n − window + 1, or 0 where n < window or there
 * is no window. O(n), for any window. */
ND_API size_t nd_fingerprint_windows(const nd_fingerprinter *f, const void *bytes, size_t n, uint64_t *out);

/* ---- Hamming distance: MJS07, section 3 */

/* Compares n keys with a query, from key *at on, which begins at 0. Writes the positions of the keys that differ from it in
 * at most max_distance bits, `room` >= 256 of them at most, and their number to *found. Moves *at: done when *at == n.
 * Refuses key_bits other than 64, and less room. O(n), 0.4 ns a key. */
ND_API const char *nd_hamming_near(const uint64_t *keys, size_t n, unsigned key_bits, const uint64_t *query,
                                   unsigned max_distance, size_t *at, size_t *positions, size_t room, size_t *found);

/* What an index finds, and how. */
typedef struct {
    size_t size;                  /* bytes of this struct, as the program knows it */
    uint32_t key_bits;            /* 1 to 64; 64 */
    uint32_t max_distance;        /* 0 to 10, below key_bits; 3 */
    uint32_t blocks;              /* of bits: C(blocks, max_distance) tables; 0: what is fastest for the number of keys; 0 */
    uint32_t reserved;            /* 0 */
} nd_hamming_options;

typedef struct nd_hamming_index nd_hamming_index;

/* A query found a key: `rank` is the position of the key among the different keys of the index. */
typedef struct { uint64_t query; uint32_t rank, distance; } nd_hamming_match;

/* The state of a search: begins with zeros. */
typedef struct { size_t state[4]; } nd_hamming_search;

/* Sets the defaults above. size: sizeof(nd_hamming_options). */
ND_API void nd_hamming_options_init(nd_hamming_options *options, size_t size);
/* Refuses options with a member outside its range, and blocks that make more than 1024 tables. */
ND_API const char *nd_hamming_options_check(const nd_hamming_options *options);
/* Bytes of an index of n < 2^32 keys, and of scratch to build it; 0 if the options are refused. 8 to 9 bytes for each key
 * and table, and 8 for each key. max_distance 3 takes 4 tables up to 10^7 keys, then 10. */
ND_API size_t nd_hamming_index_size(const nd_hamming_options *options, size_t n);
ND_API size_t nd_hamming_index_scratch(size_t n);
/* Builds an index of n keys, repeats allowed. It stays where it is. Refuses options, n >= 2^32, a key with bits above
 * key_bits, too little memory. O(n · tables). */
ND_API const char *nd_hamming_index_init(nd_hamming_index *index, size_t size, const nd_hamming_options *options,
                                         const uint64_t *keys, size_t n, void *scratch);
/* Finds every key within max_distance of each of n < 2^32 queries, once, in any order; writes at most `room` >= 256 matches
 * and returns their number. Call it with the same queries until *done is 1. 0.6 µs a query in 10^6 random keys. */
ND_API size_t nd_hamming_index_search(const nd_hamming_index *index, const uint64_t *queries, size_t n,
                                      nd_hamming_search *search, nd_hamming_match *matches, size_t room, int *done);
/* Sets *rows to the positions that the key of this rank had in the array of nd_hamming_index_init, ascending, and returns
 * their number; 0 if there is no such rank. *rows stays as long as the index. O(1). */
ND_API size_t nd_hamming_index_rows(const nd_hamming_index *index, size_t rank, const uint32_t **rows);

#ifdef __cplusplus
}
#endif

#endif
