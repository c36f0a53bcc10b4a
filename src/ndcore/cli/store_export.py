"""``ndcore store export``: the pages of a store as a table for a collection that grows, on Spark."""

from __future__ import annotations

from ndcore.cli.account import Account, present
from ndcore.cli.commands import ExportOptions
from ndcore.cli.store_access import measure_disk, open_store
from ndcore.files.errors import DocumentError, UsageError
from ndcore.human import counted, human_bytes, printable
from ndcore.spark.collection import GrowingCollection
from ndcore.storage.container import CorruptFile

__all__ = ["run_export"]


def run_export(options: ExportOptions) -> int:
    """Run ``ndcore store export``."""
    try:
        collection = GrowingCollection.open(options.collection)
    except CorruptFile:
        raise
    except FileNotFoundError:
        raise DocumentError(options.collection, None, "no collection of ndcore.spark; Collection.create makes one") from None
    except ValueError as error:
        raise UsageError(str(error)) from None
    with open_store(options.store, progress=not options.quiet) as store:
        try:
            pages = collection.export(store, options.copy, name=options.name, progress=not options.quiet)
        except FileExistsError:
            raise UsageError(f"{options.copy} exists already; name another directory") from None
        except CorruptFile:
            raise
        except (LookupError, TypeError, ValueError) as error:
            raise DocumentError(options.store, None, str(error)) from None
    options.outcome.written = True
    size = measure_disk(options.copy)
    data = {"store": options.store, "collection": options.collection, "export": options.copy, "pages": pages, "bytes": size}
    return present(options, Account(data, [
        f"Exported {counted(pages, 'page')}, {human_bytes(size)}, to {printable(options.copy)}"]))
