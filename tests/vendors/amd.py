# SPDX-License-Identifier: Apache-2.0
"""AMD: clang's code generator, whose assembly says what each kernel uses."""
import re

import tools

LIBRARY = "amdgcn--amdhsa.bc"
WAVES = {64: "gfx90a", 32: "gfx1030"}
FLAVOURS = []  # as in intel.py

# Of an instruction: load_dwordx4, load_b128 and their like.
WIDTHS = {"ubyte": 1, "sbyte": 1, "u8": 1, "i8": 1, "ushort": 2, "sshort": 2, "short": 2, "u16": 2,
          "i16": 2, "dword": 4, "b32": 4, "dwordx2": 8, "b64": 8, "dwordx3": 12, "b96": 12,
          "dwordx4": 16, "b128": 16}


def targets(profile):
    return [WAVES[profile["warp"]]] if re.match(r"amd-(mi|rx)", profile["name"]) else []


def missing():
    return tools.clang_missing(LIBRARY)


def skipped():
    """What goes untested, and why."""
    return []


def widest_load(text, name):
    """Of what a kernel reads from global memory, in bytes; 0 where it reads nothing."""
    body = re.search(rf"^{name}:(.*?)^\.Lfunc_end", text, re.M | re.S).group(1)
    loads = re.findall(r"\b(?:global|flat)_load_([a-z0-9]+)", body)
    return max((WIDTHS.get(load, 0) for load in loads), default=0)


def uses_in(job, folder):
    """What each kernel of a program uses, by name."""
    text = tools.assembly(job, folder, LIBRARY, "-target", "amdgcn-amd-amdhsa",
                          "-mcpu=" + job.target)
    uses = {}
    for block in re.split(r"^  - ", text[text.index("amdhsa.kernels:"):], flags=re.M)[1:]:
        facts = dict(re.findall(r"^ *\.(\w+): +'?([\w]+)'?$", block, re.M))
        if "vgpr_count" not in facts:
            continue
        # Scalar registers spill into lanes of vector registers, not to memory.
        uses[facts["name"]] = {
            "spilled": int(facts["vgpr_spill_count"]) and facts["vgpr_spill_count"] + " registers",
            "scratch_bytes": int(facts["private_segment_fixed_size"]),
            "local_bytes": int(facts["group_segment_fixed_size"]),
            "widest_load": widest_load(text, facts["name"]),
        }
    return uses
