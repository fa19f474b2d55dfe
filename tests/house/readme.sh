#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# readme.sh SOURCE: what the README shows is what there is.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"
cd "$source_dir" || exit 1

# The C of the README, and the same lines of examples/minimal.c, without indentation.
sed -n '/^```c$/,/^```$/p' README.md | grep -v '^```' | sed 's/^ *//' >"$WEFT_TEST_DIR/shown"
first=$(head -n 1 "$WEFT_TEST_DIR/shown")
sed 's/^ *//' examples/minimal.c | grep -nxF -- "$first" | head -n 1 | cut -d: -f1 >"$WEFT_TEST_DIR/line"

shows_minimal() {
    [ -s "$WEFT_TEST_DIR/line" ] || { echo "examples/minimal.c has no line: $first" && false; }
    sed 's/^ *//' examples/minimal.c | tail -n +"$(cat "$WEFT_TEST_DIR/line")" |
        head -n "$(wc -l <"$WEFT_TEST_DIR/shown")" | diff "$WEFT_TEST_DIR/shown" -
}

# Paths in `quotes`: words with a slash, but for builds, folders of the user, and an example's foo.
missing_paths() {
    cat README.md CONTRIBUTING.md | grep -oE '`[A-Za-z0-9_./-]+/[A-Za-z0-9_.-]*`' |
        tr -d '`' | sort -u | grep -vE '^(build|~|/|XDG)|foo' | while read -r path; do
        [ -e "$path" ] || echo "$path"
    done
}

check "the README's C is examples/minimal.c" shows_minimal
check "paths that the documents name are there" prints_nothing missing_paths
check "NEWS speaks of this version" grep -q \
    "$(sed -n "s/^ *version: '\(.*\)',$/\1/p" meson.build)" NEWS
finish
