#!/usr/bin/env bash
# Compiles each C file for processors that ndcore does not support: each must be refused by #error, with the reason. A second
# or two. Debian packages: gcc-s390x-linux-gnu libc6-dev-s390x-cross gcc-arm-linux-gnueabihf libc6-dev-armhf-cross.
#
#     tools/refused_targets.sh
set -euo pipefail
cd "$(dirname "$0")/.."
core=src/ndcore/core
said=$(mktemp)
trap 'rm -f "$said"' EXIT

missing=()
command -v s390x-linux-gnu-gcc > /dev/null || missing+=(gcc-s390x-linux-gnu)
[ -e /usr/s390x-linux-gnu/include/stdint.h ] || missing+=(libc6-dev-s390x-cross)
command -v arm-linux-gnueabihf-gcc > /dev/null || missing+=(gcc-arm-linux-gnueabihf)
[ -e /usr/arm-linux-gnueabihf/include/stdint.h ] || missing+=(libc6-dev-armhf-cross)
if [ ${#missing[@]} -gt 0 ]; then
    command -v apt-get > /dev/null || { echo "missing: ${missing[*]}; install what gives it" >&2; exit 2; }
    sudo=()
    [ "$(id -u)" = 0 ] || sudo=(sudo)
    "${sudo[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}" > "$said" 2>&1 \
        || { tail -n 20 "$said" >&2; exit 1; }
fi

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
