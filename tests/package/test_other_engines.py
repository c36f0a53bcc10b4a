"""examples/engines: each adapter keeps the documents that near_duplicates keeps; docs/other-engines.md shows them."""

from __future__ import annotations

import functools
import importlib.util
import random
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from generated import corpus

import ndcore as nd

ROOT = Path(__file__).parents[2]
FOLDER = ROOT / "examples" / "engines"
ADAPTERS = sorted(FOLDER.glob("with_*.py"))
TEXTS = [text if isinstance(text, str) else text.decode() for text in corpus(random.Random(11), 150)]
SHUFFLED = random.Random(1).sample(range(150), 150)
ROWS = {"text": [TEXTS[i] for i in SHUFFLED], "length": [len(TEXTS[i]) for i in SHUFFLED], "id": SHUFFLED}


def adapter(engine: str) -> ModuleType:
    """Load the module of an engine; skip the test where the engine is not installed."""
    pytest.importorskip("pyarrow", reason="the extra parquet is not installed")
    pytest.importorskip(engine, reason=f"{engine} is not installed")
    place = importlib.util.spec_from_file_location(f"with_{engine}", FOLDER / f"with_{engine}.py")
    assert place is not None and place.loader is not None
    module = importlib.util.module_from_spec(place)
    place.loader.exec_module(module)
    return module


def rows_with(kind: Callable[[int], Any]) -> dict[str, list[Any]]:
    """Return the rows with ids of another type, in the same order."""
    return {**ROWS, "id": [kind(i) for i in SHUFFLED]}


@functools.cache
def kept_by_id(threshold: float = 0.8) -> list[int]:
    """Return the documents to keep, in the order of their ids."""
    kept: list[int] = nd.near_duplicates(TEXTS, threshold=threshold).keep_indices.tolist()
    assert 0 < len(kept) < len(TEXTS)
    return kept


@functools.cache
def kept_by_row() -> dict[str, list[Any]]:
    """Return the rows to keep, in their order."""
    kept = nd.near_duplicates(ROWS["text"], threshold=0.7).keep_indices
    return {name: [column[i] for i in kept] for name, column in ROWS.items()}


@pytest.mark.parametrize("kind", ["DataFrame", "LazyFrame"])
def test_polars(kind: str) -> None:
    module = adapter("polars")
    frame = getattr(module.pl, kind)(ROWS)
    found = module.deduplicate(frame, threshold=0.7)
    assert type(found) is type(frame) and found.lazy().collect().to_dict(as_series=False) == kept_by_row()
    assert module.deduplicate(frame.filter(module.pl.col("id") < 0)).lazy().collect().is_empty()


def test_polars_files(tmp_path: Path) -> None:
    module = adapter("polars")
    module.pl.DataFrame(ROWS).write_parquet(tmp_path / "rows.parquet", row_group_size=7)
    found = module.deduplicate(module.pl.scan_parquet(tmp_path / "rows.parquet"), threshold=0.7)
    assert found.collect().to_dict(as_series=False) == kept_by_row()
    assert found.filter(module.pl.col("id") > 70).select("id").collect()["id"].to_list() == [
        i for i in kept_by_row()["id"] if i > 70]


def test_polars_with_a_column_of_any_name() -> None:
    module = adapter("polars")
    frame = module.pl.DataFrame({**ROWS, "row": SHUFFLED, "row_row": SHUFFLED})
    assert module.deduplicate(frame, threshold=0.7)["row"].to_list() == kept_by_row()["id"]


@pytest.mark.parametrize("ids", ["(1), (1)", "(1), (NULL)"])
def test_duckdb_refuses_ids_that_name_no_document(ids: str) -> None:
    module = adapter("duckdb")
    with pytest.raises(ValueError, match=r"2 documents have the id 1|1 ids are missing"):
        module.deduplicate(module.duckdb.connect(), f"(SELECT id, 'words' AS text FROM (VALUES {ids}) AS pages(id))")


def test_duckdb() -> None:
    module, arrow = adapter("duckdb"), pytest.importorskip("pyarrow")
    connection = module.duckdb.connect()
    connection.register("pages", arrow.table({"body": ROWS["text"], "length": ROWS["length"], "number": SHUFFLED}))
    found = module.deduplicate(connection, "pages", "number", "body", threshold=0.8)
    assert found.columns == ["body", "length", "number"]
    assert sorted(row[2] for row in found.fetchall()) == kept_by_id()
    plain = nd.near_duplicates(TEXTS, threshold=0.8)
    verdicts = connection.sql("SELECT id, label, class FROM verdicts ORDER BY id").fetchall()
    assert verdicts == list(zip(range(150), plain.labels.tolist(), plain.classes.tolist(), strict=True))


def test_datasets() -> None:
    module, datasets = adapter("datasets"), pytest.importorskip("datasets")
    found = module.deduplicate(datasets.Dataset.from_dict(ROWS), threshold=0.7)
    assert found.to_dict() == kept_by_row()
    chosen = datasets.Dataset.from_dict(ROWS).select(SHUFFLED)
    texts = [ROWS["text"][i] for i in SHUFFLED]
    assert module.deduplicate(chosen)["text"][:] == [texts[i] for i in nd.near_duplicates(texts).keep_indices]


def test_datatrove() -> None:
    module = adapter("datatrove")
    from datatrove.data import Document

    documents = [Document(text=text, id=str(i)) for i, text in enumerate(TEXTS)]
    step = module.NearDuplicates(threshold=0.8)
    found = list(step.run(iter(documents)))
    assert [int(document.id) for document in found] == kept_by_id()
    assert sum(document.metadata["cluster_size"] for document in found) == len(TEXTS)
    with pytest.raises(ValueError, match="the pipeline has 2 tasks"):
        list(step.run(iter(documents), 0, 2))


@pytest.mark.parametrize("kind", [int, "page {:05}".format], ids=["int", "str"])
@pytest.mark.parametrize("threshold", [0.5, 0.8])
def test_dask(threshold: float, kind: Callable[[int], Any]) -> None:
    module = adapter("dask")
    pages = module.dd.from_pandas(module.pd.DataFrame(rows_with(kind)), npartitions=4, sort=False)
    found = module.deduplicate(pages, threshold).compute()
    assert list(found.columns) == list(ROWS) and sorted(found["id"].tolist()) == [kind(i) for i in kept_by_id(threshold)]


@pytest.mark.parametrize("threshold", [0.5, 0.8])
@pytest.mark.parametrize("kind", [int, "page {:05}".format], ids=["int", "str"])
def test_daft(threshold: float, kind: Callable[[int], Any]) -> None:
    module = adapter("daft")
    found = module.deduplicate(module.daft.from_pydict(rows_with(kind)), threshold).to_pydict()
    assert list(found) == list(ROWS) and sorted(found["id"]) == [kind(i) for i in kept_by_id(threshold)]


@pytest.fixture(scope="module")
def ray() -> Iterator[ModuleType]:
    module = adapter("ray")
    module.ray.init(num_cpus=1, include_dashboard=False, log_to_driver=False)
    yield module
    module.ray.shutdown()


@pytest.mark.slow
def test_ray(ray: ModuleType) -> None:
    arrow, kind = pytest.importorskip("pyarrow"), "page {:05}".format
    ray.ray.data.DataContext.get_current().target_max_block_size = 4096  # smaller than a part, which stays whole
    pages = ray.ray.data.from_arrow(arrow.table(rows_with(kind))).repartition(4)
    found = ray.deduplicate(pages, 0.8, parts=3).to_pandas()
    assert list(found.columns) == list(ROWS) and sorted(found["id"].tolist()) == [kind(i) for i in kept_by_id()]


def pages_in(engine: str, module: ModuleType, columns: dict[str, list[Any]]) -> Any:
    """Return a frame of an engine."""
    if engine == "dask":
        return module.dd.from_pandas(module.pd.DataFrame(columns), npartitions=2, sort=False)
    return module.daft.from_pydict(columns)


@pytest.mark.parametrize("engine", ["dask", "daft"])
def test_documents_of_long_runs(engine: str, monkeypatch: pytest.MonkeyPatch) -> None:
    module = adapter(engine)
    monkeypatch.setattr(module, "Shuffles", functools.partial(module.Shuffles, max_holders=2))
    assert nd.near_duplicates(TEXTS, threshold=0.8, filter="lsh", max_holders=2).common
    kept = module.deduplicate(pages_in(engine, module, ROWS), 0.8)
    kept = kept.compute() if engine == "dask" else kept.to_pydict()
    assert sorted(kept["id"]) == kept_by_id()


@pytest.mark.parametrize("engine", ["dask", "daft"])
@pytest.mark.parametrize("ids", [["a", "b", "a"], ["a", None, "b"]])
def test_ids_that_name_no_document_are_refused(engine: str, ids: list[str | None]) -> None:
    module = adapter(engine)
    pages = pages_in(engine, module, {"id": ids, "text": ["words", "others", "and more"]})
    with pytest.raises(ValueError, match=r"2 documents have the id 'a'|1 ids are missing"):
        module.deduplicate(pages)


@pytest.mark.parametrize("engine", ["dask", "daft"])
def test_no_rows(engine: str) -> None:
    module = adapter(engine)
    pages = pages_in(engine, module, {"id": [1, 2], "text": ["words", "others"]})
    kept = module.deduplicate(pages[pages["id"] > 5] if engine == "dask" else pages.where(pages["id"] > 5))
    assert (len(kept) if engine == "dask" else kept.count_rows()) == 0


@pytest.mark.slow
def test_ray_with_few_rows(ray: ModuleType) -> None:
    pages = ray.ray.data.from_items([{"id": 1, "text": "a b c"}])
    assert ray.deduplicate(pages.filter(lambda row: row["id"] > 1)).count() == 0
    assert ray.deduplicate(pages, parts=2).count() == 1
    twice = ray.ray.data.from_items([{"id": 1, "text": "a b c"}, {"id": 1, "text": "d"}])
    with pytest.raises(Exception, match="2 documents have the id 1") as caught:
        ray.deduplicate(twice)
    assert isinstance(caught.value, ray.ray.exceptions.RayTaskError)


@pytest.mark.parametrize("path", ADAPTERS, ids=lambda path: path.stem)
def test_the_page_shows_the_adapter(path: Path) -> None:
    page = (ROOT / "docs" / "other-engines.md").read_text("utf-8")
    shown = re.findall(r"^```\w+\n(.*?)^```$", page, re.DOTALL | re.MULTILINE)
    program = path.read_text("utf-8")
    code = program.split('"""\n\n', 1)[1].split("\n\n\nif __name__")[0] + "\n"
    assert code in shown and f"(../examples/engines/{path.name})" in page
    assert code.count("\n") <= 40


def test_every_adapter_has_a_test() -> None:
    assert {f"test_{path.stem.removeprefix('with_')}" for path in ADAPTERS} <= set(globals())
