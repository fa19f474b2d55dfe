#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# abi.sh SOURCE CC BUILD: callers compiled with other releases' headers run on this library: those of
# each release that tests/data/abi keeps, and a later one's, whose structs have grown.
set -u
source_dir=$1 cc=$2 build_root=$3
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1

# headers OPTION ...
headers() {
    python3 -B "$source_dir/tests/house/abi.py" "$source_dir" "$@"
}

# compile NAME HEADER OPTION ...
compile() {
    name=$1 header=$2
    shift 2
    $cc -std=c11 -Wall -Wextra -Werror -DCL_TARGET_OPENCL_VERSION=300 "-DABI_HEADER=\"$header\"" "$@" \
        "$source_dir/tests/house/abi.c" -o "$name" -L"$build_root/lib" \
        -Wl,-rpath,"$build_root/lib" -lweft -lOpenCL
}

# runs NAME HEADER OPTION ...
runs() {
    compile "$@" && "./$1"
}

for header in "$source_dir"/tests/data/abi/*.h; do
    release=$(basename "$header" .h)
    check "a caller of soname $release runs" runs "caller-$release" "$header"
done
headers >today.h
headers grown >later.h
check "a caller of today's headers runs" runs caller-today "$PWD/today.h"
check "a later release's caller is served or refused" runs caller-later "$PWD/later.h" -DADDED
finish
