# What shell scripts of the project share. They source it from the folder of the project: . tools/common.sh

usage() { sed -n '2,/^set/{/^#/s/^# \{0,1\}//p}' "$0" >&2; exit 2; }    # the comment at the head of the script

logged() { "$@" > "$work/log" 2>&1 || { tail -n 40 "$work/log" >&2; return 1; }; }    # what it prints shows where it fails

copy_project() {    # copy_project FOLDER: the files of the project, as a clone would have them
    mkdir -p "$1"
    if git rev-parse --is-inside-work-tree > /dev/null 2>&1; then
        git ls-files -z --cached --others --exclude-standard \
            | while IFS= read -r -d '' file; do if [ -e "$file" ]; then printf '%s\0' "$file"; fi; done \
            | tar --null -T - -cf - | tar -xf - -C "$1"
    else
        tar --exclude=./.git --exclude='./.venv*' --exclude=./build --exclude='*.so' -cf - . | tar -xf - -C "$1"
    fi
}

install_missing() {    # install_missing (PROGRAM or FILE) PACKAGE ...: by apt, the packages whose program or file is not there
    local missing=() sudo=()
    while [ $# -gt 0 ]; do
        command -v "$1" > /dev/null || [ -e "$1" ] || missing+=("$2")
        shift 2
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    command -v apt-get > /dev/null || { echo "missing: ${missing[*]}; install what gives it" >&2; exit 2; }
    [ "$(id -u)" = 0 ] || sudo=(sudo)
    "${sudo[@]}" apt-get update -qq
    DEBIAN_FRONTEND=noninteractive logged "${sudo[@]}" apt-get install -y -qq --no-install-recommends "${missing[@]}"
}
