"""Read the records of documents, and compare documents by their bytes and tokens."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from ndcore._candidates import row_hashes
from ndcore.storage.container import CorruptFile
from ndcore.store.columns import Columns
from ndcore.store.evidence import Evidence
from ndcore.store.keys import decoded
from ndcore.store.log import Log
from ndcore.store.pages import Page, Preparer, token_digest
from ndcore.store.records import Document, Sighting, decode
from ndcore.store.settings import Settings
from ndcore.text.inputs import as_bytes, digest

__all__ = ["RecordReader"]

RECORDS, RECORD = 1024, 16 << 10  # records that wait to be read again, and bytes of one


class RecordReader:
    """Reads records of versions by the numbers of their documents.

    Attributes
    ----------
    waiting : dict
        Records of last versions that are not in the log yet, by number, or their bytes.
    """

    settings: Settings
    preparer: Preparer
    log: Log
    columns: Columns
    evidence: Evidence

    def __init__(self, settings: Settings, preparer: Preparer, log: Log, columns: Columns) -> None:
        self.settings, self.preparer, self.log, self.columns = settings, preparer, log, columns
        self.evidence = Evidence(settings, preparer.shingling)
        self.waiting: dict[int, Document | Sighting | bytes] = {}
        self._read: OrderedDict[int, Document | Sighting] = OrderedDict()  # records that were read last, by position

    def last(self, number: int) -> Document | Sighting:
        """Read the record of the last version of a document."""
        waiting = self.waiting.get(number)
        if isinstance(waiting, bytes):
            record = _version_of(waiting)
        else:
            record = self.at(self.columns.get("last", number)) if waiting is None else waiting
        if record.number != number:
            raise CorruptFile(f"the record of document {number} is of document {record.number}; check the store")
        return record

    def at(self, position: int) -> Document | Sighting:
        """Read the record of a version at a position of the log."""
        record = self._read.get(position)
        if record is not None:
            return record
        payload = self.log.read(position)
        found = _version_of(payload)
        if len(payload) <= RECORD:
            self._read[position] = found
            if len(self._read) > RECORDS:
                self._read.popitem(last=False)
        return found

    def document(self, number: int) -> Document:
        """Read the record of a document."""
        record = self.last(number)
        if isinstance(record, Sighting):
            record = self.at(record.origin)
        if not isinstance(record, Document) or record.number != number:
            raise CorruptFile(f"the record of document {number} is not there; check the store")
        return record

    def page(self, number: int) -> Page:
        """Make the page of a document again, from its evidence."""
        return self._page_of(self.document(number))

    def _page_of(self, record: Document) -> Page:
        """Make the page of the record of a document."""
        key, kind = decoded(record.name), self.settings.evidence
        if kind == "text":
            found = self.preparer.page(None, self.evidence.text(record.evidence), 0)
            row, features, text = found.row, found.features, found.text
        else:
            if kind == "sketch":
                row = self.evidence.row(record.evidence)
            else:
                held = self.evidence.shingles(record.evidence)
                row = self.preparer.sketcher.sketch_hashes(held, [0, len(held)]).values[0]
            features, text = self.preparer.features(row[None, :])[0], b""
        scope = self.preparer.scope_of(key)
        features = features ^ np.uint64(scope ^ (self.preparer.scope_of(None) if kind == "text" else 0))
        row_hash = int(row_hashes(row[None, :])[0])
        page = Page(key, record.name, 0, record.date, text, record.valid, features, scope, row, row_hash,
                    self.preparer.shingling)
        page.packed = record.evidence
        page.set_digests(record.whole, record.tokens)
        if kind == "shingles":
            page.set_shingles(held)
        elif kind == "sketch":
            page.set_size(self.evidence.size(record.evidence))
        return page

    def scope(self, record: Document) -> int:
        """Return the scope of a document."""
        return self.preparer.scope_of(decoded(record.name)) if self.settings.scope == "host" else 0

    # ---- comparing

    def whole(self, of: Page | Document) -> bytes:
        """Return the digest of the bytes of a page or document."""
        if not of.whole and isinstance(of, Document):
            of.whole = digest(as_bytes(self.evidence.text(of.evidence)))
        return of.whole

    def is_equal(self, a: Page | Document, b: Page | Document) -> bool:
        """Tell whether two pages or documents have the same bytes."""
        return a.valid == b.valid and self.whole(a) == self.whole(b)

    def is_class(self, a: Page | Document, b: Page | Document) -> bool:
        """Tell whether two pages or documents are of one class, but for their scopes."""
        return self.is_equal(a, b) or (a.valid and b.valid and self._tokens(a) == self._tokens(b))

    def _tokens(self, of: Page | Document) -> bytes:
        """Return the digest of the canonical tokens of a page or document with shingles."""
        if not of.tokens and isinstance(of, Document):
            of.tokens = token_digest(self.preparer.shingling, self.evidence.text(of.evidence))
        return of.tokens


def _version_of(payload: bytes) -> Document | Sighting:
    """Return the record of a version. CorruptFile for another record."""
    found = decode(payload)
    if not isinstance(found, Document | Sighting):
        raise CorruptFile("a record that should be of a version is of another kind; check the store")
    return found
