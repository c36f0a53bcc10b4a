"""Verdicts of a run over many stores: what is taken, what is refused, and what keeps them."""

from __future__ import annotations

import os
import shutil
import signal
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from forging import with_array
from stores import TEXT, opened, settings

import ndcore as nd
from ndcore.storage.container import CorruptFile

pytest.importorskip("pyarrow", reason="pyarrow is not installed")

import pyarrow as pa
import pyarrow.parquet as pq
from carried import exported_rows, row_of, table_of

from ndcore.store import carrying as module
from ndcore.store import store as stores
from ndcore.store.carrying import CarriedCounts
from ndcore.store.host_pages import HostPages
from ndcore.store.log import Log
from ndcore.store.overall import OverallVerdict
from ndcore.store.records import OverallRecord, encode

PAGES = {"a": TEXT, "b": TEXT + " more", "c": "another text of seven words in all", "d": "short"}
RUN = "2026-11"


def filled(path: Path, **given: Any) -> nd.Store:
    store = opened(path, **settings(), **given)
    list(store.decide_many((key, text, date) for date, (key, text) in enumerate(PAGES.items())))
    return store


def dump(store: nd.Store) -> list[Any]:
    """Return all that a store says of its pages by itself."""
    return [(key, store.history(key), store.cluster(key), store.locate(key), store.text(key)) for key, _ in store.pages()]


def near(key: str, text: str | None = None, **given: Any) -> Any:
    return row_of(key, PAGES[key] if text is None else text, "near", "http://m.example/1", **given)


# ---- what is taken


def test_a_second_statement_beside_the_store(tmp_path):
    with filled(tmp_path) as store:
        before = dump(store)
        table = table_of(row_of("a", TEXT), near("b"), row_of("c", PAGES["c"], "identical", "a", "east", 1.0),
                         row_of("d", "short", "lexical", b"k".decode(), score=None))
        assert store.overall("a") is None
        assert store.carry(table, RUN, name="east", date=5) == CarriedCounts(carried=4)
        date = 5_000_000
        assert [store.overall(key) for key in PAGES] == [
            OverallVerdict("kept", None, None, None, RUN, date, True),
            OverallVerdict("near", "http://m.example/1", "west", 0.9, RUN, date, False),
            OverallVerdict("identical", "a", "east", 1.0, RUN, date, True),
            OverallVerdict("lexical", "k", "west", None, RUN, date, False)]
        assert dump(store) == before and store.check() == []
        end = store._directory.log.end
        assert store.carry(table, RUN, name="east") == CarriedCounts(repeated=4)  # the same table twice is one
        assert store._directory.log.end == end
        with pytest.raises(KeyError, match="no page with the key 'x'"):
            store.overall("x")
    with opened(tmp_path) as store:
        assert store.overall("b").date == date and dump(store) == before and store.check() == []


def test_a_later_run_replaces_an_earlier_one(tmp_path):
    with filled(tmp_path) as store:
        assert store.carry(table_of(near("a"), near("b")), "first", name="east", date=10).carried == 2
        assert store.carry(table_of(near("a", score=0.8)), "later", name="east", date=20).carried == 1
        late = table_of(near("a", score=0.7), near("b", score=0.7), near("c"))
        assert store.carry(late, "between", name="east", date=15) == CarriedCounts(carried=2, older=1)
        assert [store.overall(key).run for key in "abc"] == ["later", "between", "between"]
        again = table_of(row_of("a", TEXT))  # of the same run, which was mended
        assert store.carry(again, "later", name="east", date=20).carried == 1 and store.overall("a").kept


def test_a_page_twice_in_a_table(tmp_path):
    with filled(tmp_path) as store:
        rows = [near("a"), near("b", score=0.8), near("a"), near("b", score=0.7)]
        assert store.carry(table_of(*rows), RUN, name="east") == CarriedCounts(carried=3, repeated=1)
        assert store.overall("b").resemblance == 0.7


def test_all_is_on_disk_at_the_end(tmp_path, monkeypatch):
    with filled(tmp_path) as store:
        log, order = store._directory.log, []
        append, sync = log.append, log.sync
        monkeypatch.setattr(log, "append", lambda payloads: (order.append("append"), append(payloads))[1])
        monkeypatch.setattr(log, "sync", lambda: (order.append("sync"), sync()))
        store.carry(table_of(near("a")), RUN, name="east")
        assert order == ["append", "sync"]


def test_a_run_over_one_store_has_no_names(tmp_path):
    with filled(tmp_path) as store:
        assert store.carry(table_of(near("a", name=None)), RUN) == CarriedCounts(carried=1)
        assert (store.overall("a").store, store.overall("a").here, store.overall("a").place) == (
            None, True, "http://m.example/1")


def test_what_is_not_carried_is_counted(tmp_path):
    with filled(tmp_path) as store:
        store.remove("d")
        store.decide("c", "words that nobody had exported", 9)
        rows = [row_of("c", PAGES["c"]), row_of("d", "short"), row_of("x", "x"), row_of("a", TEXT, None),
                row_of("a", TEXT, name="west"), near("b")]
        assert store.carry(table_of(*rows), RUN, name="east") == CarriedCounts(
            carried=1, changed=1, unknown=2, undecided=1, elsewhere=1)
        assert [store.overall(key) is None for key in "abc"] == [True, False, True]


def test_a_verdict_is_of_words_and_goes_with_them(tmp_path):
    with filled(tmp_path) as store:
        for date, text in enumerate([TEXT, TEXT.upper(), TEXT.upper() + "!"], 10):  # the words of the export, since then
            store.decide("a", text, date)
        store.mark_gone("a", 13)
        assert store.carry(table_of(near("a"), near("b")), RUN, name="east").carried == 2
        store.decide("b", PAGES["b"].upper(), 14)
        assert store.overall("a") is not None and store.overall("b") is not None
        store.decide("b", "other words", 15)
        store.decide("b", PAGES["b"], 16)
        assert store.overall("b") is None  # it came back, and no run has seen that
        assert store.carry(table_of(near("a"), near("b")), RUN, name="east") == CarriedCounts(carried=1, repeated=1)


@pytest.mark.parametrize("evidence", ["text", "shingles", "sketch"])
def test_every_evidence_keeps_the_digest_of_a_text(tmp_path, evidence):
    with opened(tmp_path, **settings(evidence=evidence)) as store:
        list(store.decide_many(PAGES.items()))
        rows = [row_of(key, text) for key, text in PAGES.items()] + [row_of("a", "else")]
        assert store.carry(table_of(*rows), RUN, name="east") == CarriedCounts(carried=4, changed=1)


def test_extracted_pages_without_words_keep_the_digest_of_their_original(tmp_path):
    from ndcore.text.inputs import Extracted

    with opened(tmp_path) as store:
        store.decide("x", Extracted.of("", b"<html><img></html>"))
        store.export(tmp_path / "out", name="east")
        assert store.carry(table_of(*exported_rows(tmp_path / "out")), RUN, name="east").carried == 1


def test_what_an_export_has_is_carried_back(tmp_path):
    """Also after a compaction, where the text of a later version takes the place of the document's."""
    with filled(tmp_path) as store:
        store.decide("a", TEXT.upper(), 9)
        for round_ in range(2):
            store.export(tmp_path / f"out{round_}", name="east")
            rows = exported_rows(tmp_path / f"out{round_}")
            assert store.carry(table_of(*rows), f"run {round_}", name="east", date=round_) == CarriedCounts(carried=4)
            store.compact()


# ---- tables


def test_files_and_directories(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 2)
    rows = [row_of(key, text) for key, text in PAGES.items()]
    whole, parts = tmp_path / "whole", tmp_path / "parts"
    for place in (whole / "_temporary", whole / ".hidden", parts / "store=east%2F1", parts / "store=west"):
        place.mkdir(parents=True)
    pq.write_table(table_of(*rows[:3]), whole / "part-1.snappy.parquet", row_group_size=1)
    pq.write_table(table_of(near("x", "x")), whole / "_temporary" / "part.parquet")
    pq.write_table(table_of(near("x", "x")), whole / ".hidden" / "part.parquet")
    (whole / "_SUCCESS").touch()
    unnamed = table_of(*({**row, "representative": {"store": "east/1", "key": row["key"]}} for row in rows))
    unnamed = unnamed.drop_columns(["store"])
    pq.write_table(unnamed, parts / "store=east%2F1" / "part.parquet")
    pq.write_table(unnamed, parts / "store=west" / "part.parquet")
    told: list[Any] = []
    with filled(tmp_path) as store:
        found = store.carry(whole, RUN, name="east", progress=lambda *step: told.append(step))
        assert found == CarriedCounts(carried=3) and told == [("carrying verdicts", 1, 1)]
        both = [str(whole / "part-1.snappy.parquet"), parts]
        assert store.carry(both, RUN, name="east/1") == CarriedCounts(repeated=3, carried=1, elsewhere=7)
        assert store.carry(parts / "store=east%2F1", RUN, name="east/1") == CarriedCounts(repeated=4)


def test_one_batch_is_read_at_a_time(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "ROWS", 3)
    table = table_of(*(row_of(f"k{i}", "x") for i in range(4)))
    given = 0

    def batches():
        nonlocal given
        for _ in range(50):
            given += 1
            yield from table.to_batches()

    ahead, sizes = [], []
    with filled(tmp_path) as store:
        carry = store._directory.carry
        monkeypatch.setattr(store._directory, "carry", lambda rows, counts: (
            ahead.append(given), sizes.append(len(rows)), carry(rows, counts))[-1])
        reader = pa.RecordBatchReader.from_batches(table.schema, batches())
        assert store.carry(reader, RUN, name="east") == CarriedCounts(unknown=200)
    assert sizes == [3, 1] * 50 and ahead == [1 + i // 2 for i in range(100)]


def _without(name: str) -> Any:
    return table_of(near("a")).drop_columns([name])


def _with(**fields: Any) -> Any:
    return table_of({**near("a"), **fields})


@pytest.mark.parametrize(("table", "message"), [
    (_without("digest"), r"the table has no column 'digest', but 'store', .*change.annotate\(pages.select\('store', 'key'"),
    (_without("class"), "no column 'class'"),
    (_with(representative="west"), "has a column 'representative' that is string; it is a struct with a field 'key'"),
    (_with(representative={"id": 1}), "it is a struct with a field 'key'"),
    (_with(representative=None), "is null; it is a struct"),
    (_with(**{"class": "version"}), "row of the page 'a': the class is version, .* repeated='replace'"),
    (_with(**{"class": "similar"}), "the class is 'similar'; accepted are kept, identical, lexical, shingle, near"),
    (_with(digest=b"short"), "the digest is b'short'; it has the 16 bytes of the export"),
    (_with(digest="0" * 16), "the digest is '0000000000000000'"),
    (_with(digest=None), "the digest is None"),
    (_with(resemblance=1.5), "the resemblance is 1.5 of type float; it is a float between 0 and 1, or null"),
    (_with(resemblance=Decimal("0.5")), "the resemblance is Decimal.* of type Decimal; it is a float"),
    (_with(resemblance="high"), "the resemblance is 'high'"),
    (_with(representative={"store": "west", "key": None}), "the representative is {'store': 'west', 'key': None}; it has"),
    (_with(representative={"store": None, "key": "k"}), "a store where others have one"),
    (_with(representative={"store": "x" * 256, "key": "k"}), "the store of a representative is 'x.* 1 to 255 bytes"),
    (_with(representative={"store": "west", "key": "k" * (1 << 20)}), "row of the page 'a': .* give a digest of it"),
    (_with(representative={"store": "west", "key": 3.5}), "row of the page 'a': the key 3.5 is of type float; keys are str"),
    (_with(key=None), "row of the page None: the key None is of type NoneType; keys are str, bytes or int"),
    (_with(key=7.0), "row of the page 7.0: the key 7.0 is of type float"), (_with(key=True), "True is of type bool"),
    (table_of(near("a")).append_column("class", pa.array(["kept"])), "the table has 2 columns 'class'; select one of them"),
    (_without("key").append_column("key", pa.array([b"\xff\xfe"]).view(pa.string())),
     r"the table has a string that is not UTF-8: b'\\xff\\xfe'"),
])
def test_tables_that_no_run_writes_are_refused(tmp_path, table, message):
    with filled(tmp_path) as store:
        with pytest.raises(ValueError, match=message):
            store.carry(table, RUN, name="east")
        assert store.overall("a") is None


def test_other_values_are_refused(tmp_path):
    pq.write_table(table_of(near("a")), tmp_path / "table.parquet")
    (tmp_path / "store=west").mkdir()
    (tmp_path / "text.parquet").write_text("no table")
    with filled(tmp_path) as store:
        for run in ("", "a\nb"):
            with pytest.raises(ValueError, match="run is"):
                store.carry(table_of(near("a")), run, name="east")
        with pytest.raises(TypeError, match="name is 7 of type int"):
            store.carry(table_of(near("a")), RUN, name=7)
        with pytest.raises(ValueError, match="not ISO 8601"):
            store.carry(table_of(near("a")), RUN, name="east", date="yesterday")
        with pytest.raises(ValueError, match=r"table\.parquet names stores; give the name that this store had in its"):
            store.carry(tmp_path / "table.parquet", RUN)
        damaged = bytearray((tmp_path / "table.parquet").read_bytes())
        damaged[4:64] = b"\xff" * 60  # the head of the first page
        (tmp_path / "damaged.parquet").write_bytes(damaged)
        for name in ("text", "damaged"):
            with pytest.raises(ValueError, match=rf"{name}\.parquet cannot be read as Parquet"):
                store.carry(tmp_path / f"{name}.parquet", RUN, name="east")
        for verdicts in (7, {"a": 1}, [7], b"x", []):
            with pytest.raises(TypeError, match="give paths of Parquet files or directories, or a table of Arrow"):
                store.carry(verdicts, RUN)
        for place in ("none.parquet", "store=west"):
            with pytest.raises(FileNotFoundError):
                store.carry(tmp_path / place, RUN)
        store.flush()
        with nd.Store.open(store.path, read_only=True) as reader:
            with pytest.raises(ValueError, match="open it without to write"):
                reader.carry(table_of(near("a")), RUN, name="east")
            store.carry(table_of(near("a")), RUN, name="east")
            reader.refresh()
            assert reader.overall("a") == store.overall("a") is not None


def test_keys_that_no_page_can_have_are_unknown(tmp_path):
    pytest.importorskip("w3lib")
    with opened(tmp_path, **settings(scope="host", keys="url")) as store:
        store.decide("http://a.example/?b=1&a=2#f", TEXT)
        assert store.carry(table_of(row_of("http://a.example/?b=1&a=2", TEXT)), RUN, name="east").carried == 1
        assert store.carry(table_of(row_of(7, TEXT)), RUN, name="east") == CarriedCounts(unknown=1)
        assert store.overall("http://a.example/?a=2&b=1").kept


# ---- kills


@pytest.mark.parametrize("evidence", ["text", "sketch"])
def test_a_kill_at_each_commit(tmp_path, monkeypatch, evidence):
    """What is there after a kill is a prefix, and the same table goes on behind it."""
    monkeypatch.setattr(module, "ROWS", 3)
    rows = [near("k", f"text {i}") | {"key": f"k{i}"} for i in range(10)]
    with opened(tmp_path / "seed", **settings(evidence=evidence)) as store:
        list(store.decide_many((f"k{i}", f"text {i}", i) for i in range(10)))
        store.carry(table_of(*rows[2:5]), "before", name="east", date=1)
        before = dump(store) if evidence == "text" else None
    append = Log.append
    for commits in range(5):
        place = tmp_path / str(commits)
        shutil.copytree(tmp_path / "seed" / "store", place)
        process = os.fork()
        if not process:
            left = commits

            def append_and_kill(log: Log, payloads: Any) -> list[int]:
                nonlocal left
                if not left:
                    os.kill(os.getpid(), signal.SIGKILL)
                left -= 1
                return append(log, payloads)

            Log.append = append_and_kill  # type: ignore[method-assign]
            with nd.Store.open(place) as store:
                store.carry(table_of(*rows), RUN, name="east", date=2)
            os._exit(0)
        assert os.waitpid(process, 0)[1] == (signal.SIGKILL if commits < 4 else 0)
        done = min(3 * commits, 10)
        with nd.Store.open(place) as store:
            said = [store.overall(f"k{i}") for i in range(10)]
            assert [each.run if each else None for each in said] == [
                RUN if i < done else "before" if 2 <= i < 5 else None for i in range(10)]
            assert store.carry(table_of(*rows), RUN, name="east", date=2) == CarriedCounts(carried=10 - done, repeated=done)
            assert all(store.overall(f"k{i}").run == RUN for i in range(10)) and store.check() == []
            assert before is None or dump(store) == before


def test_a_checkpoint_counts_what_is_written(tmp_path, monkeypatch):
    monkeypatch.setattr(stores, "CHECKPOINT", 4)
    with filled(tmp_path) as store:
        written: list[int] = []
        checkpoint = store._directory.checkpoint
        monkeypatch.setattr(store._directory, "checkpoint", lambda: (written.append(1), checkpoint()))
        rows = [row_of(key, text) for key, text in PAGES.items()]
        store._since = 0
        store.carry(table_of(*rows), RUN, name="east", date=1)
        assert written == [1]
        store.carry(table_of(*rows), RUN, name="east", date=1)
        assert written == [1]


# ---- what keeps them


def carried(path: Path) -> nd.Store:
    store = filled(path)
    store.carry(table_of(near("a"), near("b"), row_of("c", PAGES["c"], "near", "d", "east")), RUN, name="east", date=1)
    return store


@pytest.mark.parametrize("evidence", ["text", "shingles", "sketch"])
def test_a_store_of_before_opens_and_takes_them(tmp_path, evidence):
    """Its log has no such record, and its columns no such array."""
    shutil.copytree(Path(__file__).parents[1] / "fixtures" / "store-1" / evidence, tmp_path / "store")
    with nd.Store.open(tmp_path / "store") as store:
        key = next(iter(store.clusters()))[0]
        digest = store._directory.state.whole(store._directory.state.last(store._number(key)))
        assert store._directory._checkpoints.problems == [] and store.overall(key) is None
        assert store.carry(table_of(row_of(key, "") | {"digest": digest}), RUN, name="east").carried == 1
    with nd.Store.open(tmp_path / "store") as store:
        assert store.overall(key).kept and store.check() == []


def test_derived_files_are_made_again(tmp_path):
    with carried(tmp_path) as store:
        said = [store.overall(key) for key in PAGES]
    with opened(tmp_path) as store:  # from the checkpoint
        assert [store.overall(key) for key in PAGES] == said and said[3] is None
    shutil.rmtree(tmp_path / "store" / "derived-0")
    with opened(tmp_path) as store:
        assert [store.overall(key) for key in PAGES] == said and store.check() == []


def test_compaction_keeps_them_but_no_name_of_a_removed_page(tmp_path):
    with carried(tmp_path) as store:
        said = [store.overall(key) for key in "abc"]
        store.remove("a")
        store.compact()
        assert [store.overall(key) for key in "bc"] == said[1:] and store.check() == []
        store.decide("SECRET", "a page that will be removed", 5)
        store.carry(table_of(row_of("c", PAGES["c"], "near", "SECRET", "east"), near("b", store="east")), "next",
                    name="east", date=6)
        store.remove("SECRET")
        store.compact()
        assert store.overall("c") is None and store.overall("b") is None and store.check() == []
        assert not any(b"SECRET" in path.read_bytes() for path in store.path.rglob("*") if path.is_file())


def test_a_compaction_is_killed_after_any_of_its_writes(tmp_path, monkeypatch):
    """What it leaves is a log with some documents, later versions and verdicts, and lacks others: nothing is newer in it."""
    append, copies = Log.append, tmp_path / "copies"

    def append_and_copy(log, payloads):
        places = append(log, payloads)
        shutil.copytree(tmp_path / "store", copies / f"{len(list(copies.glob('*'))):02}" / "store")
        return places

    with carried(tmp_path) as store:
        for date, (key, text) in enumerate([("a", TEXT), ("b", PAGES["b"] + "!"), ("b", PAGES["b"] + "!"), ("c", "new")], 10):
            store.decide(key, text, date)
        store.mark_gone("b", 20)
        before, said = dump(store), [store.overall(key) for key in PAGES]
        monkeypatch.setattr(Log, "append", append_and_copy)
        store.compact()
        monkeypatch.undo()
        assert (dump(store), [store.overall(key) for key in PAGES]) == (before, said)
    assert len(list(copies.iterdir())) >= 4  # documents, two waves of later versions, verdicts
    for copy in sorted(copies.iterdir()):
        with opened(copy) as store:
            assert (dump(store), [store.overall(key) for key in PAGES]) == (before, said) and store.check() == []


def test_a_backup_has_them(tmp_path):
    with carried(tmp_path) as store:
        store.backup(tmp_path / "copy")
        with nd.Store.open(tmp_path / "copy") as copy:
            assert [copy.overall(key) for key in PAGES] == [store.overall(key) for key in PAGES]


def test_a_merge_brings_them_along_and_the_later_one_stays(tmp_path):
    with carried(tmp_path / "a") as there, filled(tmp_path / "b") as store:
        store.remove("c")
        there.decide("a", PAGES["a"].upper(), 9)
        store.carry(table_of(near("a", score=0.5)), "later", name="north", date=2)
        store.carry(table_of(near("b", score=0.5, name="north")), "earlier", name="north", date=0)
        assert store.overall("a") is None  # of another store
        store.carry(table_of(near("a", score=0.5, name="north")), "later", name="north", date=2)
        store.merge(there)
        assert [store.overall(key) and store.overall(key).run for key in PAGES] == ["later", RUN, RUN, None]
        assert store.overall("c") == there.overall("c") and store.check() == []


def test_a_host_that_moves_brings_them_along(tmp_path):
    with nd.Store.open(tmp_path / "store", **settings(scope="host")) as store:
        for key in ("http://a.example/1", "http://b.example/1"):
            store.decide(key, TEXT, 1)
        rows = [row_of(key, TEXT, "identical", "k", "north") for key in ("http://a.example/1", "http://b.example/1")]
        assert store.carry(table_of(*rows), RUN, name="east").carried == 2
        HostPages(store, "a.example").copy(tmp_path / "copy")
        with nd.Store.open(tmp_path / "copy") as copy:
            assert copy.overall("http://a.example/1") == store.overall("http://a.example/1") is not None


def _damage(store: nd.Store, position: int) -> None:
    """Close a store, and change a byte of a record."""
    store.close()
    [path] = (store.path / "log-0").iterdir()
    data = bytearray(path.read_bytes())
    data[(position & (1 << 32) - 1) + 30] ^= 1
    path.write_bytes(data)


def test_a_damaged_record_costs_what_it_says_and_nothing_else(tmp_path):
    store = carried(tmp_path)
    before, said = dump(store), store.overall("b")
    _damage(store, store._directory.state.columns.get("overall", 0))
    with opened(tmp_path) as store:
        with pytest.raises(CorruptFile):
            store.overall("a")
        assert dump(store) == before and store.overall("b") == said
        found = [("damaged" in problem, "'overall'" in problem) for problem in store.check()]
        assert found == [(True, False), (False, True)]
        store.compact()
        assert dump(store) == before and store.overall("a") is None and store.overall("b") == said
        assert store.check() == [] and store.stats()["lost"] == 0


@pytest.mark.parametrize("position", [-1, -(1 << 63), 5, 1 << 40, 1 << 62, "document", "other"])
def test_forged_positions_end_in_corrupt_file(tmp_path, position):
    with carried(tmp_path) as store:
        columns = store._directory.state.columns
        at = {"document": columns.get("last", 0), "other": columns.get("overall", 1)}.get(position, position)
    [path] = (tmp_path / "store" / "derived-0").glob("columns-*.ndc")
    with_array(path, "overall", lambda array: np.where(np.arange(len(array)) == 0, at, array))
    with opened(tmp_path) as store:
        with pytest.raises(CorruptFile):
            store.overall("a")
        assert store.overall("b") is not None and len(store.check()) == 1


@pytest.mark.parametrize("number", [0, 4, 2**32 - 1])
def test_a_forged_record_of_no_page_says_nothing(tmp_path, number):
    """Of a page that was removed, of one that comes later, and of none."""
    with carried(tmp_path) as store:
        said = store.overall("b")
        store.remove("a")
        store._directory.log.append([encode(OverallRecord(number, said))])
        store.decide("later", "a page that comes after what was said of it")
    shutil.rmtree(tmp_path / "store" / "derived-0")
    with opened(tmp_path) as store:
        assert store.overall("later") is None and store.overall("b") == said and store.check() == []


def test_pages_that_are_decided_on_again_keep_them(tmp_path):
    """After damage to another page, which the next opening finds, and in a repair."""
    store = carried(tmp_path)
    said = [store.overall(key) for key in "abc"]
    store.decide("e", "a page whose record will be damaged", 9)
    _damage(store, store._directory.state.columns.get("last", 4))
    shutil.rmtree(tmp_path / "store" / "derived-0")
    with opened(tmp_path) as store:
        assert "e" not in store and [store.overall(key) for key in "abc"] == said and store.check() == []
        place = store._directory.manifest.state["log"]
    (tmp_path / "store" / place).rename(tmp_path / "store" / "log-9")
    with pytest.raises(CorruptFile, match="repair=True"):
        opened(tmp_path)
    with opened(tmp_path, repair=True) as store:
        assert [store.overall(key) for key in "abc"] == said and store.check() == []


def test_a_log_that_says_more_is_not_deleted(tmp_path):
    """A description from before a compaction, and a later log that differs in what a run said only."""
    with filled(tmp_path) as store:
        shutil.copytree(store.path, tmp_path / "old")
        store.compact()
        store.carry(table_of(near("a")), RUN, name="east")
    for place in ("log-1", "derived-1"):
        shutil.copytree(tmp_path / "store" / place, tmp_path / "old" / place)
    with pytest.raises(CorruptFile, match="log-1 has pages that are not in it"):
        nd.Store.open(tmp_path / "old")


def test_sessions_and_clients(tmp_path):
    with carried(tmp_path) as store, store.listen(), nd.StoreClient(store.path) as client:
        session = store.session("one")
        session.decide("new", TEXT + " and more")
        assert [client.overall(key) for key in PAGES] == [store.overall(key) for key in PAGES]
        assert session.commit() == [] and store.overall("new") is None
        with pytest.raises(KeyError):
            client.overall("x")
