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

seeded=$("$examples/pagerank" -n 1 -s left -s tool -w /dev/stdout \
    "$source_dir/tests/data/packages.status")
check "as many rankings as seeds want" says "$seeded" "^  tool "
check "a graph to standard output" says "$seeded" "^8 1 0\.200000003$"

# No file may grow, so that the write fails.
echo old >kept.mtx
check "a graph that cannot be written fails" sh -c "trap '' XFSZ; ulimit -f 0
    ! '$examples/pagerank' -w kept.mtx '$source_dir/tests/data/packages.status' 2>/dev/null"
check "and leaves the old file" test "$(cat kept.mtx)" = old
check "and nothing beside it" test "$(echo kept.mtx*)" = kept.mtx
chmod 640 kept.mtx
"$examples/pagerank" -w kept.mtx "$source_dir/tests/data/packages.status" >ranking
check "a graph in the place of an old file" cmp kept.mtx expected.mtx
check "with its permissions" test "$(stat -c %a kept.mtx)" = 640

check "a file without packages fails" sh -c "! '$examples/pagerank' graph.mtx"
check "a file that is not there fails" sh -c "! '$examples/pagerank' nowhere"
check "wrong usage" sh -c "'$examples/pagerank' -n 0; test \$? = 2"
check "a number with letters behind it" sh -c "'$examples/pagerank' -n 6x; test \$? = 2"

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
check "a folder of scores" sh -c "'$examples/calibrate' . 2>&1 | grep -q '^calibrate: \.:1: cannot be read'"
check "a temperature that is not looked for" sh -c "'$examples/calibrate' -t 60; test \$? = 2"
check "a temperature with letters behind it" sh -c "'$examples/calibrate' -t 2x; test \$? = 2"

# A path of three nodes, and the same with an edge from the other end, one twice, and a loop.
cat >path.mtx <<'END'
%%MatrixMarket matrix coordinate pattern symmetric
% rows, columns, entries
3 3 2
2 1
3 2
END
cat >same.mtx <<'END'
%%matrixmarket MATRIX coordinate real general

3 3 4
1 2 0.5
2 3 -1e3

2 1 7
3 3 0
END
small='--features 12 --hidden 8 --classes 4'
# shellcheck disable=SC2086 # words
seen=$("$examples/graph_network" $small path.mtx)
check "graph_network ends well" test $? = 0
check "the graph of a file" says "$seen" "^path\.mtx: 3 nodes, 7 entries"
check "its rows" says "$seen" "^A row has 2\.33 entries, at most 3, coefficient of variation 0\.20$"
check "graph_network's rightness" says "$seen" ": right$"
what_is_seen() {
    printf '%s\n' "$1" | grep -E '^(A row|Nodes)'
}
# shellcheck disable=SC2086
check "an edge is one however it is told" test "$(what_is_seen "$seen")" = \
    "$(what_is_seen "$("$examples/graph_network" $small - <same.mtx)")"

if [ "$WEFT_TEST_IMPLEMENTATION" = oclgrind ]; then nodes=40; else nodes=3000; fi
# shellcheck disable=SC2086
check "graph_network on a small world" says "$("$examples/graph_network" $small --nodes $nodes)" ": right$"
if [ ! -f "$WEFT_TEST_MATRICES/cora.mtx" ]; then
    skip "graph_network on citations" "there is no cora.mtx"
elif [ -n "${WEFT_TEST_REDUCED:-}" ]; then
    skip "graph_network on citations" "too slow here"
else
    cited=$("$examples/graph_network" $small "$WEFT_TEST_MATRICES/cora.mtx")
    check "the citations" says "$cited" ": 2708 nodes, 13264 entries"
    check "graph_network on citations" says "$cited" ": right$"
fi

# PoCL can be two devices; the others are one.
dealt=$(POCL_DEVICES='pthread pthread' "$examples/devices" $nodes)
check "devices ends well" test $? = 0
check "the product of all devices" says "$dealt" ": right$"
check "the first device's part" says "$dealt" "^Device 0, .*: [1-9][0-9]* rows from row 0, "
if [ "$WEFT_TEST_IMPLEMENTATION" = pocl ]; then
    check "the second device's part" says "$dealt" \
        "^Device 1, .*: [1-9][0-9]* rows from row [1-9][0-9]*, "
fi
check "wrong usage of devices" sh -c "'$examples/devices' 3 2>usage; test \$? = 2"

# refuses WHAT TEXT COMPLAINT: such a file fails, and why is said.
complains() {
    ! said=$("$examples/graph_network" bad.mtx 2>&1) && test "$said" = "graph_network: bad.mtx:$1"
}
refuses() {
    printf "$2" >bad.mtx
    check "$1" complains "$3"
}
banner='%%%%MatrixMarket matrix coordinate'
refuses "an empty file" '' '1: this is no Matrix Market file'
refuses "another file" 'rows 3\n' '1: this is no Matrix Market file'
refuses "a dense matrix" '%%%%MatrixMarket matrix array real general\n' "1: only 'matrix coordinate' is read"
refuses "complex entries" "$banner complex general\n" '1: only pattern, real and integer entries are read'
refuses "a skew matrix" "$banner real skew-symmetric\n" '1: only general and symmetric matrices are read'
refuses "no sizes" "$banner real general\n%% nothing\n" '3: the sizes are missing'
refuses "two sizes" "$banner real general\n3 3\n" '2: rows, columns and entries are wanted here, and nothing else'
refuses "no square" "$banner real general\n3 4 1\n1 1 1\n" '2: a graph has as many rows as columns'
refuses "no node" "$banner real general\n0 0 0\n" '2: a graph has a node, and at most a hundred million'
refuses "too many nodes" "$banner real general\n9999999999 9999999999 0\n" '2: a graph has a node, and at most a hundred million'
refuses "an entry outside" "$banner real general\n3 3 1\n4 1 1\n" '3: the entry is outside the matrix'
refuses "an entry at 0" "$banner pattern general\n3 3 1\n0 1\n" '3: the entry is outside the matrix'
refuses "no column" "$banner pattern general\n3 3 1\n2\n" '3: a row and a column are wanted'
refuses "no value" "$banner integer general\n3 3 1\n1 1\n" '3: the value is missing, or no number'
refuses "more on a line" "$banner pattern general\n3 3 1\n1 1 1\n" '3: the line goes on behind the entry'
refuses "too few entries" "$banner pattern general\n3 3 2\n1 1\n" '4: the file ends before its last entry'
refuses "too many entries" "$banner pattern general\n3 3 1\n1 1\n2 1\n" '4: more entries than the sizes say'
check "a folder is no graph" sh -c "'$examples/graph_network' . 2>&1 | grep -q '^graph_network: \.:1: cannot be read'"
check "a graph that is not there fails" sh -c "! '$examples/graph_network' nowhere.mtx"
check "wrong usage of graph_network" sh -c "'$examples/graph_network' --classes 0 2>usage; test \$? = 2"

gradients=$("$examples/sparse_mlp" --check-gradients --width 8)
check "sparse_mlp's gradients" test $? = 0
check "gradients of dense layers" says "$gradients" "^  dense .*: right$"
check "the sparsity" says "$gradients" "^Pruned: 219 of 2192 weights are left, the network is 90\.0% sparse$"
check "gradients of sparse layers" says "$gradients" "^  sparse .*: right$"

if [ "$WEFT_TEST_IMPLEMENTATION" = oclgrind ]; then
    course='--width 16 --batch 8 --steps 2'
elif [ "$WEFT_TEST_IMPLEMENTATION" = rusticl ] || [ -n "${WEFT_TEST_REDUCED:-}" ]; then
    course='--width 32 --batch 32 --steps 4'
else
    course=
fi
# shellcheck disable=SC2086
learnt=$("$examples/sparse_mlp" $course)
check "sparse_mlp ends well" test $? = 0
check "sparse_mlp learns" says "$learnt" "^The loss fell .*: right$"
if [ -z "$course" ]; then
    check "sparse_mlp reads digits" says "$learnt" "^  sparse  step  240 .* right +9[0-9]\.[0-9]%$"
    check "and again the same" test "$(printf '%s\n' "$learnt" | grep loss)" = \
        "$("$examples/sparse_mlp" | grep loss)"
fi
check "wrong usage of sparse_mlp" sh -c "'$examples/sparse_mlp' --steps 1 2>usage; test \$? = 2"

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

if [ -n "${WEFT_TEST_REDUCED:-}" ] || [ "$WEFT_TEST_IMPLEMENTATION" != pocl ]; then
    served=$("$examples/requests" --in 20 --hidden 24 --out 3 --rows 40 --requests 24)
else
    served=$("$examples/requests")
fi
check "requests ends well" test $? = 0
check "requests of all sizes settle" says "$served" "of them in the second half: settled$"
check "the answers to requests" says "$served" "of the host's: right$"
check "wrong usage of requests" sh -c "'$examples/requests' --rows 0 2>/dev/null; test \$? = 2"
finish
