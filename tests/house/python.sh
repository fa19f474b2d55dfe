#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python.sh SOURCE: the Python package is built, has sound types, and passes its tests, on this OpenCL
# implementation.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1

tests="the Python package is built and passes its tests"
if said=$(sh "$source_dir/tools/python" --prepare 2>&1); then
    check "$tests" sh "$source_dir/tools/python"
else
    skip "$tests" "$(printf '%s\n' "$said" | tail -n 1)"
fi
finish
