# SPDX-License-Identifier: Apache-2.0
"""What `weft explain --compile` prints: a table of loops for each kernel, and times."""
import math

import model

TITLES = [("loads in", "flight"), ("loads", "a turn"), ("instructions", "a turn"),
          ("entries", "a turn"), ("instructions", "an entry"), ("", "loop")]


BOUND = {"memory": "memory", "cache": "caches", "arithmetic": "arithmetic",
         "issue": "instructions", "latency": "latency", "overhead": "the launch"}


def number(value, digits=3):
    """In so many digits, but whole numbers as they are; never with an exponent."""
    if math.isnan(value):
        return "-"
    if value == int(value) or value >= 10 ** digits:
        return f"{value:.0f}"
    return f"{value:.{digits}g}"


def cells_of(loop):
    each = loop.turn.instructions / loop.entries if loop.entries and loop.is_all else math.nan
    return ["* " if loop.is_used else "  ", number(loop.turn.in_flight), number(loop.n_loads),
            number(loop.turn.instructions), number(loop.entries or math.nan), number(each),
            loop.role]


def table(loops):
    """Numbers to the right, below their titles."""
    rows = [["  ", *titles] for titles in zip(*TITLES)] + [cells_of(loop) for loop in loops]
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        *numbers, words = [f"{cell:>{n}}" for cell, n in zip(row[:-1], widths)] + [row[-1]]
        yield ("    " + "  ".join(numbers) + "  " + words).rstrip()


def kernel_lines(kernel):
    use, of_all = kernel.use, kernel.most_resident
    yield (f"    {kernel.name}: {use['registers']} registers an item, {kernel.spilled} spilled, "
           f"{kernel.resident} of {of_all} {kernel.warps} resident on a compute unit "
           f"({100 * kernel.resident / of_all:.0f}%)")
    yield from table(kernel.loops)


def time_line(name, times, overhead):
    parts = ", ".join(f"{what} {number(us)}" for what, us in times._asdict().items()
                      if not math.isnan(us))
    if all(map(math.isnan, times)):
        return f"    {name}: not estimated but for the launch, {number(overhead)} us"
    return (f"    {name}: {number(times.total())} us = launch {number(overhead)} + the largest of "
            f"{parts}: bound by {BOUND[times.bound()]}")


def sum_line(all_times, total, n_unknown):
    what = (f"{number(total)} us, with {n_unknown} of {len(all_times)} launches counted as "
            "launches alone" if n_unknown else f"all {number(total)} us")
    return f"    {what}; how far such estimates are off: docs/performance.md"


def whole(target, place, compilers, kernels, all_times, is_measured):
    """The answer as JSON and, in "text", for people. Its lines continue what explain prints."""
    total = sum(times.total() for _, times in all_times)
    n_unknown = sum(all(map(math.isnan, times)) for _, times in all_times)
    lines = [f"  compiled    for {target}{place} by {compilers}: loops that load from global "
             "memory, * the hot one"]
    for kernel in kernels:
        lines += kernel_lines(kernel)
    lines.append("  estimate    in microseconds (us), from the hot loops: a launch takes its own "
                 "time, and the largest of these" + ("" if is_measured else "; constants are those "
                 "of an H200, no GPU of this vendor was measured"))
    lines += [time_line(name, times, model.OVERHEAD_US) for name, times in all_times]
    lines.append(sum_line(all_times, total, n_unknown))
    return {"target": target, "compilers": compilers,
            "kernels": [json_of(kernel) for kernel in kernels],
            "launches": [times_json(name, times) for name, times in all_times],
            "total_us": rounded(total), "is_whole": n_unknown == 0, "text": "\n".join(lines) + "\n"}


def rounded(us):
    """null if unknown."""
    return None if math.isnan(us) else float(f"{us:.4g}")


def times_json(name, times):
    return {"kernel": name, "launch_us": model.OVERHEAD_US,
            **{f"{what}_us": rounded(us) for what, us in times._asdict().items()},
            "total_us": rounded(times.total()), "bound": times.bound()}


def json_of(kernel):
    return {
        "kernel": kernel.name, "registers": kernel.use["registers"], "spilled": kernel.spilled,
        "resident": kernel.resident, "most_resident": kernel.most_resident,
        "loops": [{"role": loop.role, "is_used": loop.is_used, "depth": loop.turn.depth,
                   "in_flight": loop.turn.in_flight, "loads": loop.n_loads,
                   "load_bytes": loop.turn.load_bytes, "instructions": loop.turn.instructions,
                   "entries": loop.entries or None} for loop in kernel.loops]}
