#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# implementation.sh SOURCE PROGRAM: what tests run on here is in the README's table of what they ran on.
set -u
source_dir=$1
program=$2
. "$source_dir/tests/house/tap.sh"

case $WEFT_TEST_IMPLEMENTATION in
pocl) name=PoCL ;;
rusticl) name=rusticl ;;
oclgrind) name=Oclgrind ;;
intel) name="Intel's for CPUs" ;;
esac
# "3.1+debian", "22.3.6", "Oclgrind 21.10", "2026.22.10.0.01_160000": two numbers of it.
driver=$("$program" info --json | sed -n 's/^ *"driver": "\(.*\)",$/\1/p' | head -n 1)
version=$(echo "$driver" | sed -n 's/^[^0-9]*\([0-9]*\.[0-9]*\).*/\1/p')

has_row() {
    sed -n '/^## Tested implementations$/,/^## /p' "$source_dir/README.md" |
        grep -F "| $name | $version |" || {
        echo "no row | $name | $version |"
        return 1
    }
}

what="the README knows $name $version"
if has_row >/dev/null || grep -q '^ID=debian$' /etc/os-release; then
    check "$what" has_row
else # what weft was never tested on
    skip "$what" "$(has_row)"
fi
finish
