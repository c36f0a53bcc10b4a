# cython: embedsignature=True
"""Read and copy many short files at once, without the GIL.

A file that is long, is no regular file, changes meanwhile, or meets an error is left to the caller, who reads it alone and
so learns the reason. On Windows all files are left to the caller.
"""

import os

import numpy as np

cimport cython
from cpython.bytes cimport PyBytes_AS_STRING, PyBytes_FromStringAndSize
from libc.stdint cimport int64_t, uint8_t, uintptr_t

from ndcore._signals cimport check_signals


cdef extern from *:
    """
    #if defined(__unix__) || defined(__APPLE__)
    #include <fcntl.h>
    #include <string.h>
    #include <sys/stat.h>
    #include <unistd.h>

    /* Writes size, time of modification in nanoseconds and inode of an open file; returns 0 if it is no regular file. */
    static int nd_stamp(int file, int64_t stamp[3])
    {
        struct stat s;
        if (fstat(file, &s) || !S_ISREG(s.st_mode))
            return 0;
    #if defined(__APPLE__)
        const struct timespec t = s.st_mtimespec;
    #else
        const struct timespec t = s.st_mtim;
    #endif
        stamp[0] = (int64_t)s.st_size;
        stamp[1] = (int64_t)((uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec);
        stamp[2] = (int64_t)((uint64_t)s.st_ino & INT64_MAX);
        return 1;
    }

    /* Reads a file of at most `most` bytes into a buffer of one byte more. Returns its size, or -1. */
    static int64_t nd_short_read(const char *path, size_t most, char *buffer, int64_t stamp[3])
    {
        int64_t after[3], size = -1;
        const int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);    /* does not wait for the writer of a FIFO */
        if (file < 0)
            return -1;
        if (nd_stamp(file, stamp) && (uint64_t)stamp[0] <= most && read(file, buffer, (size_t)stamp[0] + 1) == stamp[0] &&
            nd_stamp(file, after) && !memcmp(stamp, after, sizeof after))
            size = stamp[0];
        close(file);
        return size;
    }

    /* Copies a file that nd_short_read reads, and that still has the stamp, to a new file. Returns 0 if there is none. */
    static int nd_short_copy(const char *path, const char *target, size_t most, char *buffer, const int64_t stamp[3])
    {
        int64_t now[3];
        const int64_t size = nd_short_read(path, most, buffer, now);
        if (size < 0 || memcmp(stamp, now, sizeof now))
            return 0;
        const int file = open(target, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (file < 0)
            return 0;
        const int whole = !size || write(file, buffer, (size_t)size) == size;
        if (!close(file) && whole)
            return 1;
        unlink(target);
        return 0;
    }
    #else
    static int64_t nd_short_read(const char *path, size_t most, char *buffer, int64_t stamp[3])
    {
        (void)path; (void)most; (void)buffer; (void)stamp;
        return -1;
    }

    static int nd_short_copy(const char *path, const char *target, size_t most, char *buffer, const int64_t stamp[3])
    {
        (void)path; (void)target; (void)most; (void)buffer; (void)stamp;
        return 0;
    }
    #endif
    """
    int64_t nd_short_read(const char *path, size_t most, char *buffer, int64_t *stamp) noexcept nogil
    bint nd_short_copy(
        const char *path, const char *target, size_t most, char *buffer, const int64_t *stamp) noexcept nogil


cdef enum:
    MOST_BYTES = 1 << 16  # of a short file
    ROOM = 1 << 18  # bytes that are read before the GIL is taken

MOST = MOST_BYTES


def _encode(paths):
    """Encode paths. Raises ValueError for a NUL, which would end a path in C."""
    encoded = [os.fsencode(path) for path in paths]
    for path in encoded:
        if b"\0" in path:
            raise ValueError(f"a path has no NUL, got {path!r}")
    return encoded


def _addresses(encoded):
    """Return the addresses of encoded paths, uintp (n,), which are valid as long as the list is kept."""
    return np.array([<uintptr_t> PyBytes_AS_STRING(path) for path in encoded], np.uintp)


@cython.boundscheck(False)
def read(paths, size_t most):
    """Read short files.

    Parameters
    ----------
    paths : sequence of str
    most : int
        The most bytes that a file may have: up to 65,536, which is `MOST`.

    Returns
    -------
    texts : list of bytes or None
        None for a file that was not read.
    stamps : int64 (n, 3)
        Size, time of modification in nanoseconds, and inode modulo 2^63 of each file that was read; it had them before and
        afterwards.

    Raises
    ------
    ValueError
        `most` is too large, or a path has a NUL.

    Notes
    -----
    Five calls of the system for each file. Ctrl-C is heard between two files.
    """
    if most > MOST_BYTES:
        raise ValueError(f"a short file has at most {MOST} bytes, not {most}")
    encoded = _encode(paths)
    cdef const uintptr_t[::1] names = _addresses(encoded)
    cdef size_t n = names.shape[0], at = 0, begin, used
    cdef uint8_t[::1] buffer = np.empty(ROOM, np.uint8)
    stamps = np.zeros((n, 3), np.int64)
    cdef int64_t[:, ::1] stamp = stamps
    cdef int64_t[::1] sizes = np.empty(n, np.int64)
    cdef char *text = <char *> &buffer[0]
    texts = []
    while at < n:
        begin, used = at, 0
        with nogil:
            while at < n and used + most < ROOM:
                check_signals()
                sizes[at] = nd_short_read(<const char *> names[at], most, text + used, &stamp[at, 0])
                used += <size_t> sizes[at] if sizes[at] > 0 else 0
                at += 1
        used = 0
        for i in range(begin, at):
            texts.append(None if sizes[i] < 0 else PyBytes_FromStringAndSize(text + used, sizes[i]))
            used += <size_t> sizes[i] if sizes[i] > 0 else 0
    return texts, stamps


@cython.boundscheck(False)
def copy(paths, targets, const int64_t[:, ::1] stamps not None):
    """Copy short files that have not changed to new files, whose permissions are those of other new files.

    Parameters
    ----------
    paths, targets : sequences of str
    stamps : int64 (n, 3)
        As of `read`.

    Returns
    -------
    bool array, shape (n,)
        Whether each file was copied. Where it was not, there is no target, or the one that was there before.

    Raises
    ------
    ValueError
        The lengths differ, or a path has a NUL.

    Notes
    -----
    Eight calls of the system for each file. Ctrl-C is heard between two files.
    """
    encoded, encoded_targets = _encode(paths), _encode(targets)
    cdef const uintptr_t[::1] names = _addresses(encoded), new_names = _addresses(encoded_targets)
    cdef size_t n = names.shape[0], i
    if <size_t> new_names.shape[0] != n or <size_t> stamps.shape[0] != n or stamps.shape[1] != 3:
        raise ValueError(f"{n} files are copied to as many, with three numbers each; got {len(encoded_targets)} targets and "
                         f"numbers of shape {stamps.shape[0], stamps.shape[1]}")
    cdef uint8_t[::1] buffer = np.empty(MOST_BYTES + 1, np.uint8)
    copied = np.zeros(n, np.bool_)
    cdef uint8_t[::1] is_copied = copied.view(np.uint8)
    with nogil:
        for i in range(n):
            check_signals()
            is_copied[i] = nd_short_copy(
                <const char *> names[i], <const char *> new_names[i], MOST_BYTES, <char *> &buffer[0], &stamps[i, 0])
    return copied
