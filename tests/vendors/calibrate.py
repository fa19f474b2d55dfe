#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the times that `weft explain --compile` estimates against measured ones.

    calibrate.py WEFT         prints a table: each case of docs/data/h200.json and h100.json
    calibrate.py WEFT write   writes it into docs/performance.md
    calibrate.py WEFT fit     prints constants of tools/assembly/model.py that fit the H200 best

WEFT is the program, build/tools/weft. The compilers must be installed. The measured programs are
older than what is compiled here: where plans or kernels have changed since, the estimate is of
another program. Cases whose matrices cannot be generated from sizes are left out.
"""
import concurrent.futures
import json
import math
import os
import pathlib
import re
import statistics
import subprocess
import sys

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tools/assembly"))
import model  # pylint: disable=wrong-import-position
import report  # pylint: disable=wrong-import-position

PAGE = TOP / "docs/performance.md"
BEGIN, END = "<!-- estimates -->\n", "<!-- end of estimates -->\n"
DEVICES = {"h200": "fitted", "h100": "not fitted"}


# ---- cases, as weft explain is asked about them

def pruned(m, k, zeros, n, cov):
    nnz = int(m) * int(k) * (100 - int(zeros)) // 100
    return f"spmm {m}x{k} {k}x{n} --nnz {nnz} --cov {cov}"


def rows(m, k, length, n, cov=None):
    return f"spmm {m}x{k} {k}x{n} --nnz {int(m) * int(length)} --cov {cov or 0.1}"


def sampled(m, n, zeros, k, order=None):
    nnz = int(m) * int(n) * (100 - int(zeros)) // 100
    return f"sddmm {m}x{n} {m}x{k} {k}x{n}{'' if order else 't'} --nnz {nnz}"


def product(batch, m, n, k):
    head = f"{batch}x" if batch else ""
    return f"matmul {head}{m}x{k} {head}{k}x{n}"


PATTERNS = [
    (r"pruned-(\d+)x(\d+)-s(\d+)-n(\d+)-v([\d.]+)", pruned),
    (r"rows-(\d+)x(\d+)x(\d+)-n(\d+)(?:-v([\d.]+))?", rows),
    (r"sddmm-pruned-(\d+)x(\d+)-s(\d+)-k(\d+)(-row_major)?", sampled),
    (r"(?:batch|matvec|square|short_k)-(?:(\d+)-)?(\d+)x(\d+)x(\d+)", product),
    (r"sum-([\dx]+)-axis(\d)", lambda shape, axis: f"reduce {shape} --axis {axis}"),
    (r"sum-([\dx]+)-all", "reduce {}".format),
    (r"softmax-([\dx]+)-axis\d", "softmax {}".format),
    (r"layer_norm-([\dx]+)-axis\d", "norm {}".format),
    (r"add-([\dx]+)", "elementwise x+y x={0} y={0}".format),
    (r"transpose-([\dx]+)", "elementwise x x={}t".format),
]


def words_of(case):
    """What follows `weft explain`; None for a case that sizes do not describe."""
    for pattern, words in PATTERNS:
        found = re.fullmatch(pattern, case["case"])
        if found:
            return words(*found.groups()) + (" --no-plan" if case.get("planned") is False else "")
    return None


def measured_us(case):
    """Of a range, its middle."""
    ms = case["median_ms"]
    return 1e3 * (ms if isinstance(ms, (int, float)) else (ms["min"] + ms["max"]) / 2)


def cases_of(name):
    with open(TOP / "docs/data" / f"{name}.json", encoding="utf-8") as file:
        return [(case, words_of(case)) for case in json.load(file)["cases"]]


# ---- estimates

def asked(program, name, words):
    done = subprocess.run([program, "explain", "--profile", name, "--compile", "--json",
                           *words.split()], stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)


def times_in(answer):
    """A list of model.Times of the launches."""
    def known(us):
        return math.nan if us is None else us

    return [model.Times(*(known(launch[f"{what}_us"]) for what in model.Times._fields))
            for launch in answer["compiled"]["launches"]]


def estimates(program, name):
    """(case, words, Times of each launch, whether caches hold the operands)"""
    cases = [each for each in cases_of(name) if each[1]]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        answers = list(pool.map(lambda each: asked(program, name, each[1]), cases))
    return [(case, words, times_in(answer),
             answer["bytes"] <= answer["limits"]["cache_bytes"])
            for (case, words), answer in zip(cases, answers)]


def total_us(all_times):
    return sum(times.total() for times in all_times)


def bound_of(all_times):
    return max(all_times, key=model.Times.total).bound()


def factor(case, us):
    """How far off, at least 1."""
    ratio = us / measured_us(case)
    return max(ratio, 1 / ratio)


def is_known(words):
    """Without a plan the estimate takes all rows to be as long."""
    return not re.search(r"--cov [12] --no-plan", words)


# ---- the table

def rows_of_table(found):
    for case, words, times, _ in found:
        us, measured = total_us(times), measured_us(case)
        ratio = f"{us / measured:.2f}" if is_known(words) else "(rows not known)"
        yield (f"| `{words}` | {report.number(measured)} | {report.number(us)} | {ratio} | "
               f"{bound_of(times)} |")


def lines_of(name, found):
    left = sum(words is None for _, words in cases_of(name))
    factors = sorted(factor(case, total_us(times)) for case, words, times, _ in found
                     if is_known(words))
    yield f"| {name.upper()}, {DEVICES[name]} | measured, us | estimated, us | ratio | bound |"
    yield "|---|---|---|---|---|"
    yield from rows_of_table(found)
    yield ""
    yield (f"{name.upper()}: {len(factors)} cases are off by a factor of "
           f"{statistics.median(factors):.2f} in the middle and {factors[-1]:.2f} at most; "
           f"{sum(each <= 1.25 for each in factors)} are within 1.25. Not counted:")
    yield (f"{len(found) - len(factors)} whose rows are not known, and {left} whose matrices sizes "
           "do not describe.")
    yield ""


def write(text):
    page = PAGE.read_text(encoding="utf-8")
    begin, end = page.index(BEGIN) + len(BEGIN), page.index(END)
    PAGE.write_text(page[:begin] + text + page[end:], encoding="utf-8")


# ---- the fit

CONSTANTS = ("OVERHEAD_US", "LATENCY_US", "MEMORY_SHARE", "CACHE_BYTES", "ISSUE_SHARE")


def scaled(times, fits, now, then):
    """Times that were computed with the constants `now`, as they are with `then`: each but
    arithmetic is proportional to one of them, or to its inverse."""
    memory = "CACHE_BYTES" if fits else "MEMORY_SHARE"
    by = model.Times(memory=now[memory] / then[memory],
                     cache=now["CACHE_BYTES"] / then["CACHE_BYTES"],
                     arithmetic=1,
                     issue=now["ISSUE_SHARE"] / then["ISSUE_SHARE"],
                     latency=then["LATENCY_US"] / now["LATENCY_US"])
    known = [each * share for each, share in zip(times, by) if not math.isnan(each)]
    return then["OVERHEAD_US"] + max(known, default=0)


def error(found, now, then):
    """The mean logarithm of how far off cases are: no single one decides."""
    return statistics.mean(
        math.log(factor(case, sum(scaled(each, fits, now, then) for each in times)))
        for case, words, times, fits in found if is_known(words))


def fit(found):
    """Each constant in turn in small steps, as long as that improves anything."""
    now = {name: getattr(model, name) for name in CONSTANTS}
    then, best = dict(now), error(found, now, now)
    step = 1.2
    while step > 1.005:
        tries = [then | {name: then[name] * by} for name in CONSTANTS for by in (step, 1 / step)]
        tries = [each for each in tries if each["MEMORY_SHARE"] <= 1 and each["ISSUE_SHARE"] <= 1]
        least = min(tries, key=lambda each: error(found, now, each))
        if error(found, now, least) < best - 1e-9:
            then, best = least, error(found, now, least)
        else:
            step = math.sqrt(step)
    return then, math.exp(best)


def main(program, what="print"):
    if what == "fit":
        constants, mean = fit(estimates(program, "h200"))
        for name, value in constants.items():
            print(f"{name} = {value:.3g}")
        print(f"# off by a factor of {mean:.3f}, geometric mean")
        return
    text = "".join(line + "\n" for name in DEVICES for line in lines_of(name, estimates(program,
                                                                                       name)))
    if what == "write":
        write(text)
    else:
        print(text, end="")


if __name__ == "__main__":
    main(*sys.argv[1:])
