"""A tool that removes repeated lines or sentences, or finds test items, in a process of its own, in its environment.

Arguments: the environment, the way (a function of it), a folder, an empty folder for what it writes, and how many processes
or threads it may use. FOLDER/documents has JSON lines, FOLDER/items.jsonl the items. Removing leaves OUT/left/*.jsonl with
id and text of each document of which something is left; finding leaves OUT/found.json, a list of ids. Writes one line of
JSON: the versions, and the seconds from the first byte read to the last one written, without what the comparison needs.
"""

from __future__ import annotations

import gzip
import json
import os
import shutil
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import versions_of

Way = Callable[[Path, Path, int], float]
LINES = ("--unit", "line", "--normalize", "words", "--min-tokens", "1")
SENTENCES = ("--unit", "sentence", "--normalize", "words", "--min-tokens", "3")


def timed(run: Callable[[], Any]) -> float:
    """Seconds of a call."""
    start = time.perf_counter()
    run()
    return time.perf_counter() - start


def documents_in(folder: Path) -> list[Path]:
    """The files of documents, in order."""
    return sorted((folder / "documents").glob("*.jsonl"))


# ---- ndcore


def _ndcore(command: str, folder: Path, out: Path, processes: int, *options: str) -> float:
    from ndcore.cli.main import main

    inputs = [str(path) for path in documents_in(folder)]
    if command == "contamination":
        inputs = [str(folder / "items.jsonl"), "--in", *inputs]
    arguments = [command, *inputs, "-o", str(out / "result"), "--threads", str(processes), "-q", *options]
    return timed(lambda: main(arguments))


def _ndcore_cut(folder: Path, out: Path, processes: int, options: tuple[str, ...]) -> float:
    seconds = _ndcore("repeats", folder, out, processes, *options)
    (out / "left").mkdir()
    (out / "result" / "cleaned.jsonl").rename(out / "left" / "0.jsonl")
    return seconds


def ndcore_lines(folder: Path, out: Path, processes: int) -> float:
    """``ndcore repeats`` of lines."""
    return _ndcore_cut(folder, out, processes, LINES)


def ndcore_left(folder: Path, out: Path, processes: int) -> float:
    """``ndcore repeats`` of lines that writes what is left to standard output, and nothing else."""
    from ndcore.cli.main import main

    (out / "left").mkdir()
    arguments = ["repeats", *map(str, documents_in(folder)), "-o", "-", *LINES, "--threads", str(processes), "-q"]
    with (out / "left" / "0.jsonl").open("wb") as file:
        os.dup2(file.fileno(), 1)
        seconds = timed(lambda: main(arguments))
        os.dup2(2, 1)
    return seconds


def ndcore_sentences(folder: Path, out: Path, processes: int) -> float:
    """``ndcore repeats`` of three sentences."""
    return _ndcore_cut(folder, out, processes, SENTENCES)


def ndcore_items(folder: Path, out: Path, processes: int) -> float:
    """``ndcore contamination`` with 13 words."""
    seconds = _ndcore("contamination", folder, out, processes)
    with (out / "result" / "documents.jsonl").open() as file:
        (out / "found.json").write_text(json.dumps([json.loads(line)["id"] for line in file]))
    return seconds


# ---- datatrove


def _datatrove(steps: list[tuple[list[Any], int]], out: Path, processes: int) -> float:
    """Run pipelines one after the other, each with its number of tasks."""
    from datatrove.executor import LocalPipelineExecutor

    def run() -> None:
        for number, (pipeline, tasks) in enumerate(steps):
            LocalPipelineExecutor(pipeline, tasks=tasks, workers=min(tasks, processes), skip_completed=False,
                                  logging_dir=str(out / f"log{number}")).run()

    return timed(run)


def _sentence_dedup(folder: Path, out: Path, processes: int, sentences: int) -> float:
    """SentenceDedup, of lines where `sentences` is 1; numbers and accents count, and no document is dropped for its size."""
    from datatrove.pipeline.dedup import SentenceDedupFilter, SentenceDedupSignature, SentenceFindDedups
    from datatrove.pipeline.dedup.sentence_dedup import SentDedupConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter
    from datatrove.utils.text import TextNormConfig

    config = SentDedupConfig(n_sentences=sentences, split_sentences=sentences > 1, min_doc_words=0, min_num_sentences=0,
                             norm_config=TextNormConfig(norm_numbers=False, norm_unicode_diacritics=False))
    source, signatures, found = (str(part) for part in (folder / "documents", out / "signatures", out / "duplicates"))
    files = len(documents_in(folder))
    seconds = _datatrove([
        ([JsonlReader(source), SentenceDedupSignature(signatures, finder_workers=processes, config=config)], files),
        ([SentenceFindDedups(signatures, found, config=config)], processes),
        ([JsonlReader(source), SentenceDedupFilter(found, config=config), JsonlWriter(str(out / "left"), compression=None)],
         files),
    ], out, processes)
    return seconds


def datatrove_lines(folder: Path, out: Path, processes: int) -> float:
    """SentenceDedup of single lines."""
    return _sentence_dedup(folder, out, processes, 1)


def datatrove_sentences(folder: Path, out: Path, processes: int) -> float:
    """SentenceDedup of three sentences."""
    return _sentence_dedup(folder, out, processes, 3)


def datatrove_items(folder: Path, out: Path, processes: int) -> float:
    """NGramsDecontFilter of 13 words; its indexer asks for lighteval, which is for downloads, so hashes are written here."""
    import numpy as np
    from datatrove.pipeline.decont import NGramsDecontFilter, NGramsDecontIndexer
    from datatrove.pipeline.decont.n_grams import NGramsDecontConfig
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.writers import JsonlWriter

    NGramsDecontIndexer._requires_dependencies = []
    config = NGramsDecontConfig(n_grams=13)
    (out / "index").mkdir()

    def index() -> None:
        indexer, hashes = NGramsDecontIndexer(str(out / "index"), config=config), set()
        with (folder / "items.jsonl").open() as file:
            for line in file:
                hashes.update(indexer.compute_hashes(json.loads(line)["text"]))
        np.array(sorted(hashes), config.hash_config.np_descr).tofile(out / "index" / "items.index.hashes")

    excluded = JsonlWriter(str(out / "excluded"), compression=None)
    pipeline = [JsonlReader(str(folder / "documents")), NGramsDecontFilter(str(out / "index"), config, excluded),
                JsonlWriter(str(out / "kept"), compression=None)]
    seconds = timed(index) + _datatrove([(pipeline, len(documents_in(folder)))], out, processes)
    found = [json.loads(line)["id"] for path in (out / "excluded").rglob("*.jsonl") for line in path.open()]
    (out / "found.json").write_text(json.dumps(found))
    return seconds


# ---- dolma


def _dolma(folder: Path, out: Path, processes: int, rate: float) -> float:
    """Paragraphs, which are lines, by a Bloom filter; then the mixer cuts them."""
    from dolma import deduper, mixer

    lines = sum(json.loads(line)["text"].count("\n") + 1 for path in documents_in(folder) for line in path.open())
    (out / "documents").symlink_to(folder / "documents")
    source = [str(out / "documents" / "*.jsonl")]
    work = {"input": str(out / "in"), "output": str(out / "out")}
    dedupe = {
        "documents": source, "work_dir": work, "processes": processes,
        "dedupe": {"name": "repeated", "paragraphs": {"attribute_name": "repeated"}, "skip_empty": True, "min_length": 0,
                   "min_words": 0},
        "bloom_filter": {"file": str(out / "filter"), "read_only": False, "size_in_bytes": 0, "estimated_doc_count": lines,
                         "desired_false_positive_rate": rate},
    }
    mix = {
        "work_dir": work, "processes": processes,
        "streams": [{
            "name": f"left{i}", "documents": [str(out / "documents" / path.name)], "attributes": ["repeated"],
            "output": {"path": str(out / "left"), "max_size_in_bytes": 1 << 40},
            "span_replacement": [{"span": "$.attributes.repeated", "min_score": 0.5, "replacement": "",
                                  "syntax": "jsonpath"}],
            "compression": {"input": None, "output": None},
        } for i, path in enumerate(documents_in(folder))],
    }

    def run() -> None:
        deduper(dedupe)
        mixer(mix)

    seconds = timed(run)
    for path in sorted((out / "left").glob("*.gz")):
        with gzip.open(path) as packed, (out / "left" / f"{path.stem}l").open("wb") as file:
            shutil.copyfileobj(packed, file)
    return seconds


def dolma_lines_2(folder: Path, out: Path, processes: int) -> float:
    """With false positives at a rate of 0.01."""
    return _dolma(folder, out, processes, 1e-2)


def dolma_lines_4(folder: Path, out: Path, processes: int) -> float:
    """With false positives at a rate of 0.0001."""
    return _dolma(folder, out, processes, 1e-4)


# ---- text-dedup


def text_dedup_lines(folder: Path, out: Path, processes: int) -> float:
    """Hashes of lines, as CCNet does. The seconds are those that it counts itself: it is a program, not a function."""
    import text_dedup.ccnet as program
    from datasets import load_from_disk

    seen: list[Any] = []

    class Counted(program.Timer):
        def __init__(self) -> None:
            super().__init__()
            seen.append(self)

    program.Timer = Counted
    arguments = {"path": "json", "data_files": folder / "documents" / "*.jsonl", "split": "train", "column": "text",
                 "cache_dir": out / "cache", "output": out / "result", "hash_func": "xxh3", "num_proc": processes}
    command = [part for name, value in arguments.items() for part in (f"--{name}", str(value))]
    program.main(command, standalone_mode=False)
    (out / "left").mkdir()
    load_from_disk(str(out / "result")).select_columns(["id", "text"]).to_json(out / "left" / "0.jsonl")
    return float(seen[0].elapsed_times["Total"])


# ---- decon


def decontaminate_items(folder: Path, out: Path, processes: int) -> float:
    """Any run of 25 tokens of a question, at every place. Blanks are tokens: 13 words, or 12 with blanks around them."""
    import decon

    (out / "items").mkdir()
    with (folder / "items.jsonl").open() as file, (out / "items" / "items.jsonl").open("w") as made:
        for number, line in enumerate(file):
            record = {"eval_key": "items", "eval_instance_index": number, "question": json.loads(line)["text"], "answer": "",
                      "passage": "", "fingerprint": str(number), "split": "test", "doc_id": number}
            made.write(json.dumps(record) + "\n")
    config = decon.Config(
        str(folder / "documents"), str(out / "items"), str(out / "report"), ngram_size=25, tokenizer="uniseg",
        sample_every_m_tokens=1, contamination_score_threshold=0.0, worker_threads=processes)
    seconds = timed(lambda: decon.detect(config))
    found = set()
    for path in (out / "report").rglob("*.jsonl"):
        for line in path.open():
            record = json.loads(line)
            found.add((record["training_file"], record["training_line"]))
    ids = {(path.stem, number): json.loads(line)["id"]
           for path in documents_in(folder) for number, line in enumerate(path.open())}
    (out / "found.json").write_text(json.dumps([ids[name.partition(".")[0], line] for name, line in found]))
    return seconds


PACKAGES = {"ndcore": "ndcore", "datatrove": "datatrove", "dolma": "dolma", "text_dedup": "text-dedup",
            "decontaminate": "decontaminate"}


def main() -> int:
    name, way, folder, out, processes = *sys.argv[1:3], Path(sys.argv[3]), Path(sys.argv[4]), int(sys.argv[5])
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what a tool prints must not come between
    run: Way = globals()[f"{name}_{way}"]
    answer = {"seconds": run(folder, out, processes), "versions": versions_of(PACKAGES[name])}
    print(json.dumps(answer), file=answers, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
