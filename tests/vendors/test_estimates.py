# SPDX-License-Identifier: Apache-2.0
"""Which loop of a short kernel is the hot one, and the times that follow, counted by hand. TAP."""
import math
import types

import test_loops  # finds tools/assembly
from test_loops import expect, sass_of

import calibrate
import loops
import model
import nvidia
import report
import roles
import sass

SPMM = {"DTYPE": "DTYPE_F32", "VECTOR_WIDTH": "4", "VECTORS": "1", "STAGE": "128"}
CALL = {"operations": 2 * 4 * 1e6, "elements": 1000.0, "entries": 500.0, "bytes": 9000.0,
        "weighted": 0.0, "warp": 32}


def found_in(kernel, lines, defines):
    code = sass.kernels(sass_of(lines))["kernel"]
    return roles.loops_of(kernel, code, loops.registers, defines, CALL)


def short(found):
    return [(loop.is_used, loop.entries, loop.role.split(":")[0]) for loop in found]


# Rows, of which two entries a turn are added, then the last one.
ROWS = """
    S2R R0, SR_TID.X
    .L_x_0:
    LDG.E R2, desc[UR6][R4.64]
    .L_x_1:
    LDG.E.128 R8, desc[UR6][R4.64]
    LDG.E.128 R12, desc[UR6][R4.64]
    FFMA R20, R8, R8, R12
    @P0 BRA `(.L_x_1)
    .L_x_2:
    LDG.E.128 R8, desc[UR6][R4.64]
    FFMA R20, R8, R8, R20
    @P1 BRA `(.L_x_2)
    @P2 BRA `(.L_x_0)
    EXIT"""


def entries_before_rows():
    found = found_in("spmm_csr_rows", ROWS, SPMM)
    expect(short(found), [(False, 0, "around the hot one"), (True, 2, "entry of A"),
                          (False, 1, "less than the hot one")])
    hottest = found[1]
    expect((hottest.turn.in_flight, hottest.n_loads, hottest.overhead, hottest.n_around,
            hottest.total), (2, 2, 4, 1, 1e6))


def rows_that_load_more():
    """Short rows are added in the loop over rows, others in the one within: this is the hot one."""
    found = found_in("spmm_csr_tasks", """
        .L_x_0:
        LDG.E.128 R8, desc[UR6][R4.64]
        LDG.E.128 R12, desc[UR6][R4.64]
        LDG.E.128 R16, desc[UR6][R4.64]
        .L_x_1:
        LDG.E.128 R8, desc[UR6][R4.64]
        FFMA R20, R8, R8, R20
        @P1 BRA `(.L_x_1)
        @P2 BRA `(.L_x_0)
        EXIT""", SPMM)
    expect(short(found), [(False, 0, "around the hot one"), (True, 1, "entry of A")])


def same_entries_twice():
    """Of two loops that cover as much the shorter one counts."""
    found = found_in("spmm_csr_rows", """
        .L_x_0:
        LDG.E.128 R8, desc[UR6][R4.64]
        FFMA R20, R8, R8, R12
        FFMA R20, R8, R8, R12
        @P0 BRA `(.L_x_0)
        .L_x_1:
        LDG.E.128 R8, desc[UR6][R4.64]
        FFMA R20, R8, R8, R12
        @P0 BRA `(.L_x_1)
        EXIT""", SPMM)
    expect(short(found), [(False, 1, "as the hot one"), (True, 1, "entry of A")])


def depths():
    """An outer loop that loads more is another thing of SpGEMM's; an inner one of attention's is
    another case."""
    nest = """
        .L_x_0:
        MOV R1, R2
        .L_x_1:
        LDG.E.128 R8, desc[UR6][R4.64]
        @P0 BRA `(.L_x_1)
        .L_x_2:
        MOV R1, R2
        .L_x_3:
        LDG.E.64 R8, desc[UR6][R4.64]
        FFMA R20, R8, R8, R12
        @P0 BRA `(.L_x_3)
        @P1 BRA `(.L_x_2)
        @P2 BRA `(.L_x_0)
        EXIT"""
    expect(short(found_in("spgemm_fill", nest, {})),
           [(False, 0, "of other things"), (True, 1, "product of entries")])
    attention = {"VECTOR_WIDTH": "1", "VECTORS": "1", "OUTPUTS": "1", "DTYPE": "DTYPE_F32"}
    expect(short(found_in("attention_csr_rows", nest, attention)),
           [(True, 1, "entry of M"), (False, 0, "of other things")])


def unknown_kernels():
    """They have a table, and no time."""
    found = found_in("nix", ROWS, {})
    expect([loop.is_used for loop in found], [False] * 3)
    expect([loop.role for loop in found][1], "the most loads")
    expect(model.UNKNOWN.total(), model.OVERHEAD_US)
    expect(report.time_line("nix", model.UNKNOWN, 7.5),
           "    nix: not estimated but for the launch, 7.5 us")


def straight_kernels():
    """Without a loop the whole kernel is the hot one."""
    found = found_in("sparse_softmax_apply", """
        LDG.E R8, desc[UR6][R4.64]
        LDG.E R9, desc[UR6][R4.64]
        EXIT""", {"DTYPE": "DTYPE_F32"})
    expect(short(found), [(True, 2, "entry")])


def steps_of_attention():
    """Of three launches each has its share of the operations; a vector has four."""
    attention = CALL | {"weighted": 6e6}
    expect([roles.KERNELS[kernel].total(SPMM, attention)
            for kernel in ("sddmm_csr_entries", "spmm_csr_rows", "sparse_softmax_rows")],
           [2e6 / 2 / 4, 6e6 / 2 / 4, 500])
    expect(roles.KERNELS["sddmm_csr_entries"].total(SPMM, CALL), 1e6)


def inputs_of_elementwise():
    """One byte and four of an element."""
    found = found_in("elementwise", """
        .L_x_0:
        LDG.E.64 R8, desc[UR6][R4.64]
        LDG.E.U16 R9, desc[UR6][R4.64]
        @P0 BRA `(.L_x_0)
        EXIT""", {"INPUTS": "2", "IN0": "DTYPE_U8", "IN1": "DTYPE_I32"})
    expect(short(found), [(True, 2, "element")])


def products_in_a_loop():
    """Of a dense product whose hot loop has one in it that multiplies, instructions are not
    known."""
    found = found_in("matmul_blocks", """
        .L_x_0:
        LDG.E.64 R8, desc[UR6][R4.64]
        .L_x_1:
        FFMA R20, R8, R8, R12
        @P1 BRA `(.L_x_1)
        @P0 BRA `(.L_x_0)
        EXIT""", {"DTYPE": "DTYPE_F32", "ITEMS": "1", "ITEMS_Y": "1", "ROWS": "1",
                  "VECTORS": "1", "VECTOR_WIDTH": "1"})
    expect([loop.is_all for loop in found if loop.is_used], [False])
    expect(math.isnan(model.issue_us(DEVICE, launch(), LOOP._replace(is_all=False))), True)


def products_before_loads():
    """Of a dense product the loop that multiplies, though another one loads more."""
    found = found_in("matmul_blocks", """
        .L_x_0:
        LDG.E.128 R8, desc[UR6][R4.64]
        @P0 BRA `(.L_x_0)
        .L_x_1:
        LDG.E.64 R8, desc[UR6][R4.64]
        FFMA R20, R8, R8, R12
        FFMA R20, R8, R8, R12
        FFMA R20, R8, R8, R12
        @P0 BRA `(.L_x_1)
        EXIT""", {"DTYPE": "DTYPE_F32", "ITEMS": "1", "ITEMS_Y": "1", "ROWS": "1",
                  "VECTOR_WIDTH": "1", "VECTORS": "1"})
    expect(short(found), [(False, 2, "less than the hot one"), (True, 1, "step along k")])


# A device of two units, of which each issues as many instructions of 32 lanes as ISSUE_SHARE says
# of 1000 in a microsecond.
DEVICE = model.Device(gbps=1000, gflops=128, cache_bytes=10000, units=2)
LOOP = roles.Loop("entry", True, loops.Turn(1, 60, 128, 8, 0), 16, True, 4, 40, 1, 4 * 32 * 600)


def launch(**changes):
    return model.Launch(groups=6, warps=2, lanes=32, resident=4, share=1, bytes=2e6,
                        operations=math.nan)._replace(**changes)


def near(found, wanted):
    assert all(math.isclose(a, b, rel_tol=1e-9) for a, b in zip(found, wanted, strict=True)), \
        f"{found} instead of {wanted}"


def terms():
    """Twelve warps have 600 turns in all, 50 each; six warps are on a unit, four of them at a
    time. Each takes 40 instructions, and 60 of a turn; it waits twice, and twice in a turn."""
    near(model.times(DEVICE, launch(operations=3e9), LOOP),
         [2e6 / (1000 * model.MEMORY_SHARE) / 1e3,
          600 * 32 * 128 / (model.CACHE_BYTES * 64) / 1e3,
          3e9 / 128e3,
          6 * (40 + 50 * 60) / (model.ISSUE_SHARE * 1000),
          6 / 4 * (2 + 50 * 2) * model.LATENCY_US])


def shares():
    """Half of the entries, in a launch as large: half of all terms that grow with entries."""
    near(model.times(DEVICE, launch(share=0.5, operations=0), LOOP),
         [1e6 / (1000 * model.MEMORY_SHARE) / 1e3,
          300 * 32 * 128 / (model.CACHE_BYTES * 64) / 1e3,
          0,
          6 * (40 + 25 * 60) / (model.ISSUE_SHARE * 1000),
          6 / 4 * (2 + 25 * 2) * model.LATENCY_US])


def few_groups():
    """One group: a unit has its two warps, and the other one waits."""
    times = model.times(DEVICE, launch(groups=1, bytes=5000), LOOP)
    near(times[3:], [2 * (40 + 300 * 60) / (model.ISSUE_SHARE * 1000),
                     (2 + 300 * 2) * model.LATENCY_US])
    near(times[:1], [5000 / (model.CACHE_BYTES * 64) / 1e3])  # from caches


def bounds():
    """The largest term, or the launch where that is longer; what is not known does not count."""
    expect(model.Times(1, 20, 5, 30, 10).bound(), "issue")
    near([model.Times(1, 20, 5, 30, 10).total()], [30 + model.OVERHEAD_US])
    expect(model.Times(1, 2, 3, 3, math.nan).bound(), "overhead")
    expect(model.Times(math.nan, math.nan, math.nan, math.nan, 50).bound(), "latency")
    times = model.times(DEVICE._replace(gflops=0), launch(), LOOP)
    expect([math.isnan(each) for each in times], [False, True, True, True, False])


def older_devices():
    """Registers, then warps, then groups; before sm_80 groups reserve no local memory."""
    def warps(target, items, registers, local_bytes=0):
        job = types.SimpleNamespace(target=target, kernels={"kernel": (items, 0)})
        return nvidia.resident(job, "kernel", {"registers": registers, "local_bytes": local_bytes})

    expect([warps("sm_86", [128, 1, 1], 32), warps("sm_75", [128, 1, 1], 32),
            warps("sm_75", [32, 1, 1], 32), warps("sm_75", [32, 1, 1], 16, 32768),
            warps("sm_80", [32, 1, 1], 16, 83968), warps("sm_120", [32, 1, 1], 128)],
           [48, 32, 16, 2, 1, 16])
    expect([target for target in nvidia.TARGETS.values() if target not in nvidia.HOLDS], [])


def tables():
    """Titles above their columns, and a dash for what is not known."""
    lines = report.table([LOOP, LOOP._replace(is_used=False, entries=0, role="other")])
    expect([" ".join(line.split()) for line in lines],
           ["loads in loads instructions entries instructions",
            "flight a turn a turn a turn an entry loop",
            "* 8 16 60 4 15 entry", "8 16 60 - - other"])
    expect([report.number(us) for us in (3365.2, 0.0977, 12.5, 7, math.nan)],
           ["3365", "0.0977", "12.5", "7", "-"])


def fits():
    """Times with other constants are those that the model computes with them."""
    now = {name: getattr(model, name) for name in calibrate.CONSTANTS}
    terms = model.Times(*range(1, 6))
    for term in terms._fields:
        times = terms._replace(**{term: 100})
        near([calibrate.scaled(times, True, now, now)], [times.total()])
        for name in calibrate.CONSTANTS[1:]:
            grows = {"LATENCY_US": ["latency"], "CACHE_BYTES": ["memory", "cache"],
                     "ISSUE_SHARE": ["issue"]}.get(name, [])  # caches hold the operands
            by = 4 if name == "LATENCY_US" else 1 / 4
            near([calibrate.scaled(times, True, now, now | {name: by * now[name]})],
                 [now["OVERHEAD_US"] + (400 if term in grows else 100)])


TESTS = [entries_before_rows, rows_that_load_more, same_entries_twice, depths, unknown_kernels,
         straight_kernels, steps_of_attention, inputs_of_elementwise, products_before_loads, terms,
         shares, few_groups, bounds, older_devices, tables, products_in_a_loop, fits]

if __name__ == "__main__":
    test_loops.main(TESTS)
