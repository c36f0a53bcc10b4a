#!/usr/bin/env bash
# Builds and runs the tests of the C core with every compiler that is here, and with the last of them under AddressSanitizer
# and UndefinedBehaviorSanitizer. Checks that the core compiles by one plain command and exports nd_* only, that a shared library
# exports the functions of ndcore.h as tests/package/interface.txt lists them, and that C++ reads that header.
#
#     tests/c/run.sh [compiler ...]        default: those of cc, gcc and clang that are installed
set -euo pipefail
cd "$(dirname "$0")/../.."

core=src/ndcore/core
strict=(-std=c11 -Wall -Wextra -Wpedantic -Werror -pthread -DND_COUNT_STEPS "-I$PWD/$core")
sanitizers=(-O1 -g -fsanitize=address,undefined -fno-sanitize-recover=all -fno-omit-frame-pointer)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

if [ $# -gt 0 ]; then
    compilers=("$@")
else
    compilers=()
    for name in cc gcc clang; do
        if ! command -v "$name" > /dev/null; then
            echo "skipped: $name is not installed"
            continue
        fi
        macros=$("$name" -dM -E -x c /dev/null | cksum)
        if [[ " ${seen:-} " == *" $macros "* ]]; then    # cc is one of the others
            continue
        fi
        seen="${seen:-} $macros"
        compilers+=("$name")
    done
fi
[ ${#compilers[@]} -gt 0 ] || { echo "no C compiler: install gcc or clang" >&2; exit 2; }

# refused compiler sentence option ...: nd.h must not compile, and say so.
refused() {
    local compiler=$1 sentence=$2
    shift 2
    if "$compiler" "-I$core" -w "$@" -E -x c - > /dev/null 2> "$work/said" || ! grep -q "error.*$sentence" "$work/said"; then
        echo "not refused: $sentence"
        return 1
    fi
}

compile() {    # compile FOLDER compiler option ... -- file ...: an object of each file, as many at a time as there are CPUs
    local folder=$work/$1 command=()
    shift
    while [ "$1" != -- ]; do command+=("$1"); shift; done
    shift
    rm -rf "$folder"
    mkdir "$folder"
    printf '%s\0' "$@" | xargs -0 -n 1 -P "$(getconf _NPROCESSORS_ONLN)" bash -c \
        'file=${@: -1}; "${@:2:$#-2}" -c "$file" -o "$1/$(basename "$file" .c).o"' _ "$folder" "${command[@]}"
}

for compiler in "${compilers[@]}"; do
    echo "== $compiler: $("$compiler" --version | head -n 1)"
    compile plain "$compiler" -O3 "${strict[@]}" -- "$core"/*.c
    nm -g "$work"/plain/*.o | awk 'NF == 3 && $2 ~ /^[A-TV-Z]$/ { sub(/^_/, "", $3); if ($3 !~ /^nd_/) { print "exported without nd_: " $3; bad = 1 } else n++ }
        END { if (bad || !n) exit 1; print n " exported symbols, all nd_*" }'
    "$compiler" -O0 -fPIC -shared -fvisibility=hidden -DND_SHARED "$core"/*.c -o "$work/libndcore.so"
    nm -g "$work/libndcore.so" | awk '$2 ~ /^[A-TV-Z]$/ { sub(/^_/, "", $3); print $3 }' | LC_ALL=C sort > "$work/exported"
    sed -n 's/^\(nd_[a-z_]*\)(.*/\1/p' tests/package/interface.txt | grep -v '^nd_sink$' | LC_ALL=C sort > "$work/listed"
    diff "$work/listed" "$work/exported" || { echo "the shared library exports other functions than interface.txt lists"; exit 1; }
    echo "a shared library exports $(wc -l < "$work/exported") functions, those of interface.txt"
    if "$compiler" -x c++ -E - < /dev/null > /dev/null 2>&1; then
        printf '#include "ndcore.h"\n#include "ndcore.h"\nuint32_t f() { return nd_version(); }\n' | "$compiler" -x c++ -std=c++11 \
            -Wall -Wextra -Wpedantic -Werror "-I$core" -fsyntax-only -
        echo "ndcore.h is a header of C++ too"
    else
        echo "skipped: $compiler has no C++"
    fi
    refused "$compiler" "big-endian" -U__BYTE_ORDER__ -D__BYTE_ORDER__=__ORDER_BIG_ENDIAN__ <<< '#include "nd.h"'
    refused "$compiler" "64-bit system" <<< $'#include <stdint.h>\n#undef SIZE_MAX\n#define SIZE_MAX 0xFFFFFFFF\n#include "nd.h"'
    echo "-- -O3"
    compile tests "$compiler" -O3 "${strict[@]}" -- tests/c/test_core.c
    "$compiler" -pthread "$work"/plain/*.o "$work"/tests/*.o -o "$work/optimised"
    "$work/optimised"
    [ "$compiler" = "${compilers[-1]}" ] || continue
    echo "-- address and undefined-behaviour sanitizers"
    compile sanitized "$compiler" "${sanitizers[@]}" "${strict[@]}" -- tests/c/test_core.c "$core"/*.c
    "$compiler" "${sanitizers[@]}" -pthread "$work"/sanitized/*.o -o "$work/with_sanitizers"
    UBSAN_OPTIONS=print_stacktrace=1 "$work/with_sanitizers"
done
