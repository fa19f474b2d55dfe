# SPDX-License-Identifier: Apache-2.0
"""Loops of a kernel, in the assembly of any target, and what a turn of each one comes to.

sass.py, gcn.py and xe.py read the assembly of one vendor each. Two models say when a load has come
back: registers() for devices on which the first instruction that touches its register, or names its
token, waits for it, and counter() for those on which instructions wait until so many of all that
was issued are left.
"""
import collections
import typing

MOST_STATES = 20000  # of one walk
MOST_QUEUED = 64     # what counters of hardware hold
TURNS = 16  # of each loop for one of the loop around it, where regions are compared


class Instruction(typing.NamedTuple):
    """What matters of one here."""
    target: int | None = None         # the number of the one that it may jump to
    goes_on: bool = True              # whether the next one may follow
    load_bytes: int = 0               # that an item reads from global memory
    multiplies: bool = False          # and adds, real numbers
    loaded: frozenset = frozenset()   # registers, or tokens, that stand for the load
    touched: frozenset = frozenset()  # registers and tokens that are read or written
    guard: str = ""                   # "P1" or "!P1" where only items do it that say so
    is_queued: bool = False           # counted until it is done, as loads and stores are
    waits_for: int | None = None      # goes on once so many of those are left


def read(lines, label_of, line_of, instruction_of):
    """The Instructions in lines of assembly: label_of and line_of match a label and an instruction,
    whose groups instruction_of() takes, and {label: number of the instruction behind it}."""
    labels, found = {}, []
    for line in lines:
        label, instruction = label_of(line), line_of(line)
        if label:
            labels[label.group(1)] = len(found)
        elif instruction:
            found.append(instruction.groups())
    return [instruction_of(*groups, labels) for groups in found]


class Region(typing.NamedTuple):
    """A loop, or the whole kernel."""
    depth: int       # loops around it, itself among them
    start: int       # its first block
    inside: frozenset  # its blocks: numbers of their first instructions
    nested: dict     # {block: all blocks of that loop} of blocks in the outermost loops in it


class Turn(typing.NamedTuple):
    """What a region comes to, on the way through it that loads most, and of such the shortest one;
    of dense products first the one that multiplies most. What it has in loops of its own does not
    count."""
    depth: int
    instructions: int
    load_bytes: int
    in_flight: int   # the most loads that are under way at once
    products: int    # multiply-adds of dense products, those of loops in it among them


def block_ends(code):
    """{number of a block's first instruction: of the one behind its last}, of a whole kernel."""
    starts = {0} | {each.target for each in code if each.target is not None}
    starts |= {i + 1 for i, each in enumerate(code) if each.target is not None or not each.goes_on}
    starts = sorted(start for start in starts if start < len(code))
    return dict(zip(starts, [*starts[1:], len(code)]))


def followers(code, ends):
    """{block: what may follow}, of those that the kernel can reach from its start."""
    out, waiting = {}, [0]
    while waiting:
        block = waiting.pop()
        if block in out:
            continue
        last = code[ends[block] - 1]
        out[block] = [last.target] if last.target is not None else []
        if last.goes_on and ends[block] < len(code):
            out[block].append(ends[block])
        waiting += out[block]
    return out


def dominators(after):
    """{block: all blocks that each way from the start to it passes, itself among them}"""
    before = {block: [b for b in after if block in after[b]] for block in after}
    out = {block: frozenset(after) for block in after}
    out[0] = frozenset([0])
    changed = True
    while changed:
        changed = False
        for block in sorted(after):
            if block:
                new = frozenset.intersection(*(out[b] for b in before[block])) | {block}
                changed |= new != out[block]
                out[block] = new
    return out


def loops_of(after):
    """{header: blocks} of each natural loop: what leads back to its header."""
    loops, dominated_by = {}, dominators(after)
    for last in after:
        for header in after[last]:
            if header not in dominated_by[last]:
                continue
            inside, waiting = loops.setdefault(header, {header}), [last]
            while waiting:
                block = waiting.pop()
                if block not in inside:
                    inside.add(block)
                    waiting += [b for b in after if block in after[b]]
    return loops


def loads_of(code, numbers):
    """Numbers of the loads among instructions. Of those that P1 guards and those that !P1 guards
    an item does only one half, and the half that loads more counts."""
    halves = collections.defaultdict(list)
    for i in numbers:
        if code[i].load_bytes:
            halves[code[i].guard].append(i)

    def weight(guard):
        return bytes_of(code, halves.get(guard, []))

    return {i for guard, half in halves.items() for i in half
            if not guard or weight(guard) > weight(other_half(guard))
            or (weight(guard) == weight(other_half(guard)) and not guard.startswith("!"))}


def other_half(guard):
    return guard[1:] if guard.startswith("!") else "!" + guard


def bytes_of(code, numbers):
    return sum(code[i].load_bytes for i in numbers)


def regions_of(after):
    """The whole kernel, and each loop."""
    loops = {header: frozenset(inside) for header, inside in loops_of(after).items()}
    out = []
    for header, inside in [(None, frozenset(after)), *loops.items()]:
        lower = [each for h, each in loops.items() if h != header and each <= inside]
        nested = {block: each for each in sorted(lower, key=len) for block in each}
        around = [each for h, each in loops.items() if header is not None and inside <= each]
        out.append(Region(len(around), header or 0, inside, nested))
    return out


def steps_from(after, region, block):
    """Where a way leads from a block, or from the loop that it is in: blocks, and for a loop None
    at the end of a turn."""
    here = region.nested.get(block, frozenset())
    for to in sorted({to for b in here or [block] for to in after[b]} - here):
        if to == region.start:
            yield None
        elif to in region.inside:
            yield min(region.nested.get(to, {to}))


def last_first(after, region):
    """Blocks of a region, each one behind all that it leads to."""
    order, seen, stack = [], set(), [(region.start, False)]
    while stack:
        block, is_left = stack.pop()
        if is_left:
            order.append(block)
        elif block not in seen:
            seen.add(block)
            stack.append((block, True))
            stack += [(to, False) for to in steps_from(after, region, block) if to is not None]
    return order


def way_through(code, ends, after, region, is_dense):
    """(bytes, instructions, blocks) of a turn; None where none comes to its end. Of a loop in the
    region, its first block stands there."""
    ways = {None: (0, 0, 0, ())}
    for block in last_first(after, region):
        steps = list(steps_from(after, region, block))
        known = [ways[to] for to in steps if ways.get(to)]
        if not steps and region.depth == 0:
            known = [ways[None]]
        if not known:
            continue
        n_bytes, n_products, n, rest = max(known, key=lambda way: (way[0], way[1], -way[2]))
        if block not in region.nested:
            n_bytes += bytes_of(code, loads_of(code, range(block, ends[block])))
            n += ends[block] - block
        if is_dense:
            n_products += sum(code[i].multiplies for b in region.nested.get(block, [block])
                              for i in range(b, ends[b]))
        ways[block] = (n_bytes, n_products, n, (block, rest))
    return ways.get(region.start)


def blocks_of(linked):
    while linked:
        block, linked = linked
        yield block


def registers(state, number, instruction, is_counted):
    """What is under way behind an instruction: loads whose registers nothing has touched."""
    state = frozenset(load for load in state if not load[1] & instruction.touched)
    if instruction.load_bytes and is_counted:
        state |= {(number, instruction.loaded)}
    return state


def counter(state, _, instruction, is_counted):
    """The same where a counter is waited for: of each in the order of issue, whether it is a load
    that counts."""
    if instruction.waits_for is not None:
        state = state[max(0, len(state) - instruction.waits_for):]
    if instruction.is_queued:
        state = (*state, bool(instruction.load_bytes) and is_counted)
    return state


STARTS = {registers: frozenset(), counter: ()}


def loads_in(state):
    return len(state) if isinstance(state, frozenset) else sum(state)


def in_flight(code, ends, region, way, model):
    """The most loads that are under way at once, turn after turn. Loads of loops in the region do
    not count, but what is touched there has been waited for."""
    most, state = 0, STARTS[model]
    for first in list(way) * (2 if region.depth else 1):
        for block in sorted(region.nested.get(first, [first])):
            numbers = range(block, ends[block])
            is_own = first not in region.nested
            counted = loads_of(code, numbers)
            for i in numbers:
                if i in counted or not code[i].load_bytes:  # not the other half
                    state = model(state, i, code[i], is_own)
                    most = max(most, loads_in(state))
    return most


def regions_and_turns(code, model, is_dense=False):
    """Each region of a kernel that comes to its end, its Turn, and how many loads that has."""
    ends = block_ends(code)
    after = followers(code, ends)
    for region in regions_of(after):
        way = way_through(code, ends, after, region, is_dense)
        if way:
            n_bytes, n_products, n, linked = way
            blocks = list(blocks_of(linked))
            own = [block for block in blocks if block not in region.nested]
            n_loads = sum(len(loads_of(code, range(block, ends[block]))) for block in own)
            yield region, Turn(region.depth, n, n_bytes,
                               in_flight(code, ends, region, blocks, model), n_products), n_loads


def turns_of(code, model, is_dense=False):
    """The Turns alone."""
    return (turn for _, turn, _ in regions_and_turns(code, model, is_dense))


def load_bytes(turn):
    return turn.load_bytes, turn.instructions


def work(turn):
    return turn.instructions, turn.load_bytes


def hot(code, model, by=load_bytes, most_depth=99, is_dense=False):
    """The Turn of the region that has most of something, where each loop goes round TURNS times. Of
    dense products, which have a loop for whole blocks and one for others, the shortest of those
    that multiply most; it loads where loads are asked for."""
    def weight(turn):
        return [n * TURNS ** turn.depth for n in by(turn)]

    def multiplies(turn):
        return turn.products * TURNS ** turn.depth, -turn.instructions

    turns = [turn for turn in turns_of(code, model, is_dense) if turn.depth <= most_depth]
    if not is_dense:
        return max(turns, key=weight)
    return max((turn for turn in turns if turn.load_bytes or by != load_bytes), key=multiplies)
