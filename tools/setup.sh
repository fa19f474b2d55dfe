# SPDX-License-Identifier: Apache-2.0
# For tools/demo, tools/check, tools/gpu-check and their like: says what they do, installs what is
# missing, and builds. Read before options are; what builds is run from the top of the tree.
# shellcheck disable=SC2034 # lists that the others use

packages_to_build='meson ninja-build gcc libc6-dev pkg-config ocl-icd-opencl-dev opencl-headers
    libjansson-dev libxxhash-dev zlib1g-dev'
packages_of_a_device='pocl-opencl-icd'
packages_to_check='g++ clang libcmocka-dev python3'
# Not on every release: see without(). FIRST|SECOND: the second where there is no first.
packages_if_there_are='oclgrind mesa-opencl-icd clang-format shellcheck libclang-rt-dev
    clang-15|clang-19 libclc-15|libclc-19 intel-opencl-icd clang-tidy cppcheck valgrind python3-venv
    python3-dev libopenmpi-dev openmpi-bin'

# What happens to the tests without a package.
without() {
    case $1 in
    oclgrind) echo "tests on Oclgrind are skipped" ;;
    mesa-opencl-icd) echo "tests on rusticl are skipped" ;;
    valgrind) echo "tests under Valgrind are skipped" ;;
    libclang-rt-dev) echo "fuzz targets only run over their corpora" ;;
    clang-[0-9]* | libclc-*) echo "kernels are not compiled for AMD's and NVIDIA's GPUs" ;;
    intel-opencl-icd) echo "kernels are not compiled for Intel's GPUs" ;;
    libopenmpi-dev | openmpi-bin) echo "products over ranks are not tested" ;;
    clang-format | clang-tidy | cppcheck | shellcheck) echo "its tests are skipped" ;;
    *) echo "tests that need it are skipped" ;;
    esac
}

# Prints the comment at the top of the script.
usage() {
    sed -n '3,/^set/s/^# \{0,1\}//p' "$0"
}

refuse() {
    printf '%s: %s; --help says what there is\n' "$0" "$1" >&2
    exit 2
}

n_steps=0

# A line that says what comes next.
step() {
    n_steps=$((n_steps + 1))
    printf '\n[%d] %s\n' "$n_steps" "$*"
}

give_up() {
    printf '%s: %s\n' "$0" "$*" >&2
    exit 1
}

# Where tools/fresh makes its Debians: told from where the caller stands, and made.
fresh_folder() {
    fresh=${WEFT_FRESH_DIR:-$(dirname "$0")/../build/fresh}
    mkdir -p "$fresh"
    (cd "$fresh" && pwd)
}

tree_in_fresh='root/weft/weft' # below RELEASE in there

# "Debian 13", "Ubuntu 22.04".
release_name() {
    # shellcheck disable=SC1091 # its variables stay in here
    (. /etc/os-release && echo "${NAME%% *} ${VERSION_ID:-of no number}")
}

is_installed() {
    dpkg-query -W -f '${db:Status-Abbrev}' "$1" 2>/dev/null | grep -q '^ii'
}

can_be_installed() {
    apt-cache policy "$1" 2>/dev/null | grep -q 'Candidate: [^(]'
}

# first_that COMMAND FIRST|SECOND: fails where the command does for each of them.
first_that() {
    for each in $(echo "$2" | tr '|' ' '); do
        "$1" "$each" && echo "$each" && return
    done
    return 1
}

as_root() {
    if [ "$(id -u)" = 0 ]; then
        "$@"
    elif command -v sudo >/dev/null; then
        sudo "$@"
    else
        give_up "run this as root, or install sudo: $*"
    fi
}

# What fetches: the network may be away for a moment.
try_thrice() {
    for pause in 10 30; do
        "$@" && return
        echo "Failed, and is tried again in $pause seconds: $*" >&2
        sleep "$pause"
    done
    "$@"
}

missing_of() {
    for package in "$@"; do
        first_that is_installed "$package" >/dev/null || printf '%s ' "$package"
    done
}

apt_get() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o Dpkg::Use-Pty=0 \
        -o DPkg::Lock::Timeout=120 "$@"
}

# A fresh machine has none.
has_package_lists() {
    apt-cache policy 2>/dev/null | grep -q '^ *[0-9-]* [a-z+]*:'
}

# Once in a run.
are_renewed=
renew_package_lists() {
    [ -z "$are_renewed" ] || return 0
    are_renewed=yes
    echo "apt-get update"
    try_thrice apt_get -o APT::Update::Error-Mode=any update >/dev/null ||
        echo "Package lists could not be renewed; going on with the old ones."
}

# Of these, what the release has.
found_of() {
    for package in "$@"; do
        first_that can_be_installed "$package" | tr '\n' ' '
    done
}

tell_what_there_is_not() {
    for package in "$@"; do
        first_that can_be_installed "$package" >/dev/null ||
            echo "$(release_name) has no $(echo "$package" | sed 's/|/ and no /g'): $(without "$package")"
    done
}

# install_missing NEEDED WANTED: two lists; those wanted are left out where the release has none.
# Package lists are renewed where something is to be installed.
install_missing() {
    if ! command -v apt-get >/dev/null; then
        echo "This is no Debian or Ubuntu: the packages $1 are taken to be there."
        return
    fi
    # shellcheck disable=SC2086 # lists of words
    set -- "$(missing_of $1)" "$(missing_of $2)"
    has_package_lists || [ -z "$1$2" ] || renew_package_lists
    # shellcheck disable=SC2086
    ! has_package_lists || tell_what_there_is_not $2
    # shellcheck disable=SC2086
    missing="$1$(found_of $2)" && missing=${missing% }
    if [ -z "$missing" ]; then
        echo "All ${2:+other }packages are there."
        return
    fi
    echo "Missing: $missing"
    renew_package_lists
    echo "apt-get install --no-install-recommends $missing"
    # shellcheck disable=SC2086
    try_thrice apt_get install --no-install-recommends $missing >/dev/null ||
        give_up "apt-get install failed"
}

# Ubuntu 22.04 has a Meson that is too old: then one of our own, in build/.
find_meson() {
    PATH=$PWD/build/meson/bin:$PATH
    is_new_enough "$(meson --version 2>/dev/null)" && return
    echo "Meson is older than 1.0.1: installing one into build/meson"
    install_missing 'python3-venv' ''
    python3 -m venv build/meson || give_up "no Python environment for Meson"
    try_thrice build/meson/bin/pip -q install 'meson>=1.0.1' || give_up "no Meson"
}

is_new_enough() {
    [ "$(printf '%s\n' 1.0.1 "$1" | sort -V | head -n 1)" = 1.0.1 ]
}

# Runs a command quietly; where it fails, shows the end of what it said.
quietly() {
    log=build/quietly.log
    "$@" >"$log" 2>&1 || {
        tail -n 60 "$log"
        give_up "failed: $*"
    }
}

# set_up_in FOLDER [MESON_OPTION ...]
set_up_in() {
    folder=$1
    shift
    mkdir -p build
    if [ -f "$folder/build.ninja" ]; then
        quietly meson configure "$folder" "$@"
    else
        quietly meson setup "$folder" "$@"
    fi
}

# build_in FOLDER [MESON_OPTION ...]
build_in() {
    set_up_in "$@"
    quietly meson compile -C "$folder"
}
