# SPDX-License-Identifier: Apache-2.0
"""AMD's assembly, as clang writes it.

Items that take a branch and items that do not go the same way one after the other, under masks: a
way that loads most goes through both, and all that it loads counts.
"""
import re

from loops import Instruction, read

LABEL = re.compile(r"^(\.LBB\w+):")
LINE = re.compile(r"^\t([a-z]\w+)[ \t]*([^;\n]*)")

# Bytes of an instruction: load_dwordx4, load_b128 and their like.
WIDTHS = {"ubyte": 1, "sbyte": 1, "u8": 1, "i8": 1, "ushort": 2, "sshort": 2, "short": 2, "u16": 2,
          "i16": 2, "dword": 4, "b32": 4, "dwordx2": 8, "b64": 8, "dwordx3": 12, "b96": 12,
          "dwordx4": 16, "b128": 16}
GLOBAL = re.compile(r"(?:global|flat)_load_([a-z0-9]+)")
# All that the counter of vector memory counts on GCN and CDNA.
QUEUED = re.compile(r"(?:global|flat|buffer|scratch)_(?:load|store|atomic)")
PRODUCT = re.compile(r"v_(?:pk_)?(?:fma|mac|mad|dot|mfma)")
WAITS_FOR = re.compile(r"\bvmcnt\((\d+)\)")
ALWAYS = ("s_branch", "s_endpgm", "s_setpc_b64")


def body_of(text, name):
    return re.search(rf"^{name}:(.*?)^\.Lfunc_end", text, re.M | re.S).group(1)


def instruction_of(operation, operands, labels):
    load, wait = GLOBAL.match(operation), WAITS_FOR.search(operands)
    jumps = operation == "s_branch" or operation.startswith("s_cbranch")
    return Instruction(target=labels[operands.strip()] if jumps else None,
                       goes_on=operation not in ALWAYS,
                       load_bytes=WIDTHS.get(load.group(1), 0) if load else 0,
                       multiplies=bool(PRODUCT.match(operation)),
                       is_queued=bool(QUEUED.match(operation)),
                       waits_for=int(wait.group(1)) if wait else None)


def read_kernel(text):
    """The Instructions of one kernel."""
    return read(text.splitlines(), LABEL.match, LINE.match, instruction_of)
