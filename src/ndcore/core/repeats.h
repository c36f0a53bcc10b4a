/* Repeated passages: windows of L tokens that occur at several places, and the runs they make (DESIGN.md, section 5).
 *
 * A place is the number of a token in the whole collection, in keep order; between two documents one number is left out, so
 * windows of two documents never have consecutive places. Places are below 2^48. */
#ifndef ND_REPEATS_H
#define ND_REPEATS_H

#include "sort.h"

/* Consecutive windows that have the same anchor, packed: the place of the first << 16 | their number − 1. */
enum { ND_RANGE_BITS = 16 };

/* Anchors of the L-token windows of a document: in each the rightmost smallest of the mixed fingerprints of its k-token
 * windows. f: n of these fingerprints, of which L-token window i holds f[i : i + window], window = L − k + 1, 1 <= window <= n,
 * window <= 2^16. Writes an entry (mixed fingerprint ^ label, range) for each run of windows with the same anchor, at most
 * n − window + 1 of them, and returns their number. Anchors that follow each other and are equal have few entries, at least
 * two. mixed: n words. Windows with equal tokens have equal anchors, so a
 * window whose anchor occurs once in the collection is not repeated. Expected O(n) for a secret key. */
size_t nd_repeats_anchors(const uint64_t *f, size_t n, size_t window, uint64_t key, uint64_t label, uint64_t place,
                          uint64_t *mixed, nd_entry *out);

/* Moves entries to `parts` groups by the leading bits of their keys: key >> shift < parts <= 256. starts: parts + 1 words;
 * group p is out[starts[p] : starts[p + 1]], in the order of e. */
void nd_repeats_part(const nd_entry *e, size_t n, unsigned shift, size_t parts, size_t *starts, nd_entry *out);

/* Writes the entries, sorted by key, whose key occurs twice or more, with id and key exchanged; returns their number. */
size_t nd_repeats_shared(const nd_entry *e, size_t n, nd_entry *out);

/* Writes (place, first place with this key) for each of n entries (fingerprint, place), sorted by fingerprint, whose
 * fingerprint occurs `fewest` to `most` times and not at a place below `exempt`. out may be e. Returns their number. */
size_t nd_repeats_firsts(const nd_entry *e, size_t n, uint64_t fewest, uint64_t most, uint64_t exempt, nd_entry *out);

/* Consecutive windows place + i that first occur at first + i, 0 <= i < windows. */
typedef struct { uint64_t place, first, windows; } nd_repeat_run;

/* Joins entries (place, first place), ascending by place, to runs. `open` is the run that the entries before ended with,
 * windows = 0 for none; on return the run that these end with, which is not written. Returns the number written, at most n. */
size_t nd_repeats_join(const nd_entry *e, size_t n, nd_repeat_run *open, nd_repeat_run *out);

/* Sets the bit of each first place before which runs differ: a unit, windows that always occur together, begins there. bits:
 * a bit for each place, and one more. */
void nd_repeats_breaks(const nd_repeat_run *runs, size_t n, uint64_t *bits);

/* Cuts runs into units, from window *done of run *at on, until `room` units are written or all runs are done: *at = n. Returns
 * their number. out: NULL to count alone. */
size_t nd_repeats_units(const nd_repeat_run *runs, size_t n, const uint64_t *bits, size_t *at, uint64_t *done,
                        nd_repeat_run *out, size_t room);

/* Sets classes[i] to the first unit with the windows of unit i, for begin <= i < end; those before are set. i < 2^32. */
void nd_repeats_classes(const nd_repeat_run *units, size_t begin, size_t end, uint32_t *classes);

/* Replaces the class of each unit by its symbol: one for all units of a class whose next place is one of the next unit, and one
 * of its own for each of the others, which end suffixes. The symbols of a class follow each other. work: n words. Returns the
 * number of symbols, at most 2·n. */
uint64_t nd_repeats_symbols(const nd_repeat_run *units, size_t n, uint32_t *classes, uint32_t *work);

/* Repeated sequences of units: a node for each set of places with a common sequence that cannot be extended. Node 0 is the
 * root. */
typedef struct {
    uint32_t shared;        /* units of the sequence */
    uint32_t least, count;  /* the first unit that begins it; the number of them */
    uint32_t parent;
} nd_repeat_node;

/* Sets shared[i] to the units that suffix i and the one before it in `order` have in common. O(n). */
void nd_repeats_shared_units(const nd_repeat_run *units, const uint32_t *order, size_t n, uint32_t *shared);

/* Makes the nodes: room for n + 1. leaf[i] is the deepest node with suffix i; leaf may be shared. Returns their number.
 * O(n). */
size_t nd_repeats_nodes(const uint32_t *order, const uint32_t *shared, size_t n, nd_repeat_node *nodes, uint32_t *leaf);

/* A row: tokens start to end − 1 of a document, by its number in keep order, the place of their source, and the copies. */
typedef struct { uint64_t document, start, end, source, copies; } nd_repeat_row;

typedef struct {
    const nd_repeat_run *units;
    const nd_repeat_node *nodes;
    const uint32_t *leaf;
    const uint64_t *bases;          /* the place of each document's first token, ascending */
    size_t n, documents;
    uint64_t tokens;                /* L */
    uint64_t fewest;                /* places of a run */
    uint64_t sources;               /* places below it are sources; UINT64_MAX: all */
    int within;                     /* whether a place in the same document is a source */
    size_t unit, document;          /* the state: the next unit and its document */
    uint64_t done;                  /* the place behind the last row */
} nd_repeat_rows;

/* Replaces leaf[i] by its first ancestor that a row may take, for begin <= i < end; 0 if there is none: it occurs at
 * `fewest` places or more, the first of them below `sources` and, unless `within`, in an earlier document. Goes from the
 * last unit to the first, in one or more calls, before the first row. nodes and leaf are those of r. Parents of nodes that
 * no row takes change. Returns the nodes that were passed, O(n log n) in all calls. */
size_t nd_repeats_ascend(const nd_repeat_rows *r, size_t begin, size_t end, nd_repeat_node *nodes, uint32_t *leaf);

/* Writes the next rows, at most `room`; returns their number, 0 if none are left. Begin with unit, document and done 0. */
size_t nd_repeats_rows(nd_repeat_rows *r, nd_repeat_row *out, size_t room);

#endif
