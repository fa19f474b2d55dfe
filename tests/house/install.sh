#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# install.sh SOURCE CC BUILD: weft as a subproject, what it exports, installed into a prefix, and what
# CMake is told; the program as BUILD installs it.
set -u
source_dir=$1 cc=$2 build_root=$3
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

# set_up FOLDER LIBRARIES
set_up() {
    env CC="$cc" meson setup "$1" user --prefix "$here/prefix" --libdir lib --buildtype release \
        -Ddefault_library="$2"
}

# The libraries that FOLDER would install, by their names.
installs() {
    meson introspect --installed "$1" | grep -oE 'libweft\.[a-z]+' | sort -u | tr '\n' ' '
}

check "set up as a subproject" set_up build both
check "built as a subproject" meson compile -C build
check "used as a subproject" answers build/user
check "brings no program and no test along" \
    prints_nothing find build/subprojects/weft -name 'weft' -type f -o -name 'test_*' -type f
check "installed" meson install -C build

check "exports nothing but weft_*" sh -c "! nm -D --defined-only '$lib/libweft.so' | grep -v ' weft_'"
check "exports all that the headers declare" all_exported
check "has a soname" sh -c "readelf -d '$lib/libweft.so' | grep -qF 'soname: [libweft.so.1]'"
check "installs all public headers" diff -r "$source_dir/include/weft" "$here/prefix/include/weft"

check "pkg-config knows the version" test "$(flags --modversion)" = \
    "$(sed -n "s/^ *version: '\(.*\)',$/\1/p" "$source_dir/meson.build")"
check "compiles against the prefix" build_with "$(flags --cflags --libs)"
check "runs from the prefix" answers env LD_LIBRARY_PATH="$lib" ./installed

# runs_in_cpp COMPILER STANDARD: every macro that fills in a struct.
runs_in_cpp() {
    # shellcheck disable=SC2046 # words
    "$1" -std="c++$2" -O2 "$source_dir/tests/house/params.cc" -o params $(flags --cflags --libs) &&
        env LD_LIBRARY_PATH="$lib" ./params
}
for compiler in g++ clang++; do
    for standard in 17 20; do
        if command -v "$compiler" >/dev/null; then
            check "runs as C++$standard by $compiler" runs_in_cpp "$compiler" "$standard"
        else
            skip "runs as C++$standard by $compiler" "there is no $compiler"
        fi
    done
done

check "installs the licence" cmp "$source_dir/LICENSE" "$here/prefix/share/licenses/weft/LICENSE"

check "set up with the static library alone" set_up static static
check "installs both libraries" test "$(installs build)" = "libweft.a libweft.so "
check "installs the static library alone" test "$(installs static)" = "libweft.a "
check "names all that the static library needs" grep -q -e '^Libs:.* -lm\b' static/meson-private/weft.pc
check "links the static library" \
    build_with "$(flags --cflags) $lib/libweft.a $(flags --static --libs-only-other) -lOpenCL -lm"
check "runs without the shared library" answers ./installed

# The prefix of the build itself, moved to a folder here.
moved_program() {
    find "$here/moved" -path '*/bin/weft'
}

# Once it has found what reads assembly, it looks for Python: on a path of nothing.
finds_assembly() {
    find "$here/moved" -path '*/share/weft/assembly/*.py' | sed 's|.*/||' | sort >installed.txt
    (cd "$source_dir/tools/assembly" && ls ./*.py) | sed 's|.*/||' | sort | diff - installed.txt &&
        ! env PATH="$here/moved" "$(moved_program)" explain spmm 8x8 8x8 --profile h100 --compile \
            >explained.txt 2>&1 && grep -q '^weft explain: --compile: there is no python3' explained.txt
}

if [ -n "$(meson introspect --installed "$build_root" | grep -o 'bin/weft"')" ]; then
    check "installed elsewhere" meson install -C "$build_root" --no-rebuild --destdir "$here/moved"
    check "the program finds the library from there" sh -c "'$(moved_program)' info >/dev/null"
    check "and what reads assembly" finds_assembly
else
    skip "the program finds the library" "this build has no program"
fi

# cmake_project COMMANDS
cmake_project() {
    rm -rf cmake && mkdir cmake || return
    printf 'cmake_minimum_required(VERSION 3.13)\nproject(user C)\n%s\n' "$1" >cmake/CMakeLists.txt
    cmake -S cmake -B cmake/build -DCMAKE_PREFIX_PATH="$here/prefix"
}

# What these sentences name.
cmake_finds() {
    cmake_project "find_package(PkgConfig REQUIRED)
$pkg_config_finds
add_executable(user $source_dir/examples/minimal.c)
target_link_libraries(user PkgConfig::weft)" && cmake --build cmake/build
}

# cmake_says SENTENCE COMMAND: a project with that command ends with the sentence. CMake breaks lines.
cmake_says() {
    said=$(cmake_project "$2" 2>&1) && return 1
    printf '%s\n' "$said"
    printf '%s' "$said" | tr -s ' \n' ' ' | grep -qF "$1"
}

pkg_config_finds='pkg_check_modules(weft REQUIRED IMPORTED_TARGET weft)'
if command -v cmake >/dev/null; then
    check "find_package() says what finds it" \
        cmake_says "$pkg_config_finds" "find_package(weft REQUIRED)"
    check "FetchContent says what builds it" cmake_says "weft is built by Meson" \
        "include(FetchContent)
FetchContent_Declare(weft SOURCE_DIR $source_dir)
FetchContent_MakeAvailable(weft)"
    check "pkg_check_modules() finds it" cmake_finds
    check "runs, built by CMake" answers cmake/build/user
else
    skip "CMake is told what finds it" "there is no cmake"
fi
finish
