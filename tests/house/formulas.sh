#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# formulas.sh SOURCE: formulas.py prints the vectors that are kept.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"

prints_what_is_kept() {
    python3 -B "$source_dir/tests/formulas.py" | diff "$source_dir/tests/data/formulas.txt" -
}

if python3 -c 'import mpmath, numpy, pycparser' 2>/dev/null; then
    check "formulas.py prints the vectors that are kept" prints_what_is_kept
else
    skip "formulas.py prints the vectors that are kept" "there is no mpmath, NumPy or pycparser"
fi
finish
