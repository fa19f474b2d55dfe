# SPDX-License-Identifier: Apache-2.0
"""Hot loops of kernels on representative problems, held against what was kept of them.

kept/VENDOR.txt has the compilers and a line for each kernel and problem. A loop fails where it is
worse: fewer loads in flight, more instructions for an entry by more than TOLERANCE, fewer warps
resident, more spilled. Other major versions of the compilers are shown, and not held. Better values
become the kept ones by

    python3 -B tests/vendors/vendors.py keep BUILD/tests/specialisations
"""
import os
import typing

import loops
from dtypes import element_bytes

FOLDER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tests/vendors/kept")
TOLERANCE = 0.05  # of instructions: minor versions of compilers schedule and address differently
HEAD = """\
# Hot loops as compilers made them: `python3 -B tests/vendors/vendors.py keep` writes this file.
# in flight: the most loads from global memory under way at once; instructions, entries: of a turn
# (an entry of a sparse row, an element of a line, a step along k; 0: not known); registers: of an
# item; spilled: bytes or registers; resident: warps, wavefronts or threads on a compute unit.
"""


# ---- what is watched

def vector(defines, count="VECTORS"):
    """Bytes of a row of B that an item holds."""
    return element_bytes(defines) * int(defines["VECTOR_WIDTH"]) * int(defines[count])


def element(defines):
    return element_bytes(defines)


def spmm_entry(defines):
    """Where entries are not staged in local memory, each item reads them too."""
    return vector(defines) + (4 + element_bytes(defines)) * (defines["STAGE"] == "0")


def pair(defines):
    """A row of A with one of B, or of Q with one of K: both are read."""
    return 2 * vector(defines)


def norm_element(defines):
    return element_bytes(defines) * (1 + int(defines["WEIGHTED"]) + int(defines["BIASED"]))


def gradient(defines):
    """An element with its gradient, and w if there is one."""
    return element_bytes(defines) * (2 + int(defines.get("WEIGHTED", 0)))


def spgemm_entry(defines):
    return element_bytes(defines) + 4


def step(defines):
    """Along k, of a dense product: what a group reads of A and of B, by its items."""
    items, items_y = int(defines["ITEMS"]), int(defines["ITEMS_Y"])
    rows = int(defines["ROWS"]) * items_y
    columns = int(defines["VECTOR_WIDTH"]) * int(defines["VECTORS"]) * items
    return element_bytes(defines) * (rows + columns) / (items * items_y)


def fewest(turn):
    """Of loops that load as much, the one with the fewest loads in flight."""
    return turn.load_bytes, -turn.in_flight


class Watched(typing.NamedTuple):
    problem: str
    kernel: str
    entry: typing.Callable | None  # of the options' defines: bytes that an item loads for an entry
    part: str = ""      # what the kernel's hot loop is called, where several are watched
    depth: int = 99     # the most that loops lie within each other: rows may wait in registers
    by: typing.Callable = loops.load_bytes  # what the hot loop has most of

    def name(self):
        return self.kernel + (":" + self.part if self.part else "")


SPMM_128 = "spmm, sum of 2048 x 2048 with rows of 204, n 128, f32"
SPMM_32 = "spmm, sum of 2048 x 2048 with rows of 204, n 32, f32"
SWEPT = "of 2048 x 32768 x 0 along axis 1, f32"
SWEPT_NORM = "of 2048 x 32768, f32"
ATTENTION = "sparse_attention of 8 heads of 2048, k 128, d 128, f32"
SPGEMM_SORTED = "spgemm of 2048 x 2048 with rows of 41 and 300000 columns, f32"
PRODUCT = "matmul, 1 of 2048 x 2048 x 2048, f32"
PRODUCT_F16 = "matmul, 1 of 1024 x 1024 x 1024, f16"

WATCHED = [
    Watched(SPMM_128 + ", a plan", "spmm_csr_rows", spmm_entry),
    Watched(SPMM_128[:-3] + "f16, a plan", "spmm_csr_rows", spmm_entry),
    Watched(SPMM_32 + ", a plan", "spmm_csr_rows", spmm_entry),
    Watched(SPMM_128, "spmm_csr_tasks", spmm_entry),
    Watched(SPMM_128[:-3] + "f16", "spmm_csr_tasks", spmm_entry),
    Watched(SPMM_32, "spmm_csr_tasks", spmm_entry),
    Watched("spmm, sum of 8192 x 8192 with rows of 80, n 1, f32", "spmm_csr_rows", spmm_entry),
    Watched("sddmm of 2048 x 2048 with rows of 204, k 128, f32", "sddmm_csr_entries", pair),
    Watched("sparse_softmax of 16384 rows of 256, f32", "sparse_softmax_rows", element, depth=1),
    Watched(ATTENTION, "attention_csr_rows", pair, "scores"),
    Watched(ATTENTION, "attention_csr_rows", None, "outputs", depth=2),
    Watched("spgemm of 2048 x 2048 with rows of 8 and 2048 columns, f32", "spgemm_fill",
            spgemm_entry),
    Watched(SPGEMM_SORTED, "spgemm_fill_sorted", spgemm_entry, "products"),
    Watched(SPGEMM_SORTED, "spgemm_fill_sorted", None, "exchanges", by=loops.work),
    Watched(SPGEMM_SORTED, "spgemm_count_sorted", None, "exchanges", by=loops.work),
    Watched("softmax of 24576 x 896 x 0 along axis 1, f32", "softmax_lines", element),
    Watched("softmax_backward of 24576 x 896 x 0 along axis 1, f32", "softmax_backward_lines",
            gradient),
    Watched("layer_norm of 24576 x 896, f32", "norm_lines", norm_element),
    Watched("layer_norm_backward of 24576 x 896, f32", "norm_backward_lines", gradient),
    Watched("sum of 24576 x 896 x 0 along axis 1, f32", "reduce_lines", element),
    Watched("softmax of 1048576 x 16 x 0 along axis 1, f32", "softmax_lines", element),
    Watched("layer_norm of 1048576 x 16, f32", "norm_lines", norm_element),
    Watched("layer_norm_backward of 1048576 x 16, f32", "norm_backward_lines", gradient),
    Watched("sum of 1048576 x 16 x 0 along axis 1, f32", "reduce_lines", element),
    Watched("softmax " + SWEPT, "softmax_lines", element, by=fewest),
    Watched("log_softmax " + SWEPT, "softmax_lines", element, by=fewest),
    Watched("softmax_backward " + SWEPT, "softmax_backward_lines", gradient, by=fewest),
    Watched("log_softmax_backward " + SWEPT, "softmax_backward_lines", gradient, by=fewest),
    Watched("layer_norm " + SWEPT_NORM, "norm_lines", norm_element, by=fewest),
    Watched("layer_norm of 2 x 1048576, f32", "norm_parts", element),
    Watched("rms_norm " + SWEPT_NORM, "norm_lines", norm_element, by=fewest),
    Watched("rms_norm of 2 x 1048576, f32", "norm_parts", element),
    Watched("layer_norm_backward " + SWEPT_NORM, "norm_backward_lines", gradient, by=fewest),
    Watched("sum " + SWEPT, "reduce_lines", element),
    Watched("var " + SWEPT, "reduce_lines", element),
    Watched(PRODUCT, "matmul_blocks", step, "loads"),
    Watched(PRODUCT, "matmul_blocks", None, "products", by=loops.work),
    Watched(PRODUCT_F16, "matmul_blocks", step, "loads"),
    Watched(PRODUCT_F16, "matmul_blocks", None, "products", by=loops.work),
]


def program_of(watched, profile):
    """The one that the problem launched the kernel of; None where the plan has another kernel."""
    for program in profile["programs"]:
        for kernel in program["kernels"]:
            if kernel["name"] == watched.kernel and watched.problem in kernel["problems"]:
                return program
    return None


def watch(listed, vendor, jobs, make):
    """Has jobs watch their hot loops, and adds those that are missing."""
    known = {(job.target, job.source, job.options): job for job in jobs}
    profiles = {profile["name"]: profile for profile in listed["profiles"]}
    for target, name in vendor.watched_targets().items():
        for watched in WATCHED:
            program = program_of(watched, profiles[name])
            if not program:
                continue
            source = listed["sources"][program["source"]]
            key = (target, source, program["options"])
            if key not in known:
                known[key] = make(target, source, program, profiles[name])
                jobs.append(known[key])
            known[key].add(program, profiles[name])
            known[key].watched.append(watched)


# ---- what comes out

class Row(typing.NamedTuple):
    in_flight: int
    instructions: int
    entries: int
    registers: int
    spilled: int
    resident: int
    target: str
    kernel: str
    problem: str

    def name(self):
        return self.target, self.kernel, self.problem

    def cost(self):
        """Instructions of an entry, or of a turn."""
        return self.instructions / (self.entries or 1)


TITLES = ("in flight", "instructions", "entries", "registers", "spilled", "resident", "target",
          "kernel", "problem")


def row_of(vendor, job, watched, use):
    turn = loops.hot(use["code"], vendor.MODEL, watched.by, watched.depth,
                     watched.problem.startswith("matmul"))
    entries = int(turn.load_bytes / watched.entry(job.defines())) if watched.entry else 0
    spilled = int(str(use["spilled"]).split(maxsplit=1)[0])
    return Row(turn.in_flight, turn.instructions, entries, use["registers"], spilled,
               vendor.resident(job, watched.kernel, use), job.target, watched.name(),
               watched.problem)


def rows_of(vendor, job, uses):
    return [row_of(vendor, job, watched, uses[watched.kernel]) for watched in job.watched]


def lines_of(cells):
    """A table: numbers to the right, words to the left."""
    widths = [max(map(len, column)) for column in zip(*cells)]
    for line in cells:
        padded = [f"{cell:>{n}}" if i < 6 else f"{cell:<{n}}"
                  for i, (cell, n) in enumerate(zip(line, widths))]
        yield "  ".join(padded).rstrip()


def table(rows, kept):
    """In brackets what was kept, where it is another number."""
    cells = [list(TITLES)]
    for row in rows:
        was = kept.get(row.name(), row)
        cells.append([f"{new} ({old})" if new != old else str(new) for new, old in zip(row, was)])
    return lines_of(cells)


# ---- what was kept

def path_of(vendor):
    return os.path.join(FOLDER, vendor.__name__ + ".txt")


def keep(vendor, rows):
    cells = [list(map(str, row)) for row in sorted(rows, key=Row.name)]
    with open(path_of(vendor), "w", encoding="utf-8") as file:
        file.write(HEAD + f"compilers: {vendor.compilers()}\n")
        file.writelines(line + "\n" for line in lines_of(cells))


def row_in(line):
    *numbers, target, kernel, problem = line.split(maxsplit=8)
    return Row(*map(int, numbers), target, kernel, problem)


def read_kept(text):
    """The compilers, and {name: its Row}"""
    first, *lines = [line for line in text.splitlines() if not line.startswith("#")]
    rows = map(row_in, lines)
    return first.removeprefix("compilers: "), {row.name(): row for row in rows}


def kept_of(vendor):
    try:
        with open(path_of(vendor), encoding="utf-8") as file:
            return read_kept(file.read())
    except FileNotFoundError:
        return "none", {}


def worse(row, was):
    """What is worse than it was, in words."""
    if row.in_flight < was.in_flight:
        yield f"{row.in_flight} loads in flight instead of {was.in_flight}"
    if row.cost() > was.cost() * (1 + TOLERANCE):
        yield (f"{row.instructions} instructions for {row.entries} entries instead of "
               f"{was.instructions} for {was.entries}")
    if row.resident < was.resident:
        yield f"{row.resident} resident instead of {was.resident}"
    if row.spilled > was.spilled:
        yield f"{row.spilled} spilled instead of {was.spilled}"


def points(vendor, rows, was_kept):
    """(what, what is wrong, why it is skipped) for each loop that is watched or kept."""
    if not vendor.watched_targets():
        return
    compilers, kept = was_kept[0], dict(was_kept[1])
    here = vendor.compilers()
    why = f"kept of {compilers}, here is {here}" if compilers != here else None
    for row in rows:
        was = kept.pop(row.name(), None)
        wrong = list(worse(row, was)) if was else ["nothing was kept of it"]
        yield f"hot loop of {row.kernel} for {row.target}: {row.problem}", wrong, why
    for target, kernel, problem in kept:
        yield f"hot loop of {kernel} for {target}: {problem}", ["there is no such loop"], why
