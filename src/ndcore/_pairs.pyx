# cython: embedsignature=True, overflowcheck=True
"""Pairs of documents in runs together, and bitmaps that reject most of them. Arrays are checked here."""

from libc.stdint cimport int64_t, uint8_t, uint32_t, uint64_t

import numpy as np

from ndcore cimport _bounds, _cpu
from ndcore._cpu cimport nd_choice
from ndcore._signals cimport STRIDE, check_signals, stride
from ndcore._table cimport nd_table_key, random_table_key


cdef extern from "bitmaps.h" nogil:
    enum:
        ND_BITMAP_WORDS
        ND_BITMAP_ROOM
    ctypedef struct nd_bitmap_slack:
        pass
    ctypedef struct nd_bitmaps:
        const uint64_t *folded
        const uint64_t *words
        const int64_t *begins
        const uint32_t *sizes
        const nd_bitmap_slack *slack
        double threshold
        int contained
    size_t nd_bitmaps_words(size_t n)
    nd_bitmap_slack nd_bitmaps_slack(uint64_t n, double threshold, int contained)
    void nd_bitmaps_make(
        const nd_table_key *key, const uint64_t *values, size_t n, uint64_t *words, size_t count, uint64_t *folded)
    size_t nd_bitmaps_near(
        const nd_bitmaps *x, const uint32_t *a, size_t step, const uint32_t *b, size_t n, uint32_t *which)
    const nd_choice nd_bitmaps_choice


cdef extern from "meetings.h" nogil:
    ctypedef struct nd_in_run:
        uint32_t run
        uint32_t before
        uint32_t whole
    ctypedef struct nd_run_counts:
        uint32_t all
        uint32_t some
    ctypedef struct nd_meetings:
        const int64_t *begins
        const int64_t *from_ "from"
        const uint32_t *members
        const uint8_t *listed
        const nd_in_run *in_ "in"
        const int64_t *labels
        uint32_t *all
        uint32_t *some
        uint32_t *stamps
        nd_run_counts *counts
        nd_run_counts *settled
        const nd_bitmaps *bitmaps
    ctypedef enum nd_meeting:
        ND_BEFORE
        ND_PROPOSED
        ND_AFTER
    size_t nd_meetings_of(
        const nd_meetings *x, uint32_t d, nd_meeting which, uint32_t *scratch, uint32_t *out, size_t *visits)
    void nd_meetings_propose(const nd_meetings *x, uint32_t d)
    void nd_meetings_settle(const nd_meetings *x, uint32_t d, const uint8_t *keep)


kernel = _cpu.kernel_of(&nd_bitmaps_choice)

BEFORE, PROPOSED, AFTER = <int> ND_BEFORE, <int> ND_PROPOSED, <int> ND_AFTER


cdef class Bitmaps:
    """Bitmaps of the sets of documents; see bitmaps.h.

    sizes: uint32, members of the set of each document; 0: unknown, no pair of it is rejected. The bit of a member depends on
    a key that is drawn here. ValueError or IndexError if arrays do not fit each other.
    """
    cdef nd_bitmaps how
    cdef nd_table_key key
    cdef readonly object sizes
    cdef const uint32_t[::1] sizes_view
    cdef int64_t[::1] begins
    cdef uint64_t[:, ::1] folded
    cdef uint64_t[::1] words
    cdef double[::1] slack  # of the threshold that was asked for last

    def __cinit__(self, const uint32_t[::1] sizes not None, bint contained):
        cdef size_t i, count, n = sizes.shape[0]
        if n >= 0xFFFFFFFF:
            raise ValueError(f"{n} documents are too many for numbers of 32 bits")
        self.key = random_table_key()
        self.sizes, self.sizes_view = np.asarray(sizes), sizes
        self.begins = np.zeros(n + 1, np.int64)
        for i in range(n):
            count = nd_bitmaps_words(sizes[i])
            self.begins[i + 1] = self.begins[i] + <int64_t> (count if count > ND_BITMAP_WORDS else 0)
        self.folded = np.zeros((n + 1, ND_BITMAP_WORDS), np.uint64)
        self.words = np.zeros(self.begins[n] + 1, np.uint64)
        self.how.folded, self.how.words, self.how.begins = &self.folded[0, 0], &self.words[0], &self.begins[0]
        self.how.sizes = &sizes[0] if n else NULL
        self.slack = np.empty(n + 1, np.float64)
        self.how.slack = <nd_bitmap_slack *> &self.slack[0]
        self.how.contained = contained

    def __len__(self):
        return self.sizes_view.shape[0]

    cdef set_threshold(self, double threshold):
        """Compute what scores from this threshold on allow."""
        cdef size_t i, n = self.sizes_view.shape[0]
        if threshold == self.how.threshold:
            return
        if not 0 < threshold <= 1:
            raise ValueError(f"a threshold is above 0 and at most 1, got {threshold}")
        self.how.threshold = threshold
        for i in range(n):
            (<nd_bitmap_slack *> &self.slack[0])[i] = nd_bitmaps_slack(self.sizes_view[i], threshold, self.how.contained)

    def add(self, const uint32_t[::1] documents not None, const uint64_t[::1] values not None,
            const int64_t[::1] offsets not None):
        """Make the bitmaps of these documents from their sets, values[offsets[i] : offsets[i + 1]]; each once."""
        cdef size_t i, d, count, n = documents.shape[0], done = 0
        cdef int64_t size
        if not _bounds.cut(offsets, n, values.shape[0]):
            raise ValueError(f"offsets do not ascend from 0 to at most {values.shape[0]}, the number of values")
        if not _bounds.documents_below(documents, len(self)):
            raise IndexError(f"a document is not among {len(self)}")
        if not np.array_equal(self.sizes[np.asarray(documents)], np.diff(offsets)):
            raise ValueError("a set has another size than was said")
        with nogil:
            for i in range(n):
                d, size = documents[i], offsets[i + 1] - offsets[i]
                if size == 0:
                    continue
                count = <size_t> (self.begins[d + 1] - self.begins[d])
                nd_bitmaps_make(
                    &self.key, &values[offsets[i]], <size_t> size, &self.words[self.begins[d]] if count else &self.folded[d, 0],
                    count if count else ND_BITMAP_WORDS, &self.folded[d, 0])
                done += <size_t> size
                if done >= STRIDE:
                    check_signals()
                    done = 0

    def near(self, const uint32_t[::1] a not None, const uint32_t[::1] b not None, double threshold):
        """Find the pairs (a[i], b[i]) that may reach the threshold; uint8 (pairs,). All that do are among them."""
        cdef size_t k, found, here, at = 0, n = a.shape[0]
        cdef uint32_t[ND_BITMAP_ROOM] which
        cdef uint8_t[::1] out = np.zeros(n, np.uint8)
        _bounds.check_lengths("a and b", (n, <size_t> b.shape[0]))
        if not (_bounds.documents_below(a, len(self)) and _bounds.documents_below(b, len(self))):
            raise IndexError(f"a document is not among {len(self)}")
        self.set_threshold(threshold)
        with nogil:
            while at < n:
                if at % STRIDE == 0:
                    check_signals()
                here = stride(at, n, ND_BITMAP_ROOM)
                found = nd_bitmaps_near(&self.how, &a[at], 1, &b[at], here, which)
                for k in range(found):
                    out[at + which[k]] = 1
                at += here
        return np.asarray(out)


cdef class RunPairs:
    """The pairs of documents in runs together that may reach the threshold, each met once; see meetings.h.

    Run r has members[begins[r] : begins[r + 1]], documents of the bitmaps. listed: uint8 (runs,). whole: uint8, of the
    members. labels: int64 (documents,), or None. ValueError or IndexError if arrays do not fit each
    other.
    """
    cdef nd_meetings how
    cdef double threshold
    cdef Bitmaps bitmaps
    cdef const int64_t[::1] begins, labels
    cdef const uint32_t[::1] members
    cdef const uint8_t[::1] listed
    cdef int64_t[::1] starts
    cdef uint32_t[:, ::1] in_runs, counts, settled
    cdef uint32_t[::1] all, some
    cdef list spare  # of stamps, scratch and output, a row each; a thread takes one
    cdef size_t proposed  # all documents below were proposed, if they ever are

    def __cinit__(self, Bitmaps bitmaps not None, double threshold, const int64_t[::1] begins not None,
                  const uint32_t[::1] members not None, const uint8_t[::1] listed not None,
                  const uint8_t[::1] whole not None, const int64_t[::1] labels=None):
        cdef size_t run, n = len(bitmaps), runs = listed.shape[0], total = members.shape[0]
        cdef int64_t i
        cdef uint32_t d
        if not _bounds.cut(begins, runs, total) or runs >= 0xFFFFFFFF:
            raise ValueError(f"begins do not cut {total} members into {runs} runs")
        if not _bounds.documents_below(members, n):
            raise IndexError(f"a member is not among {n} documents")
        _bounds.check_lengths("members and whole", (total, <size_t> whole.shape[0]))
        _bounds.check_lengths("documents and labels", (n, n if labels is None else labels.shape[0]))
        self.bitmaps, self.begins, self.members, self.listed, self.labels = bitmaps, begins, members, listed, labels
        self.starts = np.concatenate([[0], np.cumsum(np.bincount(members, minlength=n))]).astype(np.int64)
        self.in_runs = np.empty((total + 1, 3), np.uint32)
        cdef int64_t[::1] cursor = np.array(self.starts)
        with nogil:
            for run in range(runs):
                if run % STRIDE == 0:
                    check_signals()
                for i in range(begins[run], begins[run + 1]):
                    d = members[i]
                    self.in_runs[cursor[d], 0] = <uint32_t> run
                    self.in_runs[cursor[d], 1] = <uint32_t> (i - begins[run])
                    self.in_runs[cursor[d], 2] = whole[i]
                    cursor[d] += 1
        self.all, self.some = np.zeros(total + 1, np.uint32), np.zeros(total + 1, np.uint32)
        self.spare = []
        self.counts, self.settled = np.zeros((runs + 1, 2), np.uint32), np.zeros((runs + 1, 2), np.uint32)
        self.how.begins, self.how.from_ = &begins[0], &self.starts[0]
        self.how.members = &members[0] if total else NULL
        self.how.listed = &listed[0] if runs else NULL
        self.how.in_ = <const nd_in_run *> &self.in_runs[0, 0]
        self.how.labels = &labels[0] if labels is not None and n else NULL
        self.how.all, self.how.some = &self.all[0], &self.some[0]
        self.how.counts = <nd_run_counts *> &self.counts[0, 0]
        self.how.settled = <nd_run_counts *> &self.settled[0, 0]
        self.threshold = threshold
        self.how.bitmaps = &bitmaps.how

    def meet(self, const uint32_t[::1] documents not None, int which):
        """Return (others, documents), uint32: what meets each of these documents and may reach the threshold with it.

        Several threads may ask at a time, while none proposes or settles.
        """
        cdef size_t i, written, visits = 0, n = documents.shape[0]
        cdef int64_t[::1] counts = np.zeros(n, np.int64)
        cdef nd_meetings how = self.how
        cdef uint32_t[:, ::1] own
        if not _bounds.documents_below(documents, len(self.bitmaps)):
            raise IndexError(f"a document is not among {len(self.bitmaps)}")
        if which not in (BEFORE, PROPOSED, AFTER):
            raise ValueError(f"documents meet those before, proposed or after, got {which}")
        self.bitmaps.set_threshold(self.threshold)
        own = self.spare.pop() if self.spare else np.zeros((3, len(self.bitmaps) + 1), np.uint32)
        how.stamps = &own[0, 0]
        others = [np.empty(0, np.uint32)]
        for i in range(n):
            with nogil:
                if visits >= STRIDE:
                    check_signals()
                    visits = 0
                written = nd_meetings_of(&how, documents[i], <nd_meeting> which, &own[1, 0], &own[2, 0], &visits)
            if written:
                others.append(np.array(own[2, :written]))
                counts[i] = <int64_t> written
        self.spare.append(own)
        return np.concatenate(others), np.repeat(np.asarray(documents), counts)

    def propose(self, const uint32_t[::1] documents not None):
        """Propose ascending documents, above all before, as representatives."""
        cdef size_t i, n = documents.shape[0]
        if not _bounds.documents_below(documents, len(self.bitmaps)):
            raise IndexError(f"a document is not among {len(self.bitmaps)}")
        for i in range(n):
            if documents[i] < self.proposed:
                raise ValueError(f"document {documents[i]} was proposed, or one above it; propose them in ascending order")
            nd_meetings_propose(&self.how, documents[i])
            self.proposed = <size_t> documents[i] + 1

    def settle(self, const uint32_t[::1] documents not None, const uint8_t[::1] keep not None):
        """Accept those of the proposed documents, all of them given, for which keep, uint8 (documents,), is 1."""
        cdef size_t i, n = documents.shape[0]
        _bounds.check_lengths("documents and keep", (len(self.bitmaps), <size_t> keep.shape[0]))
        if not _bounds.documents_below(documents, len(self.bitmaps)):
            raise IndexError(f"a document is not among {len(self.bitmaps)}")
        with nogil:
            for i in range(n):
                nd_meetings_settle(&self.how, documents[i], &keep[0])
