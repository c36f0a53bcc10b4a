"""Choices and documented attributes: what is not among the choices is refused, what a docstring lists exists."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ndcore as nd
import ndcore.plots

TEXTS = ["a rose is a rose is a rose", "A rose is a rose, is a rose!", "something else entirely, as it seems"]
FINGERPRINTS = np.arange(4, dtype=np.uint64)
NOT_CHOICES = ("anything", "", "Resemblance")
RESULTS = {nd.Clustering, nd.Collapsed}  # made by ndcore, of arguments that were checked


@pytest.fixture(scope="module")
def collection(tmp_path_factory: pytest.TempPathFactory) -> nd.Collection:
    return nd.Collection.build(tmp_path_factory.mktemp("choices") / "c.ndc", TEXTS, ["a", "b", "c"])


def _collapse_keys(place: Path, by_client: bool, **options: Any) -> None:
    """Fold a list by the clusters of an empty store, or by a client of one."""
    with nd.Store.open(place) as store, store.listen():
        if by_client:
            with nd.StoreClient(place) as client:
                client.collapse(["a"], **options)
        else:
            store.collapse(["a"], **options)


def _calls(made: nd.Collection, place: Path) -> dict[tuple[str, str], Callable[..., Any]]:
    """(public name, parameter) -> a call that takes the parameter by its name."""
    sketches = nd.MinHasher(84).sketch_many(TEXTS)
    compared, few = sketches.compare([0], [1]), nd.b_bit(sketches)
    clustering = made.clustering
    return {
        ("near_duplicates", "filter"): lambda **x: nd.near_duplicates(TEXTS, **x),
        ("near_duplicates", "drop"): lambda **x: nd.near_duplicates(TEXTS, **x),
        ("near_duplicates", "keep"): lambda **x: nd.near_duplicates(TEXTS, **x),
        ("near_duplicates", "cluster"): lambda **x: nd.near_duplicates(TEXTS, **x),
        ("near_duplicates", "verify"): lambda **x: nd.near_duplicates(TEXTS, **x),
        ("repeats", "keep"): lambda **x: nd.repeats(TEXTS, **x),
        ("rank_pairs", "by"): lambda **x: nd.rank_pairs(TEXTS, **x),
        ("collapse", "drop"): lambda **x: nd.collapse(TEXTS, **x),
        ("collapse_hits", "best"): lambda **x: nd.collapse_hits([{"text": TEXTS[0]}], text="text", **x),
        ("collapse_hits", "drop"): lambda **x: nd.collapse_hits([{"text": TEXTS[0]}], text="text", **x),
        ("Collection.collapse", "best"): lambda **x: made.collapse(["a"], **x),
        ("Store.collapse", "best"): lambda **x: _collapse_keys(place.with_name("store"), False, **x),
        ("StoreClient.collapse", "best"): lambda **x: _collapse_keys(place.with_name("store"), True, **x),
        ("cluster", "method"): lambda **x: nd.cluster(TEXTS, **x),
        ("cluster", "policy"): lambda **x: nd.cluster(TEXTS, **x),
        ("cluster", "cluster"): lambda **x: nd.cluster(TEXTS, **x),
        ("Clustering.rethreshold", "policy"): clustering.rethreshold,
        ("Clustering.rethreshold", "cluster"): clustering.rethreshold,
        ("Collection.build", "method"): lambda **x: nd.Collection.build(place, TEXTS, **x),
        ("Collection.build", "policy"): lambda **x: nd.Collection.build(place, TEXTS, **x),
        ("Collection.build", "cluster"): lambda **x: nd.Collection.build(place, TEXTS, **x),
        ("Collection.extend", "policy"): lambda **x: made.extend(place, TEXTS, ["d", "e", "f"], **x),
        ("Collection.extend", "cluster"): lambda **x: made.extend(place, TEXTS, ["d", "e", "f"], **x),
        ("Collection.query", "policy"): lambda **x: made.query(TEXTS[0], **x),
        ("Collection.resembling", "policy"): lambda **x: made.resembling("a", **x),
        ("Collection.rethreshold", "policy"): made.rethreshold,
        ("Collection.rethreshold", "cluster"): made.rethreshold,
        ("BBitSketches.interval", "method"): lambda **x: few.interval(0, 1, **x),
        ("BBitSketches.interval", "quantity"): lambda **x: few.interval(0, 1, **x),
        ("Comparison.interval", "method"): compared.interval,
        ("Comparison.interval", "quantity"): compared.interval,
        ("Sketches.interval", "method"): lambda **x: sketches.interval(0, 1, **x),
        ("Sketches.interval", "quantity"): lambda **x: sketches.interval(0, 1, **x),
        ("MinHasher", "bits"): nd.MinHasher,
        ("MinHasher", "method"): nd.MinHasher,
        ("BottomSketcher", "bits"): nd.BottomSketcher,
        ("ModSketcher", "modulus"): nd.ModSketcher,
        ("SimHasher", "bits"): nd.SimHasher,
        ("SimHasher", "weights"): nd.SimHasher,
        ("SimHasher.from_recipe", "weights"): lambda **x: nd.SimHasher.from_recipe(nd.SimHasher().recipe, **x),
        ("Shingling", "unit"): nd.Shingling,
        ("Shingling", "short"): nd.Shingling,
        ("Shingling", "normalize"): nd.Shingling,
        ("Index", "filter"): lambda **x: nd.Index(**x),
        ("HammingIndex", "plan"): lambda **x: nd.HammingIndex(FINGERPRINTS, **x),
        ("hamming_join", "plan"): lambda **x: nd.hamming_join(FINGERPRINTS, FINGERPRINTS, **x),
        ("hamming_pairs", "plan"): lambda **x: nd.hamming_pairs(FINGERPRINTS, **x),
        ("greedy_clusters", "representative"): lambda **x: nd.greedy_clusters([1, 2], [0, 1, 2], threshold=0.5, **x),
        **{("Store.open", name): lambda **x: nd.Store.open(place, **x)
           for name in ("filter", "evidence", "scope", "keys", "durability")},
        ("ShardedStore", "by"): lambda **x: nd.ShardedStore(["http://localhost:1"], token="t", **x),
        ("plots.plot_filter", "scale"): lambda **x: ndcore.plots.plot_filter(nd.ALTAVISTA, **x),
    }


_CHOICE = re.compile(r"Literal|\b(Policy|ClusterBy|Method|Quantity|Unit|Weights)\b")


def _choices_of(name: str, function: Any) -> Iterator[tuple[str, str]]:
    try:
        parameters = inspect.signature(function).parameters.values()
    except (TypeError, ValueError):  # a builtin without a signature
        return
    yield from ((name, parameter.name) for parameter in parameters if _CHOICE.search(str(parameter.annotation)))


def _all_choices() -> set[tuple[str, str]]:
    """(public name, parameter) of all parameters with choices."""
    public = {name: getattr(nd, name) for name in nd.__all__}
    public |= {f"plots.{name}": getattr(ndcore.plots, name) for name in ndcore.plots.__all__}
    found: set[tuple[str, str]] = set()
    for name, item in public.items():
        if inspect.isclass(item):
            if item not in RESULTS:
                found.update(_choices_of(name, item.__init__))
            for method in (part for part in dir(item) if not part.startswith("_")):
                found.update(_choices_of(f"{name}.{method}", getattr(item, method)))
        elif callable(item):
            found.update(_choices_of(name, item))
    return found


def test_every_parameter_with_choices_is_tested(collection: nd.Collection, tmp_path: Path) -> None:
    assert _all_choices() == set(_calls(collection, tmp_path))


@pytest.mark.parametrize(("name", "parameter"), sorted(_all_choices()))
def test_what_is_no_choice_is_refused(name: str, parameter: str, collection: nd.Collection, tmp_path: Path) -> None:
    call = _calls(collection, tmp_path / "new.ndc")[name, parameter]
    for wrong in NOT_CHOICES:
        with pytest.raises((ValueError, TypeError), match=re.escape(repr(wrong))):
            call(**{parameter: wrong})
    assert not (tmp_path / "new.ndc").exists()


# ---- docstrings


def _public_classes() -> Iterator[type]:
    seen = set()
    for module in pkgutil.walk_packages(nd.__path__, "ndcore."):
        if module.name.rpartition(".")[2].startswith("_") or ".cli" in module.name:
            continue
        for item in vars(importlib.import_module(module.name)).values():
            if inspect.isclass(item) and item.__module__.startswith("ndcore.") and item not in seen:
                seen.add(item)
                yield item


def _listed(item: type) -> list[str]:
    """The names in the section Attributes of a docstring."""
    lines = inspect.cleandoc(item.__doc__ or "").splitlines()
    names: list[str] = []
    if "Attributes" not in lines:
        return names
    start = lines.index("Attributes") + 2
    for i, line in enumerate(lines[start:], start):
        if i + 1 < len(lines) and set(lines[i + 1]) == {"-"}:
            break
        if re.match(r"\w", line):  # neither the text below a name nor a closing remark
            names += [name.strip() for name in line.partition(" : ")[0].split(",")]
    return names


def _has(item: type, name: str) -> bool:
    """Whether instances have such an attribute: by a field, a property, or what the methods of the class set."""
    if hasattr(item, name) or any(name in vars(base).get("__annotations__", {}) for base in item.__mro__):
        return True
    sources = (inspect.getsource(base) for base in item.__mro__ if base is not object)
    return any(re.search(rf"\bself\.{name}\b[^=\n]*=[^=]", source) for source in sources)


def test_every_attribute_of_a_docstring_exists() -> None:
    listed = {item: _listed(item) for item in _public_classes()}
    assert sum(map(len, listed.values())) > 100
    wrong = [f"{item.__qualname__}.{name}" for item, names in listed.items() for name in names if not _has(item, name)]
    assert wrong == []


def test_a_missing_attribute_would_be_found() -> None:
    class Example:
        """An example.

        Attributes
        ----------
        there, missing : int
            Two.
        set_later : int
            One.
        """

        there: int = 1

    assert _listed(Example) == ["there", "missing", "set_later"]
    assert [name for name in _listed(Example) if name in vars(Example)] == ["there"]
