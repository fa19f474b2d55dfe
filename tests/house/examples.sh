#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# examples.sh SOURCE EXAMPLES: the example programs do what they say, on this OpenCL implementation.
set -u
source_dir=$1 examples=$2
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1

says() {
    printf '%s\n' "$1" | grep -qE -- "$2" || { printf 'missing: %s\nin:\n%s\n' "$2" "$1" && false; }
}

check "minimal" test "$("$examples/minimal")" = "20 25 30 35
56 69 82 95"

# By name: app 1, base 2, coach 3, horse 4, left 5, library 6, right 7, tool 8. An app needs base,
# the library, the first alternative that is there, and both that provide a virtual package. What
# is not installed, what comes a second time, and itself do not count.
cat >expected.mtx <<'END'
%%MatrixMarket matrix coordinate real general
8 8 8
2 1 0.200000003
2 6 1
3 1 0.200000003
4 1 0.200000003
6 1 0.200000003
6 8 1
7 5 1
8 1 0.200000003
END
ranking=$("$examples/pagerank" -n 6 -s left -s tool -s nowhere -w graph.mtx \
    "$source_dir/tests/data/packages.status" 2>complaint)
check "pagerank ends well" test $? = 0
check "pagerank's graph" cmp graph.mtx expected.mtx
check "pagerank's rightness" says "$ranking" ": right$"
check "a seed that is not there is named" says "$(cat complaint)" "there is no package nowhere"

# x_right = d x_left and the two sum to 1; a tool needs the library, and that the base.
check "a ranking of two" says "$ranking" "^  left +right 45\.9%$"
check "a ranking of three" says "$ranking" "^  tool +library 33\.0%, base 28\.1%$"

check "a file without packages fails" sh -c "! '$examples/pagerank' graph.mtx"
check "a file that is not there fails" sh -c "! '$examples/pagerank' nowhere"
check "wrong usage" sh -c "'$examples/pagerank' -n 0; test \$? = 2"

if [ ! -f /var/lib/dpkg/status ]; then
    skip "this machine's packages" "this is no Debian"
elif [ -n "${WEFT_TEST_REDUCED:-}" ]; then
    skip "this machine's packages" "too slow here"
else
    check "this machine's packages" says "$("$examples/pagerank")" ": right$"
fi

# All four rows say class 0 with the same scores, and are right three times: p is 3/4 at best.
cat >scores <<'END'
# label, scores
0 2 0
0, 2, 0

0 2 0 # right, too
1 2 0
END
verdict=$("$examples/calibrate" scores)
check "calibrate ends well" test $? = 0
check "calibrate as it is" says "$verdict" "^  T 1 +right +75\.0% +sure +88\.1% +loss 0\.6269$"
check "calibrate at its best" says "$verdict" "^  T 1\.82 +right +75\.0% +sure +75\.0% +loss 0\.5623$"
if [ -n "${WEFT_TEST_REDUCED:-}" ]; then
    check "calibrate on samples of its own" says "$("$examples/calibrate" -n 300 -c 4)" ": right$"
else
    check "calibrate on samples of its own" says "$("$examples/calibrate")" ": right$"
fi
printf '0 1 2\n2 1 2\n' >no_class
printf '0 1 2\n1 1\n' >too_short
check "a label that is no class" sh -c "'$examples/calibrate' no_class 2>&1 | grep -q '^calibrate: no_class:2: the label'"
check "a score too few" sh -c "'$examples/calibrate' too_short 2>&1 | grep -q '^calibrate: too_short:2: a score'"
check "bad scores fail" sh -c "! '$examples/calibrate' too_short"
check "wrong usage of calibrate" sh -c "'$examples/calibrate' -c 1; test \$? = 2"

# 6 of 12 tokens before, and the first two: 21 + 6 (6 + 2) - 1 of 78.
attention=$("$examples/sparse_attention" --rows 12 --window 6 --global 2 --heads 2 --depth 5)
check "sparse attention ends well" test $? = 0
check "the entries of a mask" says "$attention" "keep 68 of 78 entries \(87\.2%\)$"
check "sparse and dense attention" says "$attention" "against the host: right$"
if [ -n "${WEFT_TEST_REDUCED:-}" ]; then
    skip "attention of 1024 tokens" "too slow here"
else
    check "attention of 1024 tokens" says "$("$examples/sparse_attention")" ": right$"
fi
check "wrong usage of sparse attention" \
    sh -c "'$examples/sparse_attention' --window 0 2>/dev/null; test \$? = 2"
finish
