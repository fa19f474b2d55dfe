# SPDX-License-Identifier: Apache-2.0
"""Intel: ocloc, whose binaries say in words what each kernel uses, and the compiler's assembly."""
import glob
import os
import re
import shutil
import tempfile

import tools

# An integrated, a desktop and a data-centre part.
DEVICES = {"intel-iris-xe": "tgllp", "intel-arc-a770": "dg2-g10",
           "intel-max-1550": "pvc"}
ABOUT = b"version:"  # where that section begins
# What the plans' options become, once for each kernel: shuffles as other implementations have them.
FLAVOURS = [("-D SHUFFLES=2", "-D SHUFFLES=2 -D KHR_SHUFFLES=1")]
# Has the compiler write down, in the folder where it runs, all that it comes by.
WRITES_ASSEMBLY = {"IGC_ShaderDumpEnable": "1", "IGC_DumpToCurrentDir": "1"}


def targets(profile):
    device = DEVICES.get(profile["name"])
    return [device] if device else []


def watched_targets():
    return {}


def missing():
    return None if shutil.which("ocloc") else "there is no ocloc"


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


def widest_loads(folder):
    """By kernel. Where it was tried several times, the last one counts."""
    widths = {}
    for path in sorted(glob.glob(os.path.join(folder, "*.asm")), key=os.path.getmtime):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        widths[re.match(r"//\.kernel (\w+)", text).group(1)] = widest_load(text)
    return widths


def about_kernels(folder):
    """The words in a binary, kernel by kernel."""
    with open(glob.glob(os.path.join(folder, "*.bin"))[0], "rb") as file:
        binary = file.read()
    begin = binary.index(ABOUT)
    text = binary[begin:binary.index(b"\0", begin)].decode()
    text = text[:text.index("kernels_misc_info:")] if "kernels_misc_info:" in text else text
    return re.split(r"^  - name: +", text, flags=re.M)[1:]


def uses_in(job, folder):
    """What each kernel of a program uses, by name."""
    uses = {}
    source = tools.source_file(job, folder)
    has_promised = any(map(job.promised_bytes, job.kernels))
    with tempfile.TemporaryDirectory(dir=folder) as out:  # all at once would be gigabytes
        tools.said_by("ocloc", "compile", "-q", "-file", source, "-device", job.target, "-options",
                      job.options, "-out_dir", out, "--format", "zebin", cwd=out,
                      env=os.environ | (WRITES_ASSEMBLY if has_promised else {}))
        about, widths = about_kernels(out), widest_loads(out)
    for block in about:
        name = block.split("\n", 1)[0].strip()
        memory = re.findall(r"usage: +(\w+)\n +size: +(\d+)", block)
        spilled = sum(int(size) for usage, size in memory if usage == "spill_fill_space")
        local = re.search(r"slm_size: +(\d+)", block)
        uses[name] = {
            "spilled": spilled and f"{spilled} bytes",
            # Of an item, or on some devices of all items that run as one thread.
            "scratch_bytes": sum(int(size) for usage, size in memory
                                 if usage != "spill_fill_space"),
            "local_bytes": int(local.group(1)) if local else 0,
            "widest_load": widths.get(name),
        }
    return uses
