"""Move a host between two shards: how long its pages are sought, and how long writes to it wait.

Two processes ``ndcore serve --write --shard`` keep pages of about 5 KB of 50 hosts; one host has a fifth of them.

Required, else the exit code is 1: afterwards each page of the host has the cluster and the versions that it had, at the new
shard, and nothing is left at the old one.
"""

from __future__ import annotations

import itertools
import socket
import sys
import tempfile
import time
from pathlib import Path

from measure import Report, options
from service import Server
from store import pages

import ndcore as nd
from ndcore.serve.tokens import add_token
from ndcore.store.resharding import move_host
from ndcore.store.shard_map import ShardMap

HOSTS, SHARE = 50, 5  # of every `SHARE` pages, one is of the host that moves
SAMPLE = 500  # pages that are compared


def main() -> int:
    parser = options(__doc__, repeats=1)
    parser.add_argument("--documents", type=int, default=100_000, help="pages (default 100,000)")
    arguments = parser.parse_args()
    documents = 2000 if arguments.quick else arguments.documents
    report = Report("shards", arguments)
    with tempfile.TemporaryDirectory() as place:
        folder = Path(place)
        token = add_token(folder / "tokens", "bench", ["read", "write", "admin"])
        ports = [_free_port() for _ in "ab"]
        made = ShardMap.create({name: f"http://127.0.0.1:{port}" for name, port in zip("ab", ports, strict=True)})
        servers = []
        for name, port in zip("ab", ports, strict=True):
            made.write(folder / f"map-{name}")
            nd.Store.open(folder / name, scope="host").close()
            own = ["--shard", name, "--shard-map", str(folder / f"map-{name}")]
            servers.append(Server(folder / name, "--write", "--tokens", str(folder / "tokens"), *own, port=port))
        try:
            measure(report, made, token, documents)
        finally:
            for server in servers:
                server.end()
    return report.finish()


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def measure(report: Report, made: ShardMap, token: str, documents: int) -> None:
    """Fill the shards, and move a host."""
    hosts = [f"h{i}.example" for i in range(HOSTS)]
    big = next(host for host in hosts if made.owner(host) == "a")
    given = [(f"http://{big if i % SHARE == 0 else hosts[i % HOSTS]}/{i}", text)
             for i, (_, text) in enumerate(pages(0, documents))]
    with nd.ShardedStore([*made.shards.values()], token=token) as store:
        begin = time.perf_counter()
        count = sum(1 for _ in store.decide_many(given))
        filled = time.perf_counter() - begin
        report.require(count == len(store) == documents, f"{count} answers, and {len(store)} pages of {documents}")
        asked = [f"http://{big}/{i * SHARE}" for i in range(0, documents // SHARE, max(1, documents // SHARE // SAMPLE))]
        before = [(store.cluster(key), store.history(key)) for key in asked]
        held, steps = store.stats(), list[tuple[str, float]]()
        _, moved = move_host([*made.shards.values()], big, "b", token,
                             progress=lambda step, *_: steps.append((step, time.perf_counter())))
        steps.append(("", time.perf_counter()))
        after = [(store.cluster(key), store.history(key)) for key in asked]
        report.require(before == after and store.shard(asked[0]) == "b", "a page has another cluster, or other versions")
        now = store.stats()
        report.require(now["a"]["documents"] == held["a"]["documents"] - (moved or 0), "pages are left at the old shard")
    spent = dict[str, float]()
    for (step, start), (_, end) in itertools.pairwise(steps):
        spent[step] = spent.get(step, 0.0) + end - start
    table = report.table("shards", f"Move a host of {moved:,} pages between two shards of {documents:,} pages together",
                         ["what", "figure"])
    table.add("pages a second of one client, two shards", documents / filled)
    table.add("find its pages, µs a page of both shards", spent["finding the pages of the host"] / documents * 1e6)
    table.add("writes wait, seconds", spent["copying the pages of the host"])
    table.add("forget its pages, seconds", spent["forgetting the pages of the host"])


if __name__ == "__main__":
    sys.exit(main())
