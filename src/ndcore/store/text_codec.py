"""Compress the texts of a store, with a dictionary that is trained on its first texts."""

from __future__ import annotations

import threading
import zlib
from collections.abc import Sequence
from typing import Any

from ndcore._types import Text
from ndcore.storage.container import CorruptFile
from ndcore.text.inputs import as_bytes

RAW, ZLIB, ZSTANDARD, TRAINED = range(4)
BYTES = 16  # flag added to the codec of a text that was given as bytes
LEVEL = 3
SAMPLES, SAMPLE_BYTES = 1000, 4 << 20  # most texts, and bytes of texts, for training a dictionary
DICTIONARY = 65536  # bytes
TRAINING = {"k": 200, "d": 8}  # lengths of segments and substrings; searching for better ones takes five times as long
LARGEST = 1 << 30  # bytes of a text
FREE, RATIO = 64 << 20, 1100  # a longer text expands at most by this ratio, which zlib cannot exceed
TOGETHER = 64 << 20  # most bytes of texts that are compressed together
SHORT = 64  # shorter texts are not worth compressing


class TextCodec:
    """A compressor of texts, by zstandard if it is installed, else by zlib. Several threads may call its methods.

    A dictionary holds what pages of a store have in common, which a compressor of short texts could not know otherwise. It
    is trained once, on a thread, when there are enough texts; the owner writes it to the log and then calls `learn`.

    Attributes
    ----------
    dictionary : bytes
        Empty until there is one.
    """

    def __init__(self) -> None:
        try:
            import zstandard
        except ImportError:
            self._zstandard: Any = None
        else:
            self._zstandard = zstandard
        self.dictionary = b""
        self._trained: Any = None  # the dictionary as an object of zstandard
        self._samples: list[bytes] = []
        self._size = 0
        self._training: threading.Thread | None = None
        self._ready: bytes | None = None
        self._local = threading.local()

    def pack(self, data: bytes, as_bytes: bool) -> bytes:
        """Compress a text."""
        codec, packed = RAW, data
        if len(data) > SHORT:
            if self._zstandard is None:
                codec, packed = ZLIB, zlib.compress(data, 6)
            else:
                trained = self._trained
                codec = ZSTANDARD if trained is None else TRAINED
                packed = self._tools(trained)[0].compress(data)
                if _is_swollen(len(data), len(packed)):
                    codec, packed = ZLIB, zlib.compress(data, 6)
            if len(packed) >= len(data):
                codec, packed = RAW, data
        return bytes([codec + (BYTES if as_bytes else 0)]) + packed

    def pack_many(self, texts: Sequence[Text]) -> list[bytes]:
        """Compress texts; with zstandard, all at once without the GIL."""
        data = [as_bytes(text) for text in texts]
        long = [each for each in data if len(each) > SHORT]
        if self._zstandard is None or len(long) < len(data) or sum(map(len, long)) > TOGETHER or not long:
            return [self.pack(each, isinstance(text, bytes)) for each, text in zip(data, texts, strict=True)]
        trained = self._trained
        packed = self._tools(trained)[0].multi_compress_to_buffer(long, threads=1)
        codec = ZSTANDARD if trained is None else TRAINED
        heads = [bytes([codec + (BYTES if isinstance(text, bytes) else 0)]) for text in texts]
        return [head + packed[i].tobytes() for i, head in enumerate(heads)]

    def unpack(self, packed: bytes) -> Text:
        """Decompress a text. Raises CorruptFile if it cannot be read, ImportError if zstandard is missing."""
        try:
            data = self._decompress(packed[0] & (BYTES - 1), packed[1:])
            return data if packed[0] & BYTES else data.decode("utf-8", "surrogatepass")
        except (ValueError, IndexError, zlib.error, MemoryError) as error:
            raise CorruptFile(f"the text of a document cannot be read: {error}; check the store") from error

    @property
    def sampling(self) -> bool:
        """Whether texts are wanted for training a dictionary."""
        return self._zstandard is not None and not self.dictionary and self._training is None

    def sample(self, text: Text, *, train: bool = True) -> None:
        """Add a text to the samples. train: start training when there are enough."""
        if not self.sampling or len(text) <= SHORT:
            return
        data = as_bytes(text)
        self._samples.append(data[: SAMPLE_BYTES // 64])
        self._size += len(self._samples[-1])
        if train and (len(self._samples) >= SAMPLES or self._size >= SAMPLE_BYTES):
            self._training = threading.Thread(target=self._train, name="ndcore dictionary", daemon=True)
            self._training.start()

    def take_trained(self, *, wait: bool = False) -> bytes | None:
        """Return a new dictionary, once, when there is one. wait: train it now on the samples."""
        if wait and not self.dictionary and self._ready is None and self._samples:
            self._train()
        ready, self._ready = self._ready, None
        return ready

    def learn(self, dictionary: bytes) -> None:
        """Use a dictionary from now on. Raises CorruptFile if the bytes are not one."""
        if self._zstandard is not None:
            try:
                trained = self._zstandard.ZstdCompressionDict(dictionary)
                trained.precompute_compress(level=LEVEL)
            except (self._zstandard.ZstdError, ValueError) as error:
                raise CorruptFile(f"a dictionary of the store cannot be read: {error}; check the store") from error
            self._trained = trained
        self.dictionary = dictionary
        self._samples = []

    def _train(self) -> None:
        """Train a dictionary on the samples."""
        try:
            self._ready = self._zstandard.train_dictionary(DICTIONARY, self._samples, level=LEVEL, **TRAINING).as_bytes()
        except (self._zstandard.ZstdError, MemoryError):  # too few or too short texts: continue without
            self._samples = []

    def _tools(self, trained: Any) -> tuple[Any, Any]:
        """Return the compressor and decompressor of this thread for a dictionary or None."""
        held = getattr(self._local, "tools", None)
        if held is None or held[0] is not trained:
            made = {} if trained is None else {"dict_data": trained}
            held = (trained, (self._zstandard.ZstdCompressor(level=LEVEL, write_dict_id=False, **made),
                              self._zstandard.ZstdDecompressor(**made)))
            if trained is None or self._trained is trained:
                self._local.tools = held
        tools: tuple[Any, Any] = held[1]
        return tools

    def _decompress(self, codec: int, packed: bytes) -> bytes:
        if codec == RAW:
            return packed
        if codec == ZLIB:
            reading = zlib.decompressobj()
            data = reading.decompress(packed, LARGEST)
            if not reading.eof or reading.unused_data:
                raise ValueError("its compressed bytes are not of one text")
            return data
        if codec not in (ZSTANDARD, TRAINED):
            raise ValueError(f"unknown codec {codec}")
        if self._zstandard is None:
            raise ImportError("the texts of this store are compressed with zstandard: pip install 'ndcore[store]'")
        if codec == TRAINED and self._trained is None:
            raise ValueError("the dictionary is missing")
        try:
            size = self._zstandard.frame_content_size(packed)
            if not 0 <= size <= LARGEST or _is_swollen(size, len(packed)):
                raise ValueError(f"{len(packed)} bytes say that they are a text of {size} bytes; nothing stores such a text")
            return bytes(self._tools(self._trained)[1].decompress(packed))
        except self._zstandard.ZstdError as error:
            raise ValueError(str(error)) from error


def _is_swollen(size: int, packed: int) -> bool:
    """Tell whether a text is too long for its compressed bytes; a text that is costly to read must be large on disk, too."""
    return size > FREE and size > RATIO * packed
