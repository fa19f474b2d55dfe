# SPDX-License-Identifier: Apache-2.0
"""What loops.py and its readers find in short kernels, counted by hand. TAP comes out."""
import os
import sys
import traceback
import types

# pylint: disable=wrong-import-position
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../tools/assembly"))
import amd
import gcn
import hot
import intel
import loops
import nvidia
import sass
import xe


class Skipped(Exception):
    """Raised by a test, with the reason."""


def sass_of(lines):
    """As nvdisasm writes it: a label, or an instruction, on each line."""
    lines = [line.strip() for line in lines.strip().splitlines()]
    return ".text.kernel:\n" + "".join(
        line + "\n" if line.endswith(":") else f"        /*{16 * i:04x}*/    {line} ;\n"
        for i, line in enumerate(lines))


def of_turn(turn):
    """All but the products."""
    return tuple(turn)[:4]


def nvidia_turns(lines, is_dense=False):
    code = sass.kernels(sass_of(lines))["kernel"]
    return {of_turn(turn) for turn in loops.turns_of(code, loops.registers, is_dense)}


def amd_turns(lines):
    lines = [line.strip() for line in lines.strip().splitlines()]
    code = gcn.read_kernel("\n".join(line if line.startswith(".") else "\t" + line
                                     for line in lines))
    return {of_turn(turn) for turn in loops.turns_of(code, loops.counter)}


def expect(found, wanted):
    assert found == wanted, f"{found} instead of {wanted}"


def wide_loads():
    """R5 is the second half of what R4 begins: behind its use, two others are under way."""
    expect(nvidia_turns("""
        .L_x_0:
        LDG.E.64 R4, desc[UR6][R2.64]
        LDG.E R8, desc[UR6][R2.64+0x8]
        FFMA R9, R5, R5, R9
        LDG.E.128.CONSTANT R12, desc[UR6][R2.64+0x10]
        FFMA R9, R15, R8, R9
        @P0 BRA `(.L_x_0)
        EXIT"""), {(0, 1, 0, 0), (1, 6, 28, 2)})


def narrow_loads():
    expect(nvidia_turns("""
        LDG.E.U8 R4, desc[UR6][R2.64]
        LDG.E.S16.CONSTANT R5, [R2.64]
        LDS.128 R8, [R3]
        LDC.64 R12, c[0x0][0x210]
        EXIT"""), {(0, 5, 3, 2)})


def addresses():
    """R6.64 is R6 and R7, and R7 has just been loaded; a store of 128 bits reads R11, too."""
    expect(nvidia_turns("""
        LDG.E R7, desc[UR6][R2.64]
        LDG.E R8, desc[UR6][R6.64]
        LDG.E R11, desc[UR6][R2.64]
        STG.E.128 desc[UR6][R2.64], R8
        LDG.E R12, desc[UR6][R2.64]
        LDG.E R13, desc[UR6][R2.64]
        EXIT"""), {(0, 7, 20, 2)})


def wide_operands():
    """Of IMAD.WIDE the result and the addend are pairs, of DFMA all are."""
    expect(nvidia_turns("""
        LDG.E R5, desc[UR6][R2.64]
        IMAD.WIDE.U32 R8, R10, R11, R4
        LDG.E R7, desc[UR6][R2.64]
        DFMA R12, R6, R14, R12
        LDG.E R13, desc[UR6][R2.64]
        IMAD.WIDE R12, P0, R20, R21, R22
        LDG.E R24, desc[UR6][R2.64]
        EXIT"""), {(0, 8, 16, 1)})


def uniform_registers():
    """UR5 is not R5."""
    expect(nvidia_turns("""
        LDG.E R5, desc[UR6][R2.64]
        UIADD3 UR5, UR5, 0x1, URZ
        LDG.E R6, desc[UR6][R2.64]
        R2UR UR4, R5
        LDG.E R7, desc[UR6][R2.64]
        R2UR UR4, R6
        EXIT"""), {(0, 7, 12, 2)})


def turn_after_turn():
    """What one turn loads last the next one uses: with its first load three are under way."""
    expect(nvidia_turns("""
        LDG.E R4, desc[UR6][R2.64]
        .L_x_1:
        LDG.E R8, desc[UR6][R2.64+0x4]
        FADD R5, R5, R4
        FADD R5, R5, R8
        LDG.E R4, desc[UR6][R2.64+0x8]
        LDG.E R9, desc[UR6][R2.64+0xc]
        @!P0 BRA `(.L_x_1)
        STG.E desc[UR6][R2.64], R5
        EXIT"""), {(0, 3, 4, 1), (1, 6, 12, 3)})


def nests():
    """The outer loop has four instructions of its own, and the inner one waits for its load."""
    expect(nvidia_turns("""
        S2R R0, SR_TID.X
        .L_x_2:
        LDG.E R4, desc[UR6][R2.64]
        .L_x_3:
        FADD R5, R5, R4
        @P1 BRA `(.L_x_3)
        LDG.E R6, desc[UR6][R2.64]
        FADD R5, R5, R6
        @P0 BRA `(.L_x_2)
        EXIT"""), {(0, 2, 0, 0), (1, 4, 8, 1), (2, 2, 0, 0)})


def branches():
    """Of two ways that load as much the shorter one counts, not the one that loads less. What is
    behind an end cannot be reached, and a guarded end is none."""
    expect(nvidia_turns("""
        @P3 EXIT
        .L_x_4:
        @P0 BRA `(.L_x_5)
        LDG.E R4, desc[UR6][R2.64]
        LDG.E R5, desc[UR6][R2.64+0x4]
        FADD R6, R4, R5
        BRA `(.L_x_6)
        .L_x_5:
        @P2 BRA `(.L_x_6)
        LDG.E.64 R4, desc[UR6][R2.64]
        FADD R6, R4, R5
        .L_x_6:
        BRA.DIV UR4, `(.L_x_8)
        .L_x_9:
        BRA.U UP0, `(.L_x_4)
        EXIT
        .L_x_8:
        LDG.E.128 R8, desc[UR6][R2.64]
        BRA `(.L_x_9)
        .L_x_7:
        BRA `(.L_x_7)"""), {(0, 2, 0, 0), (1, 6, 8, 1)})


def products():
    """Of dense products not the shortest way, but the one that multiplies: but the first turn."""
    lines = """
        .L_x_0:
        LDG.E R4, desc[UR6][R2.64]
        @!P0 BRA `(.L_x_1)
        LDS R8, [R3]
        FFMA R9, R8, R8, R9
        .L_x_1:
        STS [R3], R4
        @P1 BRA `(.L_x_0)
        EXIT"""
    expect(nvidia_turns(lines), {(0, 1, 0, 0), (1, 4, 4, 1)})
    expect(nvidia_turns(lines, is_dense=True), {(0, 1, 0, 0), (1, 6, 4, 1)})


def guards():
    """Each item does one half: the wider one counts."""
    expect(nvidia_turns("""
        @P1 LDG.E.128 R4, desc[UR6][R2.64]
        @!P1 LDG.E R4, desc[UR6][R2.64]
        @!P1 LDG.E R5, desc[UR6][R2.64]
        @P0 LDG.E R8, desc[UR6][R2.64]
        @!UP2 LDG.E R9, desc[UR6][R2.64]
        EXIT"""), {(0, 6, 24, 3)})


def copies():
    """To local memory, without a register."""
    expect(nvidia_turns("""
        LDGSTS.E.BYPASS.128 [R4], desc[UR6][R2.64]
        LDGSTS.E.BYPASS.128 [R4+0x10], desc[UR6][R2.64+0x10]
        LDGDEPBAR
        DEPBAR.LE SB0, 0x0
        LDGSTS.E.BYPASS.128 [R4], desc[UR6][R2.64]
        EXIT"""), {(0, 6, 48, 2)})


def counters():
    """A store waits in the same queue, scalar loads and local memory do not."""
    expect(amd_turns("""
        s_load_dwordx2 s[0:1], s[6:7], 0x20
        s_waitcnt lgkmcnt(0)
        .LBB0_1:
        global_load_dwordx4 v[4:7], v[0:1], off
        global_store_dword v[0:1], v9, off
        flat_load_ushort v8, v[0:1]
        s_waitcnt vmcnt(2)
        global_load_dword v9, v[2:3], off
        s_waitcnt vmcnt(0) lgkmcnt(0)
        ds_read_b32 v10, v11
        s_cbranch_scc1 .LBB0_1
        s_endpgm"""), {(0, 3, 0, 0), (1, 8, 22, 2)})


def masks():
    """Where no item takes part, the branch skips what follows; the way that loads goes through. One
    of the loads is still under way in the next turn."""
    expect(amd_turns("""
        .LBB0_2:
        s_and_saveexec_b64 s[0:1], vcc
        s_cbranch_execz .LBB0_3
        global_load_dwordx2 v[4:5], v[0:1], off
        global_load_dwordx2 v[6:7], v[0:1], off
        s_waitcnt vmcnt(1)
        .LBB0_3:
        s_cbranch_vccnz .LBB0_2
        s_endpgm
        global_load_dword v8, v[0:1], off
        s_endpgm"""), {(0, 1, 0, 0), (1, 6, 16, 3)})


def tokens():
    """A load that has read its registers is still under way, and so is one whose token an addition
    of other registers does not name; tokens taken anew, and all of them, are waited for. Items go
    where the second label says. Local memory is not counted."""
    code = xe.read_kernel("""//.kernel nix
_0_001:
        load.ugm.d32x4.a64 (16|M0)  r24:4  [r12:2]  {I@2,$11} // ex_desc:0x0
        load.ugm.d32.a64 (16|M0)  r12:1  [r30:2]    {$13}
        add (16|M0)  r12.0<1>:d  r53.0<1;1,0>:d  4:w  {Compacted,$11.src}
        load.slm.d32x4.a32 (16|M0)  r40:4  [r41:1]  {$1}
        load.ugm.d8u32.a64 (16|M0)  r41:1  [r30:2]  {$5}
        load.ugm.d32.a64 (16|M0)  r12:1  [r30:2]    {$13}
        add (16|M0)  r12.0<1>:d  r24.0<1;1,0>:d  4:w  {$11.dst,$13.dst}
        load.ugm.d32x2.a64 (16|M0)  r50:2  [r30:2]  {A@1,$2}
        sync.allwr                          ($2,$5)
        load.ugm.d32x2.a64 (16|M0)  r50:2  [r30:2]  {$11}
(f3.1)  goto (16|M0)                _0_001  _0_003
(W)     jmpi                        _0_001
_0_003:
        join (16|M0)                L8392
L8392:
        goto.b (16|M0)              _0_003  _0_004
        load.ugm.d64.a64 (16|M0)  r50:2  [r30:2]  {$2}
_0_004:
(W)     send.gtwy (8|M0)  null  r127  null:0  0x0  0x02000010  {EOT,A@1} // wr:1+0
        illegal
""")
    expect({of_turn(turn) for turn in loops.turns_of(code, loops.registers)},
           {(0, 3, 0, 0), (1, 12, 41, 3)})


def hottest():
    """A loop of one load goes before 15 loads in none; most work is in the loop in it."""
    code = sass.kernels(sass_of("""
        LDG.E R5, desc[UR6][R2.64]\n""" * 15 + """
        .L_x_1:
        LDG.E R4, desc[UR6][R2.64]
        .L_x_2:
        FADD R5, R5, R4
        FADD R5, R5, R4
        FADD R5, R5, R4
        @P1 BRA `(.L_x_2)
        @P0 BRA `(.L_x_1)
        EXIT"""))["kernel"]
    expect(of_turn(loops.hot(code, loops.registers)), (1, 2, 4, 1))
    expect(of_turn(loops.hot(code, loops.registers, loops.work)), (2, 4, 0, 0))
    expect(of_turn(loops.hot(code, loops.registers, loops.work, 1)), (1, 2, 4, 1))
    expect(of_turn(loops.hot(code, loops.registers, most_depth=0)), (0, 16, 60, 1))


def whole_blocks():
    """Of two loops of a dense product that multiply as much, the shorter one is hot, though a
    register that is set to 0 by a multiply-add is no product; loads are sought where there are any,
    and not in a loop that goes round once."""
    code = sass.kernels(sass_of("""
        .L_x_1:
        LDG.E R4, desc[UR6][R2.64]
        FFMA R9, R8, R8, R9
        FFMA R9, R8, R8, R9
        @P1 BRA `(.L_x_1)
        .L_x_2:
        FFMA R9, R8, R8, R9
        @P1 BRA `(.L_x_2)
        .L_x_3:
        LDG.E R4, desc[UR6][R2.64]
        HFMA2.MMA R9, -RZ, RZ, 0, 0
        FFMA R9, R8, R8, R9
        FFMA R9, R8, R8, R9
        @P1 BRA `(.L_x_3)
        EXIT"""))["kernel"]
    for by in loops.load_bytes, loops.work:
        expect(tuple(loops.hot(code, loops.registers, by, is_dense=True)), (1, 4, 4, 1, 2))


def job_of(target, items, argument_bytes):
    return types.SimpleNamespace(target=target, kernels={"kernel": (items, argument_bytes)})


def residents():
    """Limited by nothing, registers, groups, local memory; 48 warps of 40 registers in groups of
    four are what the CUDA Occupancy Calculator gives."""
    def warps(items, registers, local_bytes=0, argument_bytes=0):
        return nvidia.resident(job_of("sm_90", items, argument_bytes), "kernel",
                               {"registers": registers, "local_bytes": local_bytes})

    expect([warps([128, 1, 1], 32), warps([32, 4, 1], 40), warps([256, 1, 1], 255),
            warps([32, 1, 1], 16), warps([16, 16, 1], 32, 100, 47000)], [64, 48, 8, 32, 32])
    expect([amd.resident(job_of("gfx90a", items, argument_bytes), "kernel",
                         {"waves": 8, "local_bytes": 0})
            for items, argument_bytes in (([64, 1, 1], 0), ([256, 1, 1], 16384), ([192, 1, 1], 0))],
           [32, 16, 30])
    expect([intel.resident(job_of("pvc", items, argument_bytes), "kernel",
                           {"registers": registers, "lanes": 16, "local_bytes": 1024})
            for items, argument_bytes, registers in (
                ([64, 1, 1], 0, 128), ([64, 1, 1], 0, 256), ([32, 8, 1], 64512, 128))],
           [64, 32, 32])


ROW = hot.Row(4, 100, 8, 40, 0, 48, "sm_90", "spmm_csr_rows", "spmm of 2 x 2, f32")


def comparisons():
    """Less in flight, instructions above the tolerance, fewer warps, more spilled."""
    def is_worse(**changes):
        return [words.split()[1] for words in hot.worse(ROW._replace(**changes), ROW)]

    expect([is_worse(), is_worse(in_flight=3), is_worse(in_flight=5), is_worse(instructions=104)],
           [[], ["loads"], [], []])
    expect([is_worse(instructions=106), is_worse(instructions=200, entries=16),
            is_worse(instructions=60, entries=4), is_worse(resident=47), is_worse(spilled=4)],
           [["instructions"], [], ["instructions"], ["resident"], ["spilled"]])


def kept_values(found, kept, compilers="clang 15"):
    """What is wrong, and whether it is held."""
    vendor = types.SimpleNamespace(__name__="nix", compilers=lambda: compilers,
                                   watched_targets=lambda: {"sm_90": "nvidia-h100"})
    text = hot.HEAD + "compilers: clang 15\n" + "".join(
        line + "\n" for line in hot.lines_of([list(map(str, row)) for row in kept]))
    return [(wrong, why) for _, wrong, why in hot.points(vendor, found, hot.read_kept(text))]


def keeping():
    """What was written is read again; what is missing on either side is told, and values of other
    compilers do not hold."""
    other = ROW._replace(kernel="other", in_flight=12)
    expect(kept_values([ROW, other], [other, ROW]), [([], None), ([], None)])
    expect(kept_values([ROW], []), [(["nothing was kept of it"], None)])
    expect(kept_values([ROW], [other]), [(["nothing was kept of it"], None),
                                         (["there is no such loop"], None)])
    expect(kept_values([other], [other], "clang 19"),
           [([], "kept of clang 15, here is clang 19")])


TESTS = [wide_loads, narrow_loads, addresses, wide_operands, uniform_registers, turn_after_turn,
         nests, branches, products, guards, copies, counters, masks, tokens, hottest, whole_blocks,
         residents, comparisons, keeping]


def main(tests):
    print(f"1..{len(tests)}")
    for i, test in enumerate(tests, 1):
        name = test.__name__.replace("_", " ")
        try:
            test()
            print(f"ok {i} - {name}")
        except Skipped as why:
            print(f"ok {i} - {name} # SKIP {why}")
        except Exception:  # pylint: disable=broad-except
            print(f"not ok {i} - {name}")
            print("".join(f"# {line}\n" for line in traceback.format_exc().splitlines()), end="")


if __name__ == "__main__":
    main(TESTS)
