"""Read the records of documents, and compare documents by their bytes and tokens."""

from __future__ import annotations

from collections import OrderedDict

import numpy as np

from ndcore._candidates import row_hashes
from ndcore._types import Ints, Text
from ndcore.storage.container import CorruptFile
from ndcore.store.columns import DocumentColumns
from ndcore.store.evidence import FEW, Evidence, leave_near
from ndcore.store.keys import decode_key
from ndcore.store.log import Log
from ndcore.store.overall import OverallVerdict
from ndcore.store.pages import Page, Preparer, Sketched, token_digest
from ndcore.store.records import Dictionary, Document, OverallRecord, Record, Sighting, decode
from ndcore.store.settings import StoreSettings
from ndcore.text.inputs import as_bytes, digest

RECORDS, RECORD = 1024, 16 << 10  # most cached records, and most bytes of one


class RecordReader:
    """A reader of the records of versions, by the numbers of their documents.

    Attributes
    ----------
    waiting : dict
        Records of last versions that are not in the log yet, or their bytes, by number.
    """

    def __init__(self, settings: StoreSettings, preparer: Preparer, log: Log, columns: DocumentColumns) -> None:
        self.settings, self.preparer, self.log, self.columns = settings, preparer, log, columns
        self.evidence = Evidence(settings, preparer.shingling)
        self.waiting: dict[int, Document | Sighting | bytes] = {}
        self._read: OrderedDict[int, Document | Sighting] = OrderedDict()  # the records read last, by position

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
        record = _version_of(payload)
        self.check(record, position)
        if len(payload) <= RECORD:
            self._read[position] = record
            if len(self._read) > RECORDS:
                self._read.popitem(last=False)
        return record

    def before(self, record: Document | Sighting) -> Document | Sighting:
        """Read the record of the version before another record's.

        Raises CorruptFile if it belongs to another document. Positions descend (`check`), so a walk over all versions ends.
        """
        earlier = self.at(record.previous)
        if isinstance(record, Sighting):
            same = earlier.number == record.number
        else:
            same = earlier.number < record.number and (isinstance(earlier, Sighting) or earlier.name == record.name)
        if not same:
            raise CorruptFile(f"the version before one of document {record.number} is of document {earlier.number}; "
                              "check the store")
        return earlier

    def check(self, record: Record, position: int) -> None:
        """Raise CorruptFile if a record has values that no writer writes."""
        wrong = None
        if isinstance(record, Document | Sighting) and record.previous >= position:
            wrong = f"the version before it is at position {record.previous}"
        elif isinstance(record, Sighting):
            if record.origin >= position:
                wrong = f"its document is at position {record.origin}"
            elif record.evidence and record.version.change == "gone":
                wrong = "a page that is gone, with a text"
            elif record.evidence and self.settings.evidence != "text":
                wrong = "a version with a text, and the store keeps none"
        elif isinstance(record, Document):
            wrong = self._wrong(record)
        elif isinstance(record, Dictionary) and self.settings.evidence != "text":
            wrong = "a dictionary for texts, and the store keeps none"
        if wrong is not None:
            raise CorruptFile(f"the record at position {position} of the log: {wrong}; check the store")

    def _wrong(self, record: Document) -> str | None:
        """Describe a value that no writer gives a document; None if there is none."""
        if record.label > record.number:
            return f"document {record.number} is represented by the later document {record.label}"
        try:
            self.preparer.scope_of(decode_key(record.name))
        except (TypeError, ValueError) as error:
            return str(error)
        return None

    def document(self, number: int) -> Document:
        """Read the record of a document."""
        record = self.last(number)
        if isinstance(record, Sighting):
            record = self.at(record.origin)
        if not isinstance(record, Document) or record.number != number:
            raise CorruptFile(f"the record of document {number} is not there; check the store")
        return record

    def overall(self, number: int) -> OverallVerdict | None:
        """Read the last verdict of a run over many stores on a document; None if there is none."""
        position = self.columns.get("overall", number)
        if not position:
            return None
        record = decode(self.log.read(position))
        if not isinstance(record, OverallRecord) or record.number != number:
            raise CorruptFile(f"the record at position {position} does not say what a run over many stores said of document "
                              f"{number}; check the store")
        return record.said

    def page(self, number: int) -> Page:
        """Rebuild the page of a document from its evidence."""
        return self.page_of(self.document(number))

    def page_of(self, record: Document) -> Page:
        """Rebuild the page of the record of a document."""
        key, evidence, packed, preparer = decode_key(record.name), self.evidence, record.evidence, self.preparer
        text: Text = b""
        if evidence.kind == "text":
            text = evidence.text(packed)
            made = preparer.sketch([key], [text])
        else:
            sets, valid = None, bool(packed)
            if evidence.kind == "sketch":
                rows = evidence.row(packed)[None, :]
            else:
                sets = [evidence.shingles(packed)]
                rows = preparer.sketcher.sketch_hashes(sets[0], [0, len(sets[0])]).values
            scopes = np.array([preparer.scope_of(key)], np.uint64)
            features = preparer.features(rows, scopes, sets, lambda _: record.whole)
            made = Sketched(np.array([valid]), scopes, rows, row_hashes(rows), features, sets)
        if made.valid[0] != record.valid:
            raise CorruptFile(f"the evidence of document {record.number} has {'no ' if record.valid else ''}shingles, and "
                              "its record says something else; check the store")
        page = Page(key, record.name, 0, record.version.date, text, record.valid, made.features[0],
                    int(made.scopes[0]), made.rows[0], int(made.row_hashes[0]), preparer.shingling)
        page.packed = packed
        for name, known in (("whole", record.whole), ("tokens", record.tokens)):
            if known:
                setattr(page, name, known)
        if made.sets is not None:
            page.shingles = made.sets[0]
        elif evidence.kind == "sketch":
            page.size = evidence.size(packed)
        return page

    def scope(self, record: Document) -> int:
        """Return the scope of a document, as for its page."""
        if record.scope is None:
            record.scope = self.preparer.scope_of(decode_key(record.name))
            if self.settings.must_agree and record.valid:
                record.scope ^= int(self.preparer.hash_agreement([self.evidence.text(record.evidence)])[0])
        return record.scope

    # ---- comparing

    def near(self, page: Page, numbers: Ints) -> Ints:
        """Filter valid documents to those that may reach the threshold with a page; few documents are not filtered.

        The pages of a template share most features but resemble each other too little. Bitmaps reject nearly all of them
        (bitmaps.h), and never a document that reaches the threshold. A bitmap is made from evidence when it is first
        needed; there are none if evidence is a signature.

        O(documents), and reads the evidence of documents that have no bitmap yet.
        """
        evidence = self.evidence
        if len(numbers) <= FEW or not evidence.exact:
            return numbers
        page.crowded = True
        return leave_near(evidence.bitmaps, page.shingles, numbers, self._hold_bitmaps)

    def _hold_bitmaps(self, numbers: list[int]) -> None:
        """Make the bitmaps of documents."""
        evidence = self.evidence
        evidence.prepare([], ((i, self.document(i).evidence) for i in numbers if not evidence.is_cached(i)))
        for i in numbers:
            evidence.hold_bitmap(i, None if evidence.is_cached(i) else self.document(i).evidence)

    def whole(self, of: Page | Document | Sighting) -> bytes:
        """Return the digest of the bytes of a page or version."""
        if not of.whole and isinstance(of, Document):
            of.whole = digest(as_bytes(self._text_of(of)))
        return of.whole

    def is_equal(self, a: Page | Document, b: Page | Document) -> bool:
        """Tell whether two pages or documents have the same bytes."""
        return a.valid == b.valid and self.whole(a) == self.whole(b)

    def is_class(self, a: Page | Document, b: Page | Document) -> bool:
        """Tell whether two pages or documents are in one class, ignoring their scopes."""
        return self.is_equal(a, b) or (a.valid and b.valid and self.tokens(a) == self.tokens(b))

    def tokens(self, of: Page | Document) -> bytes:
        """Return the digest of the canonical tokens of a page or document with shingles."""
        if not of.tokens and isinstance(of, Document):
            of.tokens = token_digest(self.preparer.shingling, self._text_of(of))
        return of.tokens

    def _text_of(self, document: Document) -> Text:
        """Return the text of a document whose record has no digests. Raises CorruptFile if no texts are kept."""
        if self.evidence.kind != "text":
            raise CorruptFile(f"document {document.number} has neither a digest nor a text; check the store")
        return self.evidence.text(document.evidence)


def _version_of(payload: bytes) -> Document | Sighting:
    """Decode the record of a version. Raises CorruptFile for another record."""
    record = decode(payload)
    if not isinstance(record, Document | Sighting):
        raise CorruptFile("a record that should be of a version is of another kind; check the store")
    return record
