#!/usr/bin/env bash
# Each extra alone, as a user installs it: one wheel, then for each extra a fresh environment with ndcore[EXTRA] and nothing
# else, where the first example of its page runs. About ten seconds an extra with a warm cache of pip.
#
#     tools/extras_check.sh [EXTRA ...]      without names all of them
set -euo pipefail
cd "$(dirname "$0")/.."
root=$PWD
. tools/common.sh
python=${PYTHON:-python3}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

all=(cli client code gzip metrics parquet plot remote scrapy serve spark stem store web)
[ $# -gt 0 ] || set -- "${all[@]}"

first_example() {    # of an extra; Python, run in an empty folder beside notices.jsonl
    cat << 'PYTHON'
import sys
import ndcore as nd
texts = ["a rose is a rose is a rose", "A rose is, a rose is a rose!", "something else"]
def command(*words, code=0):
    import subprocess
    done = subprocess.run([sys.executable, "-m", "ndcore", *words], capture_output=True, text=True)
    assert done.returncode == code, (done.returncode, done.stdout, done.stderr)
    return done.stdout
PYTHON
    case $1 in
        cli) cat << 'PYTHON'
command("dedup", "notices.jsonl", "-o", "kept")
command("completion", "bash")
import zstandard
open("notices.jsonl.zst", "wb").write(zstandard.compress(open("notices.jsonl", "rb").read()))
command("dedup", "notices.jsonl.zst", "-o", "kept-too")
PYTHON
        ;;
        client) cat << 'PYTHON'
import http.server, json, threading
class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
        self.wfile.write(json.dumps({"documents": 3}).encode())
server = http.server.HTTPServer(("127.0.0.1", 0), Answer)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert len(nd.ServiceClient(f"http://127.0.0.1:{server.server_port}", "token")) == 3
PYTHON
        ;;
        code) cat << 'PYTHON'
import pathlib
for name, program in (("a.py", "def area(w, h): return w * h + w - h"), ("b.py", "def f(a, b): return a * b + a - b  # mine")):
    pathlib.Path(name).write_text(program)
command("rank", "a.py", "b.py", "-o", "ranked")
assert pathlib.Path("ranked/views/group-1.html").exists()
PYTHON
        ;;
        gzip) cat << 'PYTHON'
import gzip
from isal import isal_zlib
open("notices.jsonl.gz", "wb").write(gzip.compress(open("notices.jsonl", "rb").read()))
command("dedup", "notices.jsonl.gz", "-o", "kept")
assert len(gzip.open("kept/kept/notices.jsonl.gz").read().splitlines()) == 7
PYTHON
        ;;
        metrics) cat << 'PYTHON'
import signal, subprocess, urllib.request
command("store", "create", "crawl")
token = command("token", "tokens", "prometheus", "--scope", "read").strip()
server = subprocess.Popen([sys.executable, "-m", "ndcore", "serve", "--write", "crawl", "--tokens", "tokens", "--port", "0"],
                          stdout=subprocess.PIPE, text=True)
try:
    address = server.stdout.readline().split(" is at ")[1].split()[0]
    asked = urllib.request.Request(address + "metrics", headers={"authorization": "Bearer " + token})
    assert b"ndcore_documents 0.0" in urllib.request.urlopen(asked, timeout=60).read()
finally:
    server.send_signal(signal.SIGINT)
    server.wait(60)
PYTHON
        ;;
        parquet) cat << 'PYTHON'
import pyarrow as pa, pyarrow.parquet as pq
pq.write_table(pa.table({"id": [1, 2, 3], "text": texts}), "pages.parquet")
assert nd.near_duplicates(pq.read_table("pages.parquet")["text"]).labels.tolist() == [0, 0, 2]
assert nd.near_duplicates(texts).to_arrow().num_rows == 3
command("dedup", "pages.parquet", "-o", "kept", "--table", "verdicts.parquet")
PYTHON
        ;;
        plot) cat << 'PYTHON'
from ndcore.plots import plot_filter
figure = plot_filter(nd.design_filter(0.8))[0]
figure.savefig("filter.png")
PYTHON
        ;;
        remote) cat << 'PYTHON'
import pathlib
command("dedup", "file://" + str(pathlib.Path("notices.jsonl").resolve()), "-o", "kept")
PYTHON
        ;;
        scrapy) cat << 'PYTHON'
from scrapy import Request
from scrapy.http import TextResponse
from scrapy.utils.test import get_crawler
from ndcore.crawl.scrapy import NearDuplicateMiddleware, NearDuplicatePipeline
crawler = get_crawler(settings_dict={"NDCORE_STORE": "pages.store"})
NearDuplicateMiddleware.from_crawler(crawler), NearDuplicatePipeline.from_crawler(crawler)
PYTHON
        ;;
        serve) cat << 'PYTHON'
import signal, subprocess, urllib.request
with nd.Store.open("crawl") as store:
    store.decide("a", texts[0])
server = subprocess.Popen([sys.executable, "-m", "ndcore", "serve", "crawl", "--port", "0"], stdout=subprocess.PIPE, text=True)
try:
    address = server.stdout.readline().split(" is at ")[1].split()[0]
    assert urllib.request.urlopen(address, timeout=60).status == 200
    assert urllib.request.urlopen(address + "api/document?key=a", timeout=60).status == 200
finally:
    server.send_signal(signal.SIGINT)
    server.wait(60)
PYTHON
        ;;
        spark) cat << 'PYTHON'
import shutil
if shutil.which("java") is None:
    sys.exit("skipped: Spark needs Java, and there is none")
import os
os.environ["PYSPARK_PYTHON"] = sys.executable
from pyspark.sql import SparkSession
from ndcore.spark import near_duplicates
spark = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
spark.createDataFrame(list(zip("abc", texts)), "url string, text string").write.parquet("pages")
df = spark.read.parquet("pages")
result = near_duplicates(df, text="text", id="url", threshold=0.8)
assert result.counts() == {"kept": 2, "lexical": 1}, result.counts()
assert result.kept(df).count() == 2
spark.stop()
PYTHON
        ;;
        stem) cat << 'PYTHON'
from ndcore.stemming import stemmed
shingling = nd.Shingling(unit=stemmed("english"), width=1)
assert nd.resemblance("running dogs", "run dog", shingling=shingling) == 1
PYTHON
        ;;
        store) cat << 'PYTHON'
with nd.Store.open("pages.store", keys="url") as store:
    first = store.decide("http://news.example/river?b=1&a=2", texts[0])
    again = store.decide("http://mirror.example/river", texts[1])
assert first.kept and (again.verdict, again.of) == ("lexical", "http://news.example/river?a=2&b=1"), again
PYTHON
        ;;
        web) cat << 'PYTHON'
page = "<html><body><p>" + texts[0] + "</p></body></html>"
open("a.html", "w").write(page)
open("b.html", "w").write(page.replace("<p>", "<div>").replace("</p>", "</div>"))
import gzip
head = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n\r\n"
record = "".join("WARC/1.0\r\nWARC-Type: response\r\nWARC-Target-URI: http://a.example/%d\r\nWARC-Date: 2026-01-01T00:00:00Z\r\n"
                 "WARC-Record-ID: <urn:uuid:00000000-0000-0000-0000-00000000000%d>\r\nContent-Type: application/http\r\n"
                 "Content-Length: %d\r\n\r\n%s%s\r\n\r\n" % (i, i, len(head + page), head, page) for i in range(2))
open("pages.warc.gz", "wb").write(gzip.compress(record.encode()))
command("dedup", "a.html", "b.html", "pages.warc.gz", "-o", "kept")
PYTHON
        ;;
        *) echo "no extra is called $1: ${all[*]}" >&2; return 2 ;;
    esac
}

for extra in "$@"; do first_example "$extra" > "$work/example-$extra.py"; done
copy_project "$work/project"
start=$SECONDS
logged "$python" -m pip wheel --no-deps --wheel-dir "$work/dist" "$work/project"
wheel=$(echo "$work/dist"/*.whl)
echo "wheel      $((SECONDS - start)) s"
failed=()
for extra in "$@"; do
    start=$SECONDS
    "$python" -m venv "$work/venv-$extra"
    mkdir "$work/run-$extra"
    cp "$root/examples/notices.jsonl" "$work/run-$extra"
    if logged "$work/venv-$extra/bin/pip" install "$wheel[$extra]" \
        && (cd "$work/run-$extra" && "$work/venv-$extra/bin/python" "$work/example-$extra.py" > "$work/said" 2>&1 \
            || { grep -q '^skipped:' "$work/said" && cat "$work/said"; } || { tail -n 30 "$work/said" >&2; false; }); then
        printf '%-10s %d s\n' "$extra" $((SECONDS - start))
    else
        failed+=("$extra")
        printf '%-10s failed\n' "$extra"
    fi
    rm -rf "$work/venv-$extra"
done
[ ${#failed[@]} -eq 0 ] || { echo "failed: ${failed[*]}" >&2; exit 1; }
echo "every extra works alone"
