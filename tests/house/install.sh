#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh SOURCE CC: weft as a subproject, what it exports, and installed into a prefix.
set -u
source_dir=$1 cc=$2
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1
here=$PWD
lib=$here/prefix/lib

# A project that carries weft inside; its program is the example of the README.
mkdir -p user/subprojects
ln -s "$source_dir" user/subprojects/weft
cat >user/meson.build <<END
project('user', 'c', default_options: ['c_std=c11', 'warning_level=3', 'werror=true'])
weft = dependency('weft', fallback: 'weft')
executable('user', '$source_dir/examples/minimal.c', dependencies: weft)
END

answers() {
    [ "$("$@")" = "20 25 30 35
56 69 82 95" ]
}

exported() {
    nm -D --defined-only "$lib/libweft.so" | awk '{ print $3 }'
}

# What the public headers declare.
declared() {
    cat "$source_dir"/include/weft/*.h | grep -v '^#' | tr '\n' ' ' |
        grep -oE 'WEFT_API [^;(]*\(' | grep -oE 'weft_[a-z0-9_]+\(' | tr -d '('
}

all_exported() {
    declared | sort >declared.txt
    exported | sort >exported.txt
    [ -s declared.txt ] && prints_nothing comm -23 declared.txt exported.txt
}

flags() {
    PKG_CONFIG_PATH=$lib/pkgconfig:${PKG_CONFIG_PATH:-} pkg-config "$@" weft
}

# build_with FLAGS: FLAGS and the compiler may be several words.
build_with() {
    $cc -std=c11 -Wall -Wextra -Wpedantic -Werror "$source_dir/examples/minimal.c" -o installed $1
}

check "set up as a subproject" env CC="$cc" meson setup build user \
    --prefix "$here/prefix" --libdir lib --buildtype release
check "built as a subproject" meson compile -C build
check "used as a subproject" answers build/user
check "brings no program and no test along" \
    prints_nothing find build/subprojects/weft -name 'weft' -type f -o -name 'test_*' -type f
check "installed" meson install -C build

check "exports nothing but weft_*" sh -c "! nm -D --defined-only '$lib/libweft.so' | grep -v ' weft_'"
check "exports all that the headers declare" all_exported
check "has a soname" sh -c "readelf -d '$lib/libweft.so' | grep -qF 'soname: [libweft.so.0]'"
check "installs all public headers" diff -r "$source_dir/include/weft" "$here/prefix/include/weft"

check "pkg-config knows the version" test "$(flags --modversion)" = \
    "$(sed -n "s/^ *version: '\(.*\)',$/\1/p" "$source_dir/meson.build")"
check "compiles against the prefix" build_with "$(flags --cflags --libs)"
check "runs from the prefix" answers env LD_LIBRARY_PATH="$lib" ./installed
check "links the static library" \
    build_with "$(flags --cflags) $lib/libweft.a $(flags --static --libs-only-other) -lOpenCL -lm"
check "runs without the shared library" answers ./installed
finish
