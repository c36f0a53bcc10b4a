"""The state of a store: its live documents, built from the records of the log, and the indexes that find them."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from ndcore._types import Bools, Ints, UInts
from ndcore.checks import check_numbered
from ndcore.storage.container import CorruptFile
from ndcore.store.columns import Bitmap, DocumentColumns
from ndcore.store.index import GrowingIndex
from ndcore.store.log import Log
from ndcore.store.pages import Page, Preparer
from ndcore.store.receipts import Receipt
from ndcore.store.record_reader import RecordReader
from ndcore.store.records import (
    GONE,
    LEADER,
    LIVE,
    VALID,
    VARIANT,
    Changes,
    Dictionary,
    Document,
    OverallRecord,
    Record,
    Sighting,
)
from ndcore.store.settings import StoreSettings

# Added to values of an index, so that one index serves several kinds of searches. A document without shingles is in the
# class of its bytes. Copies: later documents with the bytes of an earlier one; variants: the first ones with their bytes.
# Leads: the first document that ever led a class with its signature. Later leaders with the same signature are found by
# their tokens (LEADS_TOO), so that different texts with one shingle set do not share a list.
LEADS, VARIES, FOLLOWS, COPIES = 0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB, 0xD6E8FEB86659FD93
LEADS_TOO = 0x8CB92BA72F3D8DD7
BARE = 0xA0761D6478BD642F  # also added if there are no shingles
ANSWERS = 0x589965CC75374CC3  # for receipts: the document is found by a digest of the idempotency key
COLD = np.uint64(0xE7037ED1A0B428DB)  # for features of documents that are not kept

CLOCK = 3_600_000_000  # microseconds by which a writer's clock may be set back
LOST = 1 << 20  # most consecutive documents whose records may be lost; no writer makes a larger gap


@dataclass
class Indexes:
    """The indexes of a store: features of leaders, digests of classes, and hashes of keys."""

    features: GrowingIndex
    digests: GrowingIndex
    keys: GrowingIndex

    def __iter__(self) -> Iterator[GrowingIndex]:
        return iter((self.features, self.digests, self.keys))


class Added(NamedTuple):
    """Documents with consecutive numbers that are added together, and their values for the indexes.

    first: the number of the first document; labels, dates: int64 (n,); flags: uint8 (n,), of the records; hashed: hashes of
    the keys; features: of leaders with shingles (other rows are ignored), None if the index has them; scopes, leads: uint64
    (n,), as for `State.leads`; like: returns the page or the record of a document, given its index among these.
    """

    first: int
    labels: Ints
    flags: NDArray[np.uint8]
    dates: Ints
    hashed: UInts
    features: UInts | None
    scopes: UInts
    leads: UInts
    like: Callable[[int], Page | Document]


class State(RecordReader):
    """The live documents of a store, their labels and their indexes.

    Documents have the numbers 0, 1, 2 … in the order in which they were acknowledged. Live documents with the same canonical
    tokens (without shingles: the same bytes) and scope are a class. The first document of a class is its *leader*; the
    first with its bytes is a *variant*, and leaders are variants, too; others are copies. Only leaders are compared, and a
    class has one label.
    """

    def __init__(
        self, settings: StoreSettings, preparer: Preparer, log: Log, columns: DocumentColumns, live: Bitmap, kept: Bitmap,
        indexes: Indexes | None,
    ) -> None:
        super().__init__(settings, preparer, log, columns)
        self.live, self.kept = live, kept
        self._indexes = indexes
        self._at = -1  # the position of the current record, −1 if it is not in the log yet
        self.count = len(live.numbers())
        self.clusters = len(kept.numbers())

    @property
    def indexes(self) -> Indexes:
        """The indexes. A state without searches has none."""
        assert self._indexes is not None
        return self._indexes

    @property
    def n(self) -> int:
        """The number of the next document."""
        return self.columns.n

    def role(self, number: int) -> int:
        """Return LEADER | VARIANT, VARIANT or 0."""
        return self.columns.get("flags", number) & (LEADER | VARIANT)

    # ---- searching

    def find(self, name: bytes, hashed: int) -> int | None:
        """Find the live document of a key."""
        for number in self.indexes.keys.search(np.array([hashed], np.uint64), 1, self.live.bits).tolist():
            if self.document(number).name == name:
                return int(number)
        return None

    def of_class(
        self, kind: int, like: Page | Document, scope: int, but: Callable[[int], bool] | None = None
    ) -> Iterator[tuple[int, Document]]:
        """Find live documents of a kind: LEADS and FOLLOWS by class, VARIES and COPIES by bytes; ascending.

        A class has one leader, which is searched for by the signature, then by the tokens. but: tells by number which
        records must not be read.
        """
        numbers = self._find_valued(kind, like, scope, None if kind == LEADS else self.live.bits)
        if kind == LEADS and numbers:
            numbers = [*filter(self.live.__contains__, numbers), *self._find_valued(LEADS_TOO, like, scope, self.live.bits)]
        for number in numbers:
            if but is not None and but(number):
                continue
            record = self.document(number)
            if record.valid != like.valid or self.scope(record) != scope:
                continue
            if self.is_class(record, like) if kind in (LEADS, FOLLOWS) else self.is_equal(record, like):
                yield number, record

    def value(self, kind: int, like: Page | Document, scope: int) -> int:
        """Return the value by which documents of a kind are found."""
        if not like.valid or kind in (VARIES, COPIES):
            return mix_kind(kind, int.from_bytes(self.whole(like)[:8], "little"), like.valid, scope)
        if kind in (LEADS_TOO, FOLLOWS):
            return mix_kind(kind, int.from_bytes(self.tokens(like)[:8], "little"), True, scope)
        return mix_kind(kind, like.row_hash if isinstance(like, Page) else self.page_of(like).row_hash, True, scope)

    def _find_valued(self, kind: int, like: Page | Document, scope: int, wanted: NDArray[np.uint8] | None) -> list[int]:
        """Find the documents with the value of a kind, ascending."""
        value = np.array([self.value(kind, like, scope)], np.uint64)
        numbers: list[int] = self.indexes.digests.search(value, 1, wanted).tolist()
        return numbers

    def leads(self, row_hashes: UInts, scopes: UInts, valid: Bools, like: Callable[[int], Page | Document]) -> UInts:
        """Compute the values of LEADS for many pages. like: as for `Added`."""
        values = row_hashes ^ np.uint64(mix_kind(LEADS, 0, True, 0)) ^ scopes
        for i in np.flatnonzero(~valid).tolist():
            values[i] = self.value(LEADS, like(i), int(scopes[i]))
        return values

    def _digests(self, added: Added) -> tuple[Ints, UInts]:
        """Compute the values by which added documents are found; return their numbers, ascending, and the values.

        Each value of LEADS belongs to one document, live or not, so a search for a leader reads at most one other record.
        """
        leads = np.flatnonzero(added.flags & LEADER)
        values = added.leads[leads]
        known = np.diff(self.indexes.digests.search_many(values[:, None])[0]) > 0
        known |= find_repeated_values(values)
        for at, i in zip(np.flatnonzero(known).tolist(), leads[known].tolist(), strict=True):
            values[at] = self.value(LEADS_TOO, added.like(i), int(added.scopes[i]))
        if len(leads) == len(added.flags):
            return added.first + leads, values
        others = [(i, self.value(kind, added.like(i), int(added.scopes[i])))
                  for i in np.flatnonzero(added.flags & LEADER == 0).tolist() for kind in kinds(int(added.flags[i]))]
        owners = np.concatenate([leads, np.array([i for i, _ in others], np.int64)])
        values = np.concatenate([values, np.array([value for _, value in others], np.uint64)])
        order = np.argsort(owners, kind="stable")
        return added.first + owners[order], values[order]

    def find_sharing(self, features: UInts, kept: bool) -> Ints:
        """Find leaders that share `need` features, either kept or not kept ones; ascending."""
        row = features if kept else features ^ COLD
        wanted = self.kept if kept else self.live
        return self.indexes.features.search(row, self.settings.need, wanted.bits)

    def find_receipt(self, key: bytes, since: int) -> tuple[Receipt, int] | None:
        """Find the receipt of an idempotency key, and the position of its record; None if there is none since a date.

        O(versions of its document since then).
        """
        for number in self.indexes.digests.search(np.array([_receipt_value(key)], np.uint64)).tolist():
            position = self.columns.get("last", number) if number < self.n else 0
            while position:
                record = self.at(position)
                receipt = record.receipt
                if receipt is not None and receipt.key == key and receipt.date >= since:
                    return receipt, position
                old = receipt is not None and receipt.date < since - CLOCK  # earlier versions are old too
                position = record.previous if isinstance(record, Sighting) and not old else 0
        return None

    def may_have_receipts(self, keys: Sequence[bytes]) -> bool:
        """Tell whether any of some idempotency keys may have a receipt; False for nearly all sets of new keys."""
        values = np.array([_receipt_value(key) for key in keys], np.uint64)
        return len(self.indexes.digests.search_many(values[:, None])[1]) > 0

    # ---- applying records

    def apply(
        self, record: Record, position: int, page: Page | None = None, features: dict[int, UInts] | None = None
    ) -> None:
        """Apply a record. position: −1 if it is not in the log yet.

        page: of the document; features: of documents whose role changes. If they are missing, they are made from evidence.
        """
        if isinstance(record, Document | Sighting) and record.receipt is not None and self._indexes is not None:
            self.index_receipts([(record.number, record.receipt)], position)
        if isinstance(record, Document):
            self._at = position
            self._change(record.changes, features or {})
            self._add(record, position, page)
        elif isinstance(record, Sighting):
            if record.number in self.live:
                self._see(record)
                if position < 0:
                    self.waiting[record.number] = record
                else:
                    self.columns.set("last", record.number, position)
        elif isinstance(record, OverallRecord):
            if record.number in self.live:  # the record of its document may be damaged
                self.columns.set("overall", record.number, position)
        elif not isinstance(record, Dictionary):
            self._at = position
            self._change(record.changes, features or {})

    def _see(self, record: Sighting) -> None:
        """Apply a sighting: set the date of the page, or mark it as gone without changing the date."""
        flags, gone = self.columns.get("flags", record.number), record.version.change == "gone"
        if not gone:
            self.columns.set("date", record.number, record.version.date)
        if gone != bool(flags & GONE):
            self.columns.set("flags", record.number, flags ^ GONE)

    def index_receipts(self, receipts: Sequence[tuple[int, Receipt]], covered: int | None) -> None:
        """Add the receipts of documents to the index, unless it covers them already.

        covered: the position of the first receipt's record; None: no index covers them.
        """
        if receipts and (covered is None or covered >= self.indexes.digests.covered):
            numbers, values = zip(*((number, _receipt_value(receipt.key)) for number, receipt in receipts), strict=True)
            self.indexes.digests.add(np.array(numbers), np.array(values, np.uint64)[:, None], covered)

    def write(self, records: Sequence[tuple[int, bytes]]) -> list[int]:
        """Write waiting records, last versions of documents by number, to the log, and return their positions."""
        numbers = np.array([number for number, _ in records], np.int64)
        positions = np.array(self.log.append([payload for _, payload in records]), np.int64)
        self.waiting.clear()
        live = self.live.having(numbers)
        self.columns.set_last(numbers[live], positions[live])
        self.cover(int(positions[-1]) + 1)
        return positions.tolist()  # type: ignore[no-any-return]

    def cover(self, position: int) -> None:
        """Record that the indexes cover all records before a position."""
        for index, groups in zip(self.indexes, (self.settings.groups, 1, 1), strict=True):
            index.add(np.empty(0, np.int64), np.empty((0, groups), np.uint64), position)

    def add_many(self, added: Added, positions: Sequence[int] | None) -> None:
        """Apply the records of documents with consecutive numbers that do not change earlier documents.

        positions: of the records in the log; None: the records are still waiting.
        """
        first, n = added.first, len(added.labels)
        numbers, labels = np.arange(first, first + n), added.labels
        if not self.columns.n <= first < self.columns.n + LOST or (labels > numbers).any():
            raise CorruptFile(f"documents {first} to {first + n - 1} do not follow the others; check the store")
        check_numbered(first + n, "documents", "compact the store, or begin another one")
        if (labels < first).any():
            pairs = zip(numbers.tolist(), labels.tolist(), strict=True)
            labels = np.array([self._sound_label(number, label, first) for number, label in pairs])
        self.columns.fill(first, {
            "last": np.zeros(n, np.int64) if positions is None else np.array(positions, np.int64), "date": added.dates,
            "label": numbers, "after": numbers, "before": numbers, "flags": added.flags & (VALID | LEADER | VARIANT) | LIVE,
        })
        representatives = numbers[labels == numbers]
        self.live.add_many(numbers)
        self.kept.add_many(representatives)
        self.count += n
        self.clusters += len(representatives)
        for number, label in zip(numbers[labels != numbers].tolist(), labels[labels != numbers].tolist(), strict=True):
            self.columns.link(number, label)
        if self._indexes is not None:
            self._index_many(added, numbers, labels == numbers, None if positions is None else positions[-1] + 1)

    def _sound_label(self, number: int, label: int, first: int) -> int:
        """Return the label of a document, or its own number if the record of its representative was damaged.

        first: representatives from this number on are being added.
        """
        return label if label == number or label >= first or label in self.live else number

    def _index_many(self, added: Added, numbers: Ints, kept: Bools, covered: int | None) -> None:
        """Add documents to the indexes. covered: the position after them, which an index may cover already."""
        keys, digests, by_features = self.indexes.keys, self.indexes.digests, self.indexes.features
        if covered is None or covered > keys.covered:
            keys.add(numbers, added.hashed[:, None], covered)
        if covered is None or covered > digests.covered:
            owners, values = self._digests(added)
            digests.add(owners, values[:, None], covered)
        if added.features is not None and (covered is None or covered > by_features.covered):
            compared = added.flags & (LEADER | VALID) == LEADER | VALID
            rows = np.where(kept[:, None], added.features, added.features ^ COLD)
            by_features.add(numbers[compared], rows[compared], covered)

    def _add(self, record: Document, position: int, page: Page | None) -> None:
        """Add one document, in a third of the time of `add_many`."""
        number, columns = record.number, self.columns
        label = self._sound_label(number, record.label, number)
        if label > number or not columns.n <= number < columns.n + LOST:
            raise CorruptFile(f"document {number}, of cluster {label}, does not follow the others; check the store")
        check_numbered(number + 1, "documents", "compact the store, or begin another one")
        columns.put(number, (max(position, 0), record.version.date, label, number, number,
                             LIVE | record.flags & (VALID | LEADER | VARIANT)))
        if position < 0:
            self.waiting[number] = record
        self.live.add(number)
        self.count += 1
        if label == number:
            self.kept.add(number)
            self.clusters += 1
            if page is not None and page.crowded:
                self.evidence.bitmaps.add(number, page.shingles)
        else:
            columns.link(number, label)
        if self._indexes is not None:
            self._put(self.indexes.keys, number, [self.preparer.hashed(record.name) if page is None else page.hashed])
            self._index_role(record, self.scope(record) if page is None else page.scope, page)
            if record.flags & LEADER and record.valid:
                self._put_features(number, None if page is None else page.features)

    def _index_role(self, record: Document, scope: int, page: Page | None = None) -> None:
        """Add the role of a document to the index of digests. page: of the document, if available."""
        like = record if page is None else page
        for kind in () if self._is_covered(self.indexes.digests) else kinds(record.flags):
            value = self.value(kind, like, scope)
            if kind == LEADS and len(self.indexes.digests.search(np.array([value], np.uint64))):  # as in `_digests`
                value = self.value(LEADS_TOO, like, scope)
            self._put(self.indexes.digests, record.number, [value])

    def _put_features(self, number: int, row: UInts | None) -> None:
        """Add a leader to the index of features. row: its features; None: they are made from its evidence."""
        if self._is_covered(self.indexes.features):
            return
        features = self.page(number).features if row is None else row
        self._put(self.indexes.features, number, features if number in self.kept else features ^ COLD)

    def _put(self, index: GrowingIndex, number: int, values: UInts | list[int]) -> None:
        """Add the values of a document to an index, unless the index covers the current record already."""
        if not self._is_covered(index):
            index.add(np.array([number]), np.array([values], np.uint64), None if self._at < 0 else self._at + 1)

    def _is_covered(self, index: GrowingIndex) -> bool:
        """Tell whether an index on disk covers the current record already."""
        return 0 <= self._at < index.covered

    def _change(self, changes: Changes, features: dict[int, UInts]) -> None:
        """Apply the changes of a record to earlier documents."""
        columns = self.columns
        moved = []
        end = self._check_changes(changes)
        for number in changes.removed:
            if number in self.live:
                self.live.discard(number)
                self._keep(number, False)
                columns.unlink(number)
                columns.set("flags", number, 0)
                self.evidence.forget(number)
                self.count -= 1
        for number, label, role in changes.changed:
            if number not in self.live:  # its record was damaged
                continue
            label = self._sound_label(number, label, end)
            if columns.get("label", number) != label:
                columns.unlink(number)
                moved.append((number, label))
            self._promote(number, label, role, features.get(number))
        for number, label in moved:
            columns.set("label", number, label)
            if label != number:
                columns.link(number, label)

    def _check_changes(self, changes: Changes) -> int:
        """Raise CorruptFile, before applying anything, for changes that no writer makes; return the end of all numbers."""
        end = self.n + LOST
        for number in changes.removed:
            if number >= end:
                raise CorruptFile(f"a record removes document {number}, and there are {self.n}; check the store")
        for number, label, role in changes.changed:
            if not label <= number < end or role & ~(LEADER | VARIANT):
                raise CorruptFile(f"a record gives document {number} of {self.n} the label {label} and the role {role}; "
                                  "check the store")
        return end

    def _promote(self, number: int, label: int, role: int, row: UInts | None) -> None:
        """Give a document a role, and add it to the indexes of that role."""
        before, was_kept = self.role(number), number in self.kept
        self._keep(number, label == number)
        self.columns.set("flags", number, self.columns.get("flags", number) & ~(LEADER | VARIANT) | role)
        if self._indexes is None:
            return
        if role != before:
            record = self.document(number)
            record = replace(record, flags=record.flags & ~(LEADER | VARIANT) | role)
            self._index_role(record, self.scope(record))
        if role & LEADER and self.columns.get("flags", number) & VALID and (
                not before & LEADER or was_kept != (label == number)):
            self._put_features(number, row)

    def _keep(self, number: int, kept: bool) -> None:
        """Mark a document as kept or not kept."""
        if kept != (number in self.kept):
            (self.kept.add if kept else self.kept.discard)(number)
            self.clusters += 1 if kept else -1


def count_shared(a: UInts, b: UInts) -> int:
    """Count the features that two documents share."""
    return int(np.count_nonzero(a == b))


def kinds(flags: int) -> tuple[int, ...]:
    """List the kinds under which a document with these flags is found."""
    if flags & LEADER:
        return (LEADS,)
    return (VARIES, FOLLOWS) if flags & VARIANT else (COPIES,)


def find_repeated_values(values: UInts) -> Bools:
    """Tell which values repeat an earlier one."""
    again = np.zeros(len(values), np.bool_)
    if len(set(values.tolist())) < len(values):  # few batches have repeats
        again[:] = True
        again[np.unique(values, return_index=True)[1]] = False
    return again


def _receipt_value(key: bytes) -> int:
    """Compute the value by which a receipt is found from the digest of its idempotency key."""
    return int.from_bytes(key[:8], "little") ^ ANSWERS


def mix_kind(kind: int, hashed: int, valid: bool, scope: int) -> int:
    """Compute the value by which documents of a kind are found from a hash of the signature or of the bytes."""
    return hashed ^ kind ^ scope ^ (0 if valid else BARE)
