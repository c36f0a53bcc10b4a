#!/usr/bin/env bash
# A wheel as a user gets it: sdist, a wheel from the sdist per Python, built twice with the same bytes, a fresh environment
# with that wheel, the time to its first result, and the tests of the sdist there against the installed package. Minutes per
# Python.
#
#     tools/wheel_check.sh PYTHON ... [-- argument of pytest ...]      for example: python3.11 python3.13 -- -m "not slow"
set -euo pipefail
. "$(dirname "$0")/common.sh"
pythons=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do
    command -v "$1" > /dev/null || { echo "$1 is no program: name Python executables" >&2; exit 2; }
    pythons+=("$(command -v "$1")")
    shift
done
[ ${#pythons[@]} -gt 0 ] || usage
[ $# -eq 0 ] || shift
for i in "${!pythons[@]}"; do      # stays right in another folder
    case ${pythons[i]} in /*) ;; *) pythons[i]=$PWD/${pythons[i]} ;; esac
done
cd "$(dirname "$0")/.."
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export PIP_DISABLE_PIP_VERSION_CHECK=1 PYTHONDONTWRITEBYTECODE=1

mkdir "$work/unpacked"
copy_project "$work/project"
"${pythons[0]}" -m venv "$work/build"
logged "$work/build/bin/pip" install build
logged "$work/build/bin/python" -m build --sdist --outdir "$work/sdist" "$work/project"
sdist=$(echo "$work/sdist"/*.tar.gz)
echo "$(basename "$sdist"), $(stat -c %s "$sdist") bytes"
tar -xzf "$sdist" --strip-components=1 -C "$work/unpacked"

failed=()
for python in "${pythons[@]}"; do
    version=$("$python" -c 'import sys; print("%d.%d.%d" % sys.version_info[:3])')
    echo
    echo "== Python $version"
    start=$SECONDS
    environment=$work/$version
    "$python" -m venv "$environment"
    logged "$environment/bin/pip" wheel --no-deps --wheel-dir "$work/wheels-$version" "$sdist"
    wheel=$(echo "$work/wheels-$version"/*.whl)
    echo "$(basename "$wheel"), $(stat -c %s "$wheel") bytes, $((SECONDS - start)) s"
    TMPDIR="$work/unpacked" logged "$environment/bin/pip" wheel --no-deps --wheel-dir "$work/again-$version" "$sdist"
    cmp "$wheel" "$work/again-$version/$(basename "$wheel")"
    "$python" -m venv "$environment-first"
    start=$SECONDS
    logged "$environment-first/bin/pip" install "$wheel"
    (cd "$work" && "$environment-first/bin/python" -c 'import ndcore
print("first result", ndcore.near_duplicates(["a rose is a rose", "A rose is a rose!"]).labels)')
    echo "$((SECONDS - start)) s from the wheel to the first result"
    logged "$environment/bin/pip" install "$wheel[test]"
    "$environment/bin/python" -m pip check
    (
        cd "$work/unpacked"
        "$environment/bin/python" -c 'import ndcore, sys
assert ndcore.__file__.startswith(sys.prefix), ndcore.__file__'
    )
    (cd "$work/unpacked" && "$environment/bin/ndcore" info && "$environment/bin/python" -m pytest -q -p no:cacheprovider "$@") \
        || failed+=("$version")
done
echo
if [ ${#failed[@]} -gt 0 ]; then echo "failed with Python ${failed[*]}"; exit 1; fi
echo "passed with every Python"
