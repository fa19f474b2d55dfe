# SPDX-License-Identifier: Apache-2.0
"""NVIDIA's machine code, as nvdisasm writes it."""
import re

from loops import Instruction, read

SECTION = re.compile(r"^\.text\.([A-Za-z_]\w*):$", re.M)
LABEL = re.compile(r"^(\.L_\w+):")
LINE = re.compile(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:\{\s*)?(?:(@!?U?P\w+)\s+)?"
                  r"([A-Z][\w.]*)\s*(.*?)\s*;")
REGISTER = re.compile(r"\b(U?R)(\d+)(\.64)?")
TO = re.compile(r"`\((\.L_\w+)\)")

LOADS = ("LDG", "LD", "LDGSTS")      # from global memory, the last one to local memory
PRODUCTS = ("FFMA", "HFMA2", "DFMA", "HMMA", "IMMA", "DMMA")
MEMORY = (*LOADS, "LDS", "LDL", "LDC", "ULDC", "STG", "ST", "STS", "STL", "LDSM")
NO_FACTORS = "-RZ, RZ,"               # where a multiply-add sets a register to a constant
ENDS = ("EXIT", "RET", "KILL", "BPT", "BRX", "JMX")
# Registers of operands, the result first, where not all are single.
WIDE = [(r"HMMA\.16816\.F32|HMMA\.1688\.F32\.TF32", (4, 4, 2, 4)),
        (r"HMMA\.16816\.F16", (2, 4, 2, 2)),
        (r"IMMA\.16832", (4, 4, 2, 4)), (r"DMMA", (4, 2, 2, 4)), (r"HMMA|IMMA", (4, 2, 1, 4)),
        (r"IMAD\.WIDE|UIMAD\.WIDE", (2, 1, 1, 2)), (r"CS2R\.32", (1,)), (r"CS2R", (2,)),
        (r"D(?:ADD|MUL|FMA|SETP|MNMX)|.*\.(?:[FSU]?64)(?:\.|$)", (2, 2, 2, 2))]
ASYNC = "copies"  # what a copy to local memory is waited for by


def width_of(suffixes):
    """Registers of what a memory instruction moves."""
    return 4 if "128" in suffixes else 2 if "64" in suffixes else 1


def bytes_of(suffixes):
    for suffix in suffixes:
        if suffix in ("U8", "S8", "U16", "S16"):
            return int(suffix[1:]) // 8
    return 4 * width_of(suffixes)


def span(kind, number, n):
    return {f"{kind}{int(number) + i}" for i in range(n)}


def widths_of(operation, n):
    """Registers of each operand."""
    for pattern, widths in WIDE:
        if re.match(pattern, operation):
            return [*widths, *[1] * n][:n]
    return [1] * n


def touched_by(operation, operands):
    """All registers that an instruction names, and those that follow them in wide operands."""
    name, *suffixes = operation.split(".")
    operands = re.sub(r"\[[^]]*\]", lambda m: m.group(0).replace(",", " "), operands).split(",")
    # What goes into a predicate first is no operand of this count.
    operands = [each for each in operands if not re.match(r"\s*!?U?P[\dT]", each)]
    widths = widths_of(operation, len(operands))
    out = set()
    for each, width in zip(operands, widths):
        if name in MEMORY:
            width = 1 if "[" in each else width_of(suffixes)
        for kind, number, is_pair in REGISTER.findall(each):
            out |= span(kind, number, 2 if is_pair else width)
    return out


def instruction_of(guard, operation, operands, labels):
    name, *suffixes = operation.split(".")
    touched = touched_by(operation, operands)
    target = TO.search(operands)
    # What diverges in a shuffle's way goes aside and comes back, and hardly ever does.
    jumps = name == "BRA" and target and "DIV" not in suffixes
    always = not guard and not re.match(r"!?U?P\d", operands)
    loaded = frozenset()
    if name in ("LDG", "LD"):
        kind, number, _ = REGISTER.search(operands.split(",")[0]).groups()
        loaded = frozenset(span(kind, number, width_of(suffixes)))
    elif name == "LDGSTS":
        loaded = frozenset([ASYNC])
    elif name == "DEPBAR":
        touched.add(ASYNC)
    return Instruction(target=labels[target.group(1)] if jumps else None,
                       goes_on=not (always and (jumps or name in ENDS)),
                       load_bytes=bytes_of(suffixes) if name in LOADS else 0,
                       multiplies=name in PRODUCTS and NO_FACTORS not in operands,
                       guard=(guard or "").lstrip("@"), loaded=loaded, touched=frozenset(touched))


def read_kernel(text):
    """The Instructions of one kernel."""
    return read(text.splitlines(), LABEL.match, LINE.match, instruction_of)


def kernels(text):
    """{name: its Instructions}"""
    _, *parts = SECTION.split(text)
    return {name: read_kernel(body) for name, body in zip(parts[::2], parts[1::2])}
