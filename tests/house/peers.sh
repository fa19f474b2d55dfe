#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# peers.sh SOURCE BUILD: tools/peers without peers; then a weft and a PyTorch whose clocks are known.
set -u
source_dir=$1 build=$2
. "$source_dir/tests/house/tap.sh"
cd "$WEFT_TEST_DIR" || exit 1
mkdir python

# Whether the machine has them is not to matter: those that are found first say what is wanted.
export PYTHONPATH="$PWD/python" PYTHONDONTWRITEBYTECODE=1
for library in torch numpy scipy sparse_dot_mkl; do
    echo 'raise ModuleNotFoundError' >"python/$library.py"
done

peers() {
    python3 -B "$source_dir/tools/peers" --quick --json report.json "$@" >said 2>told
}

ends_with() {
    wanted=$1
    shift
    "$@"
    status=$?
    [ "$status" = "$wanted" ] || { echo "ends with $status" && cat said told && false; }
}

# holds EXPRESSION: of the report's JSON.
holds() {
    python3 -c "import json; report = json.load(open('report.json')); assert ($1), report"
}

check "no peers" ends_with 0 peers reduce --only sum-64x64-axis1 --weft "$build/tools/weft"
check "each is missed" grep -qx 'without PyTorch: PyTorch is not installed' told
check "all are" test "$(grep -c '^without ' told)" = 5
check "weft is timed" holds \
    '[(its["case"], its["shape"]) for its in report["cases"]] == [("sum-64x64-axis1", [64, 64])] and
     len(report["cases"][0]["rounds_ms"]) == 2 and 0 < report["cases"][0]["median_ms"] < 1000'
check "nothing is compared" grep -qx 'No case has a peer.' said
check "where and when" holds \
    'report["header"]["weft"] and "PoCL" in report["header"]["platform"] and
     report["date"] and report["machine"]["cores"] >= 1 and report["compute_units"] >= 1'
check "a case that there is not" ends_with 1 peers reduce --only nothing --weft "$build/tools/weft"
check "weft says so" grep -q "has 'nothing' in its name" told

on_request() {
    printf '%b' "$1" |
        "$build/tools/weft" bench reduce --quick --only sum-64x64-axis1 --on-request >said 2>told
}
check "waited for once, for each, and an empty kernel" \
    ends_with 0 on_request 'queue 0 3\nwait 0 3\nqueue launch 3\nnext\n'
check "three answers" test "$(grep -c '^{"ms":[0-9.]*}$' said)" = 3
for request in 'queue 1 3' 'queue 0 -3' 'queue 0' 'queue launch 3 3' 'run 0 3'; do
    check "no request: $request" ends_with 1 on_request "$request\nnext\n"
    check "it is named" grep -qx "weft bench: '$request' is no request" told
done
check "requests that end early" ends_with 1 on_request 'queue 0 3\n'

# This weft takes 0.010 ms a call with a plan, 0.040 without, 0.004 for an empty launch. Its second
# set cannot be measured.
cat >weft <<'END'
#!/usr/bin/env python3
import json, sys
log = open("turns", "a", buffering=1)
print(" ".join(sys.argv[1:]), file=log)
say = lambda answer: print(json.dumps(answer), flush=True)
cases = [{"case": "sum-8-axis0", "op": "reduce", "dtype": "f32", "shape": [8], "planned": planned}
         for planned in (True, False)]
say({"header": {"weft": "0", "platform": "none"}, "device": "none", "kind": "CPU",
     "compute_units": 3})
say({"cases": [*cases, {**cases[0], "case": "variance-8-axis0"}, {**cases[0], "case": "other"}]})
for line in sys.stdin:
    print("weft", line.strip(), file=log)
    if line == "next\n":
        break
    verb, which, n_calls = line.split()
    say({"ms": {"0": 0.01, "1": 0.04, "launch": 0.004}.get(which, 0.1) * int(n_calls)})
sys.exit(0 if sys.argv[2] != "norm" else "the device is lost")
END
chmod +x weft
# Its sums take 0.030 ms; clocks stand still otherwise.
cat >python/torch.py <<'END'
import os, sys, time
log, now, threads = open("turns", "a", buffering=1), 0, 0
__version__, float32 = "2", "float32"
class Array:
    is_floating_point = lambda self: True
    uniform_ = lambda self, low, high: self
class device:
    def __init__(self, its): self.type = its
class backends:
    class cuda:
        class matmul: pass
    class mkl: is_available = staticmethod(lambda: True)
empty = lambda shape, dtype, device: Array()
def set_num_threads(n): global threads; threads = n
get_num_threads = lambda: threads
set_float32_matmul_precision = print  # to standard output, which is not to matter
def sum(X, axes):
    global now
    now += 3e-5
def perf_counter():
    print("torch", file=log)
    return now
time.perf_counter = perf_counter
for name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"): assert name not in os.environ
assert os.environ["OMP_NUM_THREADS"] == os.environ["MKL_NUM_THREADS"] == "3"
END
export OPENBLAS_CORETYPE=Prescott OPENBLAS_L2_SIZE=1
check "a peer" ends_with 0 peers reduce --only 8-axis0 --rounds 3 --weft ./weft
check "weft's options" grep -qx \
    'bench reduce --on-request --patterns [^ ]* --only 8-axis0 --quick' turns
check "its threads" grep -qx 'PyTorch 2 on the CPU, 3 threads, sparse products by MKL' said
check "the ratio" grep -qE '^sum-8-axis0, planned +0\.01 +0\.03 +3\.00  launch 0\.004, gap 0\.006$' said
check "no launch beside longer cases" grep -qE '^sum-8-axis0, no plan +0\.04 +0\.03 +0\.75$' said
check "what it has not" holds \
    '[its["refused"] for its in report["cases"]] ==
     [{}, {}, {"PyTorch": "it has no function for this"}]'
check "cases that are not chosen" prints_nothing grep other said
check "with a plan" grep -qF \
    'reduce, planned: geometric mean 3.00, worst 3.00 (sum-8-axis0, PyTorch), cases 1, of these' said
check "without" grep -qF \
    'reduce, no plan: geometric mean 0.75, worst 0.75 (sum-8-axis0, PyTorch), cases 1, of these' said
check "a plan against none" grep -qxF \
    'Time with a plan: in 0 of 1 cases more than 1.03 of that without, at most 0.25 (sum-8-axis0)' said
check "peers' own times, for tables" holds \
    '[(its["name"], [(of["case"], round(of["median_ms"], 6)) for of in its["cases"]])
      for its in report["peers"]] == [("PyTorch", [("sum-8-axis0", 0.03)])]'

# Bursts alone, from behind the trials to the second case, by who has them.
turns() {
    sed -n '/weft queue 0 1$/,/weft queue 2/p' turns |
        sed -n 's/^weft queue \(.*\) [0-9][0-9][0-9]*$/\1/p; s/^torch$/torch/p' | uniq | tr '\n' ' '
}
in_order() {
    [ "$(turns)" = "$1" ] || { turns && cat turns && false; }
}
check "odd rounds begin with weft, even ones with the peer; plans come first in two of four" \
    in_order "torch 0 1 launch torch 0 1 launch 1 0 torch "
rm turns
check "waiting for each" ends_with 0 peers reduce --each --rounds 1 --weft ./weft
check "is told" grep -qE '^weft wait 0 [0-9]+$' turns
check "weft fails" ends_with 1 peers norm --weft ./weft
check "what was measured before is kept" holds 'len(report["cases"]) == 4'
check "wrong usage" ends_with 2 peers --fast
check "no round" ends_with 2 peers --rounds 0
finish
