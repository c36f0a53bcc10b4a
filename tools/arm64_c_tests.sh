#!/usr/bin/env bash
# The tests of the C core on AArch64, by a cross compiler and an emulator: on a CPU with PMULL, on one that reports none,
# and with undefined behaviour trapped. Half a minute. Debian packages: gcc-aarch64-linux-gnu libc6-dev-arm64-cross
# qemu-user-static.
#
#     tools/arm64_c_tests.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh
core=src/ndcore/core
prefix=aarch64-linux-gnu
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

install_missing $prefix-gcc gcc-aarch64-linux-gnu /usr/$prefix/lib/libc.a libc6-dev-arm64-cross \
    qemu-aarch64-static qemu-user-static

echo "== $($prefix-gcc --version | head -n 1); $(qemu-aarch64-static --version | head -n 1)"
strict=(-std=c11 -Wall -Wextra -Wpedantic -Werror -pthread -DND_COUNT_STEPS "-I$core")
objects() {    # FOLDER OPTION ...: an object of each file of the core
    mkdir "$work/$1"
    local folder=$work/$1 file
    shift
    for file in "$core"/*.c; do
        $prefix-gcc "$@" "${strict[@]}" -c "$file" -o "$folder/$(basename "$file" .c).o"
    done
}
run() {    # PROGRAM ARGUMENT ...
    qemu-aarch64-static -cpu max "$work/$1" "${@:2}" | tee "$work/$1.log"
}

objects plain -O3
$prefix-gcc -O3 "${strict[@]}" -c tests/c/test_core.c -o "$work/test_core.o"
# An instruction that this CPU may lack stands nowhere but in the form that asks for it.
for object in "$work"/plain/*.o; do
    $prefix-objdump -d --no-show-raw-insn "$object"
done | awk '
    /^[0-9a-f]+ <.*>:$/ { name = $2 }
    $2 ~ /^pmull2?$/ && $3 ~ /\.1q/ { if (name ~ /pmull/) found++; else { print "PMULL in " name > "/dev/stderr"; bad = 1 } }
    END { if (bad || !found) exit 1; print found " PMULL instructions, all in forms of that name" }'

echo "-- a CPU with PMULL"
$prefix-gcc -static "$work/test_core.o" "$work"/plain/*.o -o "$work/with"
run with
if grep -q pmull "$work/with.log"; then echo "PMULL was not detected" >&2; exit 1; fi

# The emulator has no CPU model without PMULL: the kernel's word is changed instead.
echo "-- a CPU that reports no PMULL"
cat > "$work/wrap.c" <<'C'
#include <sys/auxv.h>
unsigned long __real_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type);
unsigned long __wrap_getauxval(unsigned long type)
{
    const unsigned long value = __real_getauxval(type);
    return type == AT_HWCAP ? value & ~(1ul << 4) : value;
}
C
$prefix-gcc -O2 -c "$work/wrap.c" -o "$work/wrap.o"
$prefix-gcc -static -Wl,--wrap=getauxval "$work/test_core.o" "$work"/plain/*.o "$work/wrap.o" -o "$work/without"
run without rabin
grep -q '^skipped: rabin=pmull ' "$work/without.log" || { echo "PMULL ran where the CPU reports none" >&2; exit 1; }

echo "-- undefined behaviour trapped"
objects trapped -O1 -fsanitize=undefined -fsanitize-undefined-trap-on-error
$prefix-gcc -static "$work/test_core.o" "$work"/trapped/*.o -o "$work/undefined"
run undefined
