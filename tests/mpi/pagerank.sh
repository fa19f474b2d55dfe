#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# pagerank.sh SOURCE MPIRUN PROGRAM: the example over three ranks computes what one computes, and
# sends as many bytes as it foretells.
set -u
source_dir=$1 mpirun=$2 program=$(realpath "$3")
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1
sh "$source_dir/tests/mpi/mpi.sh" "$mpirun" "$program" 3 >said 2>complaints
status=$?

sends_what_it_foretells() {
    sed -n 's/.*: \([0-9]*\) bytes foretold, \([0-9]*\) counted$/\1 \2/p' said | {
        read -r foretold counted && [ "$foretold" -gt 0 ] && [ "$foretold" = "$counted" ]
    } || { cat said && false; }
}

check "it ends well" test "$status" = 0
check "it is right" grep ": right$" said
check "it sends what it foretells" sends_what_it_foretells
finish
