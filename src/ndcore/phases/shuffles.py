"""The main job in four shuffles, for engines that have them: tasks find and compare candidates, one place chooses.

Steps take and return tables of rows: ``key`` (uint64), ``kind``, ``a`` and ``b`` (ids), ``resemblance``, ``data`` (binary).
A shuffle brings the rows of a key together: a step gets all rows of each of its keys, in any order. A row that is an answer
passes through later steps unchanged.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ndcore._batch import Batch
from ndcore._cluster import components
from ndcore._sets import distinct
from ndcore._types import Ints, UInts
from ndcore.checks import Late
from ndcore.dedup.near_duplicates import near_duplicates, plan_sketches
from ndcore.dedup.rules import Rules
from ndcore.filters.design import FilterDesign, least_equal_minima
from ndcore.pairs.keep_order import KeepOrder
from ndcore.pairs.representatives import choose_representatives
from ndcore.pairs.scored import Scored
from ndcore.phases.candidates import expand_runs, pack_entries
from ndcore.phases.columns import binary_column, byte_rows, cut_binary, numbers, pa, row_changes, values_of
from ndcore.phases.sketches import sketch_documents
from ndcore.phases.verification import Judgement
from ndcore.text.digests import first_equal
from ndcore.text.inputs import as_texts, pieces
from ndcore.text.shingling import Shingling

pc: Any = Late("pyarrow.compute", "ndcore.phases")

SKETCH, ENTRY, PAIR, HOLDER, TEXT, SET, EQUAL, NEAR, LONG, FIRST = range(10)  # kinds of rows; from EQUAL on they are answers
COLUMNS = ["key", "kind", "a", "b", "resemblance", "data"]


class Shuffles:
    """The steps of `ndcore.near_duplicates` with filter="lsh" on documents sorted by id.

    The order is `sketch`, shuffle, `find_equal`, shuffle, `find_pairs`; then its rows and the rows of `list_texts`, shuffle,
    `form_sets`, shuffle, `compare`. `choose` gets all rows of the last step. Pages are tables with the columns ``id`` and
    ``text``.

    Parameters
    ----------
    threshold, shingling, num_perm, seed, cluster, min_shingles, reassign
        As in `ndcore.near_duplicates`.
    max_holders : int
        Documents that share a feature with at least this many others are decided in one place, by their texts, and others
        by their pairs. It changes no label. The default is lower than in `ndcore.near_duplicates`, because pairs are moved.

    Raises
    ------
    TypeError, ValueError
        A parameter is not accepted. The steps raise ValueError if an id repeats, if an id or a text is missing, or if pages
        have changed when they are read again.

    Notes
    -----
    Moves about 200 bytes of each document, then 35 for each LSH band, then its text, and the shingle sets of documents in
    pairs; 100 bytes for each band and pair that shares it. A step holds the rows that it gets and makes.
    """

    def __init__(
        self, threshold: float = 0.8, *, shingling: Shingling | None = None, num_perm: int = 84, seed: int = 1,
        cluster: str = "star", min_shingles: int = 0, reassign: bool = False, max_holders: int = 100,
    ) -> None:
        given: dict[str, Any] = {"threshold": threshold, "cluster": cluster, "min_shingles": min_shingles,
                                 "reassign": reassign, "max_holders": max_holders}
        rules = Rules.of(None, "lsh", **given)
        sketcher, design = plan_sketches([], rules, shingling, num_perm, seed, "lsh")
        assert isinstance(design, FilterDesign)
        minima = least_equal_minima(sketcher.num_perm, rules.threshold)
        self.options = {**given, "shingling": shingling, "num_perm": num_perm, "seed": seed, "filter": "lsh"}
        self.rules, self.design = rules, design
        self.judgement = Judgement(sketcher, design, minima, rules.threshold, min_shingles, 0)

    def sketch(self, pages: Any) -> Any:
        """Sketch the texts of a table of pages: one row for each, in order."""
        pages = pages.select(["id", "text"])
        check_ids(pages["id"])
        made = [_rows(SKETCH, np.empty(0, np.uint64), pages["id"].slice(0, 0))]
        sketcher, design = self.judgement.sketcher, self.design
        for batch in sketch_documents(pages.to_batches(), text="text", sketcher=sketcher, design=design):
            deciding, features = (byte_rows(batch.column(name)) for name in ("deciding", "features"))
            data = np.hstack([deciding, numbers(batch, "valid").astype(np.uint8)[:, None], features])
            key = np.ascontiguousarray(deciding[:, :8]).view("<u8")[:, 0]
            made.append(_rows(SKETCH, key, batch.column("id"), data=binary_column(data)))
        return pa.concat_tables(made)

    def find_equal(self, rows: Any) -> Any:
        """Find equal documents; list the features of each document that equals no earlier one.

        There is a row of the kind FIRST, too, so that no later step of a job is without rows.
        """
        ids, data = _column(rows, "a"), byte_rows(_column(rows, "data"))
        if not len(ids):
            return _answers(rows)
        own, valid = np.arange(len(ids)), data[:, 16]
        leader = first_equal(data[:, :16], [valid], _number_ids(ids)[0])
        equal, compared = np.flatnonzero(leader != own), np.flatnonzero((leader == own) & (valid > 0))
        features, keys = np.ascontiguousarray(data[compared, 17:]).view("<u8"), rows["key"].to_numpy()
        return pa.concat_tables([
            _rows(FIRST, keys[:1], ids[:1]),
            _rows(EQUAL, keys[equal], ids.take(leader[equal]), ids.take(equal)),
            _rows(ENTRY, features.reshape(-1), ids.take(np.repeat(compared, self.design.groups))),
        ])

    def find_pairs(self, rows: Any) -> Any:
        """List the pairs of documents that share a feature, once for each of both; for a long run, the documents."""
        made, entries = [_answers(rows)], _select(rows, ENTRY)
        ranks, ids = _number_ids(_column(entries, "a"))
        keys, features = _keys(ids), entries["key"].to_numpy()
        packed = pack_entries(features.astype("<u8")[:, None].view(np.uint8), ranks, np.ones(len(ranks), np.bool_))
        for batch in expand_runs([packed], max_holders=self.options["max_holders"], first_new=0):
            if batch.column("a").null_count:
                holders = np.unique(ranks[np.isin(features, values_of(batch.column("run"))[0])])
                made.append(_rows(HOLDER, keys[holders], ids.take(holders)))
                continue
            a, b = numbers(batch, "a"), numbers(batch, "b")
            for x, y in ((a, b), (b, a)):
                made.append(_rows(PAIR, keys[x], ids.take(x), ids.take(y), data=batch.column("run")))
        return pa.concat_tables(made)

    def list_texts(self, pages: Any) -> Any:
        """Make a row for each text of a table of pages, in their order."""
        ids = _column(pages, "id")
        check_ids(ids)
        return _rows(TEXT, _keys(ids), ids, data=_column(pages, "text"))

    def form_sets(self, rows: Any) -> Any:
        """Form the shingle sets of documents in pairs: one for each run in which their pairs are compared.

        A pair is compared in the first run that it is in.
        """
        texts, pairs = _select(rows, TEXT), _select(rows, PAIR)
        check_ids(texts["a"])
        place, other = _places(pairs["a"], texts["a"]), _number_ids(_column(pairs, "b"))[0]
        run = values_of(_column(pairs, "data"))[0]
        once = np.lexsort((run, other, place))
        once = once[row_changes(place[once], other[once])]
        pairs, place, run = pairs.take(once), place[once], run[once]
        of_run = np.lexsort((place, run))
        of_run = of_run[row_changes(run[of_run], place[of_run])]
        wanted, of_set = np.unique(place[of_run], return_inverse=True)
        sets = self._form_sets(_column(texts.take(wanted), "data"))
        first = pc.less(pairs["a"], pairs["b"]).to_numpy()  # the second document has the pair, too
        holders = _column(_select(rows, HOLDER), "a").unique()
        return pa.concat_tables([
            _answers(rows),
            _rows(LONG, _keys(holders), holders),
            _rows(SET, run[of_run], texts["a"].take(place[of_run]), data=sets.take(of_set)),
            _rows(PAIR, run[first], pairs["a"].filter(first), pairs["b"].filter(first)),
        ])

    def _form_sets(self, texts: Any) -> Any:
        """Form the shingle sets of a binary column of texts, as a column of ascending fingerprints."""
        made = []
        for _, piece in pieces(as_texts(texts)):
            values, offsets = distinct(*self.judgement.sketcher.shingling.fingerprints_many(piece, threads=1))
            made.append(cut_binary(values.astype("<u8").view(np.uint8), 8 * offsets).cast(texts.type))
        return pa.chunked_array(made, texts.type)

    def compare(self, rows: Any) -> Any:
        """Compare the pairs; a row for each that is near."""
        sets, pairs = _select(rows, SET), _select(rows, PAIR)
        ids, made = sets["a"].unique(), [_answers(rows)]
        judged = self.judgement.take(*values_of(_column(sets.take(_places(ids, sets["a"])), "data")), None)
        for near in self.judgement.accept(judged, _places(pairs["a"], ids), _places(pairs["b"], ids)):
            a, b = ids.take(near.a), ids.take(near.b)
            made.append(_rows(NEAR, np.zeros(len(a), np.uint64), a, b, resemblance=near.resemblance))
        return pa.concat_tables(made)

    def choose(self, rows: Any, read: Callable[[Any], Any]) -> Any:
        """Choose which documents to drop: a table of their ``id`` and ``label``, the id of the one that represents each.

        read: returns the pages with these ids, in any order. It is called for the documents of long runs and those that
        near pairs connect with them. No near pair leads out of this set, so `near_duplicates` of only these documents is
        correct.
        """
        ids = _number_ids(pa.concat_arrays([_column(rows, "a"), _column(rows, "b").drop_null()]))[1]
        near, equal, own = _select(rows, NEAR), _select(rows, EQUAL), np.arange(len(ids))
        a, b, long = (_places(values, ids) for values in (near["a"], near["b"], _select(rows, LONG)["a"]))
        resemblance = near["resemblance"].to_numpy()
        pairs = Scored.merged([Scored(a, b, resemblance, resemblance, resemblance)], len(ids))
        keep = KeepOrder.of("first", len(ids), 0, None)
        labels = choose_representatives(pairs, keep, self.rules.threshold, self.rules.cluster, self.rules.reassign)
        if len(long):
            roots = components(a, b, own)
            rest = np.flatnonzero(np.isin(roots, roots[long]))
            pages = read(ids.take(rest))
            texts = pages["text"].take(_places(ids.take(rest), pages["id"]))
            labels[rest] = rest[near_duplicates(texts, **self.options).labels]
        labels[_places(equal["b"], ids)] = labels[_places(equal["a"], ids)]
        dropped = np.flatnonzero(labels != own)
        return pa.table({"id": ids.take(dropped), "label": ids.take(labels[dropped])})


def check_ids(ids: Any) -> None:
    """Raise ValueError if a value of an Arrow column repeats or is missing.

    Rows are chosen by their ids: with a repeated one all copies would be dropped, with a missing one the row would be lost.
    """
    if ids.null_count:
        raise ValueError(f"{ids.null_count} ids are missing (null); give every document an id")
    counts = pc.value_counts(ids)
    if len(counts) < len(ids):
        worst = counts[int(np.argmax(counts.field("counts").to_numpy()))].as_py()
        raise ValueError(f"{worst['counts']} documents have the id {worst['values']!r:.80}; ids are unique: make them so, "
                         "or use another column")


def _rows(kind: int, key: UInts, a: Any, b: Any = None, *, resemblance: Any = None, data: Any = None) -> Any:
    """Make a table of rows of one kind."""
    return pa.table([
        key, np.full(len(a), kind, np.int8), a, pa.nulls(len(a), a.type) if b is None else b,
        np.ones(len(a)) if resemblance is None else resemblance,
        pa.nulls(len(a), pa.large_binary()) if data is None else data.cast(pa.large_binary()),
    ], COLUMNS)


def _select(rows: Any, kind: int) -> Any:
    """Select the rows of one kind."""
    return rows.filter(pa.array(rows["kind"].to_numpy() == kind))


def _answers(rows: Any) -> Any:
    """Select the answers."""
    return rows.select(COLUMNS).filter(pa.array(rows["kind"].to_numpy() >= EQUAL))


def _column(table: Any, name: str) -> Any:
    """Return a column of a table as one array."""
    return table[name].combine_chunks()


def _number_ids(ids: Any) -> tuple[Ints, Any]:
    """Number ids in ascending order: return the number of each, and the distinct ids."""
    ascending = ids.unique()
    ascending = ascending.take(pc.sort_indices(ascending))
    return _places(ids, ascending), ascending


def _places(ids: Any, among: Any) -> Ints:
    """Find the index of each id among others."""
    places = pc.index_in(ids, value_set=among.cast(ids.type))
    if places.null_count:
        lost = ids.filter(pc.is_null(places))[0].as_py()
        raise ValueError(f"rows of the document {lost!r:.80} are missing: the pages are other ones when they are read again "
                         "(write them to files first), or a step did not get all rows of a key")
    numbered: Ints = places.to_numpy().astype(np.int64)
    return numbered


def _keys(ids: Any) -> UInts:
    """Hash ids."""
    texts = ids if pa.types.is_large_binary(ids.type) or pa.types.is_binary(ids.type) else ids.cast(pa.large_string())
    return np.ascontiguousarray(Batch(as_texts(texts)).digests()[:, :8]).view("<u8")[:, 0]
