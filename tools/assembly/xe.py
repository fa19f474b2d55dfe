# SPDX-License-Identifier: Apache-2.0
"""Intel's assembly, as IGC writes it for devices whose messages have names (Xe-HPG and later).

A message takes a token, {$5}, and what needs its answer waits for it, {$5.dst}; {$5.src} waits
until it has read its own registers, and loads go on. goto names where a thread goes on and where
its items do: items are followed, as if each was alone.
"""
import re

from loops import Instruction, read

KERNEL = re.compile(r"^//\.kernel (\w+)", re.M)
LABEL = re.compile(r"^(\w+):$")
LINE = re.compile(r"^(?:\((W?)&?([^)]*)\))?\s+([a-z][\w.]*)\s*(.*)$")
LOAD = re.compile(r"load\.ugm\.d(\d+)(?:u32)?(?:x(\d+)(t?))?\.")
TAGS = re.compile(r"\{([^{}]*)\}\s*$")
TOKENS = frozenset(f"${i}" for i in range(32))


def waited_for(operation, operands, tags):
    """Tokens."""
    if operation == "sync.allwr":
        return frozenset(re.findall(r"\$\d+", operands.split("{")[0])) or TOKENS
    return frozenset(re.findall(r"(\$\d+)\.dst", tags))


def bytes_of(operation):
    """That an item loads; what is loaded once for all items is shared out."""
    load = LOAD.match(operation)
    if not load:
        return 0
    bits, n, is_block = load.groups()
    n_bytes = int(bits) // 8 * int(n or 1)
    return max(1, n_bytes // 16) if is_block else n_bytes


def instruction_of(is_uniform, guard, operation, operands, labels):
    tags = TAGS.search(operands)
    tags = tags.group(1) if tags else ""
    taken = frozenset(re.findall(r"(\$\d+)(?=,|$)", tags))
    jumps = operation in ("jmpi", "goto", "goto.b")
    ends = "EOT" in tags
    is_load = bytes_of(operation) > 0
    return Instruction(target=labels[operands.split("{")[0].split()[-1]] if jumps else None,
                       goes_on=not ends and not (jumps and not guard),
                       load_bytes=bytes_of(operation),
                       multiplies=operation.startswith(("mad", "mac", "dpas")),
                       loaded=taken if is_load else frozenset(),
                       touched=waited_for(operation, operands, tags) | taken)


def read_kernel(text):
    """The Instructions of one kernel."""
    lines = (line.split("//")[0].rstrip() for line in text.splitlines())
    return read(lines, LABEL.match, LINE.match, instruction_of)
