#!/usr/bin/env bash
# The C core under ThreadSanitizer: threads share objects and write to neighbouring rows (test_threads.c). A race ends it with
# an error. The other tests of the core have one thread, or threads that change texts while they are read: races on purpose.
#
#     tests/c/threads.sh [compiler]        default: clang where it is installed, else cc
set -euo pipefail
cd "$(dirname "$0")/../.."
core=$PWD/src/ndcore/core
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
compiler=${1:-$(command -v clang || command -v cc)}
flags=(-std=c11 -O1 -g -Wall -Wextra -Wpedantic -Werror -Wno-unused-function -pthread "-I$core" -fsanitize=thread -fno-omit-frame-pointer)
echo "== $("$compiler" --version | head -n 1)"
(cd "$work" && printf '%s\0' "$core"/*.c | xargs -0 -n 1 -P "$(nproc)" "$compiler" "${flags[@]}" -c)
"$compiler" "${flags[@]}" tests/c/test_threads.c "$work"/*.o -o "$work/threads"
TSAN_OPTIONS=halt_on_error=1 "$work/threads"
