#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# One fuzz target:
#
#     fuzz.sh SOURCE PROGRAM CORPUS SECONDS SEED
#     fuzz.sh SOURCE PROGRAM CORPUS 0 WHY_NOT_LONGER_OR_NOTHING
#
# Over its kept corpus, and then for so long over what libFuzzer makes of it by that seed, by a new
# one for 0; or over the corpus alone, by replay.c. The bytes that make it fail are shown in base64,
# and kept as $WEFT_TEST_DIR/crash-* or the like: they belong into the corpus.
set -u
source_dir=$1 program=$2 corpus=$3 seconds=$4 seed_or_why=$5
. "$source_dir/tests/house/tap.sh"
log=$WEFT_TEST_DIR/log
found=$WEFT_TEST_DIR/found
mkdir "$found"

replay() {
    "$program" "$corpus"/*
}

# More time for one execution than any takes, as others may have the machine.
fuzz() {
    "$program" -max_total_time="$seconds" -seed="$seed_or_why" -timeout=60 -rss_limit_mb=2048 \
        -max_len=2048 -print_final_stats=1 -artifact_prefix="$WEFT_TEST_DIR/" "$found" "$corpus"
}

show_failure() {
    tail -n 60 "$log" | tr -cd '\n -~'
    for bytes in "$WEFT_TEST_DIR"/crash-* "$WEFT_TEST_DIR"/leak-* "$WEFT_TEST_DIR"/oom-* \
        "$WEFT_TEST_DIR"/timeout-*; do
        [ -f "$bytes" ] || continue
        echo "$(basename "$bytes") in base64:"
        base64 "$bytes"
    done
}

runs_well() {
    "$1" >"$log" 2>&1 || { show_failure && false; }
}

if [ "$seconds" = 0 ]; then
    check "$(basename "$program") over its corpus" runs_well replay
    [ -z "$seed_or_why" ] || skip "$(basename "$program") by libFuzzer" "$seed_or_why"
else
    check "$(basename "$program") for $seconds seconds" runs_well fuzz
    sed -n 's/^INFO: \(Seed: .*\)/# \1/p; s/^stat::number_of_executed_units: */# Executions: /p' "$log"
fi
finish
