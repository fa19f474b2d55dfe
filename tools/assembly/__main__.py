# SPDX-License-Identifier: Apache-2.0
"""What the compilers of a GPU's vendor make of kernels: `weft explain --compile` starts it.

    python3 -B tools/assembly <REQUEST

The request is what `weft explain --json` prints for one device, with the device code of each
launch ("text") and the numbers of elements and entries. One JSON object comes out:
tools/explain_compile.h.
"""
import concurrent.futures
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import typing

import amd
import intel
import model
import nvidia
import report
import roles

LANGUAGE = "-cl-std=CL1.2 "  # which the library adds to a program's options
VENDORS = {"warps": nvidia, "wavefronts": amd, "threads": intel}


class Program:
    """One that is built, as the readers of assembly take it."""

    def __init__(self, target, source, options):
        self.target, self.source, self.options = target, source, LANGUAGE + options
        self.kernels = {}    # by name: items of a group along each dimension, bytes of arguments
        self.watched = True  # the code is read

    def defines(self):
        return dict(re.findall(r"-D (\w+)=(\S+)", self.options))


class Kernel(typing.NamedTuple):
    name: str
    use: dict
    spilled: str
    warps: str          # what the vendor calls them
    lanes: int
    resident: int       # of them, on a compute unit
    most_resident: int
    loops: list


def vendor_of(device):
    """What its warps are called, its module, and what is compiled for; None for other devices."""
    for warps, vendor in VENDORS.items():
        target = vendor.target_of(device)
        if target:
            return warps, vendor, target
    return None


def programs_of(request, target):
    """By source and options, in the order of launches."""
    programs = {}
    for launch in request["launches"]:
        key = launch["text"], launch["options"]
        program = programs.setdefault(key, Program(target, *key))
        program.kernels[launch["kernel"]] = (launch["local"], launch["local_bytes"])
    return programs


def uses_of(vendor, programs):
    """{source and options: {kernel: what it uses}}"""
    with tempfile.TemporaryDirectory() as folder:
        folders = [os.path.join(folder, str(i)) for i in range(len(programs))]
        for each in folders:
            os.mkdir(each)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            return dict(zip(programs, pool.map(vendor.uses_in, programs.values(), folders)))


def kernel_of(warps, vendor, program, name, use, call):
    spilled = str(use["spilled"] or "0 bytes")
    lanes = use.get("lanes") or call["warp"]
    resident = vendor.resident(program, name, use)
    return Kernel(name, use, spilled, warps, lanes, resident, vendor.most_resident(program.target),
                  roles.loops_of(name, use["code"], vendor.MODEL, program.defines(), call))


def shares_of(launches):
    """Of the entries of a call, by items, among kernels that go through them together: the same
    one in several launches, and rows beside chunks of long rows."""
    def family(launch):
        return re.sub(r"_(rows|row_chunks|tasks|k_blocks|segments)$", "", launch["kernel"])

    items = [math.prod(launch["global"]) * launch["times"] for launch in launches]
    return [n / sum(m for m, other in zip(items, launches) if family(other) == family(launch))
            for n, launch in zip(items, launches)]


def launch_of(launch, kernel, share, call):
    groups = launch["times"] * math.prod(
        n // of_group for n, of_group in zip(launch["global"], launch["local"]))
    warps = -(-math.prod(launch["local"]) // kernel.lanes)
    operations = call["operations"] if roles.is_dense(launch["kernel"]) else math.nan
    return model.Launch(groups, warps, kernel.lanes, kernel.resident, share, call["bytes"],
                        operations)


def call_of(request):
    """The numbers that costs are counted by."""
    return {key: request[key] for key in ("bytes", "operations", "weighted", "elements",
                                          "entries")} | {"warp": request["limits"]["warp"]}


def device_of(request, vendor):
    limits = request["limits"]
    return model.Device(limits["peak_gbps"], limits["peak_gflops"], limits["cache_bytes"],
                        vendor.units(limits["compute_units"]))


def times_of(launch, kernel, share, call, device):
    for loop in kernel.loops:
        if loop.is_used:
            return model.times(device, launch_of(launch, kernel, share, call), loop)
    return model.UNKNOWN


def answer(request, warps, vendor, target):
    call, device = call_of(request), device_of(request, vendor)
    programs = programs_of(request, target)
    uses = uses_of(vendor, programs)
    kernels = {}
    all_times = []
    for launch, share in zip(request["launches"], shares_of(request["launches"])):
        key = launch["text"], launch["options"]
        place = (*key, launch["kernel"])
        if place not in kernels:
            kernels[place] = kernel_of(warps, vendor, programs[key], launch["kernel"],
                                       uses[key][launch["kernel"]], call)
        all_times.append((launch["kernel"],
                          times_of(launch, kernels[place], share, call, device)))
    wanted = vendor.TARGETS[request["device"]]
    place = "" if wanted == target else f" in place of {wanted}"
    return report.whole(target, place, vendor.compilers(), list(kernels.values()), all_times,
                        vendor is nvidia)


def failure(words, is_missing):
    return {"failure": words, "is_missing": is_missing}


def reply(request):
    device = request["device"]
    found = vendor_of(device)
    if not found:
        known = [*nvidia.TARGETS, *amd.TARGETS, *intel.TARGETS]
        return failure(f"the assembly of {device} is not read; that of {', '.join(known)} is",
                       False)
    warps, vendor, target = found
    missing = vendor.incomplete()
    if missing:
        return failure(missing, True)
    try:
        return answer(request, warps, vendor, target)
    except subprocess.CalledProcessError as error:
        words = (error.stderr or error.stdout or "").strip().splitlines()
        return failure(f"{error.cmd[0]} ended with status {error.returncode}: "
                       f"{' '.join(words[:3])}", False)


if __name__ == "__main__":
    json.dump(reply(json.load(sys.stdin)), sys.stdout)
