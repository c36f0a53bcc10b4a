# cython: embedsignature=True
"""Ctrl-C in long loops, in the main thread and in the threads of a pool."""

from cpython.exc cimport PyErr_CheckSignals


cdef extern from *:
    """
    #include <time.h>
    #if defined(_MSC_VER)
    #define ND_THREAD_LOCAL __declspec(thread)
    #else
    #define ND_THREAD_LOCAL _Thread_local
    #endif

    enum { ND_MILLISECONDS = 20 };    /* between two checks of signals, which take the GIL */

    /* One thread writes is_set and others read it: they may see it late, but never torn. Relaxed atomic accesses, because a
     * plain or volatile one would be a race (C11, section 5.1.2.4); volatile ones of Visual C++ are atomic. */
    #if defined(__GNUC__) || defined(__clang__)
    #define ND_STOP_LOAD(flag) __atomic_load_n(&(flag), __ATOMIC_RELAXED)
    #define ND_STOP_STORE(flag, value) __atomic_store_n(&(flag), (value), __ATOMIC_RELAXED)
    #else
    #define ND_STOP_LOAD(flag) (flag)
    #define ND_STOP_STORE(flag, value) ((flag) = (value))
    #endif
    typedef struct nd_stop { volatile int is_set; const struct nd_stop *outer; void *owner; } nd_stop;

    static ND_THREAD_LOCAL nd_stop *nd_stop_here;        /* of the pool that this thread belongs to, or NULL */
    static ND_THREAD_LOCAL int64_t nd_stop_looked;       /* time of the last check of signals, in milliseconds */

    static nd_stop *nd_stop_current(void) { return nd_stop_here; }
    static void nd_stop_enter(nd_stop *s) { nd_stop_here = s; }

    static void nd_stop_set(nd_stop *s) { ND_STOP_STORE(s->is_set, 1); }

    static int nd_stop_asked(void)
    {
        for (const nd_stop *s = nd_stop_here; s; s = s->outer)
            if (ND_STOP_LOAD(s->is_set))
                return 1;
        return 0;
    }

    static int nd_stop_due(void)
    {
        struct timespec t = {0, 0};
    #if defined(CLOCK_MONOTONIC_COARSE)
        clock_gettime(CLOCK_MONOTONIC_COARSE, &t);
    #elif defined(CLOCK_MONOTONIC)
        clock_gettime(CLOCK_MONOTONIC, &t);
    #else
        timespec_get(&t, TIME_UTC);
    #endif
        const int64_t now = (int64_t)t.tv_sec * 1000 + t.tv_nsec / 1000000;
        if (now >= nd_stop_looked && now < nd_stop_looked + ND_MILLISECONDS)
            return 0;
        nd_stop_looked = now;
        return 1;
    }
    """
    ctypedef struct nd_stop:
        const nd_stop *outer
        void *owner
    nd_stop *nd_stop_current() noexcept nogil
    void nd_stop_enter(nd_stop *s) noexcept nogil
    void nd_stop_set(nd_stop *s) noexcept nogil
    bint nd_stop_asked() noexcept nogil
    bint nd_stop_due() noexcept nogil


cdef int check_signals() except -1 nogil:
    """Handle signals that have arrived, at most every 20 ms; KeyboardInterrupt if the work must end.

    Only the main thread handles signals. A thread of a pool reads the flag of its `Stop` instead, without the GIL.
    """
    if nd_stop_current() != NULL:
        if nd_stop_asked():
            with gil:
                raise KeyboardInterrupt("the results of this thread are no longer wanted")
        return 0
    if nd_stop_due():
        with gil:
            PyErr_CheckSignals()
    return 0


cdef class Stop:
    """A flag that ends the work of a pool's threads: after `set`, loops in calls by `run` raise KeyboardInterrupt.

    In a thread of another pool, the work also ends when the other pool's work does.
    """
    cdef nd_stop state
    cdef object outer

    def __cinit__(self):
        cdef nd_stop *outer = nd_stop_current()
        self.state.owner = <void *> self
        if outer != NULL:
            self.outer = <object> outer.owner  # keeps its state alive
            self.state.outer = outer

    def set(self):
        """End the work."""
        nd_stop_set(&self.state)

    def run(self, work, item):
        """Return work(item); KeyboardInterrupt if `set` was called before."""
        cdef nd_stop *before = nd_stop_current()
        nd_stop_enter(&self.state)
        try:
            check_signals()
            return work(item)
        finally:
            nd_stop_enter(before)


def stoppable(items):
    """Yield items; KeyboardInterrupt between two of them if the work of this thread must end."""
    for item in items:
        check_signals()
        yield item
