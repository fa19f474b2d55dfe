#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# python.sh SOURCE: the Python package is built, has sound types, and passes its tests, on this OpenCL
# implementation; on others than PoCL a selection that takes little time there.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1

selection='arrays csc elementwise softmax sparse'

# What pytest says of each test at its end, as TAP.
as_tap() {
    tr '#' '.' | sed -n -e 's|^\([A-Z]* \)[./]*python/tests/|\1|' \
        -e 's/^PASSED /ok - /p' \
        -e 's/^SKIPPED \(.*\) - Skipped: \(.*\)/ok - \1 # SKIP \2/p' \
        -e 's/^FAILED /not ok - /p' \
        -e 's/^ERROR /not ok - /p'
}

# tests_of ARGUMENT ...: of tools/python. What it prints is shown where it fails.
tests_of() {
    PYTEST_ADDOPTS='-rap --no-fold-skipped' sh "$source_dir/tools/python" "$@" >output 2>&1
    status=$?
    as_tap <output >tap
    cat tap
    n_tests=$((n_tests + $(wc -l <tap)))
    if [ "$status" != 0 ]; then
        sed 's/^/# /' output
        check "the package is built, has sound types, and its tests end well" [ "$status" = 0 ]
    fi
}

if ! said=$(sh "$source_dir/tools/python" --prepare 2>&1); then
    skip "the Python package" "$(printf '%s\n' "$said" | tail -n 1)"
elif [ "$WEFT_TEST_IMPLEMENTATION" = pocl ]; then
    tests_of
else
    for name in $selection; do
        set -- "$@" "$source_dir/python/tests/test_$name.py"
    done
    shift
    tests_of "$@"
fi
finish
