# SPDX-License-Identifier: Apache-2.0
"""Intel: ocloc, whose binaries say in words what each kernel uses, and the compiler's assembly."""
import functools
import glob
import os
import re
import shutil
import tempfile

import loops
import tools
import xe

# An integrated, a desktop and a data-centre part.
DEVICES = {"intel-iris-xe": "tgllp", "intel-arc-a770": "dg2-g10",
           "intel-max-1550": "pvc"}
ABOUT = b"version:"  # where that section begins
# What the plans' options become, once for each kernel: shuffles as other implementations have them.
TARGETS = {"intel-arc-a770": "dg2-g10", "intel-max-1550": "pvc"}  # whose messages have names
FLAVOURS = [("-D SHUFFLES=2", "-D SHUFFLES=2 -D KHR_SHUFFLES=1")]
WATCHED = {"pvc": "intel-max-1550"}  # as in nvidia.py
MODEL = loops.registers
# oneAPI GPU Optimization Guide, "Intel Xe GPU Architecture": threads of an Xe-core, eight on each
# of eight vector engines, where they have 128 registers, and its shared local memory.
THREADS, LOCAL_BYTES = 64, 131072
# Has the compiler write down, in the folder where it runs, all that it comes by.
WRITES_ASSEMBLY = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCurrentDir": "1"}


def targets(profile):
    device = DEVICES.get(profile["name"])
    return [device] if device else []


def target_of(name):
    """Of a profile; None for devices of others."""
    return TARGETS.get(name)


def units(compute_units):
    """Xe-cores: compute units are vector engines."""
    return compute_units // 8


def most_resident(_):
    """Threads on an Xe-core."""
    return THREADS


def watched_targets():
    return WATCHED


@functools.cache
def compilers():
    """The release, which ocloc prints or, where it is older, writes to a file of that name."""
    what = "OCL_DRIVER_VERSION"
    with tempfile.TemporaryDirectory() as folder:
        said = tools.said_by("ocloc", "query", what, cwd=folder)
        path = os.path.join(folder, what)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                said = file.read()
    return "ocloc " + (re.findall(r"\b\d+\.\d+\b", said) or ["of no known release"])[0]


def missing():
    if not shutil.which("ocloc"):
        return "there is no ocloc: install Intel's offline compiler (Debian 12: intel-opencl-icd)"
    return None


incomplete = missing


def skipped():
    """What goes untested, and why."""
    return []


def widest_load(text):
    """Of what a kernel reads from global memory, in bytes; 0 where it reads nothing."""
    widths = [int(bits) * int(n or 1) // 8
              for bits, n in re.findall(r"\bload\.ugm\.d(\d+)(?:u32)?(?:x(\d+))?\.", text)]
    # Older devices name messages in a comment; what ends with fe reads local memory.
    for to, bits, parts in re.findall(
            r"^[^/\n]* 0x\w{6}(\w\w) .*// .*; .*\bread (?:(\d+)b|with (\w+))", text, re.M):
        if to.lower() != "fe":
            widths.append(int(bits) // 8 if bits else 4 * len(parts))
    return max(widths, default=0)


def texts_in(folder):
    """Assembly by kernel. Where it was tried several times, the last one counts."""
    texts = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.asm")), key=os.path.getmtime):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        texts[xe.KERNEL.search(text).group(1)] = text
    return texts


def about_kernels(folder):
    """The words in a binary, kernel by kernel."""
    with open(glob.glob(os.path.join(folder, "*.bin"))[0], "rb") as file:
        binary = file.read()
    begin = binary.index(ABOUT)
    text = binary[begin:binary.index(b"\0", begin)].decode()
    text = text[:text.index("kernels_misc_info:")] if "kernels_misc_info:" in text else text
    return re.split(r"^  - name: +", text, flags=re.M)[1:]


def resident(job, name, use):
    """Threads on an Xe-core."""
    items, argument_bytes = job.kernels[name]
    of_group = -(-items[0] * items[1] * items[2] // use["lanes"])
    local = use["local_bytes"] + argument_bytes
    groups = THREADS * 128 // use["registers"] // of_group
    return of_group * (min(groups, LOCAL_BYTES // local) if local else groups)


def number_in(block, name):
    found = re.search(name + r": +(\d+)", block)
    return int(found.group(1)) if found else 0


def uses_in(job, folder):
    """What each kernel of a program uses, by name."""
    uses = {}
    source = tools.source_file(job, folder)
    is_read = job.watched or any(map(job.promised_bytes, job.kernels))
    with tempfile.TemporaryDirectory(dir=folder) as out:  # all at once would be gigabytes
        tools.said_by("ocloc", "compile", "-q", "-file", source, "-device", job.target, "-options",
                      job.options, "-out_dir", out, "--format", "zebin", cwd=out,
                      env=os.environ | (WRITES_ASSEMBLY if is_read else {}))
        about, texts = about_kernels(out), texts_in(out)
    for block in about:
        name = block.split("\n", 1)[0].strip()
        memory = re.findall(r"usage: +(\w+)\n +size: +(\d+)", block)
        spilled = sum(int(size) for usage, size in memory if usage == "spill_fill_space")
        uses[name] = {
            "spilled": spilled and f"{spilled} bytes",
            # Of an item, or on some devices of all items that run as one thread.
            "scratch_bytes": sum(int(size) for usage, size in memory
                                 if usage != "spill_fill_space"),
            "local_bytes": number_in(block, "slm_size"),
            "widest_load": widest_load(texts[name]) if name in texts else None,
            "registers": number_in(block, "grf_count"),
            "lanes": number_in(block, "simd_size"),
            "code": xe.read_kernel(texts[name]) if job.watched else None,
        }
    return uses
