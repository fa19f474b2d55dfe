# SPDX-License-Identifier: Apache-2.0
"""Compiles every program that plans choose for the known devices with their vendors' compilers.

    vendors.py amd|intel|nvidia SPECIALISATIONS
    vendors.py keep SPECIALISATIONS

SPECIALISATIONS is the program that lists what the library would build. TAP comes out: a test for
each kernel and target, which fails where a specialisation of the kernel does not compile, spills,
uses scratch memory or more local memory than the profile has, or reads nothing as wide as its plan
promised, and one for each hot loop, of which a table comes too (hot.py). The whole test is skipped
where there is no such compiler. With WEFT_TEST_REDUCED each program is compiled for one of its
targets; with WEFT_TEST_SHORT, too, one in eight that have the same kernels and arithmetic. Programs
with hot loops are always compiled.

`keep` compiles these alone, for all vendors whose compilers are here, and keeps what it finds.
"""
import collections
import concurrent.futures
import copy
import json
import os
import re
import subprocess
import sys
import tempfile

# pylint: disable=wrong-import-position
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/assembly"))
import amd
import hot
import intel
import nvidia
from dtypes import element_bytes

VENDORS = {"amd": amd, "intel": intel, "nvidia": nvidia}


class Job:
    """A program for a target, and all that is known of its kernels."""

    def __init__(self, target, source, program, profile):
        self.target = target
        self.source = source
        self.options = program["options"]
        self.problem = program["problem"]
        self.profile = profile["name"]
        self.most_local_bytes = profile["local_bytes"]
        self.load_bytes = profile["load_bytes"]
        self.kernels = {}  # by name: items of a group along each dimension, bytes of arguments
        self.watched = []  # hot loops

    def add(self, program, profile):
        self.most_local_bytes = min(self.most_local_bytes, profile["local_bytes"])
        for kernel in program["kernels"]:
            if any(kernel["items"]):
                self.kernels[kernel["name"]] = (kernel["items"], kernel["local_bytes"])

    def defines(self):
        return dict(re.findall(r"-D (\w+)=(\S+)", self.options))

    def promised_bytes(self, name):
        """Of the widest load, where the plan has seen that vectors are aligned; else 0. What
        combines row chunks reads scratch memory, of which the plan says nothing, what says that
        there is no argument reads numbers of rows at most, and what transposes B reads elements
        that lie apart by items that are neighbours."""
        defines = self.defines()
        if defines.get("ALIGNED") != "1" or name.endswith(("_combine", "_none", "_transpose")):
            return 0
        return min(int(defines["VECTOR_WIDTH"]) * element_bytes(defines), self.load_bytes)


def jobs_of(listed, vendor):
    """One for each target, source and options, whichever profiles and problems want it."""
    jobs = {}
    for profile in listed["profiles"]:
        for target in vendor.targets(profile):
            for program in profile["programs"]:
                key = (target, program["source"], program["options"])
                if key not in jobs:
                    source = listed["sources"][program["source"]]
                    jobs[key] = Job(target, source, program, profile)
                jobs[key].add(program, profile)
    jobs = {key: job for key, job in jobs.items() if job.kernels}
    chosen = by_turns(jobs) if os.environ.get("WEFT_TEST_REDUCED") else list(jobs.values())
    return chosen + flavours_of(chosen, vendor.FLAVOURS)


def by_turns(jobs):
    """Of a program that several targets want, only one: each in turn."""
    wanted = collections.defaultdict(list)
    for (_, source, options), job in jobs.items():
        wanted[source, options].append(job)
    programs = list(wanted.values())
    if os.environ.get("WEFT_TEST_SHORT"):
        programs = some_of_each(programs)
    return [each[i % len(each)] for i, each in enumerate(programs)]


def some_of_each(programs):
    """Of those with the same kernels and arithmetic every eighth, from the first one on."""
    alike = collections.defaultdict(list)
    for program in programs:
        alike[(program[0].defines().get("DTYPE"), *program[0].kernels)].append(program)
    return [program for each in alike.values() for program in each[::8]]


def flavours_of(jobs, flavours):
    """The first program of each kernel that has such options, with others in their place."""
    more = {}
    for usual, other in flavours:
        for job in jobs:
            if usual in job.options and (other, *job.kernels) not in more:
                flavour = copy.copy(job)
                flavour.watched = []  # of its own: the usual one's are not its
                flavour.options = job.options.replace(usual, other)
                more[other, *job.kernels] = flavour
    return list(more.values())


def faults(job, name, use):
    """What is wrong with a kernel, in words."""
    local_bytes = use["local_bytes"] + job.kernels[name][1]
    if use["spilled"]:
        yield f"spills {use['spilled']}"
    if use["scratch_bytes"]:
        yield f"uses {use['scratch_bytes']} bytes of scratch memory"
    if local_bytes > job.most_local_bytes:
        yield f"uses {local_bytes} bytes of local memory, there are {job.most_local_bytes}"
    widest = use.get("widest_load")
    if widest and widest < job.promised_bytes(name):
        yield f"loads {widest} bytes at a time, {job.promised_bytes(name)} are promised"


def run(vendor, job, folder):
    """Faults by kernel, [] where it is sound, and rows of hot loops."""
    try:
        uses = vendor.uses_in(job, folder)
    except subprocess.CalledProcessError as error:
        words = (error.stderr or error.stdout).strip().splitlines()
        return {name: ["does not compile"] + words[:10] for name in job.kernels}, []
    return ({name: list(faults(job, name, uses[name])) for name in job.kernels},
            hot.rows_of(vendor, job, uses))


def run_all(vendor, jobs):
    """Pairs of a job and its faults by kernel, and rows of all hot loops."""
    with tempfile.TemporaryDirectory(dir=os.environ.get("WEFT_TEST_DIR")) as folder:
        folders = [os.path.join(folder, str(i)) for i in range(len(jobs))]
        for each in folders:
            os.mkdir(each)
        with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
            done = list(pool.map(run, [vendor] * len(jobs), jobs, folders))
    return ([(job, found) for job, (found, _) in zip(jobs, done)],
            [row for _, rows in done for row in rows])


def kernel_points(results):
    """(what, whether it is good, comments) for each kernel and target."""
    points = collections.defaultdict(list)
    for job, found in results:
        for name, wrong in found.items():
            points[f"{name} for {job.target}"].append((job, wrong))
    for point, cases in sorted(points.items()):
        bad = [(job, wrong) for job, wrong in cases if wrong]
        count = f"{len(cases)} specialisations" + (f", {len(bad)} of them bad" if bad else "")
        yield f"{point}: {count}", not bad, [
            f"{job.problem} on {job.profile}: {'; '.join(wrong)}\n#   {job.options}"
            for job, wrong in bad]


def loop_points(vendor, rows):
    """The same for each hot loop."""
    for what, wrong, skipped in hot.points(vendor, rows, hot.kept_of(vendor)):
        yield what + (f" # SKIP {skipped}" if skipped else ""), bool(skipped) or not wrong, wrong


def report(vendor, results, rows):
    """TAP, with a table of hot loops."""
    points = [*kernel_points(results), *loop_points(vendor, rows)]
    points += [(f"{what} # SKIP {why}", True, []) for what, why in vendor.skipped()]
    for i, (what, is_good, comments) in enumerate(points, 1):
        print(f"{'ok' if is_good else 'not ok'} {i} - {what}")
        for comment in comments:
            print(f"# {comment}")
    for line in hot.table(rows, hot.kept_of(vendor)[1]) if rows else []:
        print(f"# {line}")
    print(f"1..{len(points)}")


def listed_by(specialisations):
    return json.loads(subprocess.run([specialisations], check=True, stdout=subprocess.PIPE).stdout)


def test(name, specialisations):
    vendor = VENDORS[name]
    missing = vendor.missing()
    if missing:
        print(f"1..0 # SKIP {missing}")
        return
    listed = listed_by(specialisations)
    jobs = jobs_of(listed, vendor)
    hot.watch(listed, vendor, jobs, Job)
    report(vendor, *run_all(vendor, jobs))


def keep(specialisations):
    listed = listed_by(specialisations)
    for name, vendor in VENDORS.items():
        jobs = []
        if not vendor.missing():
            hot.watch(listed, vendor, jobs, Job)
        if not jobs:
            print(f"{name}: left as it is: {vendor.missing() or dict(vendor.skipped())}")
            continue
        _, rows = run_all(vendor, jobs)
        print(f"{name}:", *hot.table(rows, hot.kept_of(vendor)[1]), sep="\n")
        hot.keep(vendor, rows)


if __name__ == "__main__":
    if sys.argv[1] == "keep":
        keep(*sys.argv[2:])
    else:
        test(*sys.argv[1:])
