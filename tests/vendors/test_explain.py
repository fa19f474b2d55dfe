# SPDX-License-Identifier: Apache-2.0
"""What `weft explain --compile` prints, with and without compilers. TAP comes out.

    test_explain.py WEFT
"""
import json
import os
import re
import subprocess
import sys
import tempfile

import test_loops  # finds tools/assembly
from test_loops import expect

import amd
import intel
import model
import nvidia

ASKED = ["explain", "spmm", "2048x2048", "2048x128", "--cov", "0.1", "--compile"]
# With WEFT_TEST_REDUCED every fourth.
OPERATIONS = ["spmm 2048x2048 2048x1", "spmm 2048x2048 2048x32 --reduce max",
              "sddmm 256x256 256x64 64x256t", "attention 256x256 2x256x64",
              "attention 256x256 2x256x64 2x256x512", "sparse_softmax 256x1024",
              "spgemm 256x256 256x256", "softmax 512x896", "norm 512x896", "norm_backward 512x896",
              "reduce 64x64x64 --axis 1", "elementwise x+y x=4096x64 y=4096x64",
              "matmul 512x512 512x512", "matmul 2048x2048 2048x1"]
WEFT = sys.argv[1]


def said(*words, **environment):
    done = subprocess.run([WEFT, *words], check=False, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=os.environ | environment)
    return done.returncode, done.stdout, done.stderr


def answer(profile, *words):
    status, out, errors = said(*(words or ASKED), "--profile", profile, "--json")
    expect((status, errors), (0, ""))
    return json.loads(out)


def skip_without(vendor):
    missing = vendor.incomplete()
    if missing:
        raise test_loops.Skipped(missing)


def expect_part(text, pattern):
    assert re.search(pattern, text, re.M), f"no {pattern!r} in:\n{text}"


def nvidia_for_people():
    """The rest of explain, a table with its titles and one hot loop, and a time."""
    skip_without(nvidia)
    status, out, errors = said(*ASKED, "--profile", "h200")
    expect((status, errors), (0, ""))
    for pattern in (r"^  roofline    ", r"^  compiled    for sm_90 by clang \d+, ptxas [\d.]+: ",
                    r"^    spmm_csr_rows: \d+ registers an item, 0 bytes spilled, \d+ of 64 warps",
                    r"^ +loads in +loads +instructions +entries +instructions$",
                    r"^ +flight +a turn +a turn +a turn +an entry +loop$",
                    r"^    \* +\d+ +\d+ +\d+ +8 +[\d.]+  entry of A$",
                    r"^    spmm_csr_rows: [\d.]+ us = launch 7.7 \+ the largest of memory "
                    r"[\d.]+, cache [\d.]+, issue [\d.]+, latency [\d.]+: bound by \w+"):
        expect_part(out, pattern)
    expect(len(re.findall(r"^    \* ", out, re.M)), 1)


def hot_loops_of(compiled):
    return [loop for kernel in compiled["kernels"] for loop in kernel["loops"] if loop["is_used"]]


def expect_sound(compiled):
    for loop in hot_loops_of(compiled):
        assert loop["in_flight"] >= 1 and loop["entries"] >= 1 and loop["instructions"] >= 1, loop
    for kernel in compiled["kernels"]:
        assert 1 <= kernel["resident"] <= kernel["most_resident"], kernel
    hot = {kernel["kernel"] for kernel in compiled["kernels"]
           if any(loop["is_used"] for loop in kernel["loops"])}
    for launch in compiled["launches"]:
        assert launch["total_us"] >= launch["launch_us"] > 0, launch
        terms = {term: launch[f"{term}_us"] for term in model.Times._fields}
        is_dense = launch["kernel"].startswith("matmul_blocks")
        unknown = {"arithmetic", "issue"} if is_dense else {"arithmetic"}
        assert {term for term, us in terms.items() if not us} <= unknown or \
            launch["kernel"] not in hot, launch
        assert bool(terms["arithmetic"]) == is_dense, launch


def stand_in():
    """What ptxas has given up is compiled for what stands in for it, and that is said."""
    skip_without(nvidia)
    target = nvidia.target_of("nvidia-v100")
    _, out, _ = said("explain", "softmax", "64x64", "--compile", "--profile", "v100")
    expect_part(out, f"^  compiled    for {target}"
                + (" by " if target == "sm_70" else " in place of sm_70 by "))


def nvidia_for_programs():
    """Every operation whose kernels have a hot loop, and numbers that can be."""
    skip_without(nvidia)
    for words in OPERATIONS[::4 if os.environ.get("WEFT_TEST_REDUCED") else 1]:
        compiled = answer("h100", "explain", *words.split(), "--compile")["compiled"]
        expect_sound(compiled)
        assert hot_loops_of(compiled), words


def unknown_work():
    """Kernels without an entry: no hot loop, and the answer says that it is not whole."""
    skip_without(nvidia)
    compiled = answer("h100", "explain", "csr_transpose", "512x512", "--compile")["compiled"]
    expect((compiled["is_whole"], hot_loops_of(compiled)), (False, []))
    expect({launch["issue_us"] for launch in compiled["launches"]}, {None})


def compiled_for(vendor, profile, target):
    skip_without(vendor)
    compiled = answer(profile)["compiled"]
    expect((compiled["target"], compiled["is_whole"]), (target, True))
    expect_sound(compiled)
    expect(len(hot_loops_of(compiled)), 1)


def amd_for_programs():
    compiled_for(amd, "mi250x", "gfx90a")


def intel_for_programs():
    compiled_for(intel, "max-1550", "pvc")


def all_profiles():
    """Each is answered, one way or the other; what cannot be read is no failure among all."""
    for vendor in (nvidia, amd, intel):
        skip_without(vendor)
    status, out, errors = said("explain", "sparse_gather", "64", "--compile", "--json",
                               "--profile", "all")
    expect((status, errors), (0, ""))
    answers = {each["device"]: each["compiled"] for each in json.loads(out)["explanations"]}
    known = {*nvidia.TARGETS, *amd.TARGETS, *intel.TARGETS}
    expect({name for name, each in answers.items() if "kernels" in each}, known)
    expect({each["failure"].split(" is not")[0] for each in answers.values() if "failure" in each},
           {f"the assembly of {name}" for name in answers if name not in known})


def no_reader():
    """Alone it is one, and all else is printed."""
    status, out, errors = said(*ASKED, "--profile", "5950x")
    expect(status, 1)
    expect_part(out, "^  roofline    .*")
    expect_part(out, "^  compiled    no: the assembly of amd-ryzen-5950x is not read; that of")
    expect_part(errors, "^weft explain: --compile: the assembly of amd-ryzen-5950x is not read")


def no_compilers():
    """Python alone is on the path. NVIDIA's is also looked for where it usually is."""
    with tempfile.TemporaryDirectory() as folder:
        os.symlink(sys.executable, os.path.join(folder, "python3"))
        for profile, words in (("mi250x", "there is no clang-15 and no clang-19: install "),
                               ("max-1550", "there is no ocloc: install "),
                               ("h200", "WEFT_NVDISASM is nix, which is no program")):
            status, out, errors = said(*ASKED, "--profile", profile, PATH=folder,
                                       WEFT_NVDISASM="nix")
            expect(status, 1)
            expect_part(out, "^  roofline    .*")
            expect_part(out, f"^  compiled    no: {words}")
            expect_part(errors, f"^weft explain: --compile: {words}")
            expect(errors.count("\n"), 1)


def no_python():
    with tempfile.TemporaryDirectory() as folder:
        status, out, errors = said(*ASKED, "--profile", "h200", PATH=folder)
    expect(status, 1)
    expect_part(out, "^  roofline    .*\n  compiled    no: there is no python3: install Python")
    expect(errors, "weft explain: --compile: there is no python3: install Python 3.10 or later "
                   "(Debian: python3)\n")


def no_folder():
    status, out, errors = said(*ASKED, "--profile", "h200", "--json", WEFT_ASSEMBLY_DIR="/nix")
    expect(status, 1)
    words = "WEFT_ASSEMBLY_DIR is '/nix', which has no __main__.py"
    expect(json.loads(out)["compiled"], {"failure": words})
    expect(errors, f"weft explain: --compile: {words}\n")


def bad_programs():
    """One that fails, and one that answers nothing."""
    for text, words in (("raise SystemExit(3)", "failed"), ("print('nix')", "gave no answer")):
        with tempfile.TemporaryDirectory() as folder:
            with open(os.path.join(folder, "__main__.py"), "w", encoding="utf-8") as file:
                file.write(text)
            status, out, errors = said(*ASKED, "--profile", "h200", WEFT_ASSEMBLY_DIR=folder)
        expect(status, 1)
        expect_part(out, f"^  compiled    no: python3 {folder} {words}")
        expect_part(errors, f"^weft explain: --compile: python3 {folder} {words}")


TESTS = [nvidia_for_people, stand_in, nvidia_for_programs, unknown_work, amd_for_programs,
         intel_for_programs, all_profiles, no_reader, no_compilers, no_python, no_folder,
         bad_programs]

if __name__ == "__main__":
    test_loops.main(TESTS)
