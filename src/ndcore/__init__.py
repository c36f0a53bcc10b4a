"""Find near-duplicate documents.

MinHash signatures, other sketches, LSH filters, exact Jaccard similarity (resemblance) and clusters as Broder (1997,
2000) and Broder et al. (1997) define them; simhash and its search as Manku et al. (2007) define them. `near_duplicates`
does the main job; its parts are public.
"""

import functools
import importlib
import os
import sys

from ndcore._version import __version__ as __version__

# The public names are listed in `__init__.pyi`, which this module and type checkers read. Each is imported when it is first
# used (PEP 562), so a program that reads only `ndcore.__version__` does not load NumPy, sockets and asyncio.


# Folders that users take for functions, because commands have these names -> the functions they look for.
_SOUGHT = {
    "collection": "Collection.build", "dedup": "near_duplicates", "hamming": "hamming_pairs",
    "sketch": "MinHasher().sketch_many", "store": "Store.open",
}


class _Module(type(sys)):  # type: ignore[misc]
    """A module that is pickled by its name, so that functions which name it can go to tasks of Spark, Dask or Ray."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        return importlib.import_module, (self.__name__,)


class _Folder(_Module):
    """A folder of modules that, when called, raises an error with the name of the function that is meant."""

    def __call__(self, *_: object, **__: object) -> None:
        raise TypeError(f"{self.__name__} is a folder of modules, not a function; did you mean "
                        f"ndcore.{_SOUGHT[self.__name__.rpartition('.')[2]]}?")


class _Package(_Module):
    """The class of this module; a folder in `_SOUGHT` becomes a `_Folder` when an import sets it here."""

    def __setattr__(self, name: str, value: object) -> None:
        if name in _SOUGHT and type(value) is type(sys):
            value.__class__ = _Folder
        super().__setattr__(name, value)


sys.modules[__name__].__class__ = _Package


def get_include() -> str:
    """Return the directory of the C headers, for programs that embed the kernels."""
    from pathlib import Path  # takes three times as long to import as this module

    return str(Path(__file__).parent / "core")


@functools.cache
def _homes() -> dict[str, str]:
    """Read the module of every public name from the stub; "." is the home of public modules."""
    stub = f"{__path__[0]}{os.sep}__init__.pyi"
    try:
        lines = __spec__.loader.get_data(stub).decode().splitlines()
    except OSError as error:
        raise ImportError(f"cannot read {stub}, the list of ndcore's names: {error.strerror}; install ndcore again, or let "
                          "the tool that copied its modules copy its data files, too") from error
    return {name: home for _, home, _, name, *_ in (line.split() for line in lines if line.startswith("from "))}


def __getattr__(name: str) -> object:
    """Import a public name, or make `__all__`, when it is first used."""
    homes = {} if name.startswith("_") and name != "__all__" else _homes()
    if name == "__all__":
        value: object = sorted([*(public for public, home in homes.items() if home != "."), "get_include"])
    elif name not in homes:
        meant = f"; did you mean ndcore.{_SOUGHT[name]}?" if name in _SOUGHT else ""
        raise AttributeError(f"module 'ndcore' has no attribute {name!r}{meant}", name=name, obj=sys.modules[__name__])
    elif homes[name] == ".":
        value = importlib.import_module(f"ndcore.{name}")
    else:
        value = getattr(importlib.import_module(homes[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *_homes()})


if os.environ.get("NDCORE_VARIANT"):
    importlib.import_module("ndcore.kernels")  # a demand that cannot be met stops the import
