"""The store of a crawler: verdicts on pages as they arrive, in a directory that survives a crash."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, TypeVar

from ndcore._types import Closing, Text
from ndcore.checks import check_choice
from ndcore.filters.design import FilterDesign
from ndcore.notebook import fact_table, show_result
from ndcore.pairs.folding import CollapsedKeys, check_best, list_keys
from ndcore.parallel import map_pieces, thread_count
from ndcore.progress import Progress, reporting
from ndcore.store import engine, versions
from ndcore.store.backup import backed_up
from ndcore.store.carrying import CarriedCounts, VerdictRun, match_brought, read_verdicts
from ndcore.store.damage import problems_of
from ndcore.store.directory import Directory
from ndcore.store.export import write_pages
from ndcore.store.microbatches import MicroBatches
from ndcore.store.overall import OverallVerdict
from ndcore.store.pages import Page, Pages
from ndcore.store.receipts import Receipt, RequestAnswer, digest_page, digest_request
from ndcore.store.session import StoreSession
from ndcore.store.settings import StoreSettings
from ndcore.store.socket import Listener, for_clients
from ndcore.store.verdict import Date, Item, Key, Verdict, Version, batches_of, given_key, microseconds
from ndcore.text.shingling import Shingling

CHECKPOINT = 1 << 16  # documents and changes between two checkpoints
READ = 256  # documents that are read at a time

Row = TypeVar("Row")


class Store(Closing):
    """A store for crawlers: an atomic check-and-add of pages, with clusters, versions and texts, in a directory.

    Open one with `Store.open`. Several threads may call all methods. In a fork of the process that opened it, a writable
    store refuses every call; with read_only=True it answers.

    Notes
    -----
    The verdict on a page is the one that `near_duplicates` (star clusters, keep="first") gives on it if it follows all live
    pages. The log in the directory is the source of truth; missing indexes and columns are rebuilt from it.

    References
    ----------
    Broder, Glassman, Manasse, Zweig, "Syntactic clustering of the Web", 1997, §6. DOI 10.1016/S0169-7552(97)00031-7.
    """

    def __init__(self, directory: Directory, durability: str, threads: int | None) -> None:
        self._directory, self._each, self._threads = directory, durability == "each", thread_count(threads)
        self._lock = directory.lock
        self._sessions: dict[str, StoreSession] = {}
        self._listener: Listener | None = None
        self._since = 0  # records since the last checkpoint
        self._micro: MicroBatches | None = None

    @classmethod
    def open(
        cls, path: str | os.PathLike[str], *, threshold: float | None = None, shingling: Shingling | None = None,
        num_perm: int | None = None, seed: int | None = None, filter: Literal["auto"] | FilterDesign | None = None,
        evidence: Literal["text", "shingles", "sketch"] | None = None, scope: Literal["all", "host"] | None = None,
        keys: Literal["plain", "url"] | None = None, min_shingles: int | None = None,
        must_agree: str | Sequence[str] | None = None, durability: Literal["batch", "each"] = "batch",
        read_only: bool = False, repair: bool = False, threads: int | None = None,
        progress: bool | Progress | None = None,
    ) -> Store:
        """Open a store, and create it if there is none.

        Parameters
        ----------
        path : path
            The directory.
        threshold, shingling, num_perm, seed, filter
            As for `near_duplicates`; the defaults are 0.8, words in runs of 5, 84, 1 and "auto". Settings from here to
            `must_agree` are fixed when the store is created; None accepts the store's.
        evidence : "text", "shingles" or "sketch"
            The data kept for comparing later pages: compressed texts (the default); shingle fingerprints; or signatures,
            from which resemblances are only estimated.
        scope : "all" or "host"
            "host": keys are URLs, and pages of different hosts are never compared.
        keys : "plain" or "url"
            "url": keys are URLs, which are converted to the normal form of w3lib.
        min_shingles, must_agree
            As for `near_duplicates`: a page below `min_shingles`, or without an equal key, is not near any other, nor is
            its version near an earlier one; identical pages always are. Keys are names; "title" is the first line, since
            texts are kept and not HTML pages. `min_shingles` needs evidence "text" or "shingles", `must_agree` needs "text".
        durability : "batch" or "each"
            "each": a page is on disk when `decide` returns. "batch": when `flush` or `decide_many` does.
        read_only : bool
            Several processes may read while one writes; see `refresh`.
        repair : bool
            If the store is refused because pages would be lost, save the readable ones in a new log, and keep all logs and
            descriptions unchanged; `repaired` tells what was lost. A store that opens is not changed.
        threads : int, optional
            Threads of `decide_many`. None: one per CPU.
        progress : bool or callable, optional
            Reports progress when a log is read again.

        Returns
        -------
        Store
            A context manager, which closes the store.

        Raises
        ------
        ValueError
            A setting is not accepted, or differs from the setting of the store. CorruptFile, which is a ValueError: the
            files do not belong together, or records would be lost; nothing was deleted (see `repair`).
        BlockingIOError
            Another process writes to the store.
        FileNotFoundError
            read_only, and there is no store. OSError: the system is Windows.
        """
        check_choice("durability", durability, ("batch", "each"))
        given = {"threshold": threshold, "shingling": shingling, "num_perm": num_perm, "seed": seed, "filter": filter,
                 "evidence": evidence, "scope": scope, "keys": keys, "min_shingles": min_shingles, "must_agree": must_agree}
        threads = thread_count(threads)
        with reporting(progress) as report:
            return cls(Directory.open(Path(path), given, read_only=read_only, report=report, repair=repair),
                       durability, threads)

    @property
    def settings(self) -> StoreSettings:
        """The settings, fixed when the store was created."""
        return self._directory.settings

    @property
    def path(self) -> Path:
        """The directory."""
        return self._directory.path

    @property
    def repaired(self) -> dict[str, Any] | None:
        """The result of a repair, if the store was refused and opened with repair=True; else None.

        reason: why it was refused; problems: descriptions of what could not be read; kept: the names of the old logs, which
        are never deleted; copies: the name of the directory with the old descriptions.
        """
        return self._directory.repaired

    @property
    def checkpoint_problem(self) -> str | None:
        """The reason why the last checkpoint was not written; None if it was, or none was due. Also set by `close`.

        A full disk only delays checkpoints: no call fails, since nothing is lost. But the next opening must read the log
        since the last checkpoint.
        """
        return self._directory.unwritten

    @property
    def failure(self) -> str | None:
        """The reason why the store decides nothing more until it is reopened; None as long as it does."""
        return self._directory.failure

    # ---- deciding

    def decide(self, key: Key, text: Text, date: Date = None) -> Verdict:
        """Give the verdict on a page, and keep the page: an atomic check-and-add.

        Parameters
        ----------
        key : str, bytes or int of 64 bits
            The same key again is a new version of that page.
        text : str or bytes
        date : datetime, date, str of ISO 8601, seconds since 1970, or None for now

        Returns
        -------
        Verdict

        Raises
        ------
        TypeError, ValueError
            A value is not accepted, or this process is a fork of the one that opened the store. Then nothing is kept.
        OSError
            The disk is full or failed. The page is not acknowledged: decide on it again. If the message says so, the store
            must be reopened.

        Notes
        -----
        One write to the log, and with durability="each" one fdatasync.
        """
        pages = self._directory.preparer.pages([(given_key(key), text, date)])
        with self._lock:
            verdict = self._decide(pages)[0]
            if self._each:
                self._directory.log.sync()
        return verdict

    def decide_many(self, items: Iterable[Sequence[Any]], threads: int | None = None) -> Iterator[Verdict]:
        """Give the verdicts on many pages, in order, and keep the pages.

        Parameters
        ----------
        items : iterable of (key, text) or (key, text, date)
        threads : int, optional
            None: the number with which the store was opened.

        Yields
        ------
        Verdict
            All pages are on disk when the iterator ends.

        Raises
        ------
        TypeError, ValueError, OSError
            As for `decide`. Pages before the batch of the faulty page, of at most 256 pages, are kept.
        """
        count = self._threads if threads is None else thread_count(threads)
        for pages in map_pieces(self._prepare_packed, batches_of(items), count):
            with self._lock:
                verdicts = self._decide(pages)
            yield from verdicts
        self.flush()

    async def adecide(self, key: Key, text: Text, date: Date = None) -> Verdict:
        """Give the verdict on a page like `decide`, without blocking the event loop.

        Waiting pages are decided together, on a thread of the store: with durability="each" they share one fdatasync.
        """
        with self._lock:
            if self._micro is None:
                self._micro = MicroBatches(self._decide_together)
            micro = self._micro
        return await micro.put((given_key(key), text, date))

    def prepare_requests(self, items: Sequence[tuple[Key, Text, Date]], idempotency_keys: Sequence[str | None]) -> Pages:
        """Prepare pages of requests for `decide_requests`, in a server whose clients may repeat requests.

        Parameters
        ----------
        items : sequence of (key, text, date)
            At least one item.
        idempotency_keys : sequence of str or None
            A key for each request: 1 to 256 printable ASCII characters that its client does not reuse.

        Raises
        ------
        TypeError, ValueError
            A value is not accepted.

        Notes
        -----
        Several threads may do this concurrently: it takes most of the time of a decision, and needs no lock.
        """
        pages, secret, now = self._prepare_packed(items), self._directory.preparer.secret, time.time_ns() // 1000
        if any(key is not None for key in idempotency_keys):
            pages.receipts = [None if key is None else Receipt(digest_request(key, secret), digest_page(*item), now)
                              for key, item in zip(idempotency_keys, items, strict=True)]
        return pages

    def decide_requests(
        self, pages: Pages, keep: float, admit: Callable[[Key], None] | None = None
    ) -> list[RequestAnswer]:
        """Give the verdicts on pages of requests, in order, and keep the pages; a repeated request gets its first answer.

        Parameters
        ----------
        pages : Pages
            From `prepare_requests`.
        keep : float
            Seconds for which an idempotency key is remembered after its answer.
        admit : callable, optional
            Raises an error for a key that is not decided here. Called for each page that was not answered before; if it
            raises, no page is kept.

        Returns
        -------
        list of RequestAnswer
            The answers; fewer than pages if an idempotency key was used with another page: then that page and later ones
            are not kept.

        Raises
        ------
        OSError
            As for `decide`.

        Notes
        -----
        The pages are on disk after the next `flush`. A key is in one frame of the log with its decision. `compact` keeps
        the keys of versions that it keeps if their answers name only live pages.
        """
        since = time.time_ns() // 1000 - int(keep * 1e6)
        with self._lock:
            keys = [receipt.key for receipt in pages.receipts if receipt is not None]
            fresh = len(set(keys)) == len(keys) and not (keys and self._state.may_have_receipts(keys))
            if admit is not None:
                for key, receipt in zip(pages.keys, pages.receipts or [None] * len(pages), strict=True):
                    if key is not None and (fresh or receipt is None
                                            or self._state.find_receipt(receipt.key, since) is None):
                        admit(key)
            if fresh:
                return self._answer(pages)
            answers: list[RequestAnswer] = []
            for page, receipt in zip(pages, pages.receipts, strict=True):
                known = None if receipt is None else self._state.find_receipt(receipt.key, since)
                if known is None:
                    answers += self._answer(replace(Pages.of([page]), receipts=[receipt]))
                elif receipt is not None and known[0].body == receipt.body:
                    answers.append(RequestAnswer(known[0].verdict, known[1], True, 0))
                else:
                    break
            return answers

    def peek(self, text: Text, key: Key | None = None) -> Verdict:
        """Give the verdict that `decide` would give on the page with a new key, without keeping it.

        key: only for its scope, in stores with scope="host".
        """
        self._directory.check_usable()
        page = self._directory.preparer.page(None, text, None, like=key)
        with self._lock, self._directory.trusting():
            return engine.look(self._state, page)

    # ---- sharing

    def session(self, name: str) -> StoreSession:
        """Return the session with a name: pages that are decided now and kept by `StoreSession.commit`.

        A session sees its own pages and the committed ones; other sessions and the methods of the store do not see its
        pages. Until it is discarded, the name denotes the same session, also for clients (`listen`).
        """
        if not isinstance(name, str):
            raise TypeError(f"the name of a session is a str, got {name!r:.80}")
        with self._lock:
            self._directory.check_writable()
            session = self._sessions.get(name)
            if session is None:
                session = self._sessions[name] = StoreSession(self._directory, name, self._sessions, self._decide)
        return session

    def listen(self) -> Listener:
        """Let other processes of this user write to the store, with `StoreClient`, until the listener or store is closed.

        Returns
        -------
        Listener
            A context manager.

        Notes
        -----
        Calls are answered on a thread for each client. The socket is in a directory of mode 0700 within the store.
        """
        with self._lock:
            self._directory.check_writable()
            if self._listener is None or self._listener.closed:
                self._listener = Listener(self, self._directory.path)
            return self._listener

    def merge(self, other: Store) -> int:
        """Keep the pages of another store, in order and with their dates, as if they were decided now.

        Parameters
        ----------
        other : Store
            A store with the same settings, except threshold, min_shingles and filter. It is not changed, and must not
            change meanwhile.

        Returns
        -------
        int
            The number of pages of `other`.

        Notes
        -----
        A new key brings along its history, and whether its page is gone. For a key in both stores, the last version of
        `other` becomes a new version here; earlier versions are not copied. All are on disk when this returns.
        """
        if not isinstance(other, Store):
            raise TypeError(f"other is {other!r:.80}; open it with Store.open(path, read_only=True)")
        here, there = self._directory, other._directory
        if here.path.resolve() == there.path.resolve():
            raise ValueError(f"{here.path}: a store cannot be merged with itself")
        here.settings.check_mergeable(there.settings)
        with there.lock:
            numbers = there.state.live.numbers().tolist()
        return self._take(other, numbers)

    # ---- forgetting

    def mark_gone(self, key: Key, date: Date = None) -> bool:
        """Record that the page of a key is gone: its server answered 404 or 410, or redirected to another page.

        Parameters
        ----------
        key : str, bytes or int
        date : as for `decide`

        Returns
        -------
        bool
            Whether the store has the page.

        Raises
        ------
        TypeError, ValueError, OSError
            As for `decide`.

        Notes
        -----
        Its text stays: later pages are compared with it, and may be near it. `locate` no longer returns it, `history` has a
        version "gone", and `decide` on the key brings it back. The date of the page stays, too, so it expires as before.
        Nothing is written for a page that is already gone. To remove a page, call `remove`.
        """
        when = microseconds(date)
        with self._lock:
            self._directory.check_writable()
            number = self._number(key)
            if number is not None:
                self._count(1)
                self._directory.mark_gone(number, when)
                if self._each:
                    self._directory.log.sync()
        return number is not None

    def remove(self, key: Key) -> None:
        """Remove a page with all its versions. Raises KeyError if there is none.

        Clusters become the clusters of the remaining pages. The page's bytes stay on disk until `compact`. It costs about
        one `decide` for each page whose representative changes; if a representative is removed, for each page of its
        cluster.
        """
        with self._lock:
            self._remove([self._live_number(key)], expired=False)

    def expire(self, before: Date) -> int:
        """Remove the pages whose last version is older than a date, and return their number. Costs are as for `remove`."""
        if before is None:
            raise TypeError("before is None; give a date: pages whose last version is older are forgotten")
        limit = microseconds(before)
        with self._lock:
            live = self._state.live.numbers()
            old: list[int] = live[self._state.columns.column("date")[live] < limit].tolist()
            if old:
                self._remove(old, expired=True)
        return len(old)

    def compact(self, progress: bool | Progress | None = None) -> None:
        """Rewrite the store with only live pages, so that no byte of removed pages and of texts of earlier versions is left.

        Needs disk space for a second copy meanwhile. After a crash, the store is as it was before or after.
        """
        with self._lock, reporting(progress) as report:
            self._directory.compact(report)

    def backup(self, path: str | os.PathLike[str]) -> None:
        """Copy the store in its current state to a new directory, a separate store; others may write meanwhile.

        Parameters
        ----------
        path : path
            A path that does not exist, or an empty directory. The copy is complete and on disk when this returns; if it
            fails, nothing is left.

        Raises
        ------
        FileExistsError
            There is something at the path.
        OSError
            The disk is full, or failed.

        Notes
        -----
        Files that never change again are hard links if the file system allows it, else copies. The last file of the log, of
        at most 1 GiB, is a copy. A store opened with read_only=True can be copied, too.
        """
        backed_up(self._directory, Path(path))

    def export(
        self, path: str | os.PathLike[str], *, name: str | None = None, progress: bool | Progress | None = None
    ) -> int:
        """Write the key and the last text of each page as Parquet files in a new directory, for other engines.

        `carry` takes back the verdicts of a run over such tables of many stores.

        Parameters
        ----------
        path : path
            As for `backup`.
        name : str, optional
            The name of this store, in a column ``store`` that distinguishes the pages of several exports.
        progress : bool or callable, optional

        Returns
        -------
        int
            The number of pages.

        Raises
        ------
        LookupError, RuntimeError
            As raised by `pages`.
        FileExistsError, OSError
            As raised by `backup`.
        TypeError, ValueError
            The name is not a str; keys are of several types, or one has a surrogate.
        ImportError
            pyarrow is not installed.

        Notes
        -----
        The columns are ``key`` (string, int64 or binary), ``text`` (binary; str is UTF-8) and ``digest`` (BLAKE2b-128 of the
        text, by which `carry` recognises it; binary), in row groups of about 256 KB. Pages are read like by `pages`, and
        others may write meanwhile.
        """
        with reporting(progress) as report:
            return write_pages(self._iterate_live(versions.exported), Path(path), name, len(self), report)

    def carry(
        self, verdicts: Any, run: str, *, name: str | None = None, date: Date = None, progress: bool | Progress | None = None
    ) -> CarriedCounts:
        """Store the verdicts of a run over many stores on the pages of this one, in addition to its own verdicts.

        Parameters
        ----------
        verdicts : path, sequence of paths, or a table of Arrow
            Parquet files, or directories of them; or an object with `__arrow_c_stream__`. The columns are ``store`` (with
            `name`), ``key`` and ``digest`` as in an `export`, and from the verdicts of the run ``representative`` (a struct
            of ``store`` and ``key``), ``class`` and ``resemblance``. Other columns are ignored. In a directory that Spark
            has named ``store=NAME``, the column ``store`` may be missing.
        run : str
            The name of the run, which `overall` returns: printable characters, 1 to 255 bytes of UTF-8.
        name : str, optional
            The name of this store in its export. Rows of other stores are skipped.
        date : as for `decide`
            The date of the run. Verdicts of a run with a later date stay. None: now.
        progress : bool or callable, optional

        Returns
        -------
        CarriedCounts
            The number of pages that now have the verdict, and of others by reason.

        Raises
        ------
        TypeError, ValueError
            A parameter, a column or a value of a row is not accepted. Verdicts of earlier rows are kept.
        FileNotFoundError
            A path does not exist or has no Parquet file. OSError: as raised by `decide`.
        ImportError
            pyarrow is not installed.

        Notes
        -----
        The store's own verdicts do not change. A verdict is about the words that were exported: it is not stored if they
        have changed since, and is dropped when they change. If this is interrupted, call it again with the same table to
        resume. Everything is on disk when this returns; others may decide meanwhile. A page costs about one call of `text`,
        whose digest is compared.
        """
        given, counts = VerdictRun.of(run, microseconds(date), name), Counter[str]()
        with self._lock:
            self._directory.check_writable()
        with reporting(progress) as report:
            for rows in read_verdicts(verdicts, given, counts, report):
                with self._lock:
                    self._directory.check_writable()
                    self._count(self._directory.carry(rows, counts))
        self.flush()
        return CarriedCounts(**counts)

    # ---- asking

    def __contains__(self, key: object) -> bool:
        with self._lock:
            return self._number(key) is not None  # type: ignore[arg-type]

    def __len__(self) -> int:
        return int(self._state.count)

    def cluster(self, key: Key) -> list[Key]:
        """Return the keys in the cluster of a page, the representative first. Raises KeyError for an unknown key."""
        with self._lock:
            return versions.cluster_of(self._state, self._live_number(key))

    def clusters(self, least: int = 1) -> Iterator[list[Key]]:
        """Yield the clusters of `least` pages or more, in order: lists of keys, the representative first.

        Clusters that change meanwhile may be missed or seen twice.
        """
        for number in versions.heads(self._state, least):
            with self._lock:
                members = versions.cluster_of(self._state, number) if number in self._state.kept else None
            if members is not None:
                yield members

    def locate(self, key: Key) -> Key:
        """Return the key in the cluster of a page whose last version is the most recent: where its content is now.

        Ties go to the last page in order; pages that are gone (`mark_gone`) are never returned. Raises KeyError for an
        unknown key, LookupError if all pages of the cluster are gone. Reads no text. (Broder et al. 1997, §6.2.)
        """
        with self._lock:
            latest = versions.latest_in_cluster(self._state, self._live_number(key))
            if latest is None:
                raise LookupError(f"all pages with the content of {key!r:.200} are gone")
            return versions.key_of(self._state, latest)

    def collapse(
        self, keys: Iterable[Key], best: Literal["rank", "representative", "latest"] | Sequence[Any] = "rank",
        earlier: Iterable[Key] = (),
    ) -> CollapsedKeys:
        """Fold a ranked list of keys, such as search results, by the clusters of this store, like `Collection.collapse`.

        Parameters
        ----------
        keys : iterable of str, bytes or int
            Keys of pages, best first. The last version of a page counts.
        best, earlier
            As for `Collection.collapse`. "latest": the page whose last version has the latest date is shown, among pages
            that are not gone (`mark_gone`) if there are any; on a tie, the first.

        Returns
        -------
        CollapsedKeys

        Raises
        ------
        TypeError, ValueError
            A key is not accepted, or `best` is not.

        Notes
        -----
        One search of an index, and one or two reads of the log, for each key. Pages that are gone still fold others.
        """
        listed, before = list_keys("keys", keys), list_keys("earlier", earlier)
        values = check_best(best, len(listed), ("rank", "representative", "latest"))
        named = [self._directory.preparer.name_key(given_key(key))[1:] for key in [*before, *listed]]
        with self._lock, self._directory.trusting():
            return versions.collapse(self._state, listed, named, best, values)

    def history(self, key: Key) -> list[Version]:
        """Return the versions of a page, in the order in which they were added. Raises KeyError for an unknown key.

        `Version.change` tells whether a change was real or only lexical (Broder et al. 1997, §6.5).
        """
        with self._lock:
            return versions.history_of(self._state, self._live_number(key))

    def overall(self, key: Key) -> OverallVerdict | None:
        """Return the verdict of the last run over many stores on a page (`carry`), in addition to the store's own.

        None if there is none, or the words of the page have changed since. Raises KeyError for an unknown key. One read.
        """
        with self._lock, self._directory.trusting():
            return self._state.overall(self._live_number(key))  # type: ignore[no-any-return]

    def text(self, key: Key) -> Text:
        """Return the text of the last version. Raises KeyError for an unknown key, LookupError if texts are not kept."""
        with self._lock:
            return versions.text_of(self._state, self._live_number(key))

    def pages(self) -> Iterator[tuple[Key, Text]]:
        """Yield the key and the last text of each page, in order.

        Raises
        ------
        LookupError
            Texts are not kept.
        RuntimeError
            The store was compacted meanwhile.

        Notes
        -----
        Pages added or removed meanwhile are left out.
        """
        return self._iterate_live(lambda state, number: (versions.key_of(state, number), versions.text_of(state, number)))

    def classes(self) -> Iterator[tuple[Key, Key]]:
        """Yield the key of each page, and of the first page with the same words, in order.

        Raises
        ------
        RuntimeError
            The store was compacted meanwhile.

        Notes
        -----
        Pages added or removed meanwhile are left out. Reads one record of a page, and two more if it is not the first with
        its words.
        """
        return self._iterate_live(lambda state, number: (
            versions.key_of(state, number), versions.key_of(state, versions.leader_of(state, number))))

    def stats(self) -> dict[str, Any]:
        """Return counts: live pages, clusters, assigned numbers, bytes on disk by kind; and the settings.

        checkpoint_problem: see the property; backlog: tables that wait to become segments of indexes, and segments that wait
        to be merged or are being merged.
        """
        with self._lock:
            state = self._state
            return {
                "documents": state.count, "clusters": state.clusters, "duplicates": state.count - state.clusters,
                "forgotten": state.n - state.count, **self._directory.sizes(),
                "backlog": sum(index.backlog for index in state.indexes),
                "checkpoint_problem": self.checkpoint_problem, "settings": self.settings.as_dict(),
            }

    def check(self, progress: bool | Progress | None = None) -> list[str]:
        """Read and compare everything; return descriptions of the problems found, empty if there are none."""
        with self._lock, reporting(progress) as report:
            return problems_of(self._directory.state, report)

    # ---- files

    def flush(self) -> None:
        """Sync everything that was decided to disk."""
        self._directory.check_usable()
        if not self._directory.read_only:
            self._directory.log.sync()

    def refresh(self) -> None:
        """Read what the writer has written since then. For stores opened with read_only=True."""
        with self._lock.bare if self._directory.read_only else self._lock:  # reopening after a failed refresh is possible
            self._directory.check_open()
            self._directory.refresh()

    def close(self) -> None:
        """Sync everything to disk and close the store. Sessions are discarded."""
        if self._directory.forked:  # threads, connections and files belong to the process that writes
            return
        if self._listener is not None:
            self._listener.close()
        self._sessions.clear()
        if self._micro is not None:
            self._micro.close()
        with self._lock.bare:
            self._directory.close()

    def __repr__(self) -> str:
        held = "closed" if self._directory.closed else f"{self._directory.state.count} documents"
        return f"<Store {os.fspath(self.path)!r}, {held}>"

    def _repr_html_(self) -> str:
        """Render for a notebook the settings, except the secret ones."""
        settings = self.settings
        return show_result(repr(self), fact_table(
            ("threshold", settings.threshold), ("evidence", settings.evidence), ("scope", settings.scope)))

    # ---- internal

    @property
    def _state(self) -> Any:
        """The state. Raises ValueError if the store is closed."""
        self._directory.check_usable()
        return self._directory.state

    def _iterate_live(self, read: Callable[[Any, int], Row]) -> Iterator[Row]:
        """Yield ``read(state, number)`` for each live document; each batch is read under the lock."""
        with self._lock:
            state = self._state
            numbers = state.live.numbers().tolist()
        for first in range(0, len(numbers), READ):
            with self._lock, self._directory.trusting():
                if self._state is not state:
                    raise RuntimeError(f"{self.path}: the store was compacted while its pages were read; read them again")
                rows = [read(state, number) for number in numbers[first : first + READ] if number in state.live]
            yield from rows

    def _prepare_packed(self, items: Sequence[Item]) -> Pages:
        """Prepare pages with their evidence."""
        pages = self._directory.preparer.pages(items)
        self._state.evidence.pack_many(pages)
        return pages

    def _decide_together(self, items: Sequence[Item]) -> list[Verdict]:
        """Decide on the pages of a micro-batch."""
        pages = self._prepare_packed(items)
        with self._lock:
            verdicts = self._decide(pages)
            if self._each:
                self._directory.log.sync()
        return verdicts

    def _decide(self, pages: Pages) -> list[Verdict]:
        """Decide on pages in order, and write the records that acknowledge them; all or none are kept."""
        return [answer.verdict for answer in self._answer(pages)]

    def _answer(self, pages: Pages) -> list[RequestAnswer]:
        """Decide on pages like `_decide`, and return the positions of their records, too."""
        self._directory.check_writable()
        self._count(len(pages))
        with self._directory.trusting():
            return self._directory.decide(pages)

    def _take(self, other: Store, numbers: list[int]) -> int:
        """Keep some live documents of another store for `merge`, and return their number."""
        here, there = self._directory, other._directory

        def decide(pages: list[Page]) -> None:
            self._decide(Pages.of(pages))
            here.note_overall(match_brought(here.state, pages))

        def mark_gone(page: Page, date: int) -> None:
            number = self._state.find(page.name, page.hashed)
            assert number is not None  # it was just decided
            here.mark_gone(number, date)

        for first in range(0, len(numbers), READ):
            with there.lock:
                read = numbers[first : first + READ]
                chains = [versions.pages_of(there.state, *versions.chain_of(there.state, number), here.preparer,
                                            there.state.overall(number)) for number in read]
            with self._lock:
                versions.replay(chains, decide, mark_gone)
        here.check_writable()
        here.log.sync()
        return len(numbers)

    def _remove(self, numbers: list[int], *, expired: bool) -> None:
        """Remove documents."""
        self._directory.check_writable()
        self._count(len(numbers))
        self._directory.remove(numbers, expired=expired)
        if self._each:
            self._directory.log.sync()

    def _count(self, records: int) -> None:
        """Count records, and write a checkpoint if one is due."""
        self._since += records
        if self._since >= CHECKPOINT:
            self._since = 0
            self._directory.checkpoint()

    def _number(self, key: Key) -> int | None:
        """Return the number of the live document of a key."""
        _, name, hashed = self._directory.preparer.name_key(key)
        with self._directory.trusting():
            number: int | None = self._state.find(name, hashed)
        return number

    def _live_number(self, key: Key) -> int:
        """Return the number of the live document of a key. Raises KeyError if there is none."""
        number = self._number(key)
        if number is None:
            raise KeyError(f"the store has no page with the key {key!r:.200}")
        return number


for_clients(
    Store.decide, Store.decide_many, Store.peek, Store.mark_gone, Store.remove, Store.expire, Store.__contains__,
    Store.__len__, Store.cluster, Store.clusters, Store.locate, Store.collapse, Store.history, Store.overall,
    Store.text, Store.stats, Store.flush,
)
