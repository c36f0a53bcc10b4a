"""Pages of mapped files, asked for before they are read."""

from libc.stdint cimport int64_t, uintptr_t


cdef extern from *:
    """
    /* Asks the system to read pages of a mapped file, and does not wait for them. */
    #if defined(__unix__) || defined(__APPLE__)
    #include <sys/mman.h>
    #include <unistd.h>
    static inline void nd_will_need(uintptr_t begin, size_t size) { (void)madvise((void *)begin, size, MADV_WILLNEED); }
    static inline size_t nd_page_size(void) { return (size_t)sysconf(_SC_PAGESIZE); }
    #else
    static inline void nd_will_need(uintptr_t begin, size_t size) { (void)begin; (void)size; }
    static inline size_t nd_page_size(void) { return 4096; }
    #endif
    /* Microseconds of a clock. */
    #include <time.h>
    static inline int64_t nd_microseconds(void)
    {
        struct timespec t = {0, 0};
    #if defined(CLOCK_MONOTONIC)
        clock_gettime(CLOCK_MONOTONIC, &t);
    #else
        timespec_get(&t, TIME_UTC);
    #endif
        return (int64_t)t.tv_sec * 1000000 + t.tv_nsec / 1000;
    }
    """
    int64_t nd_microseconds() noexcept nogil
    void nd_will_need(uintptr_t begin, size_t size) noexcept nogil
    size_t nd_page_size() noexcept nogil


cdef inline size_t ask(const void *array, size_t item_size, size_t first, size_t last) noexcept nogil:
    """Ask for the pages of items first … last - 1 of an array, without waiting; return how many pages these are."""
    if first >= last:
        return 0
    cdef size_t page = nd_page_size()
    cdef uintptr_t begin = <uintptr_t> array + first * item_size, end = <uintptr_t> array + last * item_size
    begin -= begin % page
    nd_will_need(begin, end - begin)
    return (end - begin + page - 1) // page
