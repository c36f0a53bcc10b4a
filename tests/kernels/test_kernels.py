"""The choice of forms: what is listed, what is demanded, and that one choice serves the whole process."""

from __future__ import annotations

import importlib.util
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import ndcore as nd
from ndcore import _minhash, kernels
from ndcore.reference import shingling, sketches

CORE = Path(nd.get_include())


def python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    clean = {name: value for name, value in os.environ.items() if name != "NDCORE_VARIANT"}
    return subprocess.run(
        [sys.executable, "-c", code], env={**clean, **environment}, capture_output=True, text=True, timeout=60, check=False
    )


CHOSEN = "from ndcore import kernels; print({k: v.chosen() for k, v in kernels.KERNELS.items()})"

# ---------------------------------------------------------------------------------------------- what is listed


def test_variants_are_listed_best_first():
    listed = nd.variants()
    assert set(listed) == {
        "bitmaps", "digest", "hamming", "minhash", "modsketch", "pairs", "rabin", "simhash", "text", "weighted"}
    for stem, forms in listed.items():
        assert list(forms)[-1] == "portable"
        assert set(forms.values()) <= {"running", "available", "not on this CPU"}
        assert [name for name, state in forms.items() if state == "running"] == [kernels.KERNELS[stem].chosen()]
        assert forms["portable"] != "not on this CPU"


def test_the_best_that_runs_is_the_default():
    """In a process of its own, for this one may run under NDCORE_VARIANT."""
    first = {
        stem: next(name for name, runs in kernel.variants().items() if runs) for stem, kernel in kernels.KERNELS.items()
    }
    for value in ({}, {"NDCORE_VARIANT": ""}, {"NDCORE_VARIANT": " , "}):
        done = python(CHOSEN, **value)
        assert (done.stdout.strip(), done.stderr) == (str(first), "")


@pytest.mark.parametrize("stem", ["bitmaps", "digest", "hamming", "minhash", "modsketch", "rabin", "simhash", "text"])
def test_the_best_runs_where_one_extension_alone_is_imported(stem):
    best = next(name for name, runs in kernels.KERNELS[stem].variants().items() if runs)
    module = {"bitmaps": "_candidates", "digest": "_batch", "modsketch": "_samples"}.get(stem, f"_{stem}")
    done = python(f"import sys; from ndcore.{module} import kernel as k; print(k.chosen(), 'ndcore.kernels' in sys.modules)")
    assert done.stdout.split() == [best, "False"], done.stderr


# ---------------------------------------------------------------------------------------------- NDCORE_VARIANT


def test_a_demand_by_environment(variant):
    stem, name = variant
    done = python(CHOSEN, NDCORE_VARIANT=f" {stem} = {name} ")
    assert done.returncode == 0, done.stderr
    assert f"'{stem}': '{name}'" in done.stdout


def test_portable_by_environment():
    done = python(CHOSEN, NDCORE_VARIANT="portable")
    assert done.stdout.strip() == str(dict.fromkeys(kernels.KERNELS, "portable"))


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("minhash=sse9", "cannot run minhash=sse9: there is no such variant; here minhash has "),
        ("pairs=sse9", "cannot run pairs=sse9: there is no such variant; here pairs has portable"),
        ("murmur=portable", "there is no kernel 'murmur'; kernels are bitmaps, digest, hamming, minhash, modsketch, "),
        ("avx2", "NDCORE_VARIANT has 'avx2'; it takes \"portable\" or kernel=variant, separated by commas"),
        ("portable,minhash=", "cannot run minhash=: there is no such variant"),
        ("rabin=portable;minhash=portable", "cannot run rabin=portable;minhash=portable"),
    ],
)
def test_a_demand_that_cannot_be_met_stops_the_import(value, message):
    done = python("import ndcore", NDCORE_VARIANT=value)
    assert done.returncode == 1
    last = done.stderr.strip().splitlines()[-1]
    assert last.startswith(("ValueError: ", "ImportError: ")) and message in last


def test_the_last_of_two_demands_counts():
    best = next(iter(kernels.KERNELS["minhash"].variants()))
    if not kernels.KERNELS["minhash"].variants()[best]:
        pytest.skip(f"this CPU cannot run minhash={best}")
    done = python(CHOSEN, NDCORE_VARIANT=f"portable,minhash={best}")
    assert f"'minhash': '{best}'" in done.stdout


# ---------------------------------------------------------------------------------------------- using


@pytest.mark.thread_unsafe(reason="it chooses the kernels of the process")
def test_using_restores_what_ran_before():
    before = _minhash.kernel.chosen()
    with nd.using(minhash="portable"):
        assert _minhash.kernel.chosen() == "portable"
        assert nd.variants()["minhash"]["portable"] == "running"
    assert _minhash.kernel.chosen() == before
    with pytest.raises(KeyError, match="inside"), nd.using(minhash="portable", text="portable"):
        raise KeyError("inside")
    assert _minhash.kernel.chosen() == before


@pytest.mark.parametrize(
    ("demands", "message"),
    [
        ({"minhash": "portable", "rabin": "mmx"}, "cannot run rabin=mmx: there is no such variant"),
        ({"minhash": "portable", "nothing": "portable"}, "there is no kernel 'nothing'"),
    ],
)
@pytest.mark.thread_unsafe(reason="it chooses the kernels of the process")
def test_nothing_has_changed_where_a_demand_cannot_be_met(demands, message):
    before = _minhash.kernel.chosen()
    with pytest.raises(ValueError, match=message), nd.using(**demands):
        pytest.fail("the block must not run")
    assert _minhash.kernel.chosen() == before


class OldCpu:
    """A kernel with a form that does not run here, whatever the machine."""

    def variants(self):
        return {"neon": False, "portable": True}

    def use(self, name):
        return name in (None, "portable")

    def chosen(self):
        return "portable"


def test_a_form_that_this_cpu_lacks(monkeypatch):
    monkeypatch.setitem(kernels.KERNELS, "rabin", OldCpu())
    assert nd.variants()["rabin"] == {"neon": "not on this CPU", "portable": "running"}
    message = "cannot run rabin=neon: this CPU cannot run it; here rabin has portable"
    with pytest.raises(ValueError, match=message), nd.using(rabin="neon"):
        pytest.fail("the block must not run")
    with pytest.raises(ValueError, match=message):
        kernels.apply("rabin=neon")
    kernels.apply("portable")
    assert _minhash.kernel.chosen() == "portable"
    kernels.apply(os.environ.get("NDCORE_VARIANT", ""))


# ------------------------------------------------------------------------------- one choice for the whole process


def extensions() -> list[Path]:
    names = ["_arrow", "_batch", "_candidates", "_cluster", "_cpu", "_entries", "_hamming",
             "_keys", "_lookup", "_minhash", "_pipeline", "_postings", "_rabin",
             "_repeats", "_samples", "_sets", "_simhash", "_text"]
    return [Path(importlib.util.find_spec(f"ndcore.{name}").origin) for name in names]


def symbols(path: Path) -> set[str]:
    """Functions and data that an extension itself contains, hidden and static ones too unless it was stripped."""
    done = subprocess.run(["nm", "--defined-only", str(path)], capture_output=True, text=True, check=True)
    return {line.split()[-1] for line in done.stdout.splitlines() if line.strip()}


def declared() -> set[str]:
    """Functions and data that the headers of the core declare; what they define is compiled wherever it is used."""
    headers = "\n".join(path.read_text(encoding="utf-8") for path in Path(nd.get_include()).glob("*.h"))
    return set(re.findall(r"^(?!static|typedef)\w[\w *]*?\b(nd_\w+)(?:\(|;)", headers, re.M))


def test_each_c_function_is_in_exactly_one_extension():
    """Two copies of minhash.c would be two choices: forcing a form would leave the pipeline's copy as it was."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm here to read symbol tables with")
    found = {path.name: symbols(path) for path in extensions()}
    if not any(any(name.startswith("nd_") for name in names) for names in found.values()):
        pytest.skip("the extensions are stripped, or nm cannot read them")
    core = declared()
    owners: dict[str, list[str]] = {}
    for extension, names in found.items():
        for name in names:
            if name in core:
                owners.setdefault(name, []).append(extension.split(".")[0])
    assert {name: who for name, who in owners.items() if len(who) != 1} == {}
    for name in ("nd_minima32_take", "nd_minima64_take", "nd_bottom_take", "nd_minhash_choice"):
        assert owners[name] == ["_minhash"]
    for name, owner in [("nd_shingle", "_pipeline"), ("nd_rabin_symbols", "_rabin"), ("nd_units_read", "_text"),
                        ("nd_sort_entries", "_entries"), ("nd_sets_overlap", "_sets"),
                        ("nd_keys_gather", "_keys"), ("nd_entries_runs", "_entries"), ("nd_mod_take", "_samples"),
                        ("nd_cpu_features", "_cpu")]:  # fmt: skip
        assert owners[name] == [owner]


def test_an_extension_exports_its_start_only():
    """Two packages that compile the core into themselves, or ndcore and a program, never take each other's functions."""
    if shutil.which("nm") is None:
        pytest.skip("there is no nm here to read symbol tables with")
    listing = ["nm", "-gU"] if sys.platform == "darwin" else ["nm", "-D", "--defined-only"]
    built = sorted(Path(nd.__file__).parent.glob("_*.so"))
    if not built:
        pytest.skip("extensions have another suffix here")
    for path in built:
        done = subprocess.run([*listing, str(path)], capture_output=True, text=True, check=True)
        names = [line.split()[-1] for line in done.stdout.splitlines() if line]
        start = f"PyInit_{path.name.split('.')[0]}"
        assert names in ([start], [f"_{start}"]), path.name  # with an underscore on macOS


def test_forcing_a_form_changes_the_pipeline_too(variant):
    """The bits are the same whatever runs, so the form shows by itself only: the pipeline gives its fingerprints to the
    sink of _minhash (the one copy, see above), whose choice is this one; and the result is the reference's."""
    stem, name = variant
    assert kernels.KERNELS[stem].chosen() == name
    document = " ".join(f"w{i}" for i in range(700))
    [found] = nd.MinHasher(40, shingling=nd.Shingling(width=1)).sketch_many([document]).values.tolist()
    assert found == sketches.signature(shingling.fingerprints(document, width=1), 40)
    assert kernels.KERNELS[stem].chosen() == name


def test_the_choice_is_seen_by_all_threads(variant):
    documents = [f"{i} {i + 1} {i + 2}" for i in range(200)]
    expected = nd.MinHasher(16).sketch_many(documents, threads=1).values
    np.testing.assert_array_equal(nd.MinHasher(16).sketch_many(documents, threads=4).values, expected)
