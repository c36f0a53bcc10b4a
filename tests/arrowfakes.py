"""Arrow arrays and streams of any content, made by ctypes."""

from __future__ import annotations

import ctypes
import struct


class Schema(ctypes.Structure):
    pass


class Array(ctypes.Structure):
    pass


class Stream(ctypes.Structure):
    pass


def release_of(kind):
    return ctypes.CFUNCTYPE(None, ctypes.POINTER(kind))


_GET_SCHEMA = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Schema))
_GET_NEXT = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.POINTER(Stream), ctypes.POINTER(Array))
_LAST_ERROR = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.POINTER(Stream))
Schema._fields_ = [
    ("format", ctypes.c_char_p), ("name", ctypes.c_char_p), ("metadata", ctypes.c_char_p), ("flags", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("children", ctypes.POINTER(ctypes.POINTER(Schema))),
    ("dictionary", ctypes.POINTER(Schema)), ("release", release_of(Schema)), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Array._fields_ = [
    ("length", ctypes.c_int64), ("null_count", ctypes.c_int64), ("offset", ctypes.c_int64), ("n_buffers", ctypes.c_int64),
    ("n_children", ctypes.c_int64), ("buffers", ctypes.POINTER(ctypes.c_void_p)), ("children", ctypes.c_void_p),
    ("dictionary", ctypes.POINTER(Array)), ("release", release_of(Array)), ("private_data", ctypes.c_void_p),
]  # fmt: skip
Stream._fields_ = [
    ("get_schema", _GET_SCHEMA), ("get_next", _GET_NEXT), ("get_last_error", _LAST_ERROR), ("release", release_of(Stream)),
    ("private_data", ctypes.c_void_p),
]  # fmt: skip

_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]


class Fake:
    """An array of any content through `__arrow_c_array__`, or several through `__arrow_c_stream__`; counts releases.

    The capsules have no destructors: what ndcore does not release stays as it is.
    """

    names = (b"arrow_schema", b"arrow_array", b"arrow_array_stream")

    def __init__(self, layout, length, buffers, *, null_count=0, offset=0, dictionary=None):
        self.released = 0
        self.alive = [buffer and ctypes.create_string_buffer(buffer, len(buffer)) for buffer in buffers or ()]
        addresses = (ctypes.c_void_p * (len(self.alive) + 1))(
            *(None if buffer is None else ctypes.addressof(buffer) if buffer else 64 for buffer in self.alive)
        )
        self.schema = Schema(layout.encode() if isinstance(layout, str) else layout)
        self.array = Array(length, null_count, offset)
        self._done = (release_of(Schema)(self._release_schema), release_of(Array)(self._release_array))
        self.schema.release, self.array.release = self._done
        self.array.n_buffers = len(self.alive)
        if buffers is not None:
            self.array.buffers = ctypes.cast(addresses, ctypes.POINTER(ctypes.c_void_p))
            self.alive.append(addresses)
        if dictionary:
            self.alive.append(dictionary)
            self.schema.dictionary = ctypes.pointer(dictionary.schema)
            self.array.dictionary = ctypes.pointer(dictionary.array)

    def _release_schema(self, schema):
        schema.contents.release = release_of(Schema)()

    def _release_array(self, array):
        assert array.contents.release
        array.contents.release = release_of(Array)()
        self.released += 1

    def __arrow_c_array__(self, requested_schema=None):
        assert requested_schema is None
        return tuple(
            _new_capsule(ctypes.addressof(each), name, None)
            for each, name in zip((self.schema, self.array), self.names, strict=False)
        )


class FakeStream:
    """Fakes one after another, with the schema of the first. `fails` is the call that reports an error."""

    def __init__(self, *fakes, fails=None, message=b"the disk is gone"):
        self.fakes, self.fails, self.message, self.released = fakes, fails, message, 0
        self.taken = 0    # the fakes stay alive until they are released
        self.schema = fakes[0].schema
        self.buffer = ctypes.create_string_buffer(message) if message else None
        self.stream = Stream(
            _GET_SCHEMA(self._get_schema), _GET_NEXT(self._get_next), _LAST_ERROR(self._error),
            release_of(Stream)(self._release),
        )

    def _get_schema(self, stream, out):
        ctypes.memmove(out, ctypes.addressof(self.schema), ctypes.sizeof(Schema))
        return 5 if self.fails == "get_schema" else 0

    def _get_next(self, stream, out):
        if self.taken == len(self.fakes):
            if self.fails == "get_next":
                ctypes.memset(out, 0xEE, ctypes.sizeof(Array))
                return 5
            out.contents.release = release_of(Array)()
            return 0
        ctypes.memmove(out, ctypes.addressof(self.fakes[self.taken].array), ctypes.sizeof(Array))
        self.taken += 1
        return 0

    def _error(self, stream):
        return ctypes.addressof(self.buffer) if self.buffer else None

    def _release(self, stream):
        self.released += 1
        stream.contents.release = release_of(Stream)()

    def __arrow_c_stream__(self, requested_schema=None):
        return _new_capsule(ctypes.addressof(self.stream), b"arrow_array_stream", None)


def i32(*values):
    return struct.pack(f"={len(values)}i", *values)


def i64(*values):
    return struct.pack(f"={len(values)}q", *values)


def strings(**changes):
    """Make the column ["ab", "", "cde"]."""
    given_ = {"layout": "u", "length": 3, "buffers": [None, i32(0, 2, 2, 5), b"abcde"], **changes}
    return Fake(given_.pop("layout"), given_.pop("length"), given_.pop("buffers"), **given_)


def view(size, buffer, offset):
    return i32(size, 0, buffer, offset)


def views(*items, data=(b"abcdefghijklmnopqrstuvwxyz",), **changes):
    buffers = [None, b"".join(items), *data, i64(*map(len, data)) if data else None]
    return Fake("vu", len(items), buffers, **changes)


def indexed(indices, layout="c", **changes):
    return Fake(layout, len(indices), [None, bytes(indices)], dictionary=strings(), **changes)
