#include "sort.h"

ND_SORT(, nd_sort_entries, nd_entry, ND_KEY_OF_ENTRY)

int nd_sort_entries_next(nd_sorting *s, nd_entry *e, nd_entry *scratch, size_t n, size_t limit)
{
    return nd_sort_entries_from_next(s, e, scratch, n, 0, limit);
}
