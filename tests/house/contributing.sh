#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# contributing.sh SOURCE CC BUILD: the operation that CONTRIBUTING.md shows, added to a copy of the
# tree as the text says, keeps the rules of the house and computes what it should.
set -u
source_dir=$1 cc=$2 build_root=$3
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1
mkdir -p copy/tests
cp -r "$source_dir/lib" "$source_dir/cl" "$source_dir/include" "$source_dir/.clang-format" copy
cp -r "$source_dir/tests/house" "$source_dir/tests/meson.build" copy/tests

add_the_example() {
    python3 -B "$source_dir/tests/house/contributing.py" "$source_dir" copy >added.txt
}

are_formatted() {
    [ -s added.txt ] && grep '\.[ch]$' added.txt | xargs clang-format --dry-run --Werror
}

# lists_all FOLDER SUFFIX WORDS_IN_QUOTES: meson.build names the sources that there are.
lists_all() {
    grep -oE "'$3'" "copy/$1/meson.build" | tr -d "'" | sort >listed.txt
    (cd "copy/$1" && ls -- */*"$2") | sed 's/\.cl$//' | sort | diff listed.txt -
}

declares_all_kernels() {
    grep -oE 'weft_source_[a-z0-9_]+' copy/lib/runtime/defines.h | sort >declared.txt
    (cd copy/cl && ls -- */*.cl) | sed 's|.*/\(.*\)\.cl$|weft_source_\1|' | sort | diff declared.txt -
}

passes_with_headers() {
    sh copy/tests/house/headers.sh "$PWD/copy" "$cc" >headers.txt
    ! grep -A 20 '^not ok' headers.txt && grep 'outer.h as C11$' headers.txt
}

compile() {
    python3 -B copy/cl/embed.py copy/cl/convert/outer.cl outer_cl.c weft_source_outer outer.d &&
        $cc -std=c11 -Wall -Wextra -Wpedantic -Wshadow -Wstrict-prototypes -Wmissing-prototypes -Wvla \
            -Werror -DCL_TARGET_OPENCL_VERSION=300 -Icopy/include -Icopy/lib -Icopy/cl \
            -I"$source_dir/tests" copy/lib/convert/outer.c outer_cl.c copy/tests/test_outer.c \
            "$source_dir/tests/format_case.c" "$source_dir/tests/queues.c" -o test_outer \
            "$build_root/lib/libweft.a" -lcmocka -lOpenCL -lm -ldl -pthread
}

check "CONTRIBUTING.md shows what to add, and where" add_the_example
case $(clang-format --version 2>/dev/null) in
*' version 14.'*) check "clang-format changes nothing" are_formatted ;;
*) skip "clang-format changes nothing" "there is no clang-format 14" ;;
esac
check "files include and call what lies below" prints_nothing \
    python3 -B "$source_dir/tests/house/storeys.py" copy
check "the library's list has all sources" lists_all lib .c '[a-z0-9_]+/[a-z0-9_]+\.c'
check "the list of kernels has all sources" lists_all cl .cl '[a-z0-9_]+/[a-z0-9_]+'
check "every kernel's text is declared" declares_all_kernels
check "its header is as the others are" passes_with_headers
check "compiles without a warning" compile
check "its test passes" ./test_outer
finish
