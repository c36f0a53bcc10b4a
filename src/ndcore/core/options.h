/* Structs of ndcore.h that begin with their size: a program may know fewer of their members, or more, than the core does. */
#ifndef ND_OPTIONS_H
#define ND_OPTIONS_H

#include "nd.h"

#define ND_OPTIONS_SIZE "the struct has a size that it never had: set it by its nd_..._init function"
#define ND_OPTIONS_NEWER "the struct has members that this version of ndcore does not know: leave them 0, or use a newer ndcore"

/* Writes the defaults that a program of this size of the struct knows, and zeros to the rest of it. */
static inline void nd_options_init(void *to, size_t size, const void *defaults, size_t known)
{
    memset(to, 0, size);
    memcpy(to, defaults, nd_min(size, known));
    memcpy(to, &size, nd_min(size, sizeof size));
}

/* Copies what the program has set over the defaults. first_size: bytes of the struct in its first version. Refuses a smaller
 * one, and members that this version does not know and that are not 0. */
static inline const char *nd_options_read(const void *given, void *defaults, size_t known, size_t first_size)
{
    size_t size;
    memcpy(&size, given, sizeof size);
    if (size < first_size || size > 1 << 16)
        return ND_OPTIONS_SIZE;
    const unsigned char *bytes = given;
    for (size_t i = known; i < size; i++)
        if (bytes[i])
            return ND_OPTIONS_NEWER;
    memcpy(defaults, given, nd_min(size, known));
    return NULL;
}

#endif
