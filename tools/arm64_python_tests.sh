#!/usr/bin/env bash
# The Python tests on AArch64, emulated: a Debian 12 root for arm64 in FOLDER, ndcore installed there, pytest.
# An hour and 2 GB the first time; a root that is complete is used again. Debian or Ubuntu, as root.
#
#     tools/arm64_python_tests.sh FOLDER [--wheel FILE] [argument of pytest ...]      default: -m "not slow"
#
# ndcore is installed as a user does: from FILE, a wheel for CPython 3.11 on AArch64, or else from the sdist, compiled in the
# root. NDCORE_VARIANT is passed on. FOLDER lies outside the project and gets root/, wheels/, sdist/ and log. All mounts are in
# a namespace of their own and end with it; a registration of qemu with binfmt_misc is taken back if it was made here.
#
# Left out, because their packages start in minutes under the emulator: the extras plot and scrapy, polars, pandas, duckdb. Their
# tests are skipped.
set -euo pipefail
[ $# -gt 0 ] || { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "run it as root: it makes a Debian root and mounts /proc in it" >&2; exit 2; }
mkdir -p "$1"
folder=$(cd "$1" && pwd -P)
shift
wheel=
if [ "${1:-}" = --wheel ]; then
    wheel=$(realpath -e "${2:?name a wheel after --wheel}")
    shift 2
fi
arguments=("$@")
[ ${#arguments[@]} -gt 0 ] || arguments=(-m "not slow")
cd "$(dirname "$0")/.."
project=$(pwd -P)
case $folder/ in "$project"/*) echo "$folder is inside the project: name a folder outside it" >&2; exit 2 ;; esac

# All that follows in a mount namespace of its own.
if [ -z "${NDCORE_UNSHARED:-}" ]; then
    NDCORE_UNSHARED=yes exec unshare --mount --propagation private -- "$project/tools/arm64_python_tests.sh" "$folder" \
        ${wheel:+--wheel "$wheel"} "${arguments[@]}"
fi

root=$folder/root
emulator=qemu-aarch64
binfmt=/proc/sys/fs/binfmt_misc
work=$(mktemp -d)
registered=
finish() {
    [ -z "$registered" ] || echo -1 > "$binfmt/$emulator" || true
    rm -rf "$work"
}
trap finish EXIT
stage() { printf '== %s, %d s: %s\n' "$(date +%H:%M:%S)" "$SECONDS" "$1" | tee -a "$folder/log"; }
logged() { "$@" >> "$folder/log" 2>&1 || { tail -n 40 "$folder/log" >&2; return 1; }; }
# What enters the root gets no variable of this machine.
inside() {
    chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C.UTF-8 \
        ${NDCORE_VARIANT:+NDCORE_VARIANT="$NDCORE_VARIANT"} "$@"
}
: > "$folder/log"

missing=()
command -v debootstrap > /dev/null || missing+=(debootstrap)
command -v qemu-aarch64-static > /dev/null || missing+=(qemu-user-static)
if [ ${#missing[@]} -gt 0 ]; then
    stage "apt-get install ${missing[*]}"
    logged apt-get update
    logged env DEBIAN_FRONTEND=noninteractive apt-get install -y --no-install-recommends "${missing[@]}"
fi

# The kernel starts AArch64 programs by the emulator. F: it keeps it open, so that the root needs no copy.
[ -e "$binfmt/register" ] || mount -t binfmt_misc binfmt_misc "$binfmt"
if [ ! -e "$binfmt/$emulator" ]; then
    magic='\x7f\x45\x4c\x46\x02\x01\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x02\x00\xb7\x00'
    mask='\xff\xff\xff\xff\xff\xff\xff\x00\xff\xff\xff\xff\xff\xff\xff\xff\xfe\xff\xff\xff'
    printf '%s' ":$emulator:M::$magic:$mask:$(command -v qemu-aarch64-static):OCF" > "$binfmt/register"
    registered=yes
fi

if [ ! -e "$root/complete" ]; then
    rm -rf "$root"
    stage "debootstrap, first stage"
    logged debootstrap --arch=arm64 --foreign --variant=minbase \
        --include=gcc,libc6-dev,python3,python3-dev,python3-venv bookworm "$root"
    stage "debootstrap, second stage (emulated)"
    logged inside /debootstrap/debootstrap --second-stage
    touch "$root/complete"
fi
[ -e "$root/etc/hosts" ] || echo "127.0.0.1 localhost" > "$root/etc/hosts"      # a minimal root has no names of hosts
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"

# Wheels for the root are fetched here, so that it needs no network.
stage "sdist and wheels"
mkdir "$work/project"
if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
    git ls-files -z --cached --others --exclude-standard \
        | while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done \
        | tar --null -T - -cf - | tar -xf - -C "$work/project"
else
    tar --exclude='./.venv*' --exclude=./build --exclude='*.so' -cf - . | tar -xf - -C "$work/project"
fi
python3 -m venv "$work/venv"
logged "$work/venv/bin/pip" install build
rm -rf "$folder/sdist"
logged "$work/venv/bin/python" -m build --sdist --outdir "$folder/sdist" "$work/project"
"$work/venv/bin/python" - > "$work/requirements" <<'PYTHON'
import tomllib
with open("pyproject.toml", "rb") as file:
    content = tomllib.load(file)
extras = content["project"]["optional-dependencies"]
left_out = ("ndcore[", "polars", "pandas", "duckdb", "scipy")
wanted = content["build-system"]["requires"] + content["project"]["dependencies"]
for extra in ("cli", "parquet", "remote", "serve", "store", "web", "test"):
    wanted += [line for line in extras[extra] if not line.startswith(left_out)]
print(*dict.fromkeys(wanted), sep="\n")
PYTHON
logged "$work/venv/bin/pip" download --dest "$folder/wheels" --only-binary=:all: --implementation cp --python-version 3.11 \
    --platform manylinux2014_aarch64 --platform manylinux_2_17_aarch64 --platform manylinux_2_28_aarch64 \
    -r "$work/requirements"

stage "installation (emulated)"
rm -rf "$root/ndcore"
mkdir "$root/ndcore"
cp -r "$folder/wheels" "$folder/sdist" "$work/requirements" "$root/ndcore/"
[ -z "$wheel" ] || cp "$wheel" "$root/ndcore/"
tar -xzf "$folder/sdist"/*.tar.gz -C "$root/ndcore"
logged inside sh -euc '
    cd /ndcore
    python3 -m venv venv
    given=$(ls ndcore-*.whl 2> /dev/null || ls sdist/*.tar.gz)
    venv/bin/pip install --no-index --find-links wheels "$given" -r requirements
    mv ndcore-*/ project
    cd project
    ../venv/bin/python -c "import ndcore, sys
assert ndcore.__file__.startswith(sys.prefix), ndcore.__file__"
    ../venv/bin/ndcore info'
tail -n 40 "$folder/log" | grep -A 99 "^ndcore" || true

stage "tests (emulated)"
status=0
inside sh -euc 'cd /ndcore/project; exec ../venv/bin/python -m pytest -q -p no:cacheprovider "$@"' pytest "${arguments[@]}" 2>&1 \
    | tee -a "$folder/log" || status=$?
stage "pytest ended with status $status"
exit "$status"
