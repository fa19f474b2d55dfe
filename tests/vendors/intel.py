# SPDX-License-Identifier: Apache-2.0
"""Intel: ocloc, whose binaries say in words what each kernel uses."""
import glob
import os
import re
import shutil

import tools

# An integrated, a desktop and a data-centre part.
DEVICES = {"intel-iris-xe": "tgllp", "intel-arc-a770": "dg2-g10",
           "intel-max-1550": "pvc"}
ABOUT = b"version:"  # where that section begins
# What the plans' options become, once for each kernel: shuffles as other implementations have them.
FLAVOURS = [("-D SHUFFLES=2", "-D SHUFFLES=2 -D KHR_SHUFFLES=1")]


def targets(profile):
    device = DEVICES.get(profile["name"])
    return [device] if device else []


def missing():
    return None if shutil.which("ocloc") else "there is no ocloc"


def skipped():
    """What goes untested, and why."""
    return [("widths of loads on Intel", "ocloc does not say them")]


def uses_in(job, folder):
    """What each kernel of a program uses, by name."""
    tools.said_by("ocloc", "compile", "-q", "-file", tools.source_file(job, folder), "-device",
                  job.target, "-options", job.options, "-out_dir", folder, "--format", "zebin")
    with open(glob.glob(os.path.join(folder, "*.bin"))[0], "rb") as file:
        binary = file.read()
    begin = binary.index(ABOUT)
    text = binary[begin:binary.index(b"\0", begin)].decode()
    text = text[:text.index("kernels_misc_info:")] if "kernels_misc_info:" in text else text
    uses = {}
    for block in re.split(r"^  - name: +", text, flags=re.M)[1:]:
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
        }
    return uses
