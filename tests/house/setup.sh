#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# setup.sh SOURCE: what tools/setup.sh installs, and what it says, on machines that are played.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"

# Files `installed`, `lists` and `archive` in $machine have a name of a package a line; what apt-get
# is told goes to `told`.
machine=$WEFT_TEST_DIR/machine
mkdir -p "$machine/bin"
cat >"$machine/bin/dpkg-query" <<'END'
#!/bin/sh
for name in "$@"; do :; done
grep -qx -- "$name" "$machine/installed" && echo "ii "
END
cat >"$machine/bin/apt-cache" <<'END'
#!/bin/sh
if [ $# = 1 ]; then
    echo "Package files:"
    echo " 100 /var/lib/dpkg/status"
    [ ! -s "$machine/lists" ] || echo " 500 http://archive/debian stable/main amd64 Packages"
elif grep -qx -- "$2" "$machine/lists"; then
    printf '%s:\n  Installed: (none)\n  Candidate: 1.0\n' "$2"
fi
END
cat >"$machine/bin/apt-get" <<'END'
#!/bin/sh
while [ $# -gt 1 ] && [ "${1#-}" != "$1" ]; do
    [ "$1" != -o ] || shift
    shift
done
echo "$*" >>"$machine/told"
[ ! -s "$machine/away" ] || { sed -i 1d "$machine/away" && exit 1; } # for so many calls
case $1 in
update) cp "$machine/archive" "$machine/lists" ;;
install)
    shift 2
    for package in "$@"; do
        grep -qx -- "$package" "$machine/archive" || exit 1
        echo "$package" >>"$machine/installed"
    done
    ;;
esac
END
printf '#!/bin/sh\n"$@"\n' >"$machine/bin/sudo"
chmod +x "$machine/bin"/*
export machine

# is_so INSTALLED LISTS ARCHIVE: the machine anew.
is_so() {
    for name in installed lists archive; do
        # shellcheck disable=SC2086 # a list of words
        printf '%s\n' $1 | sed '/^$/d' >"$machine/$name"
        shift
    done
    : >"$machine/told"
}

# installs NEEDED WANTED: what is said, and what apt-get is told.
installs() {
    (
        PATH=$machine/bin:$PATH
        . "$source_dir/tools/setup.sh"
        release_name() { echo "Debian 13"; }
        sleep() { :; }
        install_missing "$1" "$2"
    ) 2>&1
    echo "status $?"
    cat "$machine/told"
}

# gives WHAT EXPECTED NEEDED WANTED
gives() {
    what=$1 expected=$2
    said=$(installs "$3" "$4" | sed "s|^$0: ||")
    check "$what" test "$said" = "$expected"
    [ "$said" = "$expected" ] || printf '%s\n' "$said" | sed 's/^/# said: /'
}

all='meson gcc clang-19 oclgrind valgrind'
is_so 'meson gcc valgrind' "$all" "$all"
gives "nothing is done where all is there" 'All packages are there.
status 0' 'meson gcc' 'valgrind'

some='meson gcc clang-19 valgrind'
is_so 'meson gcc clang-19 valgrind' "$some" "$some"
gives "what the release has not is told, and nothing is renewed for it" \
    'Debian 13 has no oclgrind: tests on Oclgrind are skipped
All other packages are there.
status 0' 'meson gcc' 'oclgrind clang-15|clang-19 valgrind'

is_so 'meson' "$some" "$some"
gives "what is missing is installed, the second where there is no first" \
    "Debian 13 has no oclgrind: tests on Oclgrind are skipped
Missing: gcc clang-19
apt-get update
apt-get install --no-install-recommends gcc clang-19
status 0
update
install --no-install-recommends gcc clang-19" 'meson gcc' 'clang-15|clang-19 oclgrind'
gives "and then it is there" \
    'Debian 13 has no oclgrind: tests on Oclgrind are skipped
All other packages are there.
status 0
update
install --no-install-recommends gcc clang-19' 'meson gcc' 'clang-15|clang-19 oclgrind'

is_so '' '' "$some"
gives "a fresh machine gets its lists first, and once" \
    'apt-get update
Debian 13 has no clang-14 and no clang-15: kernels are not compiled for AMD'"'"'s and NVIDIA'"'"'s GPUs
Missing: meson valgrind
apt-get install --no-install-recommends meson valgrind
status 0
update
install --no-install-recommends meson valgrind' 'meson' 'clang-14|clang-15 valgrind'

is_so 'meson' "$some" "$some"
gives "what is needed and is nowhere ends it" \
    'Missing: ninja-build
apt-get update
apt-get install --no-install-recommends ninja-build
Failed, and is tried again in 10 seconds: apt_get install --no-install-recommends ninja-build
Failed, and is tried again in 30 seconds: apt_get install --no-install-recommends ninja-build
apt-get install failed
status 1
update
install --no-install-recommends ninja-build
install --no-install-recommends ninja-build
install --no-install-recommends ninja-build' 'meson ninja-build' ''

is_so '' '' 'meson'
printf 'away\n' >"$machine/away"
gives "lists are fetched again where the network was away" \
    'apt-get update
Failed, and is tried again in 10 seconds: apt_get -o APT::Update::Error-Mode=any update
Missing: meson
apt-get install --no-install-recommends meson
status 0
update
update
install --no-install-recommends meson' 'meson' ''
is_so '' 'meson' 'meson'
printf 'away\naway\naway\naway\naway\n' >"$machine/away"
gives "after three times the old ones serve, and packages are fetched again" \
    'Missing: meson
apt-get update
Failed, and is tried again in 10 seconds: apt_get -o APT::Update::Error-Mode=any update
Failed, and is tried again in 30 seconds: apt_get -o APT::Update::Error-Mode=any update
Package lists could not be renewed; going on with the old ones.
apt-get install --no-install-recommends meson
Failed, and is tried again in 10 seconds: apt_get install --no-install-recommends meson
Failed, and is tried again in 30 seconds: apt_get install --no-install-recommends meson
status 0
update
update
update
install --no-install-recommends meson
install --no-install-recommends meson
install --no-install-recommends meson' 'meson' ''
finish
