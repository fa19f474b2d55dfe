# SPDX-License-Identifier: Apache-2.0
"""Tests and measures a device with what is built, and writes a report: see tools/gpu-check.

    gpu_check.py --build DIR --output DIR [--device TEXT] [--self-test OPS] [--bench SETS] [--data FOLDER]
                 [--quick] [--no-tests WHY]

DIR/tools/weft is asked for the device, its self-test and its bench; the suite `device` of DIR's
tests is run. The exit status is 1 where there is no such device, the self-test finds something
wrong, a test fails, none runs though there are some, or the bench fails.
"""
import argparse
import datetime
import json
import os
import pathlib
import platform
import subprocess
import sys
import tempfile

import gpu_report
import test_log

TOOLS = pathlib.Path(__file__).parent
INFO_SECONDS, SELF_TEST_SECONDS, BUILD_SECONDS, BENCH_SECONDS, PEERS_SECONDS = 300, 3600, 3600, 7200, 3600
TIMES_TESTS_SECONDS = 4  # their own timeouts are for faster compilers
TESTS_AT_ONCE = 4  # they share a device
SHOWN_LINES = 40  # of what a failed test program says
# What `weft bench all` measures.
ALL_SETS = ["spmm", "spgemm", "sddmm", "attention", "matmul", "reduce", "softmax", "norm",
            "elementwise"]


class Failure(Exception):
    """A sentence for whoever waits."""


def tell(text):
    print(f"\n{text}", flush=True)


def output_of(command, seconds):
    """What it prints on standard output and, in lines, on standard error."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=seconds, check=False)
    except subprocess.TimeoutExpired:
        raise Failure(f"{' '.join(command)}: takes longer than {seconds} s") from None
    except OSError as error:
        raise Failure(f"{command[0]}: {error.strerror}") from None
    said = done.stderr.splitlines()
    if done.returncode != 0:
        raise Failure("; ".join(said[-2:]) or f"{command[0]} ends with status {done.returncode}")
    return done.stdout, said


def json_of(command, seconds):
    text, said = output_of(command, seconds)
    try:
        return json.loads(text), said
    except ValueError as error:
        raise Failure(f"{' '.join(command)}: no JSON: {error}") from None


# ---- the device

def devices_of(info):
    """One for each device, its platform's name and vendor among what is known of it."""
    return [{**device, "platform": where["name"], "vendor": where["vendor"]}
            for where in info["platforms"] for device in where["devices"]]


def find_device(weft, wanted):
    """The one that is meant, and weft's version. Without a name: the first GPU."""
    info, _ = json_of([weft, "info", "--json"] + (["--device", wanted] if wanted else []),
                      INFO_SECONDS)
    chosen = next(device for device in devices_of(info) if device["chosen"])
    if wanted or chosen["limits"]["kind"] == "GPU":
        return chosen, info["version"]
    others = "; ".join(f"{device['platform']}: {device['name']}" for device in devices_of(info))
    raise Failure(f"no OpenCL platform here has a GPU. There are: {others}. "
                  "One of them is taken by --device TEXT, part of its name")


# ---- the self-test

def run_self_test(weft, wanted, ops):
    """The program's own JSON, which it prints where something is wrong, too; or why there is none."""
    command = [weft, "self-test", "--json", "--device", wanted] + ops
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace",
                              timeout=SELF_TEST_SECONDS, check=False)
        return json.loads(done.stdout)
    except subprocess.TimeoutExpired:
        return {"ok": False, "why": f"it takes longer than {SELF_TEST_SECONDS} s"}
    except (OSError, ValueError) as error:
        said = done.stderr.splitlines() if isinstance(error, ValueError) else [error.strerror]
        return {"ok": False, "why": "; ".join(said[-2:]) or "it says nothing"}


# ---- tests

def its_own(name):
    """Of a test's name, what stands behind the project and the suite."""
    return name.partition(" / ")[2] or name


def run_tests(build, wanted, quick):
    """Counts, and each failure with what was said of it."""
    report = build / "meson-logs" / "gpu-check"
    for ending in (".json", ".junit.xml"):
        pathlib.Path(f"{report}{ending}").unlink(missing_ok=True)
    environment = {**os.environ, **({"WEFT_TEST_REDUCED": "1"} if quick else {})}
    try:
        output_of(["meson", "configure", str(build), f"-Ddevice={wanted}"], BUILD_SECONDS)
        output_of(["meson", "compile", "-C", str(build)], BUILD_SECONDS)
        subprocess.run(["meson", "test", "-C", str(build), "--no-rebuild", "--suite", "device",
                        "--logbase", report.name, "--num-processes", str(TESTS_AT_ONCE),
                        "-t", str(TIMES_TESTS_SECONDS)], env=environment, check=False)
        results, explanations = test_log.read(str(report))
    except (Failure, *test_log.UNSOUND) as error:
        return {"why": f"no tests, or no log of them: {error}", "failed": 1}
    tests = {result: sum(1 for _, its in results if its == result)
             for result in ("passed", "failed", "skipped")}
    tests["failures"] = [its_own(what) for what, result in results if result == "failed"]
    tests["explanations"] = {its_own(program): lines[:SHOWN_LINES]
                             for program, lines in explanations.items()}
    return tests


# ---- bench

def run_bench(weft, device, options, patterns):
    """The bench's own JSON, what it left out, and which sets failed: they take no other with them.

    Limits are those that were measured first.
    """
    bench = {"cases": [], "notes": [], "failures": {}}
    for name in ALL_SETS if options.bench == ["all"] else options.bench:
        tell(f"weft bench {name}")
        command = [weft, "bench", name, "--json", "--device", device, "--patterns", str(patterns)]
        if options.data and name == "spmm":
            command += ["--data", str(options.data)]
        try:
            its, notes = json_of(command + ["--quick"] * options.quick, BENCH_SECONDS)
        except Failure as failure:
            bench["failures"][name] = str(failure)
            continue
        bench["cases"] += its["cases"]
        bench["notes"] += notes
        bench = {**its, **bench}
    return bench


def run_peers(bench, on_cpu, quick, patterns):
    """PyTorch's times of the same cases; or what is missing."""
    if not bench["cases"]:
        return {"missing": "the bench has no cases"}
    listed = patterns / "bench.json"
    listed.write_text(json.dumps(bench), encoding="utf-8")
    command = [sys.executable, "-B", str(TOOLS / "gpu_peers.py"), str(listed), str(patterns)]
    try:
        return json_of(command + ["--cpu"] * on_cpu + ["--quick"] * quick, PEERS_SECONDS)[0]
    except Failure as failure:
        return {"missing": f"PyTorch failed: {failure}"}


def add_ratios(bench, peers):
    """Each of PyTorch's times beside weft's, with a plan and without: PyTorch's by weft's."""
    theirs = {case["case"]: case for case in peers.get("cases", []) if "median_ms" in case}
    peers["ratios"] = [
        {"case": case["case"], "op": case["op"], "planned": case.get("planned"),
         **({"zeros": 1 - case["nnz"] / max(case["m"] * case["k"], 1)} if case.get("is_file") else {}),
         "weft_ms": case["median_ms"], "peer_ms": theirs[case["case"]]["median_ms"],
         "ratio": theirs[case["case"]]["median_ms"] / case["median_ms"]}
        for case in bench["cases"] if case["case"] in theirs]


# ---- all together

def commit():
    try:
        command = ["git", "-C", str(TOOLS), "describe", "--always", "--dirty"]
        return output_of(command, INFO_SECONDS)[0].strip()
    except Failure:
        return None


def machine():
    return {"system": platform.platform(), "cores": os.cpu_count(),
            "python": platform.python_version()}


def check(options):
    weft = str(options.build / "tools" / "weft")
    device, version = find_device(weft, options.device)
    wanted = options.device or device["name"].strip()
    report = {"weft": version, "commit": commit(), "quick": options.quick,
              "date": datetime.datetime.now().astimezone().isoformat(timespec="seconds"),
              "machine": machine(), "device": device}
    tell(f"{device['name']} ({device['platform']}), driver {device['driver']}")
    tell("weft self-test")
    report["self_test"] = run_self_test(weft, wanted, options.self_test)
    if options.no_tests:
        report["tests"] = {"why": options.no_tests}
    else:
        tell("The operations' tests on it")
        report["tests"] = run_tests(options.build, wanted, options.quick)
    with tempfile.TemporaryDirectory() as folder:
        patterns = pathlib.Path(folder)
        bench = run_bench(weft, wanted, options, patterns)
        on_cpu = device["limits"]["kind"] == "CPU"
        tell("The same by PyTorch")
        peers = run_peers(bench, on_cpu, options.quick, patterns)
    add_ratios(bench, peers)
    tests = report["tests"]
    passes = (report["self_test"]["ok"] and tests.get("failed", 0) == 0 and
              tests.get("passed") != 0)
    return {**report, "bench": bench, "peers": peers, "ok": passes and not bench["failures"]}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--device", default=os.environ.get("WEFT_DEVICE"))
    parser.add_argument("--self-test", type=str.split, default="")
    parser.add_argument("--bench", type=str.split, default="all")
    parser.add_argument("--data", metavar="FOLDER", type=pathlib.Path)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--no-tests", metavar="WHY")
    options = parser.parse_args()
    try:
        report = check(options)
    except Failure as failure:
        sys.exit(f"gpu-check: {failure}")
    options.output.mkdir(parents=True, exist_ok=True)
    (options.output / "report.json").write_text(json.dumps(report, indent=2) + "\n",
                                                encoding="utf-8")
    text = gpu_report.text_of(report)
    (options.output / "report.txt").write_text(text, encoding="utf-8")
    print(f"\n{text}\nWritten to {options.output}/report.txt and report.json.")
    sys.exit(0 if report["ok"] else 1)


if __name__ == "__main__":
    main()
