# SPDX-License-Identifier: Apache-2.0
"""What the loops of a kernel do, and which one its time goes into.

A loop matters here if it loads from global memory. The hot one is the innermost of these that
covers the most entries in a turn, as far in as KERNELS says. Other loops are shown with what they
are to it.
"""
import math
import typing

import hot
import loops
from dtypes import DTYPE_BYTES, element_bytes


class Loop(typing.NamedTuple):
    role: str
    is_used: bool     # the time is computed from it
    turn: loops.Turn
    n_loads: int      # of a turn
    is_all: bool      # its instructions are all of the work: no loop in it multiplies
    entries: float    # of a turn, to one item; 0: not known
    overhead: int     # instructions of the loops around it and of the kernel, once for each
    n_around: int     # of those the ones that load, as each turn waits for them
    total: float      # of entries, of all items; 0: not known


class Work(typing.NamedTuple):
    """What an entry of a hot loop is, and how many of them a call has."""
    entry: str                  # in words
    n_bytes: typing.Callable    # that an item loads for it, of the options' defines and the call
    total: typing.Callable      # entries of all items, of the same; of each kernel that shares them
    least_depth: int = 0        # of the loop: outer ones count other things
    most_depth: int = 99        # rows may wait in registers: loops further in are for longer ones
    is_dense: bool = False      # hot where most is multiplied


# ---- entries of a call

def width(defines, *counts):
    n = 1
    for count in ("VECTOR_WIDTH", *counts):
        n *= int(defines.get(count, "1"))
    return n


def products(defines, call):
    """Multiply-adds, of which an item does a vector at a time; in attention those by V."""
    return (call["weighted"] or call["operations"]) / 2 / width(defines, "VECTORS")


def sampled_products(defines, call):
    """The same for C's entries; in attention all but those by V."""
    return (call["operations"] - call["weighted"]) / 2 / width(defines, "VECTORS")


def single_products(_, call):
    return call["operations"] / 2


def shared_rows(defines, call):
    """Rows of K, and as many of V, of which each of the lanes of a row has a part."""
    vectors = int(defines["VECTORS"]) + int(defines["OUTPUTS"])
    return call["operations"] / 2 / width(defines) / vectors


def dense_steps(defines, call):
    return call["operations"] / 2 / (width(defines, "VECTORS") * int(defines["ROWS"]))


def all_elements(_, call):
    return call["elements"]


def read_elements(defines, call):
    """Rows that wait in registers are read once, others for their sum and for the result."""
    return call["elements"] * (1 if defines.get("HELD", "0") != "0" else 2)


def all_entries(_, call):
    return call["entries"]


def loaded_elements(defines, call):
    """Of operands that are read: all bytes but those of the result."""
    return call["bytes"] / element_bytes(defines)


# ---- bytes of an entry

def of_defines(function):
    return lambda defines, _: function(defines)


def max_min_entry(defines, _):
    """Entries are not staged: each item reads them too."""
    return hot.vector(defines) + 4 + element_bytes(defines)


def shared_row(defines, _):
    """A lane's part of a row of K and of V, each found by an index."""
    vectors = int(defines["VECTORS"]) + int(defines["OUTPUTS"])
    return element_bytes(defines) * width(defines) * vectors + 2 * 4


def index_bytes(*_):
    return 4


def two_elements(defines, _):
    return 2 * element_bytes(defines)


def block_step(defines, _):
    """Of matmul_rows: a row of B, and an element of each row of A."""
    return element_bytes(defines) * (width(defines, "VECTORS") + int(defines["ROWS"]))


def inputs_of_element(defines, _):
    """Of elementwise: an element of each input."""
    return sum(DTYPE_BYTES[defines[f"IN{i}"].removeprefix("DTYPE_")]
               for i in range(int(defines["INPUTS"])))


SPMM = Work("entry of A", of_defines(hot.spmm_entry), products)
MAX_MIN = SPMM._replace(n_bytes=max_min_entry)
SDDMM = Work("step along k, of an entry of C", of_defines(hot.pair), sampled_products)
ROW_ELEMENT = Work("element", of_defines(hot.element), all_elements)
SPARSE_ELEMENT = Work("entry", of_defines(hot.element), all_entries, most_depth=1)
# The loop over blocks of entries; loops in it are for a k that lanes do not cover at once.
ATTENTION = Work("entry of M", shared_row, shared_rows, most_depth=2)
SPGEMM = Work("product of entries", of_defines(hot.spgemm_entry), single_products, least_depth=3)
BACKWARD = Work("element", two_elements, all_elements)

# By kernel; what is not here is shown without a time by instructions and latency.
KERNELS = {
    "spmm_csr_rows": SPMM, "spmm_csr_k_blocks": SPMM, "spmm_csr_segments": SPMM,
    "spmm_csr_row_chunks": SPMM, "spmm_csr_tasks": SPMM,
    "spmm_max_min_csr_rows": MAX_MIN, "spmm_max_min_csr_row_chunks": MAX_MIN,
    "sddmm_csr_entries": SDDMM, "sddmm_csr_column_blocks": SDDMM,
    "attention_csr_rows": ATTENTION, "attention_csr_row_chunks": ATTENTION,
    "sparse_softmax_rows": SPARSE_ELEMENT,
    "sparse_softmax_row_chunks": SPARSE_ELEMENT._replace(most_depth=99),
    "sparse_softmax_apply": SPARSE_ELEMENT._replace(most_depth=99),
    "spgemm_count": SPGEMM._replace(n_bytes=index_bytes),
    "spgemm_fill": SPGEMM,
    "spgemm_dense": SPGEMM._replace(least_depth=0),
    "softmax_lines": ROW_ELEMENT._replace(total=read_elements), "softmax_parts": ROW_ELEMENT,
    "softmax_apply": ROW_ELEMENT,
    "softmax_backward_lines": BACKWARD, "softmax_backward_parts": BACKWARD,
    "softmax_backward_apply": BACKWARD,
    "norm_lines": Work("element", of_defines(hot.norm_element), read_elements),
    "norm_parts": ROW_ELEMENT, "norm_apply": ROW_ELEMENT,
    "norm_backward_lines": BACKWARD, "norm_backward_parts": BACKWARD,
    "norm_backward_apply": BACKWARD,
    "reduce_lines": ROW_ELEMENT,
    "elementwise": Work("element", inputs_of_element, all_elements),
    "matmul_blocks": Work("step along k", of_defines(hot.step), dense_steps, is_dense=True),
    "matmul_rows": Work("step along k", block_step, dense_steps),
    "matmul_dots": Work("element of A or B", of_defines(hot.element), loaded_elements),
}


# ---- loops

def is_dense(kernel):
    return KERNELS.get(kernel, UNKNOWN).is_dense


def is_innermost(region, others):
    return not any(each.inside < region.inside for each in others)


def fits(work, region):
    return work.least_depth <= region.depth <= work.most_depth


def chosen(found, work, entry_bytes):
    """The place in `found` of the loop that a Work is about."""
    def weight(i):
        region, turn, _ = found[i]
        covered = turn.load_bytes // entry_bytes if entry_bytes else turn.load_bytes
        return covered, region.depth, -turn.instructions

    fitting = [i for i, each in enumerate(found) if fits(work, each[0])] or range(len(found))
    regions = [found[i][0] for i in fitting]
    return max([i for i in fitting if is_innermost(found[i][0], regions)], key=weight)


def most_multiplied(code, model, found):
    """Of dense products: of the loops that load, the shortest of those that multiply most."""
    turn = loops.hot(code, model, is_dense=True)
    return next((i for i, each in enumerate(found) if each[1] == turn), None)


def place_of_hot(code, model, found, work, entry_bytes):
    place = most_multiplied(code, model, found) if work.is_dense else None
    return chosen(found, work, entry_bytes) if place is None else place


def relation(region, turn, hottest, hottest_turn, work):
    """What a loop is to the hot one."""
    if hottest.inside < region.inside:
        return "around the hot one"
    if region.inside < hottest.inside:
        return "in the hot one: another case"
    if not fits(work, region):
        return "of other things"
    if turn.load_bytes == hottest_turn.load_bytes:
        return "as the hot one: another case"
    return "less than the hot one: left over, or another case"


def overhead_of(everything, region):
    """Instructions of what is around a loop, and how many of these load."""
    around = [each for each in everything if region.inside < each[0].inside]
    return sum(turn.instructions for _, turn, _ in around), sum(n > 0 for _, _, n in around)


def entries_of(turn, entry_bytes, is_hot):
    """Whole ones; less than one, of what several items share, only in the hot loop."""
    n = turn.load_bytes / entry_bytes
    return math.floor(n) if n >= 1 or not is_hot else n


UNKNOWN = Work("the most loads", lambda *_: 0, lambda *_: 0)


def loops_of(kernel, code, model, defines, call):
    """A Loop for each that loads, in the order of the code; of a kernel without one the whole of
    it. None is used where KERNELS does not know the kernel."""
    work = KERNELS.get(kernel, UNKNOWN)
    n_bytes = work.n_bytes(defines, call)
    everything = sorted(loops.regions_and_turns(code, model, work.is_dense),
                        key=lambda each: (each[0].start, each[0].depth))
    found = [each for each in everything if each[0].depth and each[1].load_bytes]
    found = found or [each for each in everything if not each[0].depth]
    hottest = found[place_of_hot(code, model, found, work, n_bytes)]
    out = []
    for each in found:
        region, turn, n_loads = each
        is_hot = each is hottest
        counts = n_bytes and fits(work, region) and not hottest[0].inside < region.inside
        overhead, n_around = overhead_of(everything, region)
        out.append(Loop(work.entry if is_hot else relation(*each[:2], *hottest[:2], work),
                        is_hot and kernel in KERNELS, turn, n_loads,
                        not (work.is_dense and region.nested),
                        entries_of(turn, n_bytes, is_hot) if counts else 0, overhead, n_around,
                        work.total(defines, call) if is_hot else 0))
    return out
