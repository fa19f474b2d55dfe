#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# explain_answers.sh PROGRAM: asks again what tests/data/explain/*.txt ask, and keeps the answers.
# For a change of plans that is meant: `git diff` then shows what it comes to.
set -eu
program=$(realpath "$1")
cd "$(dirname "$0")/data/explain"
trap 'rm -f ./*.new ./*.more' EXIT

# Each line "$ weft ..." is a command, and what follows it is its answer.
for file in *.txt; do
    grep '^\$ weft ' "$file" >"$file.new"
    while read -r _ _ words; do
        echo "\$ weft $words"
        # shellcheck disable=SC2086 # a list of words
        (set -f && "$program" $words)
    done <"$file.new" >"$file.more"
    mv "$file.more" "$file"
done
