#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# fuzz.sh SOURCE PROGRAM CORPUS SECONDS: a fuzz target over its kept corpus, and then for so long
# over what libFuzzer makes of it; 0 seconds: over the corpus alone, by replay.c. The bytes that make
# it fail are shown, and kept as $WEFT_TEST_DIR/crash-* or the like: they belong into the corpus.
set -u
source_dir=$1 program=$2 corpus=$3 seconds=$4
. "$source_dir/tests/house/tap.sh"
log=$WEFT_TEST_DIR/log
found=$WEFT_TEST_DIR/found
mkdir "$found"

replay() {
    "$program" "$corpus"/*
}

# More time for one execution than any takes, as others may have the machine.
fuzz() {
    "$program" -max_total_time="$seconds" -timeout=60 -rss_limit_mb=2048 -max_len=2048 \
        -print_final_stats=1 -artifact_prefix="$WEFT_TEST_DIR/" "$found" "$corpus"
}

runs_well() {
    "$1" >"$log" 2>&1 || { tail -n 60 "$log" | tr -cd '\n -~' && false; }
}

if [ "$seconds" = 0 ]; then
    check "$(basename "$program") over its corpus" runs_well replay
else
    check "$(basename "$program") for $seconds seconds" runs_well fuzz
    sed -n 's/^INFO: \(Seed: .*\)/# \1/p; s/^stat::number_of_executed_units: */# Executions: /p' "$log"
fi
finish
