#!/usr/bin/env bash
# Branch coverage of the C core, by gcov: its own tests (tests/c) alone, or those and tests of Python.
#
#     tools/coverage_c.sh FOLDER                       tests/c
#     tools/coverage_c.sh FOLDER PYTHON TEST ...       the extensions, built for PYTHON in a copy of the tree, and these tests
#
# FOLDER gets coverage.txt: of each C file its lines and branches, and the share of them that ran. Variants that this CPU does not
# run count as not run. Needs gcc, and for the second form what `pip install '.[test]'` installs. CC, GCOV, LDFLAGS and EMULATOR
# choose others for the first form. ARM64 on another CPU:
#
#     CC=aarch64-linux-gnu-gcc GCOV=aarch64-linux-gnu-gcov LDFLAGS=-static EMULATOR="qemu-aarch64-static -cpu max" \
#         tools/coverage_c.sh FOLDER
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -gt 0 ] || usage
mkdir -p "$1"
folder=$(cd "$1" && pwd -P)
shift
cd "$(dirname "$0")/.."
project=$(pwd -P)
core=$project/src/ndcore/core
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

mkdir "$work/objects"
if [ $# -eq 0 ]; then
    flags=(-std=c11 -O0 -g -pthread -DND_COUNT_STEPS "-I$core" --coverage)
    compiler=${CC:-gcc}
    read -ra link_flags <<< "${LDFLAGS:-}"
    read -ra emulator <<< "${EMULATOR:-}"
    (cd "$work/objects" && printf '%s\0' "$core"/*.c | xargs -0 -n 1 -P "$(nproc)" "$compiler" "${flags[@]}" -c)
    "$compiler" "${flags[@]}" -c tests/c/test_core.c -o "$work/test_core.o"
    "$compiler" --coverage -pthread "${link_flags[@]}" "$work/test_core.o" "$work"/objects/*.o -o "$work/tests"
    "${emulator[@]}" "$work/tests"
else
    python=$1
    shift
    copy_project "$work"
    (cd "$work" && CFLAGS="--coverage -O0" LDFLAGS=--coverage "$python" setup.py -q build_ext --inplace)
    # Extensions with counters export more than their start.
    (cd "$work" && PYTHONPATH=$work/src "$python" -m pytest -q -p no:cacheprovider \
        --deselect tests/kernels/test_kernels.py::test_an_extension_exports_its_start_only "$@")
    find "$work/build" -path '*/core/*' \( -name '*.gcno' -o -name '*.gcda' \) -exec cp -t "$work/objects" {} +
fi

# A line of gcov's summary a file: lines, then branches that were taken at least once.
cd "$work/objects"
"${GCOV:-gcov}" -b -c ./*.gcda 2> "$work/gcov.log" | awk '
    /^File / { file = $2; gsub(/\x27/, "", file); sub(/.*\//, "", file); next }
    /^$/ { file = "" }  # what follows the last file is of all files
    file && /^Lines executed:/ { split($2, part, ":"); lines[file] = part[2]; count[file] = $4; next }
    file && /^Taken at least once:/ { split($4, part, ":"); branches[file] = part[2]; number[file] = $6; next }
    END { for (file in count) if (file ~ /\.[ch]$/ && file !~ /^(test_|naive|check)|intrin\.h$|^arm_neon\.h$/)
              printf "%-20s %8s of %6d lines  %8s of %6d branches\n", file, lines[file], count[file], branches[file], number[file] }' \
    | LC_ALL=C sort > "$folder/coverage.txt"
awk '{ sub("%", "", $2); l += $2 * $4 / 100; n += $4; sub("%", "", $6); b += $6 * $8 / 100; m += $8 }
     END { printf "all: %.1f %% of %d lines, %.1f %% of %d branches\n", 100 * l / n, n, 100 * b / m, m }' "$folder/coverage.txt" \
    | tee -a "$folder/coverage.txt"
