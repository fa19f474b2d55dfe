# SPDX-License-Identifier: Apache-2.0
# TAP for tests written in sh: `check WHAT COMMAND ...` is one test, `finish` ends the stream.
n_tests=0

# What the command prints is shown where it fails.
check() {
    what=$1
    shift
    n_tests=$((n_tests + 1))
    if output=$("$@" 2>&1); then
        echo "ok $n_tests - $what"
    else
        echo "not ok $n_tests - $what"
        printf '%s\n' "$output" | sed 's/^/# /'
    fi
}

# skip WHAT WHY
skip() {
    n_tests=$((n_tests + 1))
    echo "ok $n_tests - $1 # SKIP $2"
}

finish() {
    echo "1..$n_tests"
}

# Succeeds where the command finds nothing to print; to be checked.
prints_nothing() {
    found=$("$@")
    [ -z "$found" ] || { printf '%s\n' "$found" && false; }
}
