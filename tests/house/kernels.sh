#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# kernels.sh SOURCE: each .cl file compiles alone, as OpenCL C 1.2 and 3.0, without a warning (but for
# parameters that one build of a source does not use).
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"

compile() {
    clang -x cl -cl-std="$2" -Xclang -finclude-default-header -fsyntax-only \
        -Wall -Wextra -Wpedantic -Wno-unused-parameter -Werror "$1"
}

for file in "$source_dir"/cl/*.cl "$source_dir"/tools/*.cl; do
    [ -f "$file" ] || continue
    for level in CL1.2 CL3.0; do
        what="${file#"$source_dir"/} as $level"
        if command -v clang >/dev/null; then
            check "$what" compile "$file" "$level"
        else
            skip "$what" "there is no clang"
        fi
    done
done
finish
