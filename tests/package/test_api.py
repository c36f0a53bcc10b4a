"""The package as others use it: names, doctests, pickles, processes, Ctrl-C, headers."""

from __future__ import annotations

import ast
import contextlib
import doctest
import importlib
import inspect
import multiprocessing
import os
import pickle
import pkgutil
import pydoc
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import textwrap
import time
import types
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

import ndcore as nd
from ndcore.reference import shingling, sketches

NAMES = [
    "Rabin", "is_irreducible", "random_irreducible", "POLYNOMIAL", "Shingling", "resemblance", "containment",
    "jaccard", "MinHasher", "BottomSketcher", "Sketches", "load", "features", "pass_probability", "design_filter",
    "FilterDesign", "near_duplicates", "NearDuplicates", "variants", "using", "get_include", "Recipe",
    "RecipeMismatch", "CorruptFile", "ModSketcher", "Comparison", "probability_within", "sample_size", "expected_distinct",
    "fingerprint_error", "fingerprint_bits", "SimHasher", "Simhashes", "Idf", "BucketSketcher", "IMatcher",
    "TermSignatures", "Winnower", "Winnowed", "contamination", "Contamination", "rank_pairs", "Ranking", "lex",
    "LexedProgram", "WeightedMinHasher", "b_bit", "BBitSketches", "collapse", "Collapsed", "Resampled",
    "collapse_hits", "CollapsedHits", "CollapsedKeys",
]  # fmt: skip
MODULES = sorted(
    module.name for module in pkgutil.walk_packages(nd.__path__, "ndcore.") if not module.name.endswith("__main__")
)

# ---------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize("name", NAMES)
def test_public_names(name):
    assert name in nd.__all__
    thing = getattr(nd, name)
    if callable(thing):
        assert thing.__doc__ and len(thing.__doc__.strip()) > 20


def documented_parameters(docstring: str) -> str | None:
    """Return the names in the section Parameters, one a line, with the lines that refer to another function."""
    section = re.search(r"^Parameters\n-+\n(.*?)(?=^\w[\w ]*\n-{3,}|\Z)", docstring, re.MULTILINE | re.DOTALL)
    return section and "\n".join(line.partition(" : ")[0] for line in section[1].splitlines() if line[:1].strip())


def test_each_parameter_is_documented():
    """The section Parameters of a public function names each one, or says where the others are described."""
    checked = 0
    for name in nd.__all__:
        thing = getattr(nd, name)
        methods = [getattr(thing, key) for key in vars(thing) if key[0] != "_"] if inspect.isclass(thing) else []
        for function in filter(callable, [thing, *methods]):
            documented = documented_parameters(inspect.getdoc(function) or "")
            if function is nd.Rabin:  # Cython gives a class no signature
                continue
            if documented is not None and "The other parameters are as" not in documented:
                names = {*re.findall(r"\w+", documented), "self", "cls"}
                left_out = [parameter for parameter in inspect.signature(function).parameters if parameter not in names]
                assert left_out in ([], ["_"]), f"{function.__qualname__} does not describe {left_out}"
                checked += 1
    assert checked > 100


def test_everything_exported_is_there():
    assert len(nd.__all__) == len(set(nd.__all__))
    for name in nd.__all__:
        assert hasattr(nd, name)
    assert re.fullmatch(r"\d+\.\d+\.\d+\S*", nd.__version__)


def test_exceptions_are_value_errors():
    assert issubclass(nd.CorruptFile, ValueError) and issubclass(nd.RecipeMismatch, ValueError)


@pytest.mark.parametrize(
    ("thing", "expected"),
    [
        (nd.Shingling, {"unit": "word", "width": 5, "labelled": False, "short": "whole", "normalize": None,
                        "polynomial": nd.POLYNOMIAL}),
        (nd.MinHasher, {"num_perm": 84, "bits": 32, "seed": 1, "shingling": None, "method": "permutations"}),
        (nd.BottomSketcher, {"size": 200, "bits": 64}),
        (nd.ModSketcher, {"modulus": 25, "seed": 1, "shingling": None}),
        (nd.SimHasher, {"bits": 64, "weights": None, "seed": 1, "shingling": None}),
        (nd.Winnower, {"window": 16, "shingling": None, "robust": True, "seed": 1}),
        (nd.WeightedMinHasher, {"num_perm": 84, "weights": None, "seed": 1, "shingling": None}),
        (nd.BucketSketcher, {"buckets": 16, "least": 4, "seed": 1, "shingling": None}),
        (nd.features, {"groups": 6, "group_size": 14}),
        (nd.pass_probability, {"groups": 6, "group_size": 14, "need": 2}),
        (nd.near_duplicates, {"ids": None, "threshold": 0.8, "shingling": None, "num_perm": 84, "seed": 1, "filter": "auto",
                              "against": None, "keep": "first", "cluster": "star", "max_holders": 1000,
                              "verify": "fingerprints", "memory_limit": None, "threads": None, "progress": None}),
        (nd.Sketches.interval, {"confidence": 0.95}),
    ],
    ids=lambda value: getattr(value, "__name__", None),
)  # fmt: skip
def test_parameters_and_defaults_of_the_design(thing, expected):
    parameters = inspect.signature(thing).parameters
    assert {name: parameters[name].default for name in expected} == expected
    if thing is nd.near_duplicates:
        by_name = [name for name, parameter in parameters.items() if parameter.kind is parameter.KEYWORD_ONLY]
        assert set(expected) - {"ids"} <= set(by_name)


def test_near_duplicates_returns_what_the_design_names():
    result = nd.near_duplicates(["a", "b"])
    for name in ("labels", "kept", "duplicates", "representatives", "pairs", "classes", "filter", "explain", "rethreshold",
                 "to_arrow", "common"):  # fmt: skip
        assert hasattr(result, name)
    assert result.pairs._fields == ("a", "b", "resemblance")
    assert {"groups", "group_size", "need", "miss"} <= set(dir(result.filter))


# ---------------------------------------------------------------------------------------------- doctests


def documented(module: types.ModuleType) -> dict[str, str]:
    """Docstrings of a module and of what it defines, compiled functions and their methods included."""
    found = {module.__name__: module.__doc__ or ""}
    for name, thing in vars(module).items():
        if getattr(thing, "__module__", None) != module.__name__ or not callable(thing):
            continue
        found[f"{module.__name__}.{name}"] = getattr(thing, "__doc__", None) or ""
        if isinstance(thing, type):
            for member, method in vars(thing).items():
                found[f"{module.__name__}.{name}.{member}"] = getattr(method, "__doc__", None) or ""
    return found


ROOMS = sorted({name.rpartition(".")[0] for name in MODULES})


@pytest.mark.parametrize("room", ROOMS)
def test_doctests(room):
    """Run the examples of all modules of a room, which is a package; `ndcore` has the extensions."""
    parser, runner = doctest.DocTestParser(), doctest.DocTestRunner(verbose=False, optionflags=doctest.NORMALIZE_WHITESPACE)
    report: list[str] = []
    for name in MODULES:
        if name.rpartition(".")[0] == room:
            module = importlib.import_module(name)
            for where, text in documented(module).items():
                test = parser.get_doctest(text, dict(vars(module)), where, None, 0)
                if test.examples:
                    runner.run(test, out=report.append)
    assert not report, "".join(report)


def test_there_are_doctests_to_run():
    """Those of compiled modules are found too."""
    examples = {
        where for name in MODULES for where, text in documented(importlib.import_module(name)).items() if ">>>" in text
    }
    assert {"ndcore._rabin.is_irreducible", "ndcore._rabin.random_irreducible", "ndcore._rabin.Rabin",
            "ndcore.text.shingling.Shingling", "ndcore.sketch.minhash.MinHasher",
            "ndcore.dedup.near_duplicates.near_duplicates", "ndcore.text.resemblance.resemblance"} <= examples  # fmt: skip


# ---------------------------------------------------------------------------------------------- what a wheel must be


EXTENSIONS = [
    "_arrow", "_batch", "_candidates", "_cluster", "_cpu", "_entries", "_grams", "_hamming", "_jsonl", "_keys", "_lookup",
    "_markup", "_minhash", "_pipeline", "_postings", "_rabin", "_repeats", "_samples", "_sets",
    "_short", "_signals", "_simhash", "_text",
]


def test_extensions_export_nothing_but_their_start():
    """Names of C functions that others export too would otherwise meet in one process."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm here")
    wrong = []
    for module in EXTENSIONS:
        path = importlib.import_module(f"ndcore.{module}").__file__
        listed = subprocess.run(["nm", "-D", "--defined-only", path], capture_output=True, text=True, check=True).stdout
        exported = {line.split()[-1].split("@")[0] for line in listed.splitlines() if line.strip()}
        if f"PyInit_{module}" not in exported:
            wrong.append(f"{path} does not export PyInit_{module}")
        wrong += [f"{path} exports {name}" for name in sorted(exported)
                  if not name.startswith(("nd_", "PyInit_", "_init", "_fini", "__pyx"))]
    assert not wrong, "\n".join(wrong)


def imported_by(code: str) -> set[str]:
    """Run a line in a process of its own, and return the names of the packages and modules that it loads."""
    code = f"import sys; old = set(sys.modules); {code}; print(sorted(set(sys.modules) - old))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return set(ast.literal_eval(done.stdout.splitlines()[-1]))


def test_an_import_loads_nothing_but_the_package():
    """A name is loaded where it is first asked for, with what it needs."""
    loaded = imported_by("import ndcore; ndcore.__version__, ndcore.get_include(), dir(ndcore), ndcore.__all__")
    assert {name for name in loaded if name.startswith("ndcore")} == {"ndcore", "ndcore._version"}
    assert not loaded & {"numpy", "asyncio", "socket", "ssl", "ast", "argparse", "dataclasses", "typing"}


HEAVY = {"asyncio", "ssl", "multiprocessing", "sqlite3", "http", "xml", "unittest", "argparse"}


@pytest.mark.parametrize(
    ("names", "rooms"),
    [
        ("near_duplicates", {"collection", "files", "report", "store"}),
        ("MinHasher, Sketches, load", {"alignment", "clusters", "collection", "dedup", "files", "store"}),
        ("jaccard, containment, Shingling", {"clusters", "collection", "dedup", "files", "hamming", "store"}),
        ("HammingIndex, hamming_pairs", {"clusters", "collection", "dedup", "files", "store"}),
        ("Collection, cluster", {"files", "store"}),
    ],
)
def test_a_name_loads_its_own_rooms_only(names, rooms):
    loaded = imported_by(f"from ndcore import {names}")
    assert "numpy" in loaded
    assert not loaded & HEAVY
    assert not {name for name in loaded if name.startswith("ndcore.") and name.split(".")[1] in {*rooms, "cli", "serve"}}


def test_all_names_together_load_no_package_but_numpy():
    loaded = {name.partition(".")[0] for name in imported_by("from ndcore import *")}
    foreign = {name for name in loaded if name not in sys.stdlib_module_names and not name.startswith(("_", "cython"))}
    assert foreign == {"ndcore", "numpy"}


def test_the_stub_lists_the_public_names():
    """`import *`, `dir` and the list that type checkers read agree; a name that does not exist is refused."""
    stub = (Path(nd.__file__).parent / "__init__.pyi").read_text("utf-8")
    imports = [node for node in ast.parse(stub).body if isinstance(node, ast.ImportFrom)]
    listed = {alias.asname: node for node in imports for alias in node.names}
    modules = {name for name, node in listed.items() if node.module is None}
    assert {*listed, "get_include"} - modules == set(nd.__all__)
    assert {*listed, "get_include"} <= set(dir(nd))
    assert all(isinstance(getattr(nd, name), types.ModuleType) == (name in modules) for name in listed)
    with pytest.raises(AttributeError, match="module 'ndcore' has no attribute 'nearduplicates'"):
        nd.nearduplicates  # noqa: B018


def test_help_is_a_map_of_the_public_names():
    """`help(ndcore)` has every public name, and prints no class; `__all__` and `dir` are whole for all others."""
    page = pydoc.plain(pydoc.render_doc(nd))
    assert len(page.splitlines()) < 200
    assert "Method resolution order" not in page
    missing = [name for name in [*nd.__all__, "plots", "spark"] if not re.search(rf"\b{name}\b", nd.__doc__ or "")]
    assert missing == ["__version__"]
    assert "CLASSES" in pydoc.plain(pydoc.render_doc(nd.judge))  # which has few names
    assert {"Index", "near_duplicates"} <= set(nd.__all__) & set(dir(nd))
    given: dict[str, object] = {}
    exec("from ndcore import *", given)
    assert set(nd.__all__) <= set(given)


def test_help_names_nothing_else():
    """Each name of a class or function in the map is public: none stays when its name is gone."""
    listed = nd.__doc__.partition("Results\n")[2].partition("Modules\n")[0]
    rows = re.findall(r"^    (\S.*?)(?:  |$)", listed, re.M)
    names = {name for row in rows for name in row.split(", ")}
    assert len(names) > 50 and names <= set(nd.__all__)


def test_everyday_calls_of_help_run(tmp_path):
    """What the map calls an everyday call is one."""
    calls = re.findall(r"^    (nd\..*?)  ", nd.__doc__.partition("Every day\n")[2].partition("\n\n")[0], re.M)
    texts = ["a rose is a rose is a rose is a rose", "a rose is a rose is a rose is a rose", "something else entirely"]
    nd.MinHasher(4).sketch_many(texts).save(tmp_path / "sketches.nds")
    for call in calls:
        path = tmp_path / ("sketches.nds" if "load" in call else "store")
        made = eval(call, {"nd": nd, "texts": texts, "items": texts, "results": texts, "a": texts[0], "b": texts[1],
                           "path": path, "answer": [{"body": text} for text in texts]})
        if isinstance(made, nd.Store):
            made.close()
    assert len(calls) == 13


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
def test_every_extension_can_be_imported_first():
    """No extension depends on another import before it: each in a fork, after NumPy."""
    names = sorted(f"ndcore.{path.stem}" for path in Path(nd.__file__).parent.glob("_[a-z]*.pyi"))
    code = textwrap.dedent("""
        import importlib, numpy, os, sys
        for name in sys.argv[1:]:
            child = os.fork()
            if not child:
                importlib.import_module(name)
                os._exit(0)
            if os.waitpid(child, 0)[1]:
                sys.exit(f"{name} cannot be imported first")
    """)
    done = subprocess.run([sys.executable, "-c", code, *names], capture_output=True, text=True, check=False)
    assert names == [f"ndcore.{name}" for name in EXTENSIONS]
    assert (done.returncode, done.stderr) == (0, "")


def test_a_copy_without_the_stub_says_what_is_missing(tmp_path):
    (tmp_path / "ndcore").mkdir()
    for name in ("__init__.py", "_version.py"):
        shutil.copy(Path(nd.__file__).parent / name, tmp_path / "ndcore")
    done = subprocess.run([sys.executable, "-c", "import ndcore; ndcore.jaccard"], cwd=tmp_path, capture_output=True,
                          text=True, check=False, env={**os.environ, "PYTHONPATH": str(tmp_path)})  # fmt: skip
    assert "ImportError: cannot read " in done.stderr and "the list of ndcore's names" in done.stderr


def test_the_reference_imports_nothing_of_the_package():
    folder = Path(nd.__file__).parent / "reference"
    for path in folder.glob("*.py"):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                assert not any(name.name.startswith(("ndcore", "numpy")) for name in node.names), path.name
            elif isinstance(node, ast.ImportFrom):
                module = node.module or ""
                outside = module.startswith(("ndcore", "numpy")) and not module.startswith("ndcore.reference")
                foreign = node.level == 0 and outside
                assert node.level <= 1 and not foreign, path.name


def test_no_path_of_a_machine_in_the_package():
    private = re.compile(r"/(?:work|root|home|tmp)/\w")
    for path in Path(nd.__file__).parent.rglob("*"):
        if path.suffix in {".py", ".pyx", ".pxd", ".pyi", ".h"}:
            assert not private.search(path.read_text("utf-8")), path.name


# ---------------------------------------------------------------------------------------------- pickles and processes


@pytest.mark.parametrize(
    "thing",
    [
        nd.Shingling("char", 3, True), nd.MinHasher(9, 64, 5, nd.Shingling(width=2)), nd.BottomSketcher(9, 40, 5),
        nd.ModSketcher("adaptive", 5), nd.ModSketcher(2**64 - 1, size=9), nd.Winnower(7, nd.Shingling(width=3), False, 5),
        nd.BucketSketcher(7, 2, 5), nd.WeightedMinHasher(7, {3: 0.5}, 5),
        nd.Rabin(0x11B), nd.MinHasher().recipe, nd.design_filter(0.8), nd.MinHasher(4).sketch("a b c").recipe,
    ],
    ids=lambda thing: type(thing).__name__,
)  # fmt: skip
def test_pickles(thing):
    for protocol in range(2, pickle.HIGHEST_PROTOCOL + 1):
        twin = pickle.loads(pickle.dumps(thing, protocol))
        assert type(twin) is type(thing) and repr(twin) == repr(thing)
        if type(thing).__eq__ is not object.__eq__:
            assert twin == thing


def sketched_elsewhere(sketcher, texts):
    return sketcher.sketch_many(texts, threads=2).values.tolist()


def deduplicated_elsewhere(texts):
    return nd.near_duplicates(texts, threads=2).labels.tolist()


def test_one_sketcher_serves_many_threads_of_the_caller():
    texts = [f"document {i // 2} of words that go on and on, {i % 7} times" * (1 + i % 5) for i in range(400)]
    hasher, bottoms = nd.MinHasher(64, method="fast"), nd.BottomSketcher(50)
    index = nd.HammingIndex(nd.SimHasher().sketch_many(texts).values)
    expected = hasher.sketch_many(texts).values, bottoms.sketch_many(texts).values, index.pairs().a

    def work(_):
        return hasher.sketch_many(texts).values, bottoms.sketch_many(texts).values, index.pairs().a

    with ThreadPoolExecutor(8) as pool:
        for found in pool.map(work, range(24)):
            assert all((a == b).all() for a, b in zip(found, expected, strict=True))


def test_free_threading_stays_on():
    """Importing ndcore does not bring the GIL back where Python runs without it."""
    code = "import sys, ndcore; print(getattr(sys, '_is_gil_enabled', lambda: True)())"
    told = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout.strip()
    assert told == str(not sysconfig.get_config_var("Py_GIL_DISABLED"))


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_other_processes(method):
    if method not in multiprocessing.get_all_start_methods():
        pytest.skip(f"this system cannot {method}")
    texts = ["a rose is a rose is a rose", "A rose is a rose is a rose!", "something else"]
    sketcher = nd.MinHasher(8)
    sketcher.sketch_many(texts * 500, threads=2)  # threads have been used before the fork
    expected = [sketches.signature(shingling.fingerprints(text), 8) for text in texts]
    with multiprocessing.get_context(method).Pool(2) as pool:
        assert pool.apply_async(sketched_elsewhere, (sketcher, texts)).get(60) == expected
        assert pool.apply_async(deduplicated_elsewhere, (texts,)).get(60) == [0, 0, 2]
    assert sketcher.sketch_many(texts).values.tolist() == expected


LONG_JOB = """
    import signal, sys, ndcore as nd
    signal.signal(signal.SIGINT, signal.default_int_handler)  # which a process in the background of a shell has not
    def texts():
        i = 0
        while True:
            if i == 2000:
                print("running", flush=True)
            i += 1
            yield f"document {i} of words that go on " * 40
    try:
        CALL
    except KeyboardInterrupt:
        print("stopped", flush=True)
"""


@pytest.mark.parametrize(
    "call",
    [
        "nd.near_duplicates(texts(), threads=2)",
        "nd.near_duplicates(texts(), threads=1)",
        "import itertools; t = list(itertools.islice(texts(), 150000)); m = nd.MinHasher(512); "
        "m.sketch_many(t[:99], threads=2); print('running', flush=True); [m.sketch_many(t, threads=2) for _ in range(99)]",
        "import numpy as np; from ndcore import greedy_clusters; n = 1 << 16; own = np.arange(99, 99 + 80 * n); "
        "values = np.hstack([np.tile(np.arange(40), (n, 1)), own.reshape(n, 80)]).ravel(); print('running', flush=True); "
        "greedy_clusters(values, np.arange(0, 120 * n + 1, 120), threshold=0.5, max_holders=None)",
    ],
    ids=["near_duplicates", "one thread", "sketch_many", "greedy_clusters"],
)
def test_ctrl_c(call):
    """KeyboardInterrupt leaves a call that would go on for minutes or for ever, and does so long before that."""
    if sys.platform == "win32":
        pytest.skip("SIGINT cannot be sent to a single process here")
    code = textwrap.dedent(LONG_JOB).replace("CALL", call)
    piped = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    with subprocess.Popen([sys.executable, "-c", code], **piped) as process:
        try:
            assert process.stdout.readline().strip() == "running"
            if "itertools" in call:
                assert process.stdout.readline().strip() == "running"
            time.sleep(0.3)
            assert process.poll() is None
            process.send_signal(signal.SIGINT)
            out, error = process.communicate(timeout=30)
        except subprocess.TimeoutExpired:
            pytest.fail("still running half a minute after Ctrl-C")
        finally:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
    assert (out.strip(), error, process.returncode) == ("stopped", "", 0)


# ---------------------------------------------------------------------------------------------- C


HEADERS = [
    "candidates.h", "cluster.h", "gf2.h", "keys.h", "minhash.h", "nd.h", "ndcore.h", "nfkc.h", "pipeline.h", "rabin.h",
    "sets.h", "sort.h", "text.h", "units.h",
]


def test_get_include_has_the_headers():
    folder = Path(nd.get_include())
    assert {path.name for path in folder.glob("*.h")} >= set(HEADERS)
    assert not any("Python.h" in path.read_text("utf-8").replace("no Python.h", "") for path in folder.iterdir()
                   if path.suffix in {".c", ".h"})  # fmt: skip


@pytest.mark.parametrize("header", [*HEADERS, " ".join(HEADERS)], ids=lambda value: value if value in HEADERS else "all")
def test_a_c_program_that_includes_the_headers_compiles(header, tmp_path):
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("there is no C compiler here")
    source = "".join(f'#include "{name}"\n#include "{name}"\n' for name in header.split())  # each alone, and twice
    (tmp_path / "embeds.c").write_text(source + "int main(void) { return 0; }\n")
    done = subprocess.run(
        [compiler, "-std=c11", "-Wall", "-Wextra", "-Werror", "-I", nd.get_include(), "-c", "embeds.c", "-o", "embeds.o"],
        cwd=tmp_path, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr


EXAMPLES = sorted(Path(__file__).parents[2].glob("examples/*.py"))


@pytest.mark.parametrize("example", [path for path in EXAMPLES if path.stem != "crawlee_store"], ids=lambda path: path.stem)
def test_examples_run(example):  # crawlee_store: tests/crawl/test_examples_of_crawlers.py
    done = subprocess.run(
        [sys.executable, str(example)], cwd=example.parents[1], capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("\n") >= 3


@pytest.mark.parametrize("code", ["nd.dedup", "import ndcore.dedup.result; nd.dedup(['a'])"])
def test_a_folder_says_which_function_is_meant(code):
    done = subprocess.run([sys.executable, "-c", f"import ndcore as nd\n{code}"], capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stderr.endswith("; did you mean ndcore.near_duplicates?\n")


def test_modules_are_pickled_by_their_names():
    # cloudpickle hands the globals of a function to tasks of Spark, Dask and Ray
    folder = importlib.import_module("ndcore.store")
    assert pickle.loads(pickle.dumps((nd, folder))) == (nd, folder)


def test_what_folders_suggest_exists():
    for name, sought in nd._SOUGHT.items():
        made = nd
        for part in sought.replace("()", "").split("."):
            made = getattr(made, part)
        assert callable(made)
        with pytest.raises(TypeError, match=f"ndcore.{name} is a folder of modules, not a function"):
            importlib.import_module(f"ndcore.{name}")()
