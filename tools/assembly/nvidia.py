# SPDX-License-Identifier: Apache-2.0
"""NVIDIA: clang as far as PTX, ptxas from there on."""
import copy
import functools
import importlib.util
import os
import re
import shutil

import loops
import sass
import tools

LIBRARY = "nvptx64--nvidiacl.bc"
PTX = "sm_70"  # what clang compiles for; ptxas goes on from there
WANTED = ["sm_70", "sm_90"]
FLAVOURS = []  # as in intel.py
WATCHED = {"sm_90": "nvidia-h100"}  # for which hot loops are looked at, as plans for a profile are
MODEL = loops.registers
# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": registers, warps,
# groups and bytes of local memory of a multiprocessor. Registers are dealt out 256 to a warp, and
# each group costs 1 KiB of local memory more, from sm_80 on.
HOLDS = {"sm_70": (65536, 64, 32, 98304), "sm_75": (65536, 32, 16, 65536),
         "sm_80": (65536, 64, 32, 167936), "sm_86": (65536, 48, 16, 102400),
         "sm_89": (65536, 48, 24, 102400), "sm_90": (65536, 64, 32, 233472),
         "sm_120": (65536, 48, 24, 102400)}
# What a profile is compiled for.
TARGETS = {"nvidia-v100": "sm_70", "nvidia-t4": "sm_75", "nvidia-a100": "sm_80",
           "nvidia-rtx-3090": "sm_86", "nvidia-rtx-4090": "sm_89", "nvidia-rtx-5090": "sm_120",
           "nvidia-h100": "sm_90", "nvidia-h200": "sm_90"}

# Libclc has no such function here. NVIDIA's own OpenCL finds these numbers in registers, too.
OFFSETS = """
__attribute__((always_inline, overloadable, const)) size_t get_global_offset(uint d)
{
    uint x, y, z;
    __asm__("mov.u32 %0, %%envreg3;" : "=r"(x));
    __asm__("mov.u32 %0, %%envreg4;" : "=r"(y));
    __asm__("mov.u32 %0, %%envreg5;" : "=r"(z));
    return d == 0 ? x : d == 1 ? y : z;
}
"""


def ptxas():
    return shutil.which("ptxas") or shutil.which("/usr/local/cuda/bin/ptxas")


@functools.cache
def nvdisasm():
    """WEFT_NVDISASM, on the path, beside ptxas, or in the Triton that this Python has."""
    found = importlib.util.find_spec("triton")
    folders = list(found.submodule_search_locations) if found else []
    paths = [os.environ.get("WEFT_NVDISASM", "nvdisasm"),
             *(os.path.join(os.path.dirname(path), "nvdisasm") for path in [ptxas()] if path),
             *(os.path.join(folder, "backends/nvidia/bin/nvdisasm") for folder in folders)]
    return next(filter(None, map(shutil.which, paths)), None)


@functools.cache
def known():
    """Those wanted; the oldest that ptxas knows stands in for those that it has given up. Without
    ptxas, what clang compiles for."""
    if not ptxas():
        return [PTX]
    return [nearest(name) for name in WANTED]


def nearest(target):
    """The target, or what stands in for it."""
    names = re.findall(r"'sm_(\d+)'", tools.said_by(ptxas(), "--help"))
    return f"sm_{max(int(target[3:]), min(map(int, names)))}"


def target_of(name):
    """Of a profile; None for devices of others."""
    target = TARGETS.get(name)
    return target and nearest(target) if ptxas() else target


def units(compute_units):
    return compute_units


def most_resident(target):
    """Warps on a multiprocessor."""
    return HOLDS[target][1]


def targets(profile):
    return known() if profile["name"].startswith("nvidia-") else []


def missing():
    return tools.clang_missing(LIBRARY)


def incomplete():
    """As missing(), with all that hot loops need."""
    named = os.environ.get("WEFT_NVDISASM")
    if named and not shutil.which(named):
        return f"WEFT_NVDISASM is {named}, which is no program"
    if not ptxas() or not nvdisasm():
        return (f"there is no {'nvdisasm' if ptxas() else 'ptxas'}: install NVIDIA's CUDA toolkit "
                "(Debian: nvidia-cuda-toolkit)"
                + (", or name one by WEFT_NVDISASM" if ptxas() else ""))
    return missing()


def skipped():
    """What goes untested, and why."""
    if not ptxas():
        return [("registers, spills and hot loops on NVIDIA", "there is no ptxas")]
    if not nvdisasm():
        return [("hot loops on NVIDIA", "there is no nvdisasm: WEFT_NVDISASM may name one")]
    return []


def watched_targets():
    """{target: the profile whose plans are looked at}"""
    return WATCHED if ptxas() and nvdisasm() else {}


@functools.cache
def compilers():
    release = re.search(r"release ([\d.]+)", tools.said_by(ptxas(), "--version")).group(1)
    return f"{tools.clang_release()}, ptxas {release}"


def with_groups(text, job):
    """Says how many items groups have, as the vendor's own compiler does: what registers a kernel
    may use depends on it."""
    for name, (items, _) in job.kernels.items():
        group = f".reqntid {', '.join(map(str, items))}"
        text = re.sub(rf"(^\.entry {name}\(.*?^\)\n)", rf"\1{group}\n", text, count=1,
                      flags=re.M | re.S)
    return text


def widest_load(body):
    """Of what a kernel reads from global memory, in bytes; 0 where it reads nothing."""
    loads = re.findall(r"\bld(?:\.volatile)?\.global(?:\.nc)?(?:\.v(\d))?\.[busf](\d+)", body)
    return max((int(vector or 1) * int(bits) // 8 for vector, bits in loads), default=0)


def most_registers(items):
    """Of an item, in groups of so many: 64 Ki for all, dealt out eight at a time."""
    n = items[0] * items[1] * items[2]
    return min(65536 // n // 8 * 8, 255)


def body_of(text, name):
    return re.search(rf"^\.entry {name}\((.*?)^}}", text, re.M | re.S).group(1)


def from_ptx(text, job):
    """What PTX says by itself; registers come later."""
    uses = {}
    for name in job.kernels:
        body = body_of(text, name)
        arrays = re.findall(r"\.local \.align \d+ \.b8\s+\w+\[(\d+)\]", body)
        shared = re.findall(rf"^\.shared .*{name}_\S*\[(\d+)\]", text, re.M)
        shared += re.findall(r"^\s+\.shared .*\[(\d+)\]", body, re.M)
        uses[name] = {"spilled": 0, "scratch_bytes": sum(map(int, arrays)),
                      "local_bytes": sum(map(int, shared)), "widest_load": widest_load(body)}
    return uses


def add_registers(uses, said, job):
    """What ptxas prints. Where it has registers left, what it says it spills are convergence
    barriers, which it keeps in the frame."""
    for block in re.split(r"Compiling entry function '", said)[1:]:
        name = block.split("'", 1)[0]
        if name not in uses:
            continue
        frame, stores = map(int, re.search(r"(\d+) bytes stack frame, (\d+) bytes spill stores",
                                           block).groups())
        used = int(re.search(r"Used (\d+) registers", block).group(1))
        local = re.search(r"(\d+) bytes smem", block)
        uses[name]["local_bytes"] = int(local.group(1)) if local else 0
        uses[name]["registers"] = used
        if stores and used >= most_registers(job.kernels[name][0]):
            uses[name]["spilled"] = f"{stores} bytes of {used} registers"
        if frame == 0:  # arrays have become registers after all
            uses[name]["scratch_bytes"] = 0


def resident(job, name, use):
    """Warps on a multiprocessor."""
    registers, warps, groups, local_bytes = HOLDS[job.target]
    items, argument_bytes = job.kernels[name]
    of_group = -(-items[0] * items[1] * items[2] // 32)
    of_warp = -(-use["registers"] * 32 // 256) * 256
    reserved = 1024 if int(job.target[3:]) >= 80 else 0
    local = max(1, reserved + use["local_bytes"] + argument_bytes)
    return of_group * min(groups, warps // of_group, registers // of_warp // of_group,
                          local_bytes // local)


def add_code(uses, cubin):
    code = sass.kernels(tools.said_by(nvdisasm(), "-c", cubin))
    for name, use in uses.items():
        use["code"] = code[name]


def uses_in(job, folder):
    """What each kernel of a program uses, by name."""
    job = copy.copy(job)
    job.source += OFFSETS
    text = with_groups(
        tools.assembly(job, folder, LIBRARY, "-target", "nvptx64-nvidia-nvcl", "-march=" + PTX),
        job)
    uses = from_ptx(text, job)
    if ptxas():
        path = os.path.join(folder, "program.ptx")
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        said = tools.said_by(ptxas(), "-v", "-arch=" + job.target, path, "-o", path + ".cubin")
        add_registers(uses, said, job)
        if job.watched:
            add_code(uses, path + ".cubin")
    return uses
