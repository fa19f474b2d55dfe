# SPDX-License-Identifier: Apache-2.0
"""AMD: clang's code generator, whose assembly says what each kernel uses."""
import re

import gcn
import loops
import tools

LIBRARY = "amdgcn--amdhsa.bc"
WAVES = {64: "gfx90a", 32: "gfx1030"}
FLAVOURS = []  # as in intel.py

WATCHED = {"gfx90a": "amd-mi250x"}  # as in nvidia.py
# What a profile is compiled for: stores have another counter on RDNA, which gcn.py does not read.
TARGETS = {"amd-mi100": "gfx908", "amd-mi250x": "gfx90a"}
MODEL = loops.counter
MOST_WAVES = {"gfx908": 10, "gfx90a": 8}  # of a SIMD
SIMDS = 4  # of a compute unit; each has wavefronts of its own
LOCAL_BYTES = 65536


def targets(profile):
    return [WAVES[profile["warp"]]] if re.match(r"amd-(mi|rx)", profile["name"]) else []


def target_of(name):
    """Of a profile; None for devices of others."""
    return TARGETS.get(name)


def units(compute_units):
    return compute_units


def most_resident(target):
    """Wavefronts on a compute unit."""
    return MOST_WAVES[target] * SIMDS


def missing():
    return tools.clang_missing(LIBRARY)


incomplete = missing


def skipped():
    """What goes untested, and why."""
    return []


def watched_targets():
    return WATCHED


def compilers():
    return tools.clang_release()


def resident(job, name, use):
    """Wavefronts on a compute unit."""
    items, argument_bytes = job.kernels[name]
    of_group = -(-items[0] * items[1] * items[2] // 64)
    local = use["local_bytes"] + argument_bytes
    groups = use["waves"] * SIMDS // of_group
    return of_group * (min(groups, LOCAL_BYTES // local) if local else groups)


def from_code(text, name):
    """What the assembly says, and the compiler's comment below it."""
    code = gcn.read_kernel(gcn.body_of(text, name))
    waves = re.search(rf"^{name}:.*?^; Occupancy: (\d+)", text, re.M | re.S)
    return {"code": code, "widest_load": max((each.load_bytes for each in code), default=0),
            "waves": int(waves.group(1)) if waves else 0}


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
            "registers": int(facts["vgpr_count"]),
            **from_code(text, facts["name"]),
        }
    return uses
