"""Which licence texts of this machine are near-duplicates, and why.

    python examples/licenses.py [FOLDER]
"""

import sys
from pathlib import Path

import ndcore as nd

folder = Path(sys.argv[1] if len(sys.argv) > 1 else "/usr/share/common-licenses")
paths = sorted(path for path in folder.iterdir() if path.is_file())
result = nd.near_duplicates([path.read_bytes() for path in paths], threshold=0.5)

for i in result.duplicates:
    print(f"{paths[i].name} is {result.classes[i]} to {paths[result.labels[i]].name}: {result.resemblance[i]:.3f}")
for a, b in zip(result.pairs.a[:1], result.pairs.b[:1], strict=True):
    print()
    print(result.explain(int(a), int(b)))
