#!/usr/bin/env bash
# Fuzzes the C core: each target for some seconds under AddressSanitizer and UndefinedBehaviorSanitizer, starting from
# its committed corpus. Without clang and its libFuzzer the corpus is only replayed, and that is said.
#
#     tests/fuzz/run.sh [seconds per target, 20] [target ...]       targets: text markup jsonl arrow rabin pairs compressed
#
# What is found is left in the current folder as crash-*; new inputs are not added to the corpus.
set -euo pipefail
here=$(cd "$(dirname "$0")" && pwd)
core=$here/../../src/ndcore/core
seconds=${1:-20}
shift || true
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=(text markup jsonl arrow rabin pairs compressed)

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
flags=(-std=c11 -O2 -g -Wall -Wextra -Wpedantic -Werror -fno-sanitize-recover=all -fno-omit-frame-pointer
       "-I$core" "-I$here/../c")

fuzzer=no
if command -v clang > /dev/null; then
    printf '#include <stddef.h>\n#include <stdint.h>\nint LLVMFuzzerTestOneInput(const uint8_t *d, size_t n) { (void)d; (void)n; return 0; }\n' > "$work/probe.c"
    if clang -fsanitize=fuzzer,address "$work/probe.c" -o "$work/probe" 2> "$work/probe.log"; then fuzzer=yes; fi
fi

if [ "$fuzzer" = yes ]; then compile=(clang "${flags[@]}" -fsanitize=fuzzer-no-link,address,undefined)
else compile=(cc "${flags[@]}" -fsanitize=address,undefined); fi
mkdir "$work/core"
(cd "$work/core" && printf '%s\0' "$(cd "$core" && pwd)"/*.c | xargs -0 -n 1 -P "$(nproc)" "${compile[@]}" -c)

for target in "${targets[@]}"; do
    echo "== $target"
    if [ "$fuzzer" = yes ]; then
        clang "${flags[@]}" -fsanitize=fuzzer,address,undefined "$here/fuzz_$target.c" "$work"/core/*.o -o "$work/$target"
        mkdir -p "$work/corpus_$target"
        "$work/$target" -max_total_time="$seconds" -max_len=600 -seed=1 -print_final_stats=1 -verbosity=0 \
            "$work/corpus_$target" "$here/corpus/$target" 2>&1 | tee "$work/log" | grep -E '^stat::(number_of_executed|average)|ERROR|SUMMARY|Test unit' || true
        grep -q '^stat::number_of_executed_units' "$work/log" || { tail -n 60 "$work/log" >&2; exit 1; }
        if grep -qE 'ERROR|SUMMARY' "$work/log"; then tail -n 60 "$work/log" >&2; exit 1; fi
    else
        echo "skipped: clang with libFuzzer is not installed; only replaying the corpus"
        cc "${flags[@]}" -fsanitize=address,undefined "$here/fuzz_$target.c" "$here/replay.c" "$work"/core/*.o -o "$work/$target"
        "$work/$target" "$here/corpus/$target"/*
    fi
done
