"""Each class of the package has a name of its own."""

import ast
from collections import defaultdict
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src" / "ndcore"


def test_no_two_classes_share_a_name() -> None:
    places = defaultdict(list)
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.ClassDef):
                places[node.name].append(path.relative_to(SOURCE).as_posix())
    shared = {name: sorted(set(files)) for name, files in places.items() if len(set(files)) > 1}
    assert not shared
