#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# storeys.sh SOURCE: lib/ and cl/ keep the order that storeys.py knows, and it sees where they do
# not.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"

storeys() {
    python3 -B "$source_dir/tests/house/storeys.py" "$1"
}

check "files include and call what lies below, and none itself again" prints_nothing \
    storeys "$source_dir"

# finds WORDS FILE TEXT: that line at the end of a copy's file is told in these words.
finds() {
    rm -rf "$WEFT_TEST_DIR/copy"
    mkdir "$WEFT_TEST_DIR/copy"
    cp -r "$source_dir/lib" "$source_dir/cl" "$WEFT_TEST_DIR/copy"
    printf '%s\n' "$3" >>"$WEFT_TEST_DIR/copy/$2"
    said=$(cd "$WEFT_TEST_DIR/copy" && storeys .)
    [ "$said" = "$1" ] || { printf '%s\n' "$said" && return 1; }
}

check "an include of what lies above is found" finds \
    'lib/base/status.c: sparse/pattern.h is of lib/sparse' \
    lib/base/status.c '#include "sparse/pattern.h"'
check "an include of another room is found" finds \
    'lib/axis/norm.c: dense/matmul_call.h is of lib/dense' \
    lib/axis/norm.c '#include "dense/matmul_call.h"'
check "a call of what lies above is found" finds \
    'lib/base/status.c: weft_spgemm_check() is of lib/sparse' \
    lib/base/status.c 'int f(void) { return weft_spgemm_check(0); }'
check "a kernel that includes what lies above is found" finds \
    'cl/base/lanes.clh: op/scan.clh is of cl/op' \
    cl/base/lanes.clh '#include "op/scan.clh"'
check "files that call each other are found" finds \
    'a circle: lib/runtime/notes -> lib/runtime/rehearsal -> lib/runtime/notes' \
    lib/runtime/notes.c 'int f(void) { return weft_rehearsal_end(0) != 0; }'
check "headers that include each other are found" finds \
    'a circle: lib/runtime/kernel -> lib/runtime/notes -> lib/runtime/kernel' \
    lib/runtime/kernel.h '#include "runtime/notes.h"'
check "an include from nowhere is found" finds \
    'lib/base/status.c: includes status.h, which is not below lib' \
    lib/base/status.c '#include "status.h"'
check "a file in no room is found" finds \
    'lib/stray.c: is in none of the folders base, runtime, operand, formula, op, axis, dense, elementwise, convert, sparse, stream' \
    lib/stray.c 'int x;'
finish
