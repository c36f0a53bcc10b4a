"""Every kernel × variant × size: the result checked against the reference first, then ns per item and GB/s.

The C functions are called through cffi; a call costs some 0.3 µs, which the smallest sizes show. Texts and
byte strings begin at a random offset.
"""

from __future__ import annotations

import json
from argparse import Namespace
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import native
import numpy as np
from generating import base_words, generated
from measure import Report, interleaved, loops, pinned, program, say
from native import ffi
from numpy.typing import NDArray

import ndcore
from ndcore import _candidates, _text
from ndcore._batch import Batch
from ndcore.reference import rabin as reference_rabin
from ndcore.reference import resemblance as reference_resemblance
from ndcore.reference import shingling as reference_shingling
from ndcore.reference import sketches as reference_sketches
from ndcore.reference import text as reference_text

P, R = ndcore.POLYNOMIAL, ndcore.text.shingling.FEATURE_POLYNOMIAL
LOW = (1 << 64) - 1
Q = ndcore.text.shingling.TOKEN_POLYNOMIAL
CHECKED = 60  # items compared with the reference
EARLY = 4096  # values that a bottom sketch collects before it selects the smallest, as in _minhash.pyx
TABLE_KEY = {"a": [0xD1B54A32D192ED03, 0x8CB92BA72F3D8DD7], "b": 0xABC98388FB8FAC03, "second": 0x49858ABBA1C34A05}


def minima_by_numpy(fingerprints: NDArray[np.uint64], key: int, a: NDArray[Any], b: NDArray[Any]) -> NDArray[Any]:
    """Permutation minima once more, for inputs that are long for the reference; checked against it on a short one."""
    z = fingerprints ^ np.uint64(key)
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        z = (z ^ (z >> np.uint64(33))) * np.uint64(factor)
    z ^= z >> np.uint64(33)
    x = z if a.dtype == np.uint64 else (z >> np.uint64(32)).astype(np.uint32)
    return np.array([(x * factor + term).min() for factor, term in zip(a, b, strict=True)], a.dtype)


class Kernel(NamedTuple):
    """One kernel on one input. `run` does the work once and returns an array; `expected` is what its head must be.

    stem: whose variants it has, as `ndcore.variants` names them; "" where it has one form.
    """

    stem: str
    name: str
    item: str
    items: int
    bytes: int
    run: Callable[[], Any]
    expected: Callable[[], Any]


def address(array: NDArray[Any], item: str = "") -> Any:
    """Point to the items of an array, of the C type of its numbers or of another; the array lives as long."""
    return ffi.from_buffer(f"{item or f'{array.dtype}_t'}[]", array)


def calling(result: NDArray[Any], function: Any, *arguments: Any) -> Callable[[], NDArray[Any]]:
    """Make the function that calls one of the library, which writes `result`, and returns this."""
    def run() -> NDArray[Any]:
        function(*arguments)
        return result

    return run


class Bench:
    """The library, the inputs, and memory that stays."""

    def __init__(self, library: Any, seed: int) -> None:
        self.c = library
        self.rng = np.random.default_rng(seed)
        self.alive: list[Any] = []
        self.text = "".join(generated(seed, 20, 1_500_000, base_words(self.rng)))
        self.rabin = ffi.new("nd_rabin *")
        library.nd_rabin_init(self.rabin, P & LOW, 64)
        self.permutation = {"mix": library.nd_minhash_mix, "key": self.coefficients(1)[0]}

    def coefficients(self, count: int) -> tuple[int, NDArray[np.uint64], NDArray[np.uint64]]:
        """Give the key of the permutation, and `count` factors and terms of minima."""
        key, (a, b) = ffi.new("uint64_t *"), np.empty((2, count), np.uint64)
        self.c.nd_minhash_coefficients(1, count, key, address(a), address(b))
        return key[0], a, b

    def new(self, structure: str, **fields: Any) -> Any:
        """Make a structure with these fields, and point to it. Arrays become pointers, and live as long as this object."""
        fields = {name: address(value) if isinstance(value, np.ndarray) else value for name, value in fields.items()}
        self.alive.append((fields, ffi.new(f"{structure} *", fields)))
        return self.alive[-1][1]

    # ---- text

    def placed(self, data: bytes) -> NDArray[np.uint8]:
        """The bytes at a random offset from a 64-byte boundary."""
        room = np.empty(len(data) + 128, np.uint8)
        start = -room.ctypes.data % 64 + int(self.rng.integers(0, 64))
        room[start : start + len(data)] = np.frombuffer(data, np.uint8)
        return room[start : start + len(data)]

    def words64(self, n: int) -> NDArray[np.uint64]:
        """Random words."""
        return self.rng.integers(0, 1 << 64, n, np.uint64)

    def tokenise(self, name: str, text: str, size: int, item: str = "word") -> Kernel:
        """Text to symbols of its tokens, in blocks of 1024 as the pipeline reads them."""
        data = self.placed((text * (1 + size // len(text)))[:size].encode())
        out, unit = np.empty(len(data) + 2, np.uint64), getattr(self.c, f"ND_{item.upper()}")
        reading, reduction = self.new("nd_text"), self.new("nd_text_table")
        at, to = address(data), address(out)
        self.c.nd_text_table_init(reduction, Q & LOW)

        def run() -> NDArray[np.uint64]:
            self.c.nd_text_open(reading, unit, reduction, at, len(data), ffi.NULL)
            return out[: self.c.nd_units_read(reading, to, len(out))]

        def expected() -> list[int]:
            head = data.tobytes()[: 40 * CHECKED].decode(errors="ignore")
            return [reference_shingling.symbol(token) for token in reference_text.tokens(head, item)[:CHECKED]]

        kernel = f"tokenise, {name}" if item == "word" else f"{item}s, {name}"
        return Kernel("text" if item == "word" else "", kernel, item, len(run()), len(data), run, expected)

    def places(self, name: str, text: str, size: int) -> Kernel:
        """The characters before 100 places of a text in UTF-8."""
        known = (text * (1 + size // len(text)))[:size]
        numbers, batch, flags = np.arange(100) * (size // 100), Batch([known]), np.ones(1, np.uint8)
        offsets = np.array([len(known[:n].encode()) for n in numbers.tolist()])
        return Kernel("", f"characters before places, {name}", "byte", int(offsets[-1]), int(offsets[-1]),
                      lambda: _text.characters(batch, np.array([0, 100]), offsets, flags), numbers.tolist)

    def normalise(self, name: str, text: str, size: int) -> Kernel:
        """Text to its normal form NFKC, folded, in one piece of at most 64 KiB."""
        head = (text * (1 + size // len(text))).encode()[: min(size, 1 << 16)]
        data = self.placed(head.decode(errors="ignore").encode())
        scratch, out = np.empty(2 * (6 * len(data) + 18), np.uint32), np.empty(12 * len(data) + 36, np.uint8)
        at, work, to = address(data), address(scratch), address(out)

        def expected() -> list[int]:
            points = reference_text.decode(data.tobytes())
            kept = [c for c in points if c is not None and c not in reference_text.IGNORABLE]
            return list(reference_text.encode(reference_text.nfkc(reference_text.fold(kept))))

        return Kernel("", f"NFKC, {name}", "byte", len(data), len(data),
                      lambda: out[: self.c.nd_nfkc(at, len(data), 1, work, to)], expected)

    def line_of_json(self, name: str, text: str, size: int, escaped: bool) -> Kernel:
        """A line of JSON with a text of about so many bytes to this text."""
        text = (text * (1 + size // len(text)))[: size // (6 if escaped else 1)]
        data = self.placed(json.dumps({"text": text}, ensure_ascii=escaped).encode())
        fields = self.new("struct nd_jsonl_fields", text=np.frombuffer(b"text", np.uint8), text_size=4)
        out, record = np.empty(len(data), np.uint8), self.new("struct nd_jsonl_record")
        at, to = address(data), address(out)

        def run() -> NDArray[np.uint8]:
            self.c.nd_jsonl_line(at, at + len(data), fields, to, record)
            return out[: record.text_size]

        form = "escaped" if escaped else "UTF-8"
        return Kernel("", f"line of JSON, {name}, {form}", "byte", len(data), len(data), run, lambda: list(text.encode()))

    def encode(self, name: str, text: str, size: int) -> Kernel:
        """str, in units of 1, 2 or 4 bytes as Python has it, to UTF-8."""
        known = (text * (1 + size // len(text)))[:size]
        highest = max(map(ord, known))
        unit = np.uint8 if highest < 1 << 8 else np.uint16 if highest < 1 << 16 else np.uint32
        points, out = np.array([ord(c) for c in known], unit), np.empty(4 * len(known), np.uint8)
        at, to, width = address(points), address(out), points.itemsize

        def run() -> NDArray[np.uint8]:
            self.c.nd_utf8_size(width, at, len(points))
            return out[: self.c.nd_utf8(width, at, len(points), to)]

        return Kernel("", f"str to UTF-8, {name}", "code point", len(points), len(run()), run,
                      lambda: list(known.encode("utf-8", "surrogatepass")))

    # ---- Rabin

    def windows(self, n: int) -> Kernel:
        """Shingles of 5 symbols."""
        symbols, out, drop = self.words64(n + 4), np.empty(n, np.uint64), self.new("nd_rabin_symbol_window")
        self.c.nd_rabin_symbol_window_init(drop, self.rabin, 5)
        run = calling(out, self.c.nd_rabin_symbols, self.rabin, drop, 5, address(symbols), n + 4, address(out))
        return Kernel("rabin", "Rabin, 5 symbols", "shingle", n, 8 * n, run,
                      lambda: [reference_rabin.words(symbols[i : i + 5].tolist(), P) for i in range(min(n, CHECKED))])

    def sliding(self, n: int) -> Kernel:
        """Byte windows of 48."""
        data, out, drop = self.placed(self.rng.bytes(n)), np.empty(n, np.uint64), self.new("nd_rabin_byte_window")
        self.c.nd_rabin_byte_window_init(drop, self.rabin, 48)
        run = calling(out[: n - 47], self.c.nd_rabin_sliding, self.rabin, drop, 48, address(data), n, address(out))
        return Kernel("", "Rabin, sliding 48 bytes", "byte", n, n, run,
                      lambda: reference_rabin.sliding(data.tobytes()[: CHECKED + 47], 48, P))

    def whole(self, n: int) -> Kernel:
        """A string of n bytes."""
        data = self.placed(self.rng.bytes(n))
        at = address(data)
        return Kernel("rabin", "Rabin, whole string", "byte", n, n, lambda: [self.c.nd_rabin_bytes(self.rabin, 0, at, n)],
                      lambda: [reference_rabin.fingerprint(data.tobytes(), P)])

    # ---- sketches

    def streamed(self, name: str, state: Any, fingerprints: NDArray[np.uint64],
                 result: Callable[[], NDArray[Any]]) -> Callable[[], NDArray[Any]]:
        """The function that opens a sketch of this name, takes the fingerprints, closes it, and returns its result."""
        begin, take, end = (getattr(self.c, f"nd_{name}_{step}") for step in ("open", "take", "close"))
        at, n = address(fingerprints), len(fingerprints)

        def run() -> NDArray[Any]:
            begin(state)
            take(state, at, n)
            end(state)
            return result()

        return run

    def minima(self, n: int, count: int, bits: int) -> Kernel:
        """Permutation minima of n fingerprints; the reference sees the first few of them."""
        key, a, b = self.coefficients(count)
        word = np.uint32 if bits == 32 else np.uint64
        a, b = a.astype(word), b.astype(word)
        fingerprints, out = self.words64(n), np.empty(count, word)
        state = self.new(f"nd_minima{bits}", k=count, key=key, a=a, b=b, minima=out)
        take, at = getattr(self.c, f"nd_minima{bits}_take"), address(fingerprints)

        def run() -> Any:
            out.fill(np.iinfo(word).max)
            take(state, at, n)
            return out

        def expected() -> list[int]:
            head = reference_sketches.signature(fingerprints[:CHECKED].tolist(), count, bits)
            known = minima_by_numpy(fingerprints[:CHECKED], key, a, b)
            return minima_by_numpy(fingerprints, key, a, b).tolist() if known.tolist() == head else head

        return Kernel("minhash", f"{count} minima, {bits} bits", "shingle", n, 8 * n, run, expected)

    def bottom(self, n: int, size: int = 200) -> Kernel:
        """MIN_s of n fingerprints."""
        fingerprints, members, early_size = self.words64(n), np.empty(size, np.uint64), max(EARLY, 2 * size)
        state = self.new("nd_bottom", size=size, early_size=early_size, key=self.permutation["key"], members=members,
                         early=np.empty(3 * early_size, np.uint64))
        run = self.streamed("bottom", state, fingerprints, lambda: members[: state.count])
        return Kernel("", f"bottom {size}", "shingle", n, 8 * n, run,
                      lambda: reference_sketches.bottom(fingerprints[:100_000].tolist(), size) if n <= 100_000 else run())

    def mod(self, n: int, modulus: int) -> Kernel:
        """MOD_m of n fingerprints; modulus 0: the adaptive sample."""
        fingerprints, (members, scratch) = self.words64(n), np.empty((2, n), np.uint64)
        state = self.new("nd_mod", **self.permutation, size=LOW, adaptive=modulus == 0, members=members, scratch=scratch)
        self.c.nd_mod_init(state, modulus or 1)
        run = self.streamed("mod", state, fingerprints, lambda: members[: state.count])

        def expected() -> list[int]:
            listed = fingerprints.tolist()
            return reference_sketches.mod(listed, modulus) if modulus else reference_sketches.adaptive(listed)[1]

        return Kernel("modsketch", f"mod {modulus}" if modulus else "mod, adaptive", "shingle", n, 8 * n, run, expected)

    def winnow(self, n: int, window: int) -> Kernel:
        """Winnow n fingerprints."""
        fingerprints, values = self.words64(n), np.empty(n, np.uint64)
        state = self.new("nd_winnow", **self.permutation, window=window, robust=1, values=values,
                         scratch=np.empty(self.c.nd_winnow_scratch_size(window), np.uint64), positions=np.empty(n, np.int64))
        run = self.streamed("winnow", state, fingerprints, lambda: values[: state.count])
        return Kernel("", f"winnow {window}", "shingle", n, 8 * n, run,
                      lambda: [z for z, _ in reference_sketches.winnow(fingerprints.tolist(), window)])

    def fast(self, n: int, count: int) -> Kernel:
        """Fast similarity sketch of n fingerprints."""
        fingerprints, out = self.words64(n), np.empty(count, np.uint32)
        state = self.new("nd_fastsketch", t=count, key=self.permutation["key"], room=n, coordinates=out,
                         slots=np.empty(count, np.uint64), kept=np.empty(3 * n, np.uint64),
                         table=np.empty(self.c.ND_FASTSKETCH_PLACES, np.uint16))
        run = self.streamed("fastsketch", state, fingerprints, lambda: out)
        return Kernel("", f"fast sketch, {count} coordinates", "shingle", n, 8 * n, run,
                      lambda: reference_sketches.fast_signature(fingerprints.tolist(), count))

    def digests(self, n: int, size: int) -> Kernel:
        """Digests of n texts of some `size` bytes."""
        sizes = self.rng.integers(size // 2, size + size // 2, n).astype(np.uint64)
        data, ends = self.placed(self.rng.bytes(int(sizes.sum()))), sizes.cumsum()
        texts, out = address(data.ctypes.data + ends - sizes, "const uint8_t *"), np.empty(16 * n, np.uint8)
        run = calling(out, self.c.nd_digest_many, texts, address(sizes, "size_t"), n, address(out))

        def expected() -> list[int]:
            listed = [reference_text.digest(text.tobytes()) for text in np.split(data, ends[:-1].astype(np.int64))]
            return list(b"".join(listed))

        return Kernel("digest", f"digests of {size} bytes", "text", n, int(sizes.sum()), run, expected)

    def simhash(self, n: int, weights: str, bits: int = 64) -> Kernel:
        """Simhash of n fingerprints, mixing included: equal weights, weights along them, or looked up in a table of n."""
        fingerprints, units = self.words64(n), self.rng.integers(0, 20 << 16, n, np.int32)
        words = np.zeros(bits // 64, np.uint64)
        at, beside, value, name = address(fingerprints), address(units), address(words), "simhash"
        arguments: tuple[Any, ...] = (at, n)
        if weights == "equal":
            state = self.new("nd_simhash", **self.permutation, words=len(words))
        else:
            mixed, room = np.array(reference_sketches.permute(fingerprints.tolist()), np.uint64), 3 * n + 1  # nd_table_room
            table = self.new("nd_weights", slots=ffi.new("nd_weight[]", room), room=room, key=TABLE_KEY)
            self.c.nd_weights_fill(table, address(mixed), beside, n)
            state = self.new("nd_simhash_weighted", **self.permutation, table=table, words=len(words))
            name = "simhash_weighted"
            arguments = (at, beside, n) if weights == "given" else (at, n)
        begin, end = (getattr(self.c, f"nd_{name}_{step}") for step in ("open", "value"))
        take = getattr(self.c, f"nd_{name}_{'add' if weights == 'given' else 'take'}")

        def run() -> list[int]:
            begin(state)
            take(state, *arguments)
            end(state, value)
            return words.tolist()

        def expected() -> list[int]:
            given = None if weights == "equal" else (units / 65536).tolist()
            whole = reference_sketches.simhash(fingerprints.tolist(), given, bits=bits)
            return [(whole >> low) % 2**64 for low in range(bits - 64, -1, -64)]

        label = f"simhash, weights {weights}" if bits == 64 else f"simhash of {bits} bits, weights {weights}"
        return Kernel("simhash", label, "feature", n, 8 * n, run, expected)

    # ---- pairs

    def overlap(self, n: int) -> Kernel:
        """Two samples of n values, half of them common, compared."""
        words = np.sort(self.words64(n + n // 2))
        common = self.rng.permutation(len(words)) < n // 2
        own = np.flatnonzero(~common)
        a, b = (np.ascontiguousarray(words[np.sort(np.concatenate([np.flatnonzero(common), own[k::2]]))]) for k in (0, 1))
        counts = np.empty(3, np.int64)
        run = calling(counts, self.c.nd_sets_overlap, address(a), len(a), address(b), len(b), LOW, 0, address(counts))

        def expected() -> list[int]:
            (both, total), (_, in_a) = reference_resemblance.mod_counts(a.tolist(), b.tolist())
            return [both, total, in_a]

        return Kernel("", "overlap of two samples", "value", len(a) + len(b), 8 * (len(a) + len(b)), run, expected)

    def sort(self, n: int) -> Kernel:
        """Entries (random key, id), copied and sorted; the copy is timed too."""
        entries = np.stack([self.words64(n), np.arange(n, dtype=np.uint64)], axis=1)
        work, scratch = entries.copy(), entries.copy()
        at, beside = address(work, "nd_entry"), address(scratch, "nd_entry")

        def run() -> NDArray[np.uint64]:
            work[:] = entries
            self.c.nd_sort_entries(at, beside, n)
            return work.ravel()

        return Kernel("", "radix sort, 16-byte entries", "entry", n, 16 * n, run,
                      lambda: entries[np.argsort(entries[:, 0], kind="stable")].ravel())

    def features(self, n: int) -> Kernel:
        """6 features of 14 minima of n signatures."""
        rows = self.rng.integers(0, 1 << 32, (n, 84), np.uint32)
        return Kernel("", "features 6×14", "feature", 6 * n, 84 * 4 * n,
                      lambda: np.asarray(_candidates.features(rows, 14, 0, 6, R)).ravel(),
                      lambda: [feature for row in rows[:5].tolist() for feature in reference_sketches.features(row)])


def kernels(bench: Bench, quick: bool) -> Iterator[Kernel]:
    """All kernels on all sizes."""
    scripts = {
        "ASCII": bench.text.encode("ascii", "ignore").decode(),
        "Russian": "Первый документ похож на второй, но не совсем; слова повторяются редко. ",
        "Hindi": "पहला दस्तावेज़ दूसरे जैसा है, पर बिल्कुल वैसा नहीं; शब्द कम दोहराए जाते हैं। ",
        "Chinese": "第一份文件与第二份文件大致相同，但并不完全一样；词语很少重复。",
    }
    for name, text in scripts.items():
        for size in (4_000,) if quick else (4_000, 300_000):
            yield bench.tokenise(name, text, size)
            yield bench.normalise(name, text, size)
            for unit in ("char", "grapheme"):
                yield bench.tokenise(name, text, size, unit)
    for name, text in {**scripts, "typeset English": bench.text}.items():
        yield bench.encode(name, text, 4_000 if quick else 300_000)
        yield bench.places(name, text, 4_000 if quick else 300_000)
        for escaped in (False,) if text.isascii() else (False, True):
            yield bench.line_of_json(name, text, 4_000 if quick else 300_000, escaped)
    for n in (1_000,) if quick else (1_000, 100_000):
        yield from (bench.windows(n), bench.sliding(n), bench.whole(n))
        for bits in (32, 64):
            for count in (84, 128):
                yield bench.minima(n, count, bits)
        yield from (bench.bottom(n), bench.mod(n, 25), bench.mod(n, 0), bench.winnow(n, 16), bench.fast(n, 128))
        for weights in ("equal", "given", "looked up"):
            for bits in (64, 128, 256):
                yield bench.simhash(n, weights, bits)
    for size in (100, 500, 9_000):
        yield bench.digests(20 if quick else 400, size)
    yield bench.overlap(200)
    for n in (10_000,) if quick else (100_000, 4_000_000):
        yield bench.sort(n)
    yield bench.fast(10, 128)
    yield bench.features(1_000 if quick else 50_000)


def forms(kernel: Kernel) -> list[str]:
    """The variants of a kernel that run here."""
    known = ndcore.variants().get(kernel.stem, {"portable": "running"})
    return [name for name, state in known.items() if state != "not on this CPU"]


def measured(report: Report, bench: Bench, kernel: Kernel, given: Namespace) -> Iterator[list[Any]]:
    """Rows of the table: check each variant, then time them in turns."""
    cases = {}
    for form in forms(kernel):
        if not native.use(bench.c, kernel.stem, form):
            report.require(False, f"{kernel.name}: the variant {form} cannot be chosen")
            continue
        expected = list(kernel.expected())
        found = list(kernel.run())[: len(expected)]
        report.require(found == expected, f"{kernel.name}, {kernel.items} items, {form}: not what the reference says")
        run = loops(kernel.run, 0.0005 if given.quick else 0.02)
        cases[form] = (run, lambda run=run, form=form: (native.use(bench.c, kernel.stem, form), run()))
    times = interleaved({form: case for form, (_, case) in cases.items()}, given.repeats, given.warm_up)
    native.use(bench.c, kernel.stem, None)
    for form, taken in times.items():
        count = cases[form][0].count  # type: ignore[attr-defined]
        items, size = kernel.items * count, kernel.bytes * count
        yield [kernel.name, form, kernel.items, kernel.item, 1e9 * taken.median / items, 1e9 * taken.least / items,
               100 * taken.spread, size / taken.median / 1e9]


def ask(report: Report, given: Namespace) -> None:
    """Measure all kernels."""
    library, report.details["compiled"] = native.compiled()
    table = report.table("kernels", "Kernels, one core", [
        "kernel", "variant", "items", "item", "ns/item", "least", "IQR %", "GB/s"])
    bench = Bench(library, seed=1)
    with pinned():
        for kernel in kernels(bench, given.quick):
            say(f"{kernel.name}, {kernel.items} items")
            for row in measured(report, bench, kernel, given):
                table.add(*row)


if __name__ == "__main__":
    program("kernels", ask, __doc__, repeats=20)
