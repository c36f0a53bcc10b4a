#!/usr/bin/env bash
# Compiles each C file for processors that ndcore does not support: each must be refused by #error, with the reason. A second
# or two. Debian packages: gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross.
#
#     tools/refused_targets.sh
set -euo pipefail
cd "$(dirname "$0")/.."
. tools/common.sh
core=src/ndcore/core
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
said=$work/said
install_missing s390x-linux-gnu-gcc gcc-s390x-linux-gnu /usr/s390x-linux-gnu/include/stdint.h libc6-dev-s390x-cross \
    arm-linux-gnueabihf-gcc gcc-arm-linux-gnueabihf /usr/arm-linux-gnueabihf/include/stdint.h libc6-dev-armhf-cross

refuses() {    # COMPILER REASON: no file of the core compiles
    local file count=0
    for file in "$core"/*.c; do
        if "$1" -std=c11 -w -fsyntax-only "$file" 2> "$said" || ! grep -q "#error.*$2" "$said"; then
            echo "$1 does not refuse $file: $2" >&2
            return 1
        fi
        count=$((count + 1))
    done
    echo "$1: $count files refused: $2"
}
refuses s390x-linux-gnu-gcc "this one is big-endian"
refuses arm-linux-gnueabihf-gcc "needs a 64-bit system"
