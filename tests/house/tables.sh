#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# tables.sh SOURCE: tables of measured figures are what docs/data gives, and a table that is not is
# found.
set -u
source_dir=$1
. "$source_dir/tests/house/tap.sh"

tables() {
    python3 -B "$source_dir/tools/performance_tables.py" "$@" 2>&1
}

check "tables are what docs/data gives" prints_nothing tables --check "$source_dir"

copy=$WEFT_TEST_DIR/copy
copy_pages() {
    rm -rf "$copy"
    mkdir "$copy"
    cp -r "$source_dir/README.md" "$source_dir/docs" "$copy"
}

# finds WORDS FILE SCRIPT: a copy whose file sed has changed by the script is told in these words.
finds() {
    copy_pages
    sed "$3" "$source_dir/$2" >"$copy/$2"
    said=$(tables --check "$copy") && echo "the exit status is 0" && return 1
    printf '%s\n' "$said" | grep -qF -- "$1" || { printf '%s\n' "$said" && return 1; }
}

# What --check finds is written without it, and is then right.
writes_again() {
    copy_pages
    sed 's/| 3095 | 65 500 |/| 3096 | 65 500 |/' "$source_dir/docs/performance.md" >"$copy/docs/performance.md"
    tables "$copy" && diff "$source_dir/docs/performance.md" "$copy/docs/performance.md"
}

# The same run as a report of tools/gpu-check gives the same tables.
reads_report() {
    copy_pages
    python3 - "$source_dir/docs/data/h100.json" >"$copy/docs/data/h100.json" <<'SCRIPT' || return 1
import json, re, sys
text = re.sub(r'(: )([\d.]+)', r'\1"number \2"', open(sys.argv[1]).read())  # digits as they are
bench = json.loads(text)
report = {"bench": bench, "peers": {"version": "2.11", "cases": bench.pop("peers")[0]["cases"]}}
print(re.sub(r'"number ([\d.]+)"', r'\1', json.dumps(report)))
SCRIPT
    tables --check "$copy"
}

check "a digit changed in a page is found" finds '- | NVIDIA H100 (132 compute units, driver 580) | 2960 | 3096' \
    docs/performance.md 's/| 2960 | 3095 |/| 2960 | 3096 |/'
check "a digit changed in a kernel's page is found" finds 'docs/kernels/dense.md: the table dense-gpus' \
    docs/kernels/dense.md 's/| 0.0308 |/| 0.0309 |/; s/| 0.0307 |/| 0.0308 |/'
check "a digit changed in the data is found" finds '+ | NVIDIA H100 (132 compute units, driver 580) | 2961 | 3095' \
    docs/data/h100.json 's/"copy_gbps": 2960/"copy_gbps": 2961/'
check "a row without figures is found" finds 'docs/tables.json: dense: no figure of batch-512-64x64x65' \
    docs/tables.json 's/batch-512-64x64x64/batch-512-64x64x65/'
check "a run that is not there is found" finds 'docs/data has no h101.json' \
    docs/tables.json 's/"data": "h100"/"data": "h101"/'
check "a run that does not say its date is found" finds 'h100.json: its header does not say date' \
    docs/data/h100.json 's/"date": "[^"]*",//'
check "a table that no page shows is found" finds 'no page has the table machines' \
    docs/performance.md 's/<!-- table: machines -->//'
check "a report of tools/gpu-check is a run" reads_report
check "tables are written" writes_again
finish
