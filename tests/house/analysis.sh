#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# analysis.sh SOURCE BUILD ANALYSER: a static analyser finds nothing that is not explained.
set -u
source_dir=$1 build=$2 analyser=$3
. "$source_dir/tests/house/tap.sh"
log=$WEFT_TEST_DIR/log

"$source_dir/tools/analyse" "$build" "$analyser" >"$log" 2>&1
status=$?
what="$analyser finds nothing that is not explained"
if [ "$status" = 77 ]; then
    skip "$what" "$(head -n 1 "$log")"
else
    check "$what" sh -c 'cat "$1"; exit "$2"' sh "$log" "$status"
    sed -n '$s/^/# /p' "$log"
fi
finish
