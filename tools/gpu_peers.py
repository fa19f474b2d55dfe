# SPDX-License-Identifier: Apache-2.0
"""Times by PyTorch what `weft bench` has timed, for tools/gpu-check.

    gpu_peers.py BENCH PATTERNS [--cpu] [--quick]

BENCH is the JSON of `weft bench`, PATTERNS the folder of its --patterns: sizes and non-zeros are
the same. Runs are timed as the bench does it: two calls one behind the other, from the end of the
first to the end of the second; small cases, and all on a CPU, from the call until it is waited for.
One JSON object comes out: the median of each case, or why there is none; where PyTorch or its GPU
is not there, "missing" alone.
"""
import argparse
import json
import pathlib
import statistics
import sys
import time
import warnings

import peer_pytorch

MOST_RUNS, LEAST_RUNS, CASE_MS = 101, 9, 800
QUICK_LEAST_RUNS, QUICK_CASE_MS = 5, 150


def call_and_wait(bench, call):
    start = time.perf_counter()
    call()
    bench.wait()
    return 1e3 * (time.perf_counter() - start)


def call_in_a_row(bench, call):
    ends = [bench.torch.cuda.Event(enable_timing=True) for _ in range(2)]
    for end in ends:
        call()
        end.record()
    bench.wait()
    return ends[0].elapsed_time(ends[1])


def times_ms(bench, call, is_small, quick):
    """The first call may compile, the second says how many the time allows."""
    call_and_wait(bench, call)
    wanted = int((QUICK_CASE_MS if quick else CASE_MS) / call_and_wait(bench, call))
    n_runs = min(max(wanted, QUICK_LEAST_RUNS if quick else LEAST_RUNS), MOST_RUNS)
    waits = is_small or bench.device.type != "cuda"
    run = call_and_wait if waits else call_in_a_row
    return [run(bench, call) for _ in range(n_runs)]


def time_case(bench, case, quick):
    found = {"case": case["case"], "op": case["op"], "dtype": case["dtype"]}
    try:
        call = peer_pytorch.call_of(bench, case)
        if call is None:
            return found | {"why": "PyTorch has no function for it"}
        times = times_ms(bench, call, "launches" in case, quick)
    except Exception as error:  # whatever PyTorch raises where it does not support a case
        return found | {"why": (str(error).splitlines() or [repr(error)])[0]}
    return found | {"median_ms": statistics.median(times), "min_ms": min(times),
                    "max_ms": max(times)}


def compare(listed, patterns, on_cpu, quick):
    try:
        torch = peer_pytorch.load()
        if on_cpu:
            bench, name, sparse = peer_pytorch.open_cpu(torch, patterns)
        else:
            bench, name, sparse = peer_pytorch.open_gpu(torch, patterns, listed["device"])
    except peer_pytorch.Missing as missing:
        return {"missing": str(missing)}
    cases = {case["case"]: case for case in listed["cases"]}  # planned or not: the same to PyTorch
    return {"version": torch.__version__, "device": name, "sparse": sparse,
            "cases": [time_case(bench, case, quick) for case in cases.values()]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("bench", type=pathlib.Path)
    parser.add_argument("patterns", type=pathlib.Path)
    parser.add_argument("--cpu", action="store_true", help="on the CPU, as weft was")
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    listed = json.loads(options.bench.read_text(encoding="utf-8"))
    json.dump(compare(listed, options.patterns, options.cpu, options.quick), sys.stdout)


main()
